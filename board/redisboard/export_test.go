package redisboard

import "time"

// AwaitWaiter returns once a claim waits in the group's line and has looked
// for itself.
func (b *Board) AwaitWaiter(group string) {
	for !b.line.resting(group) {
		time.Sleep(100 * time.Microsecond)
	}
}

func (l *line) resting(group string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.groups[group]
	return g != nil && g.waiters.Len() > 0 && g.waiters.Front().Value.(*waiter).rests
}

// AwaitSubscription returns once messages come again.
func (b *Board) AwaitSubscription() {
	for {
		b.listener.mu.Lock()
		up := b.listener.conn != nil
		b.listener.mu.Unlock()
		if up {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
