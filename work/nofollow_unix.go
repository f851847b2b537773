//go:build unix

package work

import "syscall"

// oNoFollow keeps a script from making the node read a link's target, or wait for
// somebody to write into a pipe.
const oNoFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
