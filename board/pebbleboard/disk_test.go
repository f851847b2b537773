package pebbleboard_test

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/pebbleboard"
)

// disks remembers which board lies on which disk in memory.
type disks struct {
	mu sync.Mutex
	of map[board.Board]*vfs.MemFS
}

func (d *disks) open(t *testing.T, fs *vfs.MemFS) *pebbleboard.Board {
	t.Helper()
	b, err := pebbleboard.Open("board", pebbleboard.Config{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.of == nil {
		d.of = map[board.Board]*vfs.MemFS{}
	}
	d.of[b] = fs
	return b
}

// cut returns the disk of b as a power cut leaves it now: of what was not
// synced, a share of percent.
func (d *disks) cut(b board.Board, percent int, rng *rand.Rand) *vfs.MemFS {
	d.mu.Lock()
	defer d.mu.Unlock()
	if rng == nil {
		rng = rand.New(rand.NewPCG(1, 2))
	}
	return d.of[b].CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng})
}
