package layout

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/queue"
)

// Keys of circles, in the space of their context.
//
// Source: seed 001, "Redis Data Structures".
const (
	ReplyPrefix = "rhai_reply:" // lists of results, by the clients' custom

	// Circles is the set of the circles that Ramet has to do with there: those
	// without a task in them have no list.
	Circles = "ramet:circles"
)

// Task is a task's key.
func Task(id string) string { return queue.TaskPrefix + id }

// ParseTask is the id in a task's key; ok is false for other keys.
func ParseTask(key string) (id string, ok bool) {
	id, ok = strings.CutPrefix(key, queue.TaskPrefix)
	return id, ok && id != ""
}

// Field names of a task's record. The first block is the seed's; those that
// end in Too are other spellings of it, read and never written.
const (
	TaskScript       = "script"
	TaskStatus       = "status"
	taskRPCID        = "client_rpc_id"
	TaskOutput       = "output"
	TaskError        = "error"
	taskErrorToo     = "error_msg"
	TaskCreatedAt    = "created_at"
	TaskUpdatedAt    = "updated_at"
	taskReply        = "reply_to_queue"
	taskReplyNameToo = "reply_queue_name"
	taskReplyToToo   = "reply_to"

	TaskCircle   = "circle"
	taskCallerID = "caller_id"
	TaskAttempt  = board.FieldAttempt
	TaskLosses   = "losses"
	TaskQueue    = board.FieldQueue
	TaskOwner    = board.FieldOwner
)

// TaskLine are the fields that say whose a task is, where it stands, and whom to tell
// of its end.
var TaskLine = []string{TaskStatus, TaskOwner, taskCallerID, taskRPCID, taskReply, taskReplyNameToo, taskReplyToToo}

// EncodeTask writes the record of a task that has not begun: the fields of the
// seed that there are, and those of ours. What the board keeps itself is left
// out.
func EncodeTask(t *domain.Task) []board.Field {
	e := make(encoder, 0, 10)
	e.str(TaskScript, t.Script)
	e.str(TaskStatus, string(t.Status))
	e.strOpt(taskRPCID, t.ClientRPCID)
	e.strOpt(TaskOutput, t.Output)
	e.strOpt(TaskError, t.Error)
	e.num(TaskCreatedAt, int64(t.CreatedAt))
	e.num(TaskUpdatedAt, int64(t.UpdatedAt))
	e.strOpt(taskReply, t.ReplyToQueue)

	e.strOpt(TaskCircle, t.Circle)
	e.numOpt(taskCallerID, int64(t.CallerID))
	e.numOpt(TaskLosses, int64(t.Losses))
	return e
}

// DecodeTask reads a task's record, in every spelling that the seed has. It
// never fails: foreign programs write these records, and a field of theirs
// that cannot be read counts as not there.
func DecodeTask(id string, r board.Record) *domain.Task {
	t := &domain.Task{ID: id}
	var replyTo, replyName, errorMsg string
	for _, f := range r {
		switch f.Name {
		case TaskScript:
			t.Script = f.Value
		case TaskStatus:
			t.Status = domain.TaskStatus(f.Value)
		case taskRPCID:
			t.ClientRPCID = f.Value
		case TaskOutput:
			t.Output = f.Value
		case TaskError:
			t.Error = f.Value
		case taskErrorToo:
			errorMsg = f.Value
		case TaskCreatedAt:
			t.CreatedAt = taskTime(f.Value)
		case TaskUpdatedAt:
			t.UpdatedAt = taskTime(f.Value)
		case taskReply:
			t.ReplyToQueue = f.Value
		case taskReplyNameToo:
			replyName = f.Value
		case taskReplyToToo:
			replyTo = f.Value
		case TaskCircle:
			t.Circle = f.Value
		case taskCallerID:
			t.CallerID = domain.ActorID(taskNumber(f.Value, 32))
		case TaskAttempt:
			t.Attempt = int64(taskNumber(f.Value, 63))
		case TaskLosses:
			t.Losses = int(taskNumber(f.Value, 31))
		case TaskOwner:
			t.LeaseOwner = f.Value
		}
	}
	t.ReplyToQueue = cmp.Or(t.ReplyToQueue, replyName, replyTo)
	t.Error = cmp.Or(t.Error, errorMsg)
	return t
}

// HasScript reports whether a task's record has been written: some clients push
// the id first. An empty script is one.
func HasScript(r board.Record) bool {
	_, ok := r.Lookup(TaskScript)
	return ok
}

func taskNumber(text string, bits int) uint64 {
	n, err := strconv.ParseUint(text, 10, bits)
	if err != nil {
		return 0
	}
	return n
}

// taskTime reads Unix seconds, also with a fraction, or RFC 3339; 0 for what
// is neither.
func taskTime(text string) domain.UnixTime {
	if n, err := strconv.ParseFloat(text, 64); err == nil && n >= 0 && n < 1<<32 {
		return domain.UnixTime(n)
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || at.Unix() < 0 || at.Unix() >= 1<<32 {
		return 0
	}
	return domain.At(at)
}

// taskReplyMessage is what a client finds on its reply queue.
//
// Source: seed 001, "Result Storage & Notification".
type taskReplyMessage struct {
	TaskID      string            `json:"task_id"`
	Status      domain.TaskStatus `json:"status"`
	Output      *string           `json:"output,omitempty"`
	Error       *string           `json:"error,omitempty"`
	ClientRPCID string            `json:"client_rpc_id,omitempty"`
}

// EncodeReply writes the message that tells of a task's end: with output where
// it is completed, with error else.
func EncodeReply(t *domain.Task) string {
	m := taskReplyMessage{TaskID: t.ID, Status: t.Status, ClientRPCID: t.ClientRPCID}
	if t.Status == domain.TaskCompleted {
		m.Output = &t.Output
	} else {
		m.Error = &t.Error
	}
	return mustJSON(m)
}

// reserved are what begins the names of keys that are Ramet's, or the seeds'.
var reserved = []string{
	"ramet:", queue.JobPrefix, queue.CirclePrefix, queue.TaskPrefix, queue.MsgOut, queue.MsgIn,
	JobPrefix, FlowPrefix, MessagePrefix, ActorPrefix, "context:", Contexts, RunnerPrefix,
	"saga:", "checkpoint:", "outbox:", "outbox_index:", "schedule:", "dedupe:", "deadletter:",
}

// IsReply reports whether a list of that name may get replies: any that a
// client may have as its own. What else a task names is not answered: a reply
// in a queue would be taken for work, and the list would expire.
func IsReply(list string) bool {
	if list == "" || len(list) > board.MaxKey || strings.IndexByte(list, 0) >= 0 {
		return false
	}
	for _, p := range reserved {
		if strings.HasPrefix(list, p) {
			return false
		}
	}
	return true
}

// StaleTaskFields are those that a task which ended so does not have.
func StaleTaskFields(end domain.TaskStatus) []string {
	if end == domain.TaskCompleted {
		return []string{TaskError, taskErrorToo}
	}
	return []string{TaskOutput}
}
