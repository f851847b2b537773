package layout

import (
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// Field names of a message's record that others guard and set.
const (
	MessageStatus    = "status"
	MessageCreatedAt = "created_at"
	MessageUpdatedAt = "updated_at"
	MessageLogs      = "logs"
	MessageError     = "error"
	MessageStage     = "stage"
	MessageNode      = "node"
	MessageAnswer    = "answer"
	MessageReceipt   = "receipt"
	MessagePushes    = "pushes"
	MessageSentMs    = "sent_ms"
	MessageAckedMs   = "acked_ms"
	MessageEndedMs   = "ended_ms"
	MessageSignature = "signature"
	MessageOrigin    = "origin"
)

// EncodeMessage writes every field of the seeds, and those of ours that are set.
func EncodeMessage(m *domain.Message) []board.Field {
	e := make(encoder, 0, 32)
	e.num("id", int64(m.ID))
	e.num("caller_id", int64(m.CallerID))
	e.num("context_id", int64(m.ContextID))
	e.str("message", m.Message)
	e.str("message_type", string(m.MessageType))
	e.str("message_format_type", string(m.MessageFormatType))
	e.num("timeout", int64(m.Timeout))
	e.num("timeout_ack", int64(m.TimeoutAck))
	e.num("timeout_result", int64(m.TimeoutResult))
	e.str("job", partsOf(m.Job))
	e.str(MessageLogs, partsOf(m.Logs))
	e.num(MessageCreatedAt, int64(m.CreatedAt))
	e.num(MessageUpdatedAt, int64(m.UpdatedAt))
	e.str(MessageStatus, string(m.Status))

	e.numOpt("dst_context", int64(m.DstContext))
	e.numOpt("dst_actor", int64(m.DstActor))
	e.strOpt("dst_pubkey", m.DstPubkey)
	e.strOpt("dst_node", m.DstNode)
	e.strOpt("topic", m.Topic)
	e.strOpt("reply_to", m.ReplyTo)
	e.strOpt("reply_digest", m.ReplyDigest)
	e.strOpt("flow", m.Flow)
	e.numOpt("src_context", int64(m.SrcContext))
	e.strOpt("pubkey", m.Pubkey)
	e.numOpt("expires_at", int64(m.ExpiresAt))
	e.strOpt("alg", m.Alg)
	e.strOpt(MessageSignature, m.Signature)
	e.strOpt(MessageError, m.Error)
	e.strOpt(MessageStage, string(m.Stage))
	e.strOpt(MessageNode, m.Node)
	e.strOpt(MessageOrigin, m.Origin)
	e.strOpt(MessageAnswer, m.Answer)
	e.strOpt(MessageReceipt, m.Receipt)
	e.numOpt(MessagePushes, int64(m.Pushes))
	e.numOpt(MessageSentMs, m.SentMs)
	e.numOpt(MessageAckedMs, m.AckedMs)
	e.numOpt(MessageEndedMs, m.EndedMs)
	return e
}

// DecodeMessage reads a message's record. Fields it does not know are ignored;
// caller and id come from the key, which is the identity.
//
// Errors: [domain.ErrInvalid] naming the field; the message is filled as far as
// it could be read.
func DecodeMessage(key domain.MessageKey, r board.Record) (*domain.Message, error) {
	m := &domain.Message{ID: key.ID, CallerID: key.Caller}
	d := decoder{key: key}
	for _, f := range r {
		decodeMessageField(&d, m, f)
	}
	return m, d.err
}

func decodeMessageField(d *decoder, m *domain.Message, f board.Field) {
	switch f.Name {
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
	case MessageLogs:
		d.json(f, &m.Logs, "a JSON list of logs")
	case MessageCreatedAt:
		m.CreatedAt = domain.UnixTime(d.u32(f))
	case MessageUpdatedAt:
		m.UpdatedAt = domain.UnixTime(d.u32(f))
	case MessageStatus:
		m.Status = domain.MessageStatus(f.Value)
	default:
		decodeOurMessageField(d, m, f)
	}
}

func decodeOurMessageField(d *decoder, m *domain.Message, f board.Field) {
	switch f.Name {
	case "dst_context":
		m.DstContext = domain.TenantID(d.u32(f))
	case "dst_actor":
		m.DstActor = domain.ActorID(d.u32(f))
	case "dst_pubkey":
		m.DstPubkey = f.Value
	case "dst_node":
		m.DstNode = f.Value
	case "topic":
		m.Topic = f.Value
	case "reply_to":
		m.ReplyTo = f.Value
	case "reply_digest":
		m.ReplyDigest = f.Value
	case "flow":
		m.Flow = f.Value
	case "src_context":
		m.SrcContext = domain.TenantID(d.u32(f))
	case "pubkey":
		m.Pubkey = f.Value
	case "expires_at":
		m.ExpiresAt = domain.UnixTime(d.u32(f))
	case "alg":
		m.Alg = f.Value
	case MessageSignature:
		m.Signature = f.Value
	case MessageError:
		m.Error = f.Value
	case MessageStage:
		m.Stage = domain.Stage(f.Value)
	case MessageNode:
		m.Node = f.Value
	case MessageOrigin:
		m.Origin = f.Value
	case MessageAnswer:
		m.Answer = f.Value
	case MessageReceipt:
		m.Receipt = f.Value
	case MessagePushes:
		m.Pushes = int(d.int(f))
	case MessageSentMs:
		m.SentMs = d.int(f)
	case MessageAckedMs:
		m.AckedMs = d.int(f)
	case MessageEndedMs:
		m.EndedMs = d.int(f)
	case board.FieldUnreadable:
		d.unreadable(f)
	}
}

// MessageLine are the fields of a message but those that may be large: what a
// page of many is read by.
var MessageLine = []string{"context_id", "message_type", "message_format_type", "timeout", "timeout_ack", "timeout_result",
	MessageCreatedAt, MessageUpdatedAt, MessageStatus, "dst_context", "dst_actor", "dst_pubkey", "dst_node", "topic", "reply_to",
	"src_context", "pubkey", "expires_at", MessageError, MessageStage, MessageNode, MessageOrigin, MessageAnswer, MessagePushes,
	MessageSentMs, MessageAckedMs, MessageEndedMs, MessageEnding}

// MessageLogsField holds what a message's jobs have said.
func MessageLogsField(logs []domain.Log) board.Field {
	return board.Field{Name: MessageLogs, Value: partsOf(logs)}
}
