package node

import (
	"context"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// This file counts the contexts of the board.

// countContexts looks whether there are several, on which it hangs how many slots
// one of them may hold.
func (n *Node) countContexts(ctx context.Context) error {
	some, err := n.board.Members(ctx, 0, layout.Contexts, "", 2)
	if err == nil {
		n.several.Store(len(some) > 1)
	}
	return err
}

// followContexts counts them until there are several: they are never fewer again.
func (n *Node) followContexts(ctx context.Context) {
	for ctx.Err() == nil && !n.several.Load() {
		if err := n.untilSeveral(ctx); err != nil && ctx.Err() == nil {
			n.cfg.Logger.Debug("contexts not counted", "err", err)
			select {
			case <-time.After(recordEvery):
			case <-ctx.Done():
			}
		}
	}
}

// untilSeveral returns when there are several, or with an error.
func (n *Node) untilSeveral(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events, err := n.board.Watch(ctx, 0, layout.Contexts)
	if err != nil {
		return err
	}
	for {
		if err := n.countContexts(ctx); err != nil || n.several.Load() {
			return err
		}
		if _, open := <-events; !open {
			return domain.Unavailablef("the watch of contexts has ended")
		}
	}
}
