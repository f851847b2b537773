package redisboard_test

import (
	"strings"
	"testing"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/boardtest"
	"github.com/ramet-run/ramet/board/redisboard"
	"github.com/ramet-run/ramet/internal/redistest"
)

func TestAmbiguous(t *testing.T) {
	boardtest.Ambiguous(t, boardtest.Wire{
		Open: func(t *testing.T) (b, witness board.Board, way *boardtest.Relay) {
			s := redistest.Start(t)
			way = boardtest.NewRelay(t, s.Addr())
			b, err := redisboard.Open(t.Context(), strings.Replace(s.URL(), s.Addr(), way.Addr(), 1), redisboard.Config{})
			if err != nil {
				t.Fatal(err)
			}
			return b, open(t, s, redisboard.Config{}), way
		},
	})
}
