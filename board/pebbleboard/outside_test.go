package pebbleboard_test

import (
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/pebbleboard"
)

// The owners of some leases live outside of the process: its end is not theirs.
func TestLeasesOfOthersOutliveTheProcess(t *testing.T) {
	dir := t.TempDir()
	open := func() *pebbleboard.Board {
		b, err := pebbleboard.Open(dir, pebbleboard.Config{Outside: "actor:", OutsideFor: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	claim := func(b board.Board, owner string) board.Claimed {
		t.Helper()
		got, err := b.Claim(t.Context(), board.Ask{Queues: []board.Queue{{Lists: []string{"queue:v"}}}, Max: 1, Owner: owner, Lease: time.Minute, Firm: true})
		if err != nil || len(got) != 1 {
			t.Fatalf("claim: %v, %v", got, err)
		}
		return got[0]
	}
	b := open()
	batch := board.Batch{Space: 1}
	batch.Set("job:1", board.Field{Name: "a", Value: "1"}).Set("job:2", board.Field{Name: "a", Value: "1"}).PushLeft("queue:v", "job:1", "job:2")
	if err := b.Commit(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	theirs, ours := claim(b, "actor:7/x"), claim(b, "n1/a")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b = open()
	defer b.Close()
	gone, err := b.Expired(t.Context(), 10, 0)
	if err != nil || len(gone) != 1 || gone[0].Item != ours.Item {
		t.Errorf("run out: %v, %v; want that of this process alone", gone, err)
	}
	answers, err := b.Extend(t.Context(), "actor:7/x", time.Minute, []board.Held{{Space: theirs.Space, Item: theirs.Item, Token: theirs.Token}})
	if err != nil || answers[0] != board.Renewed {
		t.Errorf("extend: %v, %v", answers, err)
	}
}
