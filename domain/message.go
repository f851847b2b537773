package domain

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
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

// MessageTypes are all of them.
var MessageTypes = []MessageType{MessageJob, MessageChat, MessageMail, MessageResult}

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

// MessageFormats are all of them.
var MessageFormats = []MessageFormatType{FormatHTML, FormatText, FormatMD}

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

// Known reports whether s is one of the statuses.
func (s MessageStatus) Known() bool { return s.Final() || messageMoves[s] != nil }

// Final reports whether the message's life is over.
func (s MessageStatus) Final() bool { return s == MessageError || s == MessageProcessed }

// CanBecome reports whether a message may pass from s to next.
func (s MessageStatus) CanBecome(next MessageStatus) bool {
	return slices.Contains(messageMoves[s], next)
}

// Limits of a message, and its defaults.
const (
	MaxMessageText = 512 << 10 // bytes of text
	MaxMessageJobs = 100
	// MaxSignedMessage bounds a signed message as it travels, in bytes of JSON: it must
	// fit into a parcel with what goes around it.
	MaxSignedMessage = 1<<20 - 16<<10
	// MaxMessageLogs bounds the log lines that a message keeps of its jobs.
	MaxMessageLogs = 5000
	MaxTopic       = 64 // bytes

	DefaultMessageTimeout = 24 * 3600 // seconds, for each of the three
	MaxMessageTimeout     = 30 * 24 * 3600
)

// AlgEd25519 is the way in which messages are signed, AlgOld that of versions
// before, which is refused.
const (
	AlgEd25519 = "ed25519/2"
	AlgOld     = "ed25519"
)

// Stage is a part of a message's way, each with a time-out of its own.
type Stage string

// The stages.
const (
	StageDelivery Stage = "delivery" // until a bus has taken it
	StageAck      Stage = "ack"      // until the receiver has said that it has it
	StageResult   Stage = "result"   // until the answer to a job is there
)

// Message is what actors send each other, signed; it may carry jobs, or a flow.
//
// Source: seeds 000 and 002, "Message", for the fields up to Status.
type Message struct {
	ID                MessageID         `json:"id"`
	CallerID          ActorID           `json:"caller_id"`
	ContextID         TenantID          `json:"context_id"` // where the record lies
	Message           string            `json:"message"`
	MessageType       MessageType       `json:"message_type"`
	MessageFormatType MessageFormatType `json:"message_format_type"`
	Timeout           uint32            `json:"timeout"`        // seconds until a bus has it; 0 is the default
	TimeoutAck        uint32            `json:"timeout_ack"`    // seconds from there until it is acknowledged
	TimeoutResult     uint32            `json:"timeout_result"` // seconds from there until the result is there
	Job               List[Job]         `json:"job"`
	Logs              List[Log]         `json:"logs"`
	CreatedAt         UnixTime          `json:"created_at"`
	UpdatedAt         UnixTime          `json:"updated_at"`
	Status            MessageStatus     `json:"status"`

	// Where it goes. They are signed, with the fields above that never change.
	DstContext TenantID `json:"dst_context,omitzero"` // the context there; 0 is that of the record
	DstActor   ActorID  `json:"dst_actor,omitzero"`   // the addressee, by its number on this board
	DstPubkey  string   `json:"dst_pubkey,omitzero"`  // its key, which is what identifies it elsewhere
	DstNode    string   `json:"dst_node,omitzero"`    // the public key of the node; "": this board
	Topic      string   `json:"topic,omitzero"`       // of a runner: "runner20"
	ReplyTo    string   `json:"reply_to,omitzero"`    // the message it answers, by its key at the receiver
	// ReplyDigest names that message by what was signed: a key may be used again.
	ReplyDigest string `json:"reply_digest,omitzero"`
	// Flow is a flow to be made there, as JSON: its blueprint or the name of one,
	// trigger, params.
	Flow string `json:"flow,omitzero"`

	// Who signed.
	SrcContext TenantID `json:"src_context,omitzero"`
	Pubkey     string   `json:"pubkey,omitzero"` // the sender's key
	ExpiresAt  UnixTime `json:"expires_at,omitzero"`
	Alg        string   `json:"alg,omitzero"`
	Signature  string   `json:"signature,omitzero"` // 128 hex digits

	// What became of it.
	Error  string `json:"error,omitzero"`
	Stage  Stage  `json:"stage,omitzero"`  // the one whose time ran out
	Node   string `json:"node,omitzero"`   // the key of the node that it came from, or that has it
	Origin string `json:"origin,omitzero"` // its key where it came from
	Answer string `json:"answer,omitzero"` // the message that answered it
	// Receipt is the signed parcel by which it was refused.
	Receipt string `json:"receipt,omitzero"`
	Pushes  int    `json:"pushes,omitzero"`
	SentMs  int64  `json:"sent_ms,omitzero"` // when a bus first took it
	AckedMs int64  `json:"acked_ms,omitzero"`
	EndedMs int64  `json:"ended_ms,omitzero"`
}

// MessageKey names a message: ids are unique per caller, within a context.
type MessageKey struct {
	Caller ActorID
	ID     MessageID
}

// String is the message's key on its board: "message:12:101".
func (k MessageKey) String() string {
	return "message:" + strconv.FormatUint(uint64(k.Caller), 10) + ":" + strconv.FormatUint(uint64(k.ID), 10)
}

// ParseMessageKey reads "message:<caller>:<id>"; "<caller>:<id>" will do as well.
//
// Errors: [ErrInvalid].
func ParseMessageKey(s string) (MessageKey, error) {
	caller, id, ok := strings.Cut(strings.TrimPrefix(s, "message:"), ":")
	c, errC := parseID(caller)
	i, errI := parseID(id)
	if !ok || errC != nil || errI != nil || i == 0 {
		return MessageKey{}, Invalidf("message key %q: want message:<caller>:<id>, for example message:1:7", s)
	}
	return MessageKey{ActorID(c), MessageID(i)}, nil
}

// Key names the message.
func (m *Message) Key() MessageKey { return MessageKey{m.CallerID, m.ID} }

// Final reports whether the message's life is over.
func (m *Message) Final() bool { return m.Status.Final() }

// Signed is the message as it was signed: without what becomes of it on its
// way, and with the fields of its sender's own board.
func (m *Message) Signed() Message {
	l := *m
	l.Status, l.UpdatedAt = MessageDispatched, m.CreatedAt
	if m.MessageType != MessageResult { // whose log is part of what it says
		l.Logs = nil
	}
	l.ContextID, l.DstActor = m.SrcContext, 0
	if k, err := ParseMessageKey(m.Origin); err == nil {
		l.CallerID, l.ID = k.Caller, k.ID
	}
	l.Error, l.Stage, l.Node, l.Origin, l.Answer, l.Receipt = "", "", "", "", "", ""
	l.Pushes, l.SentMs, l.AckedMs, l.EndedMs = 0, 0, 0, 0
	return l
}

// TimeoutOf is how long a stage may take.
func (m *Message) TimeoutOf(s Stage) time.Duration {
	var n uint32
	switch s {
	case StageDelivery:
		n = m.Timeout
	case StageAck:
		n = m.TimeoutAck
	case StageResult:
		n = m.TimeoutResult
	}
	return time.Duration(cmp.Or(n, DefaultMessageTimeout)) * time.Second
}

// Answers reports whether the message is the result of another, as the node writes it
// that had that done. Any other result is one in which whoever works on a job
// tells of it.
//
// Source: seed 000, "Message flow", step 7.
func (m *Message) Answers() bool { return m.MessageType == MessageResult && m.ReplyTo != "" }

// Runner is the runner that the topic names; 0 where it names none.
//
// Errors: [ErrInvalid] for a topic that is none.
func (m *Message) Runner() (RunnerID, error) {
	if m.Topic == "" {
		return 0, nil
	}
	n, err := parseID(strings.TrimPrefix(m.Topic, "runner"))
	if err != nil || n == 0 || m.Topic != RunnerID(n).DefaultTopic() {
		return 0, Invalidf("topic %q: want runner<id>, for example runner20", m.Topic)
	}
	return RunnerID(n), nil
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
	// Job says whose line it is, where the jobs of a message have one log.
	Job JobID `json:"job,omitzero"`
	// N is its number in that job's log, from 1 on, where lines may be missing.
	N int `json:"n,omitzero"`
}

// NumberJobs gives jobs that name each other by their ids the ids from first on.
// Those that others depend on keep their old one as a name, by which scripts find
// their results.
//
// Errors: [ErrInvalid] where two have one id, or one depends on what is not there.
func NumberJobs(jobs []Job, first JobID) error {
	at := make(map[JobID]int, len(jobs))
	for i := range jobs {
		id := jobs[i].ID
		if _, twice := at[id]; twice && id != 0 {
			return Invalidf("two jobs have the id %d: want an id of its own for each, or none", id)
		}
		at[id] = i
	}
	for i := range jobs {
		jobs[i].Dependends = slices.Clone(jobs[i].Dependends)
		for k, on := range jobs[i].Dependends {
			n, here := at[on]
			if !here || on == 0 {
				return Invalidf("job %d depends on job %d, which is not in the message", cmp.Or(jobs[i].ID, JobID(i+1)), on)
			}
			jobs[i].Dependends[k] = first + JobID(n)
			jobs[n].Step = cmp.Or(jobs[n].Step, strconv.FormatUint(uint64(on), 10))
		}
	}
	for i := range jobs {
		jobs[i].ID = first + JobID(i)
	}
	return nil
}
