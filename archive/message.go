package archive

import (
	"cmp"
	"encoding/json"

	"github.com/ramet-run/ramet/domain"
)

// refusedMessage is the reason of a message in error of which no stage ran out
// of time: its way was refused, here or at the other side.
const refusedMessage = string(domain.ReasonRefused)

// OfMessage is the record of a message in a context that has ended. What its
// jobs said is the record's log and not a second time in its body. As for jobs,
// what does not fit into the head is cut there and whole in the body.
//
// The reason is the stage whose time ran out, or "refused".
func OfMessage(tenant domain.TenantID, m *domain.Message) (Record, error) {
	whole := *m
	whole.Logs = nil
	body, err := json.Marshal(&whole)
	if err != nil {
		return Record{}, domain.Invalidf("message %q cannot be written as JSON: %v", m.Key(), err)
	}
	reason := ""
	if m.Status == domain.MessageError {
		reason = cmp.Or(string(m.Stage), refusedMessage)
	}
	return Record{
		Context: tenant, Kind: domain.ArchiveMessage, Key: m.Key().String(), EndMs: m.EndedMs, BeginMs: cmp.Or(int64(m.CreatedAt)*1000, m.EndedMs),
		Status: fit(string(m.Status)), Reason: fit(reason), Caller: m.CallerID, Body: body, Logs: cutLogs(m.Logs),
		Texts: []string{m.Error, m.Message},
	}, nil
}

// Message is the message that the record is of, with its log.
//
// Errors: [domain.ErrInvalid] for a record of another kind, or a head only.
func (r *Record) Message() (*domain.Message, error) {
	if r.Kind != domain.ArchiveMessage || r.Body == nil {
		return nil, domain.Invalidf("record %q of kind %s holds no message", r.Key, r.Kind)
	}
	m := &domain.Message{}
	if err := json.Unmarshal(r.Body, m); err != nil {
		return nil, domain.Invalidf("record %q: the message cannot be read: %v", r.Key, err)
	}
	m.Logs = r.Logs
	return m, nil
}
