package saga

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/stream"
)

func TestAnyTextIsAPartOfASubject(t *testing.T) {
	had := map[string]string{}
	for _, text := range []string{"a", "a.b", "a%2Eb", "a b", "*", ">", "%", "%#", "ж", strings.Repeat("ж", 50), strings.Repeat("ж", 49) + "zz",
		strings.Repeat("x", 128), strings.Repeat(".", 100), "\x7f"} {
		part := token(text)
		if err := stream.ValidateToken("part", part); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if other, there := had[part]; there {
			t.Errorf("%q and %q are both %s", text, other, part)
		}
		had[part] = text
		if got, err := named(part, text); err != nil || got != text {
			t.Errorf("%q comes back as %q, %v", text, got, err)
		}
	}
	if _, err := named(token(strings.Repeat("ж", 50)), "another"); err == nil {
		t.Error("a hash is believed that is another text's")
	}
}

func TestEventsAreReadAsProgramsWriteThem(t *testing.T) {
	at := time.UnixMilli(5000)
	for _, c := range []struct {
		name string
		m    stream.Message
		want domain.Event
		err  string
	}{
		{name: "our own spelling", m: stream.Message{Stream: domain.AggregateEvents, Subject: "tenant.acme.aggregate.Order.17",
			Data: []byte(`{"event_id":"e","event_type":"Placed","timestamp_ms":7,"schema_version":2,"payload":{"n":1},"tenant_id":"acme",` +
				`"metadata":{"trace_id":"t"},"timer":9,"source":"workflow"}`)},
			want: domain.Event{ID: "e", Type: "Placed", TimeMs: 7, SchemaVersion: 2, Payload: []byte(`{"n":1}`), Tenant: "acme",
				Metadata: map[string]string{"trace_id": "t"}, Source: domain.SourceAggregate,
				AggregateType: "Order", AggregateID: "17"}},
		{name: "the seed's", m: stream.Message{Stream: domain.AggregateEvents, Subject: "aggregate.Order.1%2E7",
			Data: []byte(`{"id":"e","type":"Placed","timestamp":"1970-01-01T00:00:07Z","version":2,"payload_json":"{\"n\":1}","metadata":{"correlation_id":"c"}}`)},
			want: domain.Event{ID: "e", Type: "Placed", TimeMs: 7000, SchemaVersion: 2, Payload: []byte(`{"n":1}`),
				Metadata: map[string]string{"correlation_id": "c"}, Correlation: "c", Source: domain.SourceAggregate,
				AggregateType: "Order", AggregateID: "1.7"}},
		{name: "what the header says goes first, what is missing is the stream's", m: stream.Message{Stream: domain.AggregateEvents,
			Subject: "aggregate.Order.1", ID: "m", Header: map[string]string{"event_type": "Placed"},
			Data: []byte(`{"event_type":"Other"}`)},
			want: domain.Event{ID: "m", Type: "Placed", TimeMs: 5000, SchemaVersion: 1, Source: domain.SourceAggregate, AggregateType: "Order", AggregateID: "1"}},
		{name: "a result", m: stream.Message{Stream: domain.WorkflowEvents, Subject: "tenant.acme.effect_result.pay.c1",
			Data: []byte(`{"command_id":"c1","effect_name":"pay","result_type":"Failed","error":"no","attempts":3,"timestamp":"1970-01-01T00:00:07Z",` +
				`"metadata":{"saga":"order","correlation_id":"17"}}`)},
			want: domain.Event{ID: "result:c1", Type: "pay.Failed", TimeMs: 7000, SchemaVersion: 1, Payload: []byte(`{"error":"no","attempts":3}`),
				Tenant: "acme", Source: domain.SourceResult, Effect: "pay", CommandID: "c1",
				Saga: "order", Correlation: "17", Metadata: map[string]string{"saga": "order", "correlation_id": "17"}}},
		{name: "a fact has no timer", m: stream.Message{Stream: domain.WorkflowEvents, Subject: "workflow_event.order.17",
			Data: []byte(`{"event_id":"e","event_type":"Paid","timer":5,"correlation_id":"18","saga":"ship"}`)},
			want: domain.Event{ID: "e", Type: "Paid", TimeMs: 5000, SchemaVersion: 1, Source: domain.SourceFact, Saga: "order", Correlation: "17"}},
		{name: "two values", m: stream.Message{Subject: "aggregate.Order.1", Data: []byte(`{"event_type":"A"} ]`)}, err: "there is more behind the JSON value"},
		{name: "no object", m: stream.Message{Subject: "aggregate.Order.1", Data: []byte(`17`)}, err: "no JSON object"},
		{name: "no type", m: stream.Message{Subject: "aggregate.Order.1", Data: []byte(`{}`)}, err: "event_type"},
		{name: "a long id", m: stream.Message{Subject: "aggregate.Order.1",
			Data: []byte(`{"event_type":"A","event_id":"` + strings.Repeat("x", 129) + `"}`)}, err: "event_id of 129 bytes"},
		{name: "another's result", m: stream.Message{Subject: "effect_result.pay.c1", Data: []byte(`{"command_id":"c2","effect_name":"pay"}`)},
			err: "its subject says"},
		{name: "a subject of nobody's", m: stream.Message{Subject: "effect.pay.c1", Data: []byte(`{"event_type":"A"}`)}, err: "is no event's"},
		{name: "another context's", m: stream.Message{Subject: "tenant.acme.aggregate.Order.1", Data: []byte(`{"event_type":"A","tenant_id":"other"}`)},
			err: `tenant_id is "other" in the data and "acme" in the subject`},
		{name: "a context's where there are none", m: stream.Message{Subject: "aggregate.Order.1", Data: []byte(`{"event_type":"A","tenant_id":"other"}`)},
			err: `tenant_id is "other" in the data and "" in the subject`},
		{name: "the same by its number", m: stream.Message{Subject: "tenant.acme.aggregate.Order.1",
			Data: []byte(`{"event_id":"e","event_type":"A","tenant_id":"7"}`)},
			want: domain.Event{ID: "e", Type: "A", TimeMs: 5000, SchemaVersion: 1, Tenant: "acme", Source: domain.SourceAggregate,
				AggregateType: "Order", AggregateID: "1"}},
		{name: "another context's result", m: stream.Message{Subject: "tenant.acme.effect_result.pay.c1",
			Data: []byte(`{"tenant_id":"8","command_id":"c1","effect_name":"pay","result_type":"Succeeded"}`)},
			err: `tenant_id is "8" in the data and "acme" in the subject`},
		{name: "no time", m: stream.Message{Subject: "aggregate.Order.1", Data: []byte(`{"event_type":"A","timestamp":"soon"}`)}, err: "timestamp"},
	} {
		c.m.Time, c.m.Seq = at, 3
		ev, err := readEvent(&c.m, []string{"acme", "7"})
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: got %v, want %q", c.name, err, c.err)
			}
			continue
		}
		c.want.Stream, c.want.Seq, c.want.StoredMs = string(c.m.Stream), 3, 5000
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if diff := cmp.Diff(&c.want, ev); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// FuzzReadEvent: what strangers write is an event or an error, and no event is
// longer than it was.
func FuzzReadEvent(f *testing.F) {
	f.Add("aggregate.Order.1", `{"event_type":"A","payload":{"<":"\u2028"}}`)
	f.Add("tenant.acme.effect_result.pay.c1", `{"command_id":"c1","effect_name":"pay","result_type":"Failed","error":"x"}`)
	f.Add("workflow.order.%#00", `{"event_type":"A","timer":1}`)
	f.Fuzz(func(t *testing.T, subject, data string) {
		m := stream.Message{Stream: domain.AggregateEvents, Subject: subject, Data: []byte(data), Seq: 1, Time: time.UnixMilli(1)}
		ev, err := readEvent(&m, nil)
		if err != nil {
			return
		}
		if len(ev.ID) > domain.MaxEventID || ev.Type == "" || len(plainJSON(ev)) > 6*len(data)+1000 {
			t.Errorf("%q %q is %+v", subject, data, ev)
		}
		dead := newDead(domain.DeadEvent, ev, &m, domain.Invalidf("no"))
		if text := deadText(dead); len(text) > 1<<20 {
			t.Errorf("a dead letter of %d bytes", len(text))
		}
	})
}
