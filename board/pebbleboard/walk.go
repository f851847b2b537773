package pebbleboard

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// This file has what only somebody asks who walks the whole board, and the copy that
// can be walked while work goes on.

// Alarms implements [board.Board].
func (b *Board) Alarms(ctx context.Context, after board.Alarm, limit int) (out []board.Alarm, err error) {
	if limit < 1 {
		return nil, domain.Invalidf("page of %d alarms, want 1 or more", limit)
	}
	if err := b.enter(ctx); err != nil {
		return nil, err
	}
	defer b.leave()
	from := []byte{nsDue}
	if after != (board.Alarm{}) {
		from = append(appendTimed(nil, nsDue, after.At.UnixMilli(), ident{after.Space, after.Name}), 0)
	}
	err = b.scan(b.db, from, []byte{nsDue + 1}, func(key, _ []byte) (bool, error) {
		at, id := timed(key)
		out = append(out, board.Alarm{Space: id.space, Name: id.name, At: time.UnixMilli(at)})
		return len(out) < limit, nil
	})
	return out, err
}

// Counters implements [board.Board]. Those of a space come at once.
func (b *Board) Counters(ctx context.Context, space board.Space, _ string, limit int) (list []board.Counter, next string, err error) {
	if limit < 1 {
		return nil, "", domain.Invalidf("page of %d counters, want 1 or more", limit)
	}
	if err := b.enter(ctx); err != nil {
		return nil, "", err
	}
	defer b.leave()
	last := map[string]int64{}
	prefix := appendSpace(nil, nsCounter, space)
	b.counters.mu.Lock() // none is written and forgotten between the two looks
	defer b.counters.mu.Unlock()
	err = b.scan(b.db, prefix, afterAll(prefix), func(key, value []byte) (bool, error) {
		n, size := binary.Varint(value)
		if size <= 0 {
			return false, errCorrupt
		}
		last[string(key[len(prefix):])] = n
		return true, nil
	})
	for id, n := range b.counters.last {
		if id.space == space {
			last[id.name] = n
		}
	}
	for key, n := range last {
		list = append(list, board.Counter{Key: key, Last: n})
	}
	slices.SortFunc(list, func(a, b board.Counter) int { return cmp.Compare(a.Key, b.Key) })
	return list, "", err
}

// Spaces implements [board.Board].
func (b *Board) Spaces(ctx context.Context) (list []board.Space, err error) {
	if err := b.enter(ctx); err != nil {
		return nil, err
	}
	defer b.leave()
	for _, ns := range []byte{nsKey, nsQueue, nsAlarm, nsLive, nsCounter} {
		for at := uint64(0); at <= math.MaxUint32; at++ { // from one space to the next that has something
			found := false
			err := b.scan(b.db, appendSpace(nil, ns, board.Space(at)), []byte{ns + 1}, func(key, _ []byte) (bool, error) {
				at, found = uint64(binary.BigEndian.Uint32(key[1:])), true
				return false, nil
			})
			if err != nil {
				return nil, err
			}
			if !found {
				break
			}
			list = append(list, board.Space(at))
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// snapshotMark stands in the names of copies that are made beside the board's folder.
const snapshotMark = ".snapshot-"

var snapshots atomic.Uint64

// snapshot is a copy of the board that is removed when it is closed.
type snapshot struct {
	*Board
}

func (s snapshot) Close() error {
	err := s.Board.Close()
	if gone := s.disk().RemoveAll(s.dir); err == nil && gone != nil {
		err = domain.Unavailablef("remove the copy %q of the board: %v", s.dir, gone)
	}
	return err
}

// Snapshot implements [board.Snapshotter] by a copy in a folder beside the board's, which
// costs room only for what changes while it is there. A copy that a process left there
// when it was killed is removed.
func (b *Board) Snapshot(context.Context) (board.Board, error) {
	fs := b.disk()
	beside, _ := fs.List(fs.PathDir(b.dir)) // what cannot be looked at is removed by the next
	copies := fs.PathBase(b.dir) + snapshotMark
	mine := copies + strconv.Itoa(os.Getpid()) + "-"
	for _, name := range beside {
		if strings.HasPrefix(name, copies) && !strings.HasPrefix(name, mine) {
			_ = fs.RemoveAll(fs.PathJoin(fs.PathDir(b.dir), name)) // what cannot be removed now is tried again by the next
		}
	}
	dir := fs.PathJoin(fs.PathDir(b.dir), mine+strconv.FormatUint(snapshots.Add(1), 10))
	if err := b.Checkpoint(dir); err != nil {
		_ = fs.RemoveAll(dir) // the first error says more
		return nil, err
	}
	copied, err := Open(dir, Config{Logger: b.log, CacheBytes: 1 << 20, Outside: b.cfg.Outside, OutsideFor: b.cfg.OutsideFor, FS: b.cfg.FS})
	if err != nil {
		_ = fs.RemoveAll(dir)
		return nil, err
	}
	return snapshot{copied}, nil
}

var _ board.Snapshotter = (*Board)(nil)
