package redisboard

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// maxSleep is how long Due and Expired go without a look: a message that
// something comes earlier may get lost.
const maxSleep = time.Second

// Due implements [board.Board].
func (b *Board) Due(ctx context.Context, limit int, wait time.Duration) ([]board.Alarm, error) {
	if limit < 1 {
		return nil, domain.Invalidf("page of %d alarms, want 1 or more", limit)
	}
	var out []board.Alarm
	err := b.await(ctx, wait, &b.alarmSet, func() (pause time.Duration, err error) {
		m, _, err := b.run(ctx, readScript, "alarms", "0", strconv.Itoa(limit))
		if err != nil {
			return 0, err
		}
		rows, pause, err := b.readMoments(m)
		for ; len(rows) >= 2; rows = rows[2:] {
			if space, name, ok := cutMember(rows[0]); ok {
				out = append(out, board.Alarm{Space: space, Name: name, At: instant(rows[1])})
			}
		}
		if len(out) > 0 {
			return 0, err
		}
		return pause, err
	})
	return out, err
}

// readMoments reads what scripts say about a sorted set of instants: the time
// there, the first instant, and rows. It returns the rows and how long nothing
// will come.
func (b *Board) readMoments(m rueidis.RedisMessage) (rows []string, pause time.Duration, err error) {
	parts, err := m.ToArray()
	if err != nil || len(parts) < 3 {
		return nil, maxSleep, b.translate(err)
	}
	now, _ := parts[0].ToString()
	first, _ := parts[1].ToString()
	rows, err = parts[2].AsStrSlice()
	if first == "" {
		return rows, maxSleep, b.translate(err)
	}
	pause = instant(first).Sub(instant(now))
	return rows, max(time.Millisecond, min(pause, maxSleep)), b.translate(err)
}

// await calls look until it says that it has something (a pause of 0), at most
// for wait. Between looks it sleeps for the pause or until the signal. Once it
// waits it waits through outages.
func (b *Board) await(ctx context.Context, wait time.Duration, sig *signal, look func() (time.Duration, error)) error {
	end := time.Now().Add(wait)
	for first := true; ; first = false {
		changed := sig.wait() // before the look: nothing is missed between
		pause, err := look()
		if err != nil && (first || !errors.Is(err, domain.ErrUnavailable)) {
			return err
		}
		left := time.Until(end)
		if err == nil && pause == 0 || left <= 0 {
			return err
		}
		if err != nil {
			pause = maxSleep / 4
		}
		if err := b.sleep(ctx, min(pause, left), changed); err != nil {
			return err
		}
	}
}

// sleep waits for a time, or until a channel is closed.
func (b *Board) sleep(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-wake:
	case <-ctx.Done():
		return ctx.Err()
	case <-b.closing.Done():
		return errClosed()
	}
	return nil
}

// AlarmOf implements [board.Board].
func (b *Board) AlarmOf(ctx context.Context, space board.Space, name string) (time.Time, bool, error) {
	m, isNil, err := b.run(ctx, readScript, "alarm", decimal(space), name)
	if err != nil || isNil {
		return time.Time{}, false, err
	}
	score, err := m.ToString()
	return instant(score), err == nil, b.translate(err)
}
