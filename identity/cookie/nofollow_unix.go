//go:build unix

package cookie

import "syscall"

// noFollow opens a file itself, not what a link of its name leads to, and does
// not wait at a pipe.
const noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// errLink is what opening a link so ends with.
const errLink = syscall.ELOOP
