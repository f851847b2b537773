package pebbleboard

import (
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
)

// TestAWatchThatOpensWithinAGroup hears of the changes in it: they cannot be
// read yet when it opens. The point is internal: only the committer knows what
// is one group.
func TestAWatchThatOpensWithinAGroup(t *testing.T) {
	b, err := Open(t.TempDir(), Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	held, hold := make(chan struct{}), make(chan struct{})
	b.post(&request{call: func(*committer) error { close(held); <-hold; return nil }})
	<-held
	change := newRequest()
	change.batches = []board.Batch{{Space: 1}}
	change.batches[0].Set("job:1", board.Field{Name: "status", Value: "finished"})
	change.errs, change.absent = make([]error, 1), make([]bool, 1)
	b.post(change)
	var events <-chan board.Event
	open := newRequest()
	open.call = func(*committer) (err error) {
		events, err = b.Watch(t.Context(), 1, "job:1")
		return err
	}
	b.post(open)
	close(hold)
	for _, r := range []*request{change, open} {
		if err := b.wait(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-events:
	case <-time.After(10 * time.Second):
		t.Error("nothing was told")
	}
}
