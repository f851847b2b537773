package work

import (
	"strconv"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/tracing"
)

// traceParent is the header by which what the attempt calls belongs to its trace; "" where
// its job belongs to none.
func (x *run) traceParent() string {
	return tracing.Header(x.job.TraceID, tracing.Attempt(domain.TenantID(x.Claimed.Space), x.job, x.Claimed.Token))
}

// traced tells of a run that has ended, and of how long its job had waited in its queue,
// where the job belongs to a trace.
func (x *run) traced(what ended, began time.Time) {
	if x.job == nil {
		return
	}
	tracer, j, tenant := x.r.e.cfg.Tracer, x.job, domain.TenantID(x.Claimed.Space)
	trace := tracer.Wants(j.TraceID)
	if trace == "" {
		return
	}
	key := j.Key().String()
	s := tracing.Span{Trace: trace, ID: tracing.Attempt(tenant, j, x.Claimed.Token), Parent: parentSpan(tenant, j), Kind: tracing.Consumer,
		Name: "job " + string(j.ScriptType), Began: began, Ended: time.Now()}
	s.Attributes = []tracing.Attribute{{Name: "ramet.context", Value: domain.Tenant{ID: tenant}.Key()}, {Name: "ramet.job", Value: key},
		{Name: "ramet.attempt", Value: strconv.FormatInt(x.Claimed.Token, 10)}, {Name: "ramet.script_type", Value: string(j.ScriptType)},
		{Name: "ramet.runner", Value: x.r.cfg.Owner}}
	if j.FlowID != 0 {
		s.Attributes = append(s.Attributes, tracing.Attribute{Name: "ramet.flow", Value: domain.FlowKey(j.FlowID)})
	}
	if j.Step != "" {
		s.Attributes = append(s.Attributes, tracing.Attribute{Name: "ramet.step", Value: j.Step})
	}
	wait := s
	if j.QueuedMs > 0 {
		wait.ID, wait.Parent = s.ID+"/wait", s.Parent
		wait.Name, wait.Kind, wait.Began, wait.Ended = "wait", tracing.Internal, time.UnixMilli(j.QueuedMs), began
		if wait.Began.Before(wait.Ended) {
			tracer.Tell(wait)
		}
	}
	s.Attributes = append(s.Attributes[:len(s.Attributes):len(s.Attributes)], tracing.Attribute{Name: "ramet.status", Value: string(what.status)},
		tracing.Attribute{Name: "ramet.reason", Value: string(what.reason)})
	if what.status == domain.JobError || what.reason != "" && what.status != domain.JobFinished {
		s.Failed = string(what.reason)
		// What a script says of its error may be anybody's secret: it stands in the record.
	}
	tracer.Tell(s)
}

// tracedRemote tells of a job that another context has run, from when it was sent to when
// its end is known here, where it belongs to a trace.
func (e *Engine) tracedRemote(tenant domain.TenantID, j *domain.Job, r Remote) {
	trace := e.cfg.Tracer.Wants(j.TraceID)
	if trace == "" || j.StartedMs == 0 {
		return
	}
	s := tracing.Span{Trace: trace, ID: tracing.Remote(tenant, j.Key()), Parent: parentSpan(tenant, j), Kind: tracing.Client, Name: "job elsewhere",
		Began: time.UnixMilli(j.StartedMs), Ended: time.Now(), Attributes: []tracing.Attribute{
			{Name: "ramet.context", Value: domain.Tenant{ID: tenant}.Key()}, {Name: "ramet.job", Value: j.Key().String()}, {Name: "ramet.at", Value: j.At},
			{Name: "ramet.status", Value: string(r.Status)}, {Name: "ramet.reason", Value: string(r.Reason)}}}
	if r.Status != domain.JobFinished {
		s.Failed = string(r.Reason)
	}
	e.cfg.Tracer.Tell(s)
}

// parentSpan is what a job was done for: its flow, the node of another site that sent it, or
// the request it was asked for by.
func parentSpan(tenant domain.TenantID, j *domain.Job) string {
	switch {
	case j.FlowID != 0:
		return tracing.Flow(tenant, j.FlowID)
	case j.Origin != "":
		return tracing.Sent(j.Origin)
	}
	return tracing.Request(tenant, j.Key().String())
}
