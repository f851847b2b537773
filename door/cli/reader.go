package cli

import (
	"context"
	"io"
	"os"
	"sync/atomic"
)

// This file ends what would go on for ever when nobody reads it any more.

// whileRead does something that goes on, such as following a log, until it ends by itself or
// whoever reads standard output is gone, as `head` behind a pipe. A write would tell, by
// SIGPIPE; but there may be nothing to write for days.
func (a *app) whileRead(ctx context.Context, do func(ctx context.Context) error) error {
	fd, ok := pipe(a.std.Out)
	if !ok {
		return do(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	var gone atomic.Bool
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		if unread(ctx, fd) {
			gone.Store(true)
			cancel()
		}
	}()
	err := do(ctx)
	cancel()
	<-watched
	if gone.Load() {
		return nil // there is nobody to be told
	}
	return err
}

// pipe is the descriptor of a stream that is a pipe or a socket.
func pipe(w io.Writer) (fd int, ok bool) {
	f, ok := beneath(w).(*os.File)
	if !ok {
		return -1, false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return -1, false
	}
	return int(f.Fd()), true
}
