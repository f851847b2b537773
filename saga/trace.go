package saga

import (
	"strconv"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/saga/machine"
	"github.com/ramet-run/ramet/tracing"
)

// traced keeps the span of a transition until its chunk is committed, where the event
// belongs to a trace.
func (r *round) traced(at *instance, ev *domain.Event, tr *machine.Transition) {
	text := ev.Metadata[domain.MetaTrace]
	trace := r.s.e.cfg.Tracer.Wants(text)
	if trace == "" || tr.Ignored || len(tr.Entries) == 0 {
		return
	}
	last, t := tr.Entries[len(tr.Entries)-1], r.s.tenant
	s := tracing.Span{Trace: trace, ID: tracing.Transition(t, r.s.saga, ev.ID), ParentID: tracing.ParseParent(text), Name: "saga " + r.s.saga,
		Kind: tracing.Consumer, Began: r.began, Ended: time.Now(), Attributes: []tracing.Attribute{{Name: "ramet.context", Value: domain.Tenant{ID: t}.Key()},
			{Name: "ramet.saga", Value: r.s.saga}, {Name: "ramet.instance", Value: at.in.Correlation}, {Name: "ramet.event", Value: ev.ID},
			{Name: "ramet.event_type", Value: ev.Type}, {Name: "ramet.from", Value: tr.Entries[0].From}, {Name: "ramet.to", Value: last.To},
			{Name: "ramet.version", Value: strconv.FormatInt(last.Version, 10)}}}
	if s.ParentID == "" {
		s.Parent = tracing.Request(t, "event:"+ev.ID)
	}
	r.cur.spans = append(r.cur.spans, s)
}
