//go:build unix

package work

import "syscall"

// oNoFollow keeps a script from making the node read a link's target.
const oNoFollow = syscall.O_NOFOLLOW
