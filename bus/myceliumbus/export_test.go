package myceliumbus

import "time"

// Age makes what was pushed seem older.
func (b *Bus) Age(by time.Duration) {
	b.reach.mu.Lock()
	defer b.reach.mu.Unlock()
	for to, p := range b.reach.first {
		p.at = p.at.Add(-by)
		b.reach.first[to] = p
	}
}
