package memboard_test

import (
	"testing"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/boardtest"
	"github.com/ramet-run/ramet/board/memboard"
)

var factory = boardtest.Factory{
	Open: func(*testing.T) board.Board { return memboard.Open() },
}

func TestBoard(t *testing.T) { boardtest.Run(t, factory) }

func TestModel(t *testing.T) { boardtest.Model(t, factory) }
