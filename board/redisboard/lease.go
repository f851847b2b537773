package redisboard

import (
	"context"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// maxHeld is how many leases one call of a script looks at.
const maxHeld = 1000

func parseInt(s string) int64 { n, _ := strconv.ParseInt(s, 10, 64); return n }

func formatInt(n int64) string { return strconv.FormatInt(n, 10) }

// instant reads a sorted set's score as an instant in milliseconds.
func instant(score string) time.Time {
	if n, err := strconv.ParseInt(score, 10, 64); err == nil {
		return time.UnixMilli(n)
	}
	f, _ := strconv.ParseFloat(score, 64)
	return time.UnixMilli(int64(f))
}

// fromNow is the instant so many milliseconds from now by this machine's clock: that of
// the server, which ends leases, may be another.
func (b *Board) fromNow(ms string) time.Time {
	return time.Now().Add(b.skew + time.Duration(parseInt(ms))*time.Millisecond).Truncate(time.Millisecond)
}

// Extend implements [board.Board].
func (b *Board) Extend(ctx context.Context, owner string, ttl time.Duration, held []board.Held) ([]board.Answer, error) {
	if err := board.CheckLease(ttl); err != nil {
		return nil, err
	}
	answers := make([]board.Answer, 0, len(held))
	for len(held) > 0 {
		part := held[:min(maxHeld, len(held))]
		held = held[len(part):]
		some, err := b.extend(ctx, owner, ttl, part)
		if err != nil {
			return nil, err
		}
		answers = append(answers, some...)
	}
	return answers, ctx.Err()
}

func (b *Board) extend(ctx context.Context, owner string, ttl time.Duration, held []board.Held) ([]board.Answer, error) {
	args := []string{"extend", owner, formatInt(ttl.Milliseconds())}
	answers := make([]board.Answer, len(held))
	for i, h := range held {
		answers[i] = board.Lost
		if b.checkSpace(h.Space) == nil {
			args = append(args, decimal(h.Space), h.Item, formatInt(h.Token))
		}
	}
	m, _, err := b.run(ctx, leaseScript, args...)
	if err != nil {
		return nil, err
	}
	letters, err := m.ToString()
	if err != nil {
		return nil, b.translate(err)
	}
	for i, h := range held {
		if b.checkSpace(h.Space) != nil || letters == "" {
			continue
		}
		switch letters[0] {
		case 'r':
			answers[i] = board.Renewed
		case 'c':
			answers[i] = board.Cancelled
		}
		letters = letters[1:]
	}
	return answers, nil
}

// Occupy implements [board.Board].
func (b *Board) Occupy(ctx context.Context, space board.Space, item, owner string, ttl time.Duration) (int64, error) {
	if err := board.CheckLease(ttl); err != nil {
		return 0, err
	}
	if owner == "" {
		return 0, domain.Invalidf("occupy %q without an owner", item)
	}
	if err := b.checkKey(ctx, space, item); err != nil {
		return 0, err
	}
	m, _, err := b.run(ctx, leaseScript, "occupy", decimal(space), item, owner, formatInt(ttl.Milliseconds()))
	if err != nil {
		return 0, err
	}
	answer, err := m.AsStrSlice()
	if err != nil || len(answer) < 2 {
		return 0, b.translate(err)
	}
	switch answer[0] {
	case "kind":
		return 0, domain.Invalidf("%q is a %s, not a record", item, answer[1])
	case "held":
		return 0, domain.Conflictf("%q is occupied by %s until %s", item, answer[1], b.fromNow(answer[2]).Format(time.RFC3339))
	}
	return parseInt(answer[1]), nil
}

// checkKey holds a key and its space to their limits.
func (b *Board) checkKey(ctx context.Context, space board.Space, key string) error {
	batch := board.Batch{Space: space}
	return b.checkBatch(ctx, batch.Delete(key))
}

// LeaseOf implements [board.Board].
func (b *Board) LeaseOf(ctx context.Context, space board.Space, item string) (board.Lease, bool, error) {
	if err := b.checkSpace(space); err != nil {
		return board.Lease{}, false, err
	}
	m, isNil, err := b.run(ctx, leaseScript, "of", decimal(space), item)
	if err != nil || isNil {
		return board.Lease{}, false, err
	}
	f, err := m.AsStrSlice()
	if err != nil || len(f) < 3 {
		return board.Lease{}, false, b.translate(err)
	}
	return board.Lease{Space: space, Item: item, Owner: f[0], Token: parseInt(f[1]), Until: b.fromNow(f[2])}, true, nil
}

// Void implements [board.Board]. It looks at every lease, some at a time: it
// is called once in a node's life.
func (b *Board) Void(ctx context.Context, ownerPrefix string) error {
	for _, set := range []string{"ramet:leases", "ramet:occupied"} {
		for cursor := uint64(0); ; {
			members, next, err := b.scanSorted(ctx, set, cursor)
			if err != nil {
				return err
			}
			if len(members) > 0 {
				args := append([]string{"void", ownerPrefix, set}, members...)
				if _, _, err := b.run(ctx, leaseScript, args...); err != nil {
					return err
				}
			}
			if cursor = next; cursor == 0 {
				break
			}
		}
	}
	b.lapsed.fire()
	return nil
}

// scanSorted returns a page of a sorted set's members.
func (b *Board) scanSorted(ctx context.Context, key string, cursor uint64) ([]string, uint64, error) {
	if !b.begin() {
		return nil, 0, errClosed()
	}
	defer b.calls.Done()
	page, err := b.client.Do(ctx, b.client.B().Zscan().Key(key).Cursor(cursor).Count(maxHeld).Build()).AsScanEntry()
	if err != nil {
		return nil, 0, b.translate(err)
	}
	var members []string
	for i := 0; i+1 < len(page.Elements); i += 2 {
		members = append(members, page.Elements[i])
	}
	return members, page.Cursor, nil
}

// Expired implements [board.Board].
func (b *Board) Expired(ctx context.Context, limit int, wait time.Duration) ([]board.Lease, error) {
	if limit < 1 {
		return nil, domain.Invalidf("page of %d leases, want 1 or more", limit)
	}
	var out []board.Lease
	err := b.await(ctx, wait, &b.lapsed, func() (pause time.Duration, err error) {
		m, _, err := b.run(ctx, leaseScript, "expired", strconv.Itoa(limit))
		if err != nil {
			return 0, err
		}
		rows, pause, err := b.readMoments(m)
		for ; len(rows) >= 4; rows = rows[4:] {
			if space, item, ok := cutMember(rows[0]); ok {
				out = append(out, board.Lease{Space: space, Item: item, Owner: rows[1], Token: parseInt(rows[2]), Until: b.fromNow(rows[3])})
			}
		}
		if len(out) > 0 {
			return 0, err
		}
		return pause, err
	})
	return out, err
}
