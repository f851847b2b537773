package pebbleboard_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/pebbleboard"
)

// TestCachedBlocksAreGivenBack reads what was flushed, and reads it again after
// what was kept of it in memory has been given back.
func TestCachedBlocksAreGivenBack(t *testing.T) {
	dir := t.TempDir()
	b := openDir(t, dir)
	text := strings.Repeat("a script, ", 100)
	var write board.Batch
	keys := make([]string, 1000)
	for i := range keys {
		keys[i] = fmt.Sprintf("job:7:%d", i)
		write.Set(keys[i], board.Field{Name: "script", Value: text})
	}
	if err := b.Commit(t.Context(), write); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil { // which flushes
		t.Fatal(err)
	}
	b = openDir(t, dir)
	read := func() {
		recs, err := b.Get(t.Context(), 0, keys...)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range recs {
			if r.Get("script") != text {
				t.Fatalf("%s has another script", keys[i])
			}
		}
	}
	read()
	if pebbleboard.Cached(b) == 0 {
		t.Fatal("nothing that was read is kept")
	}
	b.GiveBack()
	if n := pebbleboard.Cached(b); n != 0 {
		t.Errorf("%d bytes are kept after they were given back", n)
	}
	read()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b.GiveBack() // what a closed board had has gone with it
}
