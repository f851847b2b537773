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

var messageTable = newTable(
	number32("id", func(m *domain.Message) *domain.MessageID { return &m.ID }).fromKey(),
	number32("caller_id", func(m *domain.Message) *domain.ActorID { return &m.CallerID }).fromKey(),
	number32("context_id", func(m *domain.Message) *domain.TenantID { return &m.ContextID }),
	text("message", func(m *domain.Message) *string { return &m.Message }).secret().notInPages(),
	text("message_type", func(m *domain.Message) *domain.MessageType { return &m.MessageType }),
	text("message_format_type", func(m *domain.Message) *domain.MessageFormatType { return &m.MessageFormatType }),
	number32("timeout", func(m *domain.Message) *uint32 { return &m.Timeout }),
	number32("timeout_ack", func(m *domain.Message) *uint32 { return &m.TimeoutAck }),
	number32("timeout_result", func(m *domain.Message) *uint32 { return &m.TimeoutResult }),
	parts("job", "a JSON list of jobs", func(m *domain.Message) *domain.List[domain.Job] { return &m.Job }).secret().notInPages(),
	parts(MessageLogs, "a JSON list of logs", func(m *domain.Message) *domain.List[domain.Log] { return &m.Logs }).secret().notInPages(),
	number32(MessageCreatedAt, func(m *domain.Message) *domain.UnixTime { return &m.CreatedAt }),
	number32(MessageUpdatedAt, func(m *domain.Message) *domain.UnixTime { return &m.UpdatedAt }),
	text(MessageStatus, func(m *domain.Message) *domain.MessageStatus { return &m.Status }),

	number32("dst_context", func(m *domain.Message) *domain.TenantID { return &m.DstContext }).ours(),
	number32("dst_actor", func(m *domain.Message) *domain.ActorID { return &m.DstActor }).ours(),
	text("dst_pubkey", func(m *domain.Message) *string { return &m.DstPubkey }).ours(),
	text("dst_node", func(m *domain.Message) *string { return &m.DstNode }).ours(),
	text("topic", func(m *domain.Message) *string { return &m.Topic }).ours(),
	text("reply_to", func(m *domain.Message) *string { return &m.ReplyTo }).ours(),
	text("reply_digest", func(m *domain.Message) *string { return &m.ReplyDigest }).notInPages().ours(),
	text("flow", func(m *domain.Message) *string { return &m.Flow }).secret().notInPages().ours(),
	number32("src_context", func(m *domain.Message) *domain.TenantID { return &m.SrcContext }).ours(),
	text("pubkey", func(m *domain.Message) *string { return &m.Pubkey }).ours(),
	number32("expires_at", func(m *domain.Message) *domain.UnixTime { return &m.ExpiresAt }).ours(),
	text("alg", func(m *domain.Message) *string { return &m.Alg }).notInPages().ours(),
	text(MessageSignature, func(m *domain.Message) *string { return &m.Signature }).notInPages().ours(),
	text(MessageError, func(m *domain.Message) *string { return &m.Error }).secret().ours(),
	text(MessageStage, func(m *domain.Message) *domain.Stage { return &m.Stage }).ours(),
	text(MessageNode, func(m *domain.Message) *string { return &m.Node }).ours(),
	text(MessageOrigin, func(m *domain.Message) *string { return &m.Origin }).ours(),
	text(MessageAnswer, func(m *domain.Message) *string { return &m.Answer }).ours(),
	text(MessageReceipt, func(m *domain.Message) *string { return &m.Receipt }).secret().notInPages().ours(),
	number(MessagePushes, func(m *domain.Message) *int { return &m.Pushes }).ours(),
	number(MessageSentMs, func(m *domain.Message) *int64 { return &m.SentMs }).ours(),
	number(MessageAckedMs, func(m *domain.Message) *int64 { return &m.AckedMs }).ours(),
	number(MessageEndedMs, func(m *domain.Message) *int64 { return &m.EndedMs }).ours(),
	unreadable[domain.Message](),
)

// MessageLine are the fields of a message but those that may be large: what a
// page of many is read by.
var MessageLine = append(messageTable.line(), MessageEnding)

// EncodeMessage writes every field of the seeds, and those of ours that are set.
func EncodeMessage(m *domain.Message) []board.Field { return messageTable.encode(m) }

// DecodeMessage reads a message's record. Fields it does not know are ignored;
// caller and id come from the key, which is the identity.
//
// Errors: [domain.ErrInvalid] naming the field; the message is filled as far as
// it could be read.
func DecodeMessage(key domain.MessageKey, r board.Record) (*domain.Message, error) {
	m := &domain.Message{ID: key.ID, CallerID: key.Caller}
	err := messageTable.decode(decoder{key: key}, m, r)
	return m, err
}

// MessageLogsField holds what a message's jobs have said.
func MessageLogsField(logs []domain.Log) board.Field {
	return board.Field{Name: MessageLogs, Value: partsOf(logs)}
}
