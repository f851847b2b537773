package redisboard

import (
	"context"
	"testing"
	"time"

	"github.com/ramet-run/ramet/internal/testwait"
)

// AwaitWaiter returns once a claim waits in the group's line and has looked
// for itself.
func (b *Board) AwaitWaiter(t testing.TB, group string) {
	t.Helper()
	testwait.Until(t, "a claim in the line of "+group, func() bool { return b.line.resting(group) })
}

func (l *line) resting(group string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.groups[group]
	return g != nil && g.waiters.Len() > 0 && g.waiters.Front().Value.(*waiter).rests
}

// AwaitSubscription returns once messages come again.
func (b *Board) AwaitSubscription(t testing.TB) {
	t.Helper()
	testwait.Until(t, "messages", func() bool {
		b.listener.mu.Lock()
		defer b.listener.mu.Unlock()
		return b.listener.conn != nil
	})
}

// OpenSkewed opens a board on a machine whose clock is off.
func OpenSkewed(ctx context.Context, url string, cfg Config, skew time.Duration) (*Board, error) {
	cfg.skew = skew
	return Open(ctx, url, cfg)
}
