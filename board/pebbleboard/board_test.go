package pebbleboard_test

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/boardtest"
	"github.com/ramet-run/ramet/board/pebbleboard"
)

// factory makes boards in memory that lose at Reopen what a power cut loses.
func factory() boardtest.Factory {
	disks := &disks{}
	return boardtest.Factory{
		Open:     func(t *testing.T) board.Board { return disks.open(t, vfs.NewCrashableMem()) },
		Reopen:   func(t *testing.T, b board.Board) board.Board { return disks.open(t, disks.cut(b, 0, nil)) },
		Features: boardtest.Features{LeasesVoidAtOpen: true},
	}
}

func TestBoard(t *testing.T) { boardtest.Run(t, factory()) }
func TestModel(t *testing.T) { boardtest.Model(t, factory()) }

// TestBoardOnDisk runs the suite on real files: what it reopens was closed.
func TestBoardOnDisk(t *testing.T) {
	dirs := map[board.Board]string{}
	open := func(t *testing.T, dir string) board.Board {
		b, err := pebbleboard.Open(dir, pebbleboard.Config{})
		if err != nil {
			t.Fatal(err)
		}
		dirs[b] = dir
		return b
	}
	boardtest.Run(t, boardtest.Factory{
		Open: func(t *testing.T) board.Board { return open(t, t.TempDir()) },
		Reopen: func(t *testing.T, b board.Board) board.Board {
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			return open(t, dirs[b])
		},
		Features: boardtest.Features{LeasesVoidAtOpen: true, Serial: "the folder of each board is in one map"},
	})
}
