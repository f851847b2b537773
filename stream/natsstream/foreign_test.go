package natsstream_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/stream"
	"github.com/ramet-run/ramet/stream/natsstream"
)

// TestWhatOthersPublishIsHandedOver publishes past the contract's limits, and
// what looks like words of the server.
func TestWhatOthersPublishIsHandedOver(t *testing.T) {
	t.Parallel()
	b := run(t, server.Options{MaxPayload: 16 << 20})
	l := open(t, natsstream.Config{URL: b.url, Replicas: 1, MayLose: true})
	other, _ := client(t, b.url)
	said := func(status, text string) nats.Header { return nats.Header{"Status": {status}, "Description": {text}} }
	list := []*nats.Msg{
		{Subject: "aggregate.a.b", Data: make([]byte, 10<<20)},
		{Subject: "aggregate.a.b"},
		{Subject: "aggregate.a.b", Header: said("409", "Consumer Deleted")},
		{Subject: "aggregate.a.b", Header: said("100", "Idle Heartbeat")},
		{Subject: "aggregate.a.b", Header: nats.Header{"many": {"one", "two"}, "Nats-Msg-Id": {"x"}}},
		{Subject: "aggregate.\"ünï\x01.\xff", Data: []byte{0}},
		{Subject: "aggregate." + strings.Repeat("x", 2000) + ".y", Data: make([]byte, 9<<20)},
		{Subject: "aggregate.a.b", Data: []byte("last")},
	}
	var want []stream.Message
	for i, m := range list {
		if _, err := other.RequestMsg(m, patience); err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
		w := stream.Message{Stream: domain.AggregateEvents, Subject: m.Subject, Data: m.Data, Seq: uint64(i + 1)}
		switch i {
		case 2, 3:
			w.Header = map[string]string{"Status": m.Header.Get("Status"), "Description": m.Header.Get("Description")}
		case 4:
			w.ID, w.Header = "x", map[string]string{"many": "one"}
		}
		want = append(want, w)
	}
	r := reader(t, l, stream.Consumer{Durable: "r", Stream: domain.AggregateEvents})
	var read []stream.Message
	for len(read) < len(want) {
		read = append(read, next(t, r, 100)...)
	}
	sameMessages(t, "read", read, want)
	q, err := l.Work(t.Context(), stream.Shared{Durable: "q", Stream: domain.AggregateEvents})
	if err != nil {
		t.Fatal(err)
	}
	var taken []stream.Message
	for len(taken) < len(want) {
		until(t, func(ctx context.Context) error {
			some, err := q.Next(ctx, 100)
			for _, d := range some {
				taken = append(taken, d.Message())
			}
			return err
		})
	}
	sameMessages(t, "taken", taken, want)
	scanned, err := l.Scan(t.Context(), domain.AggregateEvents, nil, 1, 100)
	if err != nil {
		t.Fatal(err)
	}
	sameMessages(t, "scanned", scanned, want)
}

func sameMessages(t *testing.T, what string, got, want []stream.Message) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: got %d messages, want %d", what, len(got), len(want))
	}
	for i := range want {
		g, w := got[i], want[i]
		if g.Time.IsZero() || string(g.Data) != string(w.Data) {
			t.Errorf("%s: message %d is of %v with %d bytes, want %d", what, i, g.Time, len(g.Data), len(w.Data))
		}
		g.Time, g.Data, w.Data = w.Time, nil, nil
		if diff := cmp.Diff(w, g); diff != "" {
			t.Errorf("%s: message %d (-want +got):\n%s", what, i, diff)
		}
	}
}

func TestAMalformedMessageAmongTroublesStaysAsItIs(t *testing.T) {
	t.Parallel()
	b := run(t, server.Options{})
	l := open(t, natsstream.Config{URL: b.url, Replicas: 1, MayLose: true})
	other, _ := client(t, b.url)
	const on = "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.WORKFLOW_COMMANDS.c"
	for _, text := range []string{`{"stream":7}`, ``, `{"stream":"WORKFLOW_COMMANDS","consumer":"c","stream_seq":5,"deliveries":3,"id":"x"}`} {
		if err := other.Publish(on, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	r := reader(t, l, stream.Consumer{Durable: "r", Stream: domain.WorkflowTroubles})
	var got []string
	for len(got) < 3 {
		for _, m := range next(t, r, 10) {
			got = append(got, string(m.Data))
		}
	}
	want := []string{`{"stream":7}`, ``, `{"stream":"WORKFLOW_COMMANDS","consumer":"c","stream_seq":5,"deliveries":3}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("troubles (-want +got):\n%s", diff)
	}
}

// TestAnotherOwnersRequestTakesNothing asks a reader's consumer as an owner that
// does not know yet that it has lost it.
func TestAnotherOwnersRequestTakesNothing(t *testing.T) {
	t.Parallel()
	b := run(t, server.Options{})
	l := open(t, natsstream.Config{URL: b.url, Replicas: 1, MayLose: true})
	r := reader(t, l, stream.Consumer{Durable: "r", Stream: domain.AggregateEvents})
	publish(t, l, event(1))
	other, _ := client(t, b.url)
	for _, ask := range []string{`{"batch":1,"expires":1000000000}`, `{"batch":1,"expires":1000000000,"group":"another"}`} {
		answer, err := other.Request("$JS.API.CONSUMER.MSG.NEXT.AGGREGATE_EVENTS.r", []byte(ask), patience)
		if err != nil {
			t.Fatal(err)
		}
		if got := answer.Header.Get("Status"); got != "400" {
			t.Errorf("request %s: got status %q and %d bytes, want it refused with 400", ask, got, len(answer.Data))
		}
	}
	if got := next(t, r, 10); len(got) != 1 || got[0].ID != "event-1" {
		t.Errorf("got %v, want the one message", got)
	}
}
