package pebbleboard

import (
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
)

// TestManyRecordsAreNotOlderThanTheCall: a job's lease ends while many records are read, after
// the store was opened for them and before the job's turn. It is read as leased or as ended,
// and never as it was before. The point is internal: nobody else knows when a turn is.
func TestManyRecordsAreNotOlderThanTheCall(t *testing.T) {
	b, err := Open(t.TempDir(), Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	keys := []string{"job:1", "job:2", "job:3", "job:4", "job:5", "job:6"}
	made := board.Batch{Space: 1}
	for _, key := range keys {
		made.Set(key, board.Field{Name: "status", Value: "dispatched"})
	}
	last := keys[len(keys)-1]
	if err := b.Commit(t.Context(), *made.PushLeft("queue:v", last)); err != nil {
		t.Fatal(err)
	}
	got, err := b.Claim(t.Context(), board.Ask{Queues: []board.Queue{{Lists: []string{"queue:v"}}}, Max: 1, Owner: "one", Lease: time.Minute})
	if err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	owner, ended := "", false
	if _, err := b.records(1, keys, func(i int, body []byte, l *lease) error {
		if l == nil && !ended { // the store is open
			ended = true
			end := board.Batch{Space: 1}
			if err := b.Commit(t.Context(), *end.Set(last, board.Field{Name: "status", Value: "finished"}).Release(last)); err != nil {
				t.Fatal(err)
			}
		}
		if keys[i] != last {
			return nil
		}
		fields, err := decodeFields(nil, body)
		if l != nil {
			fields = l.overlay(fields)
		}
		owner = board.Record(fields).Get(board.FieldOwner)
		if status := board.Record(fields).Get("status"); owner == "" && status != "finished" {
			t.Errorf("it is %s and nobody's, as before the call", status)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if owner == "" || !ended {
		t.Errorf("its owner is %q, its end was %v; want it as it was when the call began", owner, ended)
	}
}
