package layout

import (
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// EncodeMessage writes a message's record.
func EncodeMessage(m domain.Message) []board.Field {
	var e encoder
	e.num("id", int64(m.ID))
	e.num("caller_id", int64(m.CallerID))
	e.num("context_id", int64(m.ContextID))
	e.str("message", m.Message)
	e.str("message_type", string(m.MessageType))
	e.str("message_format_type", string(m.MessageFormatType))
	e.num("timeout", int64(m.Timeout))
	e.num("timeout_ack", int64(m.TimeoutAck))
	e.num("timeout_result", int64(m.TimeoutResult))
	e.str("job", encodeList(m.Job))
	e.str("logs", encodeList(m.Logs))
	e.num("created_at", int64(m.CreatedAt))
	e.num("updated_at", int64(m.UpdatedAt))
	e.str("status", string(m.Status))
	return e
}

// DecodeMessage reads a message's record.
//
// Errors: [domain.ErrInvalid] naming the field.
func DecodeMessage(key string, r board.Record) (domain.Message, error) {
	var m domain.Message
	d := decoder{key: keyText(key)}
	for _, f := range r {
		switch f.Name {
		case "id":
			m.ID = domain.MessageID(d.u32(f))
		case "caller_id":
			m.CallerID = domain.ActorID(d.u32(f))
		case "context_id":
			m.ContextID = domain.TenantID(d.u32(f))
		case "message":
			m.Message = f.Value
		case "message_type":
			m.MessageType = domain.MessageType(f.Value)
		case "message_format_type":
			m.MessageFormatType = domain.MessageFormatType(f.Value)
		case "timeout":
			m.Timeout = d.u32(f)
		case "timeout_ack":
			m.TimeoutAck = d.u32(f)
		case "timeout_result":
			m.TimeoutResult = d.u32(f)
		case "job":
			d.json(f, &m.Job, "a JSON list of jobs")
		case "logs":
			d.json(f, &m.Logs, "a JSON list of logs")
		case "created_at":
			m.CreatedAt = domain.UnixTime(d.u32(f))
		case "updated_at":
			m.UpdatedAt = domain.UnixTime(d.u32(f))
		case "status":
			m.Status = domain.MessageStatus(f.Value)
		}
	}
	return m, d.err
}
