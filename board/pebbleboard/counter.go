package pebbleboard

import (
	"context"
	"encoding/binary"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// counters gives out the numbers of Next without the committer. What was
// given out is written with its next group: whatever uses a number is
// committed after it was given out, and so never reaches the disk before it.
type counters struct {
	mu    sync.Mutex
	last  map[ident]int64    // given out last
	fresh map[ident]struct{} // given out since the committer wrote them
}

// maxCounters is how many stay in memory when they are written.
const maxCounters = 8 << 10

// Next implements [board.Board].
func (b *Board) Next(ctx context.Context, space board.Space, key string, n int) (first int64, err error) {
	if n < 0 {
		return 0, domain.Invalidf("reserve %d numbers of %q, want 1 or more, or 0 to see which comes next", n, key)
	}
	if err := new(board.Batch).Delete(key).Check(); err != nil { // holds the key to its limits
		return 0, err
	}
	if err := b.enter(ctx); err != nil {
		return 0, err
	}
	defer b.leave()
	c := &b.counters
	c.mu.Lock()
	defer c.mu.Unlock()
	id := ident{space, key}
	last, known := c.last[id]
	if !known {
		if last, err = b.readCounter(id); err != nil {
			return 0, err
		}
	}
	if n > 0 {
		c.last[id] = last + int64(n)
		c.fresh[id] = struct{}{}
	}
	return last + 1, nil
}

func (b *Board) readCounter(id ident) (int64, error) {
	v, closer, err := b.db.Get(appendNamed(nil, nsCounter, id))
	if err == pebble.ErrNotFound {
		return 0, nil
	}
	if err != nil {
		return 0, b.readError(err)
	}
	defer closer.Close()
	n, size := binary.Varint(v)
	if size <= 0 {
		return 0, b.readError(errCorrupt)
	}
	return n, nil
}

// writeCounters writes what was given out since it was called last.
func (c *committer) writeCounters() {
	from := &c.b.counters
	from.mu.Lock()
	defer from.mu.Unlock()
	if len(from.last) > maxCounters {
		// All that are not fresh were written with an earlier group, which is
		// in the store.
		for id := range from.last {
			if _, fresh := from.fresh[id]; !fresh {
				delete(from.last, id)
			}
		}
	}
	for id := range from.fresh {
		c.keyBuf = appendNamed(c.keyBuf[:0], nsCounter, id)
		c.valBuf = binary.AppendVarint(c.valBuf[:0], from.last[id])
		c.set(c.keyBuf, c.valBuf)
	}
	clear(from.fresh)
}
