package pebbleboard

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/internal/recent"
	"github.com/ramet-run/ramet/domain"
)

// Open opens the board in a folder, making both if need be. One process at a
// time may have it open. Leases of an earlier process have run out, but for those of
// [Config.Outside].
//
// Errors: [domain.ErrConflict] when another process has the folder,
// [domain.ErrUnavailable] when it is damaged or cannot be written,
// [domain.ErrInvalid] when it holds something else.
func Open(dir string, cfg Config) (_ *Board, err error) {
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	cfg.CacheBytes = cmp.Or(cfg.CacheBytes, 32<<20)
	b := &Board{
		dir: filepath.Clean(dir), cfg: cfg, log: cfg.Logger, clock: clock{born: time.Now()},
		queue:  requests{wake: make(chan struct{}, 1)},
		groups: make(chan *written, 64), fetches: make(chan *fetch, fetchBacklog),
		counters: counters{last: map[ident]int64{}, fresh: map[ident]struct{}{}},
		hot:      hot{records: map[ident]hotRecord{}},
		alarms:   newFrontier(), expiries: newFrontier(), recent: recent.New(),
		lives: frontiers{bySpace: map[board.Space]*frontier{}},
		idle:  make(chan struct{}), closing: make(chan struct{}), down: make(chan struct{}),
	}
	if cfg.FS == nil {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, domain.Unavailablef("make data folder %q: %v", dir, err)
		}
		if b.owner, err = own(dir); err != nil {
			return nil, err
		}
	}
	c, err := b.start()
	if err != nil {
		b.owner.release()
		return nil, err
	}
	b.running.Store(true)
	b.workers.Go(c.run)
	b.workers.Go(b.runSyncer)
	b.workers.Go(b.runFetcher)
	if b.lost != nil {
		if err := b.lost.done(b); err != nil {
			_ = b.Close() // the first error says more
			return nil, b.openError(err)
		}
	}
	return b, nil
}

// start opens the store and reads what the committer keeps in memory. Neither
// a panic over a damaged file nor the end of that goroutine by storeLog gets
// beyond it; and a full disk, on which the store would try for ever, ends it.
func (b *Board) start() (*committer, error) {
	type result struct {
		c   *committer
		err error
	}
	done := make(chan result, 1)
	go func() {
		r := result{err: b.unavailable("open data folder %q: the store gave up", b.dir)}
		defer func() {
			if p := recover(); p != nil {
				r = result{err: damaged(b.dir, fmt.Errorf("%v", p))}
			}
			done <- r
		}()
		r.c, r.err = b.load()
	}()
	select {
	case r := <-done:
		if b.stopped() {
			return nil, b.failure()
		}
		return r.c, r.err
	case <-b.down:
		return nil, b.failure()
	}
}

func (b *Board) load() (*committer, error) {
	var err error
	if b.lost, err = b.checkLogs(); err != nil {
		return nil, b.openError(err)
	}
	db, err := b.openStore()
	if err != nil {
		return nil, b.openError(err)
	}
	b.db = db
	if b.lost != nil {
		if err := b.lost.skip(b); err != nil {
			_ = db.Close() // the first error says more
			return nil, b.openError(err)
		}
	}
	c := newCommitter(b)
	if err := c.load(); err != nil {
		_ = db.Close() // the first error says more
		return nil, err
	}
	return c, nil
}

// checkLogs refuses logs that are damaged, or gives up what is lost with them.
func (b *Board) checkLogs() (*damage, error) {
	lost, err := resumeLoss(b.disk(), b.dir)
	if err != nil {
		return nil, err
	}
	if lost == nil {
		err := checkLogs(b.disk(), b.dir)
		if !b.cfg.AcceptLoss || !errors.As(err, &lost) {
			return nil, err
		}
		if err := lost.accept(b.disk(), b.dir); err != nil {
			return nil, err
		}
		if lost, err = resumeLoss(b.disk(), b.dir); err != nil {
			return nil, err
		}
	}
	b.log.Error("what was written behind the damage is lost, as --accept-loss says", "folder", b.dir, "damage", lost.Error(),
		"groups that could be read", lost.groups, "their keys", filepath.Join(lost.aside, lossFile), "the logs as they were", lost.aside)
	return lost, nil
}

// openStore opens the store, and a new one twice: only what it writes after the
// first time says how far its log was on the disk, by which damage is told.
func (b *Board) openStore() (db *pebble.DB, err error) {
	at, err := pebble.Peek(b.dir, b.disk())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	b.cache = pebble.NewCache(b.cacheSize())
	defer func() {
		if err != nil {
			b.cache.Unref()
		}
	}()
	db, err = pebble.Open(b.dir, b.options())
	if err != nil || at != nil && at.Exists && at.FormatMajorVersion >= pebble.FormatWALSyncChunks {
		return db, err
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	return pebble.Open(b.dir, b.options())
}

func (b *Board) disk() vfs.FS { return cmp.Or(b.cfg.FS, vfs.Default) }

func (b *Board) openError(err error) error {
	var lost *damage
	switch {
	case errors.As(err, &lost):
		return domain.Unavailablef("data folder %q is damaged: %v, and what was written there was acknowledged; restore a backup, or start with "+
			"--accept-loss to go on without it: what is lost is listed then", b.dir, lost)
	case pebble.IsCorruptionError(err) || errors.Is(err, errCorrupt):
		return damaged(b.dir, err)
	case errors.Is(err, fs.ErrPermission):
		return domain.Unavailablef("open data folder %q: %s; it belongs to another user", b.dir, plain(err))
	case errors.Is(err, fs.ErrNotExist):
		return domain.Unavailablef("data folder %q is damaged: %s; restore it from a backup", b.dir, plain(err))
	}
	return domain.Unavailablef("open data folder %q: %s", b.dir, plain(err))
}

const (
	memTable  = 32 << 20 // bytes; a flush every so many
	memTables = 3        // at most in memory, then writes wait for a flush
)

// cacheSize has room for what is about to be flushed, which counts as cached.
func (b *Board) cacheSize() int64 { return 2*memTable + b.cfg.CacheBytes }

func (b *Board) options() *pebble.Options {
	o := &pebble.Options{
		FS:                          guardFS{b.disk(), b},
		Logger:                      storeLog{b},
		EventListener:               b.storeEvents(),
		FormatMajorVersion:          pebble.FormatNewest,
		Cache:                       b.cache,
		MemTableSize:                memTable,
		MemTableStopWritesThreshold: memTables,
		BytesPerSync:                1 << 20,
		L0CompactionThreshold:       4,
		L0StopWritesThreshold:       32,
		MaxOpenFiles:                512,
	}
	// Nothing is read often enough to be worth a compaction of its own.
	o.Experimental.ReadSamplingMultiplier = -1
	for i := range o.Levels {
		l := &o.Levels[i]
		l.FilterPolicy = bloom.FilterPolicy(10)
		l.BlockSize = 16 << 10
		l.Compression = func() *sstable.CompressionProfile { return sstable.SnappyCompression }
	}
	return o
}

// load checks the folder's marks and reads what the committer keeps.
func (c *committer) load() error {
	if err := c.checkFormat(); err != nil {
		return err
	}
	v, closer, err := c.b.db.Get(markNumber)
	if err == nil {
		c.next, _ = binary.Uvarint(v)
		c.reserved = c.next
		err = closer.Close()
	}
	if err != nil && err != pebble.ErrNotFound {
		return c.b.readError(err)
	}
	if err := c.loadQueues(); err != nil {
		return err
	}
	if err := c.loadClaims(); err != nil {
		return err
	}
	return c.loadExpiry()
}

// checkFormat makes a new folder ours, and refuses one that is another's.
func (c *committer) checkFormat() error {
	db := c.b.db
	v, closer, err := db.Get(markFormat)
	if err == nil {
		defer closer.Close()
		if string(v) != format {
			return domain.Invalidf("data folder %q has the format %q, this program knows %q: use the version that wrote it", c.b.dir, v, format)
		}
		return nil
	}
	if err != pebble.ErrNotFound {
		return c.b.readError(err)
	}
	it, err := db.NewIter(nil)
	if err != nil {
		return c.b.readError(err)
	}
	defer it.Close()
	if it.First() {
		return domain.Invalidf("data folder %q holds another program's data: use another folder", c.b.dir)
	}
	return db.Set(markFormat, []byte(format), pebble.Sync)
}

// loadQueues finds the queues that have something.
func (c *committer) loadQueues() error {
	return c.b.scan(c.b.db, []byte{nsQueue}, []byte{nsQueue + 1}, func(key, v []byte) (bool, error) {
		var h header
		if _, err := h.decode(v); err != nil {
			return false, err
		}
		if h.kind == kindList {
			c.account(board.Space(binary.BigEndian.Uint32(key[1:])), string(key[5:]), true)
		}
		return true, nil
	})
}

// loadExpiry sets the timer for the first key that is to end.
func (c *committer) loadExpiry() error {
	next, err := c.b.timed(nsExpiry, -1<<63, -1<<63, func(int64, ident) bool { return true })
	if err == nil {
		c.armExpiry(next)
	}
	return err
}

// heldUntil is until which tick a lease of an earlier life holds.
func (b *Board) heldUntil(owner string) int64 {
	if b.cfg.Outside != "" && strings.HasPrefix(owner, b.cfg.Outside) {
		return b.cfg.OutsideFor.Milliseconds()
	}
	return 0
}

// loadPart is how many claims are taken up in one group.
const loadPart = 1024

// loadClaims takes up what was leased in an earlier life: it writes what only
// the claim logs know onto the records, and makes the leases, which have run
// out, count.
func (c *committer) loadClaims() error {
	type entry struct {
		no    uint64
		value []byte
	}
	var logs []entry
	err := c.b.scan(c.b.db, []byte{nsClaims}, []byte{nsClaims + 1}, func(key, v []byte) (bool, error) {
		logs = append(logs, entry{binary.BigEndian.Uint64(key[1:]), append([]byte(nil), v...)})
		return true, nil
	})
	for len(logs) > 0 && err == nil {
		c.begin()
		for n := 0; n < loadPart && len(logs) > 0 && err == nil; logs = logs[1:] {
			var more int
			more, err = c.loadClaim(logs[0].no, logs[0].value)
			n += more
		}
		if err != nil {
			c.batch.Close()
			return err
		}
		c.settle()
		c.end()
	}
	return err
}

// loadClaim takes up the log of one claim and returns how many items it has.
func (c *committer) loadClaim(no uint64, v []byte) (items int, err error) {
	r := reader{buf: v}
	stamp := r.uvarint()
	owner := r.text()
	marks, rest, err := decodeSomeFields(nil, r.buf)
	if err != nil {
		return 0, c.b.readError(err)
	}
	log := &claimLog{no: no, written: true}
	for r.buf = rest; len(r.buf) > 0 && !r.bad; items++ {
		id := ident{board.Space(r.uvarint()), r.text()}
		l := &lease{owner: owner, group: r.text(), token: r.varint(), until: c.b.heldUntil(owner), marks: marks, at: absent}
		if err := c.loadLease(id, l, stamp, log); err != nil {
			return 0, err
		}
	}
	if log.left == 0 {
		c.deadLogs = append(c.deadLogs, no)
	}
	return items, c.b.readError(r.err())
}

// loadLease takes up one lease if it still stands.
func (c *committer) loadLease(id ident, l *lease, stamp uint64, log *claimLog) error {
	o, err := c.object(id.space, id.name)
	if err != nil || o.kind != kindRecord {
		return err // the record is gone, and the lease with it
	}
	switch {
	case o.lease != nil && o.lease.asked:
		return nil // taken up by another log
	case o.disk.stamp < stamp: // only the log knows of it
		l.o, o.lease, o.overlaid = o, l, true
		c.closeFields(o)
		c.mark(o)
	case o.lease == nil || o.disk.occupied:
		return nil // released, or occupied, since
	}
	o.lease.log = log
	log.left++
	c.hold(o.lease)
	return nil
}
