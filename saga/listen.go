package saga

import (
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/stream"
)

// This file has what others than sagas need to read events as sagas do.

// SubjectsOf are those of the events of a trigger in a context: of the stream that has them.
// name is what the registry calls the context.
func SubjectsOf(tr domain.SagaTrigger, n domain.StreamName, tenant domain.TenantID, name string) []string {
	def := domain.SagaDefinition{Triggers: []domain.SagaTrigger{tr}}
	return wanted(&def).filters(n, prefixes(tenant, name))
}

// ReadEvent reads a message as an event of a context.
//
// Errors: [domain.ErrInvalid].
func ReadEvent(m *stream.Message, tenant domain.TenantID, name string) (*domain.Event, error) {
	return readEvent(m, prefixes(tenant, name))
}

// Takes reports whether an event is one of those that a trigger names.
func Takes(tr domain.SagaTrigger, ev *domain.Event) bool {
	typ := ev.Type
	if tr.Source == domain.SourceResult {
		_, result, _ := domain.ParseResultEvent(ev.Type)
		typ = string(result)
	}
	if len(tr.Types) == 0 {
		return true
	}
	for _, t := range tr.Types {
		if t == typ {
			return true
		}
	}
	return false
}

// Unheard makes a dead letter of an event that a listener cannot start a flow for: of the
// message, where it is no event. It stays for a month.
func Unheard(b *board.Batch, name, listener string, ev *domain.Event, m *stream.Message, cause error, nowMs int64) *domain.DeadLetter {
	d := newDead(domain.DeadEvent, ev, m, cause)
	d.ID, d.Listener, d.MadeMs = deadID(listener, placeOf(m)), listener, nowMs
	d.Cause = domain.CutText(d.Cause, domain.MaxDeadCause)
	if ev == nil {
		d.Data = domain.CutText(string(m.Data), domain.MaxEventBytes)
	}
	key := layout.SagaKeys{Tenant: name}.Dead(d.Kind, d.ID)
	b.Set(key, board.Field{Name: layout.DeadText, Value: deadText(d)}).Expire(key, malformedStays)
	return d
}
