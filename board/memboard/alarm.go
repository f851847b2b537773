package memboard

import (
	"context"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

func (b *Board) putAlarm(s *space, name string, at int64) {
	b.dropAlarm(s, name)
	s.alarms[name] = at
	m := moment{at, s.id, name}
	b.alarms.Insert(m)
	if first, _ := b.alarms.First(); first == m {
		b.alarmSet.fire()
	}
}

func (b *Board) dropAlarm(s *space, name string) {
	if at, ok := s.alarms[name]; ok {
		delete(s.alarms, name)
		b.alarms.Remove(moment{at, s.id, name})
	}
}

func (b *Board) moveExpiry(s *space, key string, e *entry, at int64) {
	if e.expires != 0 {
		b.expiries.Remove(moment{e.expires, s.id, key})
	}
	e.expires = at
	if at != 0 {
		b.expiries.Insert(moment{at, s.id, key})
	}
}

// Due implements [board.Board].
func (b *Board) Due(ctx context.Context, limit int, wait time.Duration) ([]board.Alarm, error) {
	if limit < 1 {
		return nil, domain.Invalidf("page of %d alarms, want 1 or more", limit)
	}
	var out []board.Alarm
	err := b.await(ctx, wait, func(now int64) (bool, int64, *signal) {
		for m := range b.alarms.All() {
			if m.at > now || len(out) >= limit {
				return len(out) > 0, m.at, &b.alarmSet
			}
			out = append(out, board.Alarm{Space: m.space, Name: m.name, At: time.UnixMilli(m.at)})
		}
		return len(out) > 0, 0, &b.alarmSet
	})
	return out, err
}

// AlarmOf implements [board.Board].
func (b *Board) AlarmOf(ctx context.Context, id board.Space, name string) (time.Time, bool, error) {
	if _, err := b.lock(ctx); err != nil {
		return time.Time{}, false, err
	}
	defer b.mu.Unlock()
	if s := b.spaces[id]; s != nil {
		if at, ok := s.alarms[name]; ok {
			return time.UnixMilli(at), true, nil
		}
	}
	return time.Time{}, false, nil
}
