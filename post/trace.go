package post

import (
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/tracing"
)

// traced tells of jobs that were made of a message, where they belong to a trace: what
// becomes of them here hangs from what their sender tells of them.
func (s *Supervisor) traced(m *domain.Message, jobs []*domain.Job) {
	for i, j := range jobs {
		trace := s.cfg.Tracer.Wants(j.TraceID)
		if trace == "" {
			continue
		}
		home := domain.JobKey{Caller: m.CallerID, ID: m.Job[i].ID}
		if k, err := domain.ParseMessageKey(m.Origin); err == nil {
			home.Caller = k.Caller
		}
		s.cfg.Tracer.Tell(tracing.Span{Trace: trace, ID: tracing.Sent(j.Origin), Parent: tracing.Remote(m.SrcContext, home), Kind: tracing.Consumer,
			Name: "message", Began: m.CreatedAt.Time(), Ended: s.board.Now(), Attributes: []tracing.Attribute{
				{Name: "ramet.context", Value: domain.Tenant{ID: m.ContextID}.Key()}, {Name: "ramet.message", Value: m.Key().String()},
				{Name: "ramet.origin", Value: j.Origin}}})
	}
}
