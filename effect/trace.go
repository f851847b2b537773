package effect

import (
	"strconv"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/tracing"
)

// TraceParent is the header "traceparent" of W3C Trace Context for a call: of
// the trace that its metadata names as trace_id, in 32 hexadecimal digits or as
// such a header. The span in it is made of the command's id: attempts are of
// one. "": it names none.
func (c Call) TraceParent() string { return tracing.Header(c.Metadata[domain.MetaTrace], c.CommandID) }

// traced tells of an attempt that was made, where its command belongs to a trace. What
// the target said of an error stands in the command's mark alone.
func (w *Worker) traced(e *opened, call Call, a attempt) {
	text := call.Metadata[domain.MetaTrace]
	trace := w.cfg.Tracer.Wants(text)
	if trace == "" {
		return
	}
	now := time.Now()
	s := tracing.Span{Trace: trace, ID: call.CommandID, ParentID: tracing.ParseParent(text), Name: "effect " + e.Name, Kind: tracing.Client,
		Began: now.Add(-a.took), Ended: now, Attributes: []tracing.Attribute{{Name: "ramet.context", Value: domain.Tenant{ID: call.Tenant}.Key()},
			{Name: "ramet.command", Value: call.CommandID}, {Name: "ramet.attempt", Value: strconv.Itoa(call.Attempt)},
			{Name: "server.address", Value: e.Target}}}
	if saga, event := call.Metadata[domain.MetaSaga], call.Metadata[domain.MetaCausation]; s.ParentID == "" && saga != "" && event != "" {
		s.Parent = tracing.Transition(call.Tenant, saga, event)
	}
	if call.Attempt > 1 {
		s.ID += "#" + strconv.Itoa(call.Attempt)
	}
	if a.outcome != domain.EffectDone {
		s.Failed = string(a.outcome)
	}
	w.cfg.Tracer.Tell(s)
}
