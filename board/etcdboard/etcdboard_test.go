package etcdboard_test

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/boardtest"
	"github.com/ramet-run/ramet/board/etcdboard"
	"github.com/ramet-run/ramet/internal/etcdtest"
)

// factory makes boards side by side on one server, each under its own prefix.
func factory(t *testing.T) boardtest.Factory {
	// Records of 4 MiB want a larger request than etcd's default.
	server := etcdtest.Start(t, "--unsafe-no-fsync", "--max-request-bytes=8388608")
	var boards atomic.Int32
	var urls sync.Map // of each board
	open := func(t *testing.T, url string) board.Board {
		b, err := etcdboard.Open(t.Context(), url, etcdboard.Config{})
		if err != nil {
			t.Fatal(err)
		}
		urls.Store(b, url)
		return b
	}
	return boardtest.Factory{
		Open: func(t *testing.T) board.Board {
			return open(t, etcdtest.URL(fmt.Sprint("b", boards.Add(1)), server)+"?max-request-bytes=8388608")
		},
		Reopen: func(t *testing.T, b board.Board) board.Board {
			url, _ := urls.Load(b)
			t.Cleanup(func() { b.Close() })
			return open(t, url.(string))
		},
	}
}

func TestBoard(t *testing.T) { boardtest.Run(t, factory(t)) }

// TestModel takes fewer steps than other drivers: after each it reads
// everything, and every read asks the cluster.
func TestModel(t *testing.T) {
	if os.Getenv("BOARDTEST_STEPS") == "" {
		os.Setenv("BOARDTEST_STEPS", "100")
		defer os.Unsetenv("BOARDTEST_STEPS")
	}
	t.Run("seeds", func(t *testing.T) { boardtest.Model(t, factory(t)) })
}

func TestAmbiguous(t *testing.T) {
	server := etcdtest.Start(t, "--unsafe-no-fsync")
	var boards atomic.Int32
	var prefixes sync.Map // of each witness
	boardtest.Ambiguous(t, boardtest.Wire{
		Open: func(t *testing.T) (b, witness board.Board, way *boardtest.Relay) {
			way = boardtest.NewRelay(t, server.Addr())
			prefix := fmt.Sprint("wire", boards.Add(1))
			b, witness = open(t, "etcd://"+way.Addr()+"/"+prefix), open(t, etcdtest.URL(prefix, server))
			prefixes.Store(witness, prefix)
			return b, witness, way
		},
		Tells: true,
		Spoil: func(t *testing.T, witness board.Board) string {
			prefix, _ := prefixes.Load(witness)
			name := prefix.(string) + "/k/1/spoilt"
			if _, err := client(t, server).Put(t.Context(), name, "\xff\xff"); err != nil {
				t.Fatal(err)
			}
			return name
		},
	})
}
