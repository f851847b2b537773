package domain

import (
	"slices"
	"strconv"
)

// MessageType says what a message is for.
type MessageType string

// The message types.
//
// Source: seeds 000 and 002, "MessageType"; "result" from seed 000, step 7.
const (
	MessageJob    MessageType = "job"
	MessageChat   MessageType = "chat"
	MessageMail   MessageType = "mail"
	MessageResult MessageType = "result"
)

// QueueSuffix is the type's name as part of a queue name.
//
// Source: seed 002, "queue_suffix()".
func (t MessageType) QueueSuffix() string { return string(t) }

// MessageFormatType says how the text is written.
type MessageFormatType string

// The message formats.
const (
	FormatHTML MessageFormatType = "html"
	FormatText MessageFormatType = "text"
	FormatMD   MessageFormatType = "md"
)

// MessageStatus is where a message stands.
type MessageStatus string

// The message statuses.
const (
	MessageDispatched   MessageStatus = "dispatched"
	MessageAcknowledged MessageStatus = "acknowledged"
	MessageError        MessageStatus = "error"
	MessageProcessed    MessageStatus = "processed"
)

// messageMoves is the whole state machine of a message.
var messageMoves = map[MessageStatus][]MessageStatus{
	MessageDispatched:   {MessageAcknowledged, MessageError, MessageProcessed},
	MessageAcknowledged: {MessageError, MessageProcessed},
}

// Final reports whether the message's life is over.
func (s MessageStatus) Final() bool { return s == MessageError || s == MessageProcessed }

// CanBecome reports whether a message may pass from s to next.
func (s MessageStatus) CanBecome(next MessageStatus) bool {
	return slices.Contains(messageMoves[s], next)
}

// Message is a letter between actors; it may carry jobs.
//
// Source: seeds 000 and 002, "Message".
type Message struct {
	ID                MessageID         `json:"id"`
	CallerID          ActorID           `json:"caller_id"`
	ContextID         TenantID          `json:"context_id"`
	Message           string            `json:"message"`
	MessageType       MessageType       `json:"message_type"`
	MessageFormatType MessageFormatType `json:"message_format_type"`
	Timeout           uint32            `json:"timeout"`
	TimeoutAck        uint32            `json:"timeout_ack"`
	TimeoutResult     uint32            `json:"timeout_result"`
	Job               []Job             `json:"job"`
	Logs              []Log             `json:"logs"`
	CreatedAt         UnixTime          `json:"created_at"`
	UpdatedAt         UnixTime          `json:"updated_at"`
	Status            MessageStatus     `json:"status"`
}

// Key is the message's key on its context's board: "message:12:101".
func (m Message) Key() string {
	return "message:" + strconv.FormatUint(uint64(m.CallerID), 10) + ":" + strconv.FormatUint(uint64(m.ID), 10)
}

// Log is one line of what a script said.
type Log struct {
	// AtMs is when, in Unix milliseconds.
	AtMs int64 `json:"at_ms"`
	// Stream is stdout, stderr, or ramet for the runner's own remarks.
	Stream string `json:"stream"`
	// Attempt is the run it belongs to.
	Attempt int    `json:"attempt,omitzero"`
	Line    string `json:"line"`
}
