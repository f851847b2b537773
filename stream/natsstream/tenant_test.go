package natsstream_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/stream"
	"github.com/ramet-run/ramet/stream/natsstream"
)

// A producer of context 7 has used the ids that events of context 8 are going to have.
func TestAnIDOfOneContextIsNotTakenFromAnother(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) *hosted{"embedded": host, "external": external} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t)
			nc, _ := client(t, h.url, h.seven)
			var list []stream.Message
			for n := range 300 { // one by one, and as a batch
				id := fmt.Sprint("8:order-", n)
				list = append(list, stream.Message{Stream: domain.AggregateEvents, Subject: "tenant.8.aggregate.order." + fmt.Sprint(n), ID: id, Data: []byte("mine")})
				if n%100 > 1 {
					continue
				}
				answer, err := nc.RequestMsgWithContext(t.Context(), &nats.Msg{Subject: "tenant.7.aggregate.order.x", Header: nats.Header{"Nats-Msg-Id": {id}}})
				if err != nil || !strings.Contains(string(answer.Data), "AGGREGATE_EVENTS") {
					t.Fatalf("%v, %v", answer, err)
				}
			}
			publish(t, h, list[0])
			publish(t, h, list[1:]...)
			got, err := h.Scan(t.Context(), domain.AggregateEvents, nil, 1, 1000)
			if err != nil {
				t.Fatal(err)
			}
			seen := map[string]bool{}
			for _, m := range got {
				seen[m.Subject] = true
			}
			for _, m := range list {
				if !seen[m.Subject] {
					t.Errorf("%s is not stored", m.ID)
				}
			}
		})
	}
}

// A producer has begun all the batches that a stream lets be open, and ends none.
func TestOpenBatchesOfOthersHoldUpNobody(t *testing.T) {
	t.Parallel()
	h := &hosted{node: newLink(t)}
	u7, l7 := newUser(t)
	h.url = configured(t, natsstream.Permit{Nodes: []string{h.node.Pubkey()}, Producers: []natsstream.Producer{{Tenant: "7", User: u7}}},
		func(text string) string { return text + "\njetstream: {limits: {batch: {timeout: 1h}}}\n" })
	h.Log = open(t, natsstream.Config{URL: h.url, Link: h.node, Login: true, Replicas: 1, MayLose: true})
	nc, _ := client(t, h.url, l7)
	full := false
	for n := 0; !full; n++ {
		answer, err := nc.RequestMsgWithContext(t.Context(), &nats.Msg{Subject: "tenant.7.aggregate.order.x",
			Header: nats.Header{"Nats-Batch-Id": {fmt.Sprint("b", n)}, "Nats-Batch-Sequence": {"1"}}})
		if err != nil {
			t.Fatal(err)
		}
		full = strings.Contains(string(answer.Data), "too many")
	}
	var list []stream.Message
	for n := range 300 {
		list = append(list, event(n))
	}
	publish(t, h, list...)
	got, err := h.Scan(t.Context(), domain.AggregateEvents, nil, 1, 1000)
	if err != nil || len(got) != len(list) {
		t.Fatalf("got %d, %v, want %d", len(got), err, len(list))
	}
	for i, m := range got {
		if m.ID != list[i].ID {
			t.Fatalf("got %s at %d, want %s", m.ID, i, list[i].ID)
		}
	}
}
