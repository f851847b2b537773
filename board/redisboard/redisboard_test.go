package redisboard_test

import (
	"sync"
	"testing"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/boardtest"
	"github.com/ramet-run/ramet/board/redisboard"
	"github.com/ramet-run/ramet/internal/redistest"
)

// open opens a board on a server.
func open(t testing.TB, s *redistest.Server, cfg redisboard.Config) *redisboard.Board {
	t.Helper()
	b, err := redisboard.Open(t.Context(), s.URL(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// factory makes boards that each have a server of their own.
func factory(tenancy redisboard.Tenancy) boardtest.Factory {
	servers := map[board.Board]*redistest.Server{}
	var mu sync.Mutex
	remember := func(b board.Board, s *redistest.Server) board.Board {
		mu.Lock()
		defer mu.Unlock()
		servers[b] = s
		return b
	}
	return boardtest.Factory{
		Open: func(t *testing.T) board.Board {
			s := redistest.Start(t, "databases 1100", "appendonly yes", "appendfsync always")
			return remember(open(t, s, redisboard.Config{Tenancy: tenancy}), s)
		},
		Reopen: func(t *testing.T, b board.Board) board.Board {
			mu.Lock()
			s := servers[b]
			mu.Unlock()
			s.Restart()
			return remember(open(t, s, redisboard.Config{Tenancy: tenancy}), s)
		},
	}
}

func TestBoard(t *testing.T)       { boardtest.Run(t, factory(redisboard.TenancyDB)) }
func TestBoardPrefix(t *testing.T) { boardtest.Run(t, factory(redisboard.TenancyPrefix)) }
func TestModel(t *testing.T)       { boardtest.Model(t, factory(redisboard.TenancyDB)) }
func TestModelPrefix(t *testing.T) { boardtest.Model(t, factory(redisboard.TenancyPrefix)) }
