// Package salscript runs scripts of type sal: Rhai with the functions of the
// system abstraction layer (files, processes, text, git, network checks,
// Redis, Mycelium), whose table stands in docs/rhai.md.
//
// # How a script runs
//
//	node                                 child, in the jail
//	Runtime.Run  -- script file, args -> Main: engine + catalogue
//	             <- stdout, stderr ----  print, commands
//	             <- result file -------  what the script returned
//	             <- descriptor 3 ------  one line: why it did not end well
//
// Such scripts may do what the node's user may, so the type is off unless the
// configuration turns it on, and each runs in a process of its own (this
// program again, with [ChildCommand] as its first argument) under the limits
// and the isolation of package jail. What the jail forbids (writing outside
// the work folder and the granted ones, reading the node's data) fails with an
// error that the script can catch; the functions have no second set of rules.
//
// # How it ends
//
// The value of the script is its result, as for all Rhai runtimes: a map gives
// the keys, anything else but () is "value". A thrown int from 1 to 255 is the
// exit code; any other error is exit code 1, or 125 where a limit was
// overstepped. When it is told to stop, the running command hears of it too
// and has its grace; the script ends as soon as that has returned.
//
// # Commands
//
// Only run and its kin hand text to a shell, because that is what they are
// for. All other commands (git, rsync, the tools) are started with argument
// lists, words of the script behind "--".
//
// Source: the function catalogue of the Hero project's SAL crates.
package salscript
