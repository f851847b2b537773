package natsstream_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/testmount"
	"github.com/ramet-run/ramet/stream"
	"github.com/ramet-run/ramet/stream/natsstream"
)

// The disk of somebody's NATS server fills up: it answers whatever is read, and the
// stream that could not write takes nothing more, also when there is room again. It
// is named until the server is started anew; the others go on.
func TestAStreamIsNamedWhoseServersDiskWasFull(t *testing.T) {
	if !testmount.Own(t) {
		return
	}
	dir := t.TempDir()
	resize := testmount.Small(t, dir, "12m")
	b := run(t, server.Options{SyncAlways: true, MaxPayload: 2 << 20, StoreDir: dir, JetStreamMaxStore: 1 << 30})
	l := open(t, natsstream.Config{URL: b.url, Replicas: 1, SyncDeclared: true})
	acked := 0
	for ; ; acked++ {
		m := event(acked)
		m.Data = []byte(strings.Repeat("x", 500_000))
		if err := l.Publish(t.Context(), m); err != nil {
			break
		}
	}
	says := func(when string) {
		t.Helper()
		err := l.Check(t.Context())
		if !errors.Is(err, domain.ErrUnavailable) || !strings.Contains(err.Error(), "stream AGGREGATE_EVENTS takes nothing since ") ||
			strings.Contains(err.Error(), "WORKFLOW") || !strings.Contains(err.Error(), "start that server again") {
			t.Errorf("%s: check: got %v", when, err)
		}
		if err := l.Check(t.Context(), domain.WorkflowCommands, domain.WorkflowEvents); err != nil {
			t.Errorf("%s: the other streams: got %v", when, err)
		}
		command := stream.Message{Stream: domain.WorkflowCommands, Subject: "workflow.a.b", Data: []byte("{}")}
		if err := l.Publish(t.Context(), command); err != nil {
			t.Errorf("%s: another stream takes nothing: %v", when, err)
		}
	}
	says("while it is full")
	resize("200m")
	says("with room again")
	b.restart(t)
	until(t, func(ctx context.Context) error { return l.Check(ctx) })
	publish(t, l, event(acked))
	st, err := l.Stats(t.Context(), domain.AggregateEvents)
	if err != nil || st.Messages > uint64(acked)+4 {
		t.Errorf("there are %d messages and %v, %d were acknowledged: a check that finds all well writes nothing", st.Messages, err, acked+1)
	}
	if err := l.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if now, err := l.Stats(t.Context(), domain.AggregateEvents); err != nil || now.Messages != st.Messages {
		t.Errorf("a check of what is well has written %d messages, %v", now.Messages-st.Messages, err)
	}
}
