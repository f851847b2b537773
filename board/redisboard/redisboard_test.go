package redisboard_test

import (
	"sync"
	"testing"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/boardtest"
	"github.com/ramet-run/ramet/board/redisboard"
	"github.com/ramet-run/ramet/internal/redistest"
	"github.com/ramet-run/ramet/internal/watched"
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
func factory(cfg redisboard.Config) boardtest.Factory {
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
			return remember(open(t, s, cfg), s)
		},
		Reopen: func(t *testing.T, b board.Board) board.Board {
			mu.Lock()
			s := servers[b]
			mu.Unlock()
			s.Restart()
			return remember(open(t, s, cfg), s)
		},
	}
}

var (
	byDB     = redisboard.Config{Tenancy: redisboard.TenancyDB}
	byPrefix = redisboard.Config{Tenancy: redisboard.TenancyPrefix}
)

func TestBoard(t *testing.T) { boardtest.Run(t, factory(byDB)) }
func TestModel(t *testing.T) { boardtest.Model(t, factory(byDB)) }

func TestBoardPrefix(t *testing.T) {
	watched.Again(t)
	boardtest.Run(t, factory(byPrefix))
}

func TestModelPrefix(t *testing.T) {
	watched.Again(t)
	boardtest.Model(t, factory(byPrefix))
}

// Where CONFIG may not be used there are no keyspace events: scripts tell of
// what they change.
func TestBoardWithoutEvents(t *testing.T) {
	boardtest.Run(t, factory(redisboard.Config{LeaveConfig: true}))
}
