package service

import (
	"context"
	"errors"
	"sync"
	"time"
)

// This file says whether requests should be sent to this node. Whoever shows that asks
// here: /health, /ready and node.info.

// healthTime bounds one look at what the node stands on.
const healthTime = 5 * time.Second

// Health is how the node stands now.
type Health struct {
	// Stopping is whether it takes no new work because it is on its way to its end.
	Stopping bool
	// Board and Streams are why these take nothing; "" where they do, or there are none.
	Board, Streams string
	// Disk is why nothing new is taken in; "" where it is. Requests are to come all the
	// same: what runs could not end without them.
	Disk string
}

// Away reports whether something is not there that the node stands on.
func (h Health) Away() bool { return h.Board != "" || h.Streams != "" }

// Ready reports whether requests should be sent to the node.
func (h Health) Ready() bool { return !h.Stopping && !h.Away() }

// Health looks at what the node stands on. What it finds is not for everybody to read.
func (s *Service) Health(ctx context.Context) Health {
	h := Health{Stopping: !s.parts.Info().Ready}
	var both sync.WaitGroup
	both.Go(func() { h.Board = trouble(ctx, s.parts.Board, "the board gives no answer") })
	both.Go(func() { h.Streams = trouble(ctx, s.parts.Streams, "the server of the event streams gives no answer") })
	both.Wait()
	if err := s.parts.Intake(); err != nil {
		h.Disk = err.Error()
	}
	return h
}

// trouble is what a look found wrong, and silent where it had no answer in time; "" where
// all is well, or where there is nothing to look at.
func trouble(ctx context.Context, look func(ctx context.Context) error, silent string) string {
	if look == nil {
		return ""
	}
	short, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	switch err := look(short); {
	case err == nil:
		return ""
	case errors.Is(err, context.DeadlineExceeded):
		return silent
	default:
		return err.Error()
	}
}
