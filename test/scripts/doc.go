// Package scripts drives the real binary, command by command, as people do:
// one script for every verb of the command line, and faults_*.txtar for what
// goes wrong.
//
// A script is a txtar file for rogpeppe/go-internal/testscript, named
// <noun>_<verb>.txtar. Besides testscript's own commands it has:
//
//	ramet ARGS...              must succeed (stdout and stderr can be looked at next)
//	fails CODE ARGS...         must end with that exit code and say why in one line;
//	                           1, rhai, blueprint and saga may have more lines beside it;
//	                           warnings do not count
//	serve NAME ARGS...         starts a node and waits until it listens; with --listen,
//	                           $URL is where, and $NODE that with its name; with --resp,
//	                           $RESP is the URL of its Redis door for the operator
//	serve NAME circle ARGS...  the same with ramet circle serve
//	sites                      starts two organisations that know each other: alpha on
//	                           A and beta on B, where alpha's operator is actor 2 and
//	                           admin of context 7; $LEAF is where alpha takes links
//	crash NAME                 kills it with SIGKILL; it has gone when this returns
//	halt NAME                  tells it to stop with SIGTERM; it must end with 0
//	drained NAME               waits until it has ended, with 0: it was told otherwise
//	log NAME [PATTERN]         puts what it has logged on stdout; waits until that
//	                           matches, for what need not come before it has started
//	waitfor PATTERN ARGS...    asks ramet again and again until its stdout matches
//	json PATH WANT             looks into stdout: jobs.0.key, jobs.len; ~PATTERN matches
//	redis VAR SETTINGS...      starts a private Redis; its address is $VAR
//	redispy VAR                finds a Python that knows Redis; $VAR is its path
//	postgres VAR               starts a private PostgreSQL; its URL is $VAR
//	postgres VAR kill|restart  ends it as a crash does, or starts it again
//	fill FILE SIZE             makes a file of that many letters
//	corrupt PATTERN            overwrites the files with what they cannot hold
//	flip PATTERN               changes one bit in the middle of the files
//
// $EXAMPLES is the folder of examples. Every script has a home, hence a data
// folder, of its own.
package scripts
