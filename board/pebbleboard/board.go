package pebbleboard

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/internal/recent"
	"github.com/ramet-run/ramet/board/internal/watch"
)

// Config of a board. The zero Config is ready to use.
type Config struct {
	// Logger hears what a person should know. Default: none.
	Logger *slog.Logger

	// Fatal is called once, in a goroutine of its own, when the board has
	// stopped because its folder can no longer be written or read. From then
	// on every call answers with the same error. Default: nothing is called.
	Fatal func(error)

	// CacheBytes bounds what is kept in memory of the store's blocks.
	// Default: 32 MiB.
	CacheBytes int64

	// AcceptLoss opens a folder whose log is damaged without what lies behind the
	// damage, which was acknowledged. It is kept aside, with a list. Default:
	// Open refuses.
	AcceptLoss bool

	// Outside is how owners of leases are called who live outside of this process, and
	// may be at work still when it was gone: by their beginning. Their leases hold for
	// OutsideFor from the opening on. Defaults: there are none.
	Outside    string
	OutsideFor time.Duration

	// FS is where the folder lies. Default: the disk. Another one has no
	// owner's file, so that a copy of it can be opened as after a power cut.
	FS vfs.FS
}

// Board is a board in a data folder.
type Board struct {
	board.Plain
	dir   string
	cfg   Config
	log   *slog.Logger
	db    *pebble.DB
	cache *pebble.Cache
	owner *ownerFile
	clock clock

	queue   requests
	groups  chan *written // from the committer, which closes it, to the syncer
	fetches chan *fetch   // from the committer, which closes it, to the fetcher
	applied atomic.Uint64 // number of the last group in the store

	counters counters
	lost     *damage // what was given up at the start; nil: nothing
	hot      hot
	alarms   *frontier
	expiries *frontier
	lives    frontiers
	watchers watch.Watchers
	recent   *recent.Spaces

	users    atomic.Int64
	idleOnce sync.Once
	idle     chan struct{} // closed when the board is closed and nobody uses it

	closeOnce sync.Once
	closing   chan struct{} // closed by Close
	workers   sync.WaitGroup
	running   atomic.Bool // the store is open: a failed write stops the board

	failOnce sync.Once
	failed   error         // set before down is closed
	down     chan struct{} // closed by fail
}

var _ board.Board = (*Board)(nil)

// Durability implements [board.Board].
func (b *Board) Durability() board.Durability { return board.DurableDisk }

// Checkpoint writes a copy of the board, as it is now, into a folder that
// must not exist. Calls go on meanwhile; files are linked where that is
// possible. The copy can be opened like any other data folder.
func (b *Board) Checkpoint(dir string) error {
	if err := b.enter(noContext); err != nil {
		return err
	}
	defer b.leave()
	if err := b.db.Checkpoint(dir, pebble.WithFlushedWAL()); err != nil {
		return b.unavailable("copy data folder %q to %q: %w", b.dir, dir, err)
	}
	return nil
}

// Close implements [board.Board]. It waits for all calls to end, and for the
// disk.
func (b *Board) Close() (err error) {
	b.closeOnce.Do(func() {
		close(b.closing)
		if b.users.Add(shut) == shut {
			b.idleOnce.Do(func() { close(b.idle) })
		}
		<-b.idle
		b.queue.close()
		b.watchers.End()
		if err = b.closeStore(); !b.stopped() {
			b.owner.release()
		}
	})
	return err
}

// closeStore closes the store once nobody works with it. One that has failed
// is left as it is: some of its goroutines stand still for ever (see guardFS).
func (b *Board) closeStore() error {
	done := make(chan error, 1)
	go func() {
		b.workers.Wait()
		select {
		case <-b.down:
		default:
			done <- b.db.Close()
		}
	}()
	select {
	case <-b.down:
		return b.failure()
	case err := <-done:
		b.cache.Unref()
		if err != nil {
			return b.unavailable("close data folder %q: %s", b.dir, plain(err))
		}
		return nil
	}
}

// GiveBack forgets the blocks that are kept in memory, for the process to give
// their room back to the machine when nobody reads them any more. They are read
// from the disk again.
func (b *Board) GiveBack() {
	if b.enter(noContext) != nil {
		return
	}
	defer b.leave()
	b.cache.Reserve(int(b.cacheSize()))()
}
