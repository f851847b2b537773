//go:build unix

package cli

import (
	"context"
	"time"

	"golang.org/x/sys/unix"
)

// unreadEvery is how long a look waits for the reader's end before it looks at its context.
const unreadEvery = 200 * time.Millisecond

// unread waits until the other end of a pipe is closed; false is that ctx has ended before.
func unread(ctx context.Context, fd int) bool {
	for ctx.Err() == nil {
		// No event is asked for: those of a broken pipe come unasked.
		look := []unix.PollFd{{Fd: int32(fd)}}
		n, err := unix.Poll(look, int(unreadEvery.Milliseconds()))
		switch {
		case err == unix.EINTR:
		case err != nil || n > 0 && look[0].Revents&unix.POLLNVAL != 0:
			<-ctx.Done() // it cannot be looked at: a write will tell
		case n > 0 && look[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0:
			return true
		}
	}
	return false
}
