// Package jail starts the processes of scripts, holds them in, and ends them
// with everything they started. The drivers whose scripts are processes share
// it; it knows nothing of languages.
//
// # How a process is started
//
// Every start gets an OS thread of its own. What Linux keeps per thread and
// hands down over fork and exec is put on that thread: fewer capabilities
// (root only), no_new_privs, a Landlock ruleset that lets only the work folder
// be written, a seccomp filter. Then the thread forks. It never runs other Go
// code again: it waits for the child and ends with its goroutine. So there is
// no helper binary, and a start costs little more than fork and exec.
//
// What Linux keeps per process is set from outside: the child stops at the end
// of its exec as it would for a debugger (PTRACE_TRACEME), is put into its
// cgroup, gets its resource limits, and is let go. Where tracing is forbidden
// it begins as `/bin/sh -c 'read r && exec "$@"'` and waits on its stdin instead.
//
// # How everything it started is found again
//
// Each process carries a tag, inherited over fork and exec: its hard
// RLIMIT_RTTIME, a limit nobody uses, in microseconds, is a number made of
// this node's random prefix and the run's sequence number. A script cannot
// raise it again. The node is the child subreaper: whatever loses its parent
// (a daemon in a session of its own) becomes the node's child. When a run
// ends, its process group is killed, then those children of the node that
// carry its tag, until there are none. Children without a tag of ours belong
// to other parts of the program and are never touched.
// Where cgroup v2 can be used, a cgroup.kill comes first: it also gets ahead
// of fork bombs, which can outrun a hunt by tag.
//
// # When the node itself is killed
//
// A small shell, the watcher, waits on a pipe whose other end is the node's.
// When that breaks, it kills every process with the node's prefix in its tag.
//
// # Walled runs that a pool forks
//
// See fork_linux.go: the pool's parent is behind a wall, and keeps the right to make
// one for each of its children by a list of system calls that comes from the node.
//
// # Goroutines
//
//	start  one per process, on its own thread, until the process has ended
//	watch  one per program while a Jail is open: starts the watcher again
//	reap   one per program while a Jail is open: collects dead orphans of long runs
package jail
