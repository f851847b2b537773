package natsstream_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/testmount"
	"github.com/ramet-run/ramet/internal/testwait"
	"github.com/ramet-run/ramet/stream"
	"github.com/ramet-run/ramet/stream/natsstream"
)

// The disk fills up: what cannot be stored is refused in words that help, and as
// soon as there is room, streams, readers and queues go on by themselves.
func TestStreamsGoOnAfterAFullDisk(t *testing.T) {
	if !testmount.Own(t) {
		return
	}
	dir := t.TempDir()
	resize := testmount.Small(t, dir, "12m")
	l := open(t, natsstream.Config{DataDir: dir})
	reader, err := l.Read(t.Context(), stream.Consumer{Durable: "r", Stream: domain.AggregateEvents})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	event := func(id string, size int) stream.Message {
		return stream.Message{Stream: domain.AggregateEvents, Subject: "aggregate.Order.1", ID: id, Data: []byte(strings.Repeat("x", size))}
	}
	var acked []string
	for n := range 100 {
		id := string(rune('A' + n))
		if err = l.Publish(t.Context(), event(id, 500_000)); err != nil {
			break
		}
		acked = append(acked, id)
	}
	says := func(err error) bool {
		return errors.Is(err, domain.ErrUnavailable) && strings.Contains(err.Error(), "no space left") &&
			strings.Contains(err.Error(), "node's folder streams") &&
			!strings.Contains(err.Error(), dir)
	}
	if len(acked) == 0 || !says(err) {
		t.Fatalf("after %d messages: got %v, want an error that says what to do", len(acked), err)
	}
	if err := l.Check(t.Context()); !says(err) {
		t.Errorf("check: got %v", err)
	}
	if err := l.Publish(t.Context(), event("one more", 1)); !says(err) {
		t.Errorf("one more: got %v", err)
	}
	resize("200m")
	testwait.Nil(t, func() error { return l.Check(t.Context()) })
	testwait.Nil(t, func() error { return l.Publish(t.Context(), event("after", 1)) })
	var got []string
	for len(got) == 0 || got[len(got)-1] != "after" {
		list, err := reader.Next(t.Context(), 100)
		if errors.Is(err, domain.ErrUnavailable) {
			if reader, err = l.Read(t.Context(), stream.Consumer{Durable: "r", Stream: domain.AggregateEvents, After: uint64(len(got))}); err == nil {
				continue
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range list {
			got = append(got, m.ID)
		}
	}
	if strings.Join(got[:len(acked)], "") != strings.Join(acked, "") || len(got) > len(acked)+2 {
		t.Errorf("read %v, acknowledged were %v and the last", got, acked)
	}
}
