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

// Field names of a task's record that others read, guard and set.
const (
	TaskScript    = "script"
	TaskStatus    = "status"
	TaskOutput    = "output"
	TaskError     = "error"
	TaskCreatedAt = "created_at"
	TaskUpdatedAt = "updated_at"
	TaskCircle    = "circle"
	TaskAttempt   = board.FieldAttempt
	TaskLosses    = "losses"
	TaskQueue     = board.FieldQueue
	TaskOwner     = board.FieldOwner

	taskErrorToo = "error_msg"
)

// taskRecord is a task as its record has it, in every spelling that the seed has: those
// that end in Too are read and never written.
type taskRecord struct {
	domain.Task
	errorToo, replyNameToo, replyToToo string
}

// taskTable has the seed's fields, and then those of ours. What the board keeps itself is
// read only.
var taskTable = newTable(
	text(TaskScript, func(t *taskRecord) *string { return &t.Script }).secret().notInPages(),
	text(TaskStatus, func(t *taskRecord) *domain.TaskStatus { return &t.Status }),
	text("client_rpc_id", func(t *taskRecord) *string { return &t.ClientRPCID }).ours(),
	text(TaskOutput, func(t *taskRecord) *string { return &t.Output }).ours().secret().notInPages(),
	text(TaskError, func(t *taskRecord) *string { return &t.Error }).ours().secret().notInPages(),
	text(taskErrorToo, func(t *taskRecord) *string { return &t.errorToo }).readOnly().secret().notInPages(),
	taskTime(TaskCreatedAt, func(t *taskRecord) *domain.UnixTime { return &t.CreatedAt }).notInPages(),
	taskTime(TaskUpdatedAt, func(t *taskRecord) *domain.UnixTime { return &t.UpdatedAt }).notInPages(),
	text("reply_to_queue", func(t *taskRecord) *string { return &t.ReplyToQueue }).ours(),
	text("reply_queue_name", func(t *taskRecord) *string { return &t.replyNameToo }).readOnly(),
	text("reply_to", func(t *taskRecord) *string { return &t.replyToToo }).readOnly(),

	text(TaskCircle, func(t *taskRecord) *string { return &t.Circle }).ours().notInPages(),
	taskNumber("caller_id", 32, func(t *taskRecord) *domain.ActorID { return &t.CallerID }).ours(),
	taskNumber(TaskAttempt, 63, func(t *taskRecord) *int64 { return &t.Attempt }).readOnly().notInPages(),
	taskNumber(TaskLosses, 31, func(t *taskRecord) *int { return &t.Losses }).ours().notInPages(),
	text(TaskOwner, func(t *taskRecord) *string { return &t.LeaseOwner }).readOnly(),
)

// TaskLine are the fields that say whose a task is, where it stands, and whom to tell
// of its end.
var TaskLine = taskTable.line()

// EncodeTask writes the record of a task that has not begun.
func EncodeTask(t *domain.Task) []board.Field { return taskTable.encode(&taskRecord{Task: *t}) }

// DecodeTask reads a task's record. It never fails: foreign programs write these records,
// and a field of theirs that cannot be read counts as not there.
func DecodeTask(id string, r board.Record) *domain.Task {
	t := taskRecord{Task: domain.Task{ID: id}}
	_ = taskTable.decode(decoder{}, &t, r) // no field of it fails
	t.ReplyToQueue = cmp.Or(t.ReplyToQueue, t.replyNameToo, t.replyToToo)
	t.Error = cmp.Or(t.Error, t.errorToo)
	return &t.Task
}

// HasScript reports whether a task's record has been written: some clients push
// the id first. An empty script is one.
func HasScript(r board.Record) bool {
	_, ok := r.Lookup(TaskScript)
	return ok
}

// taskNumber is a number from 0 of at most bits bits; what is none reads as 0.
func taskNumber[N ~int | ~int64 | ~uint32](name string, bits int, at func(*taskRecord) *N) field[taskRecord] {
	return field[taskRecord]{name: name,
		write: func(t *taskRecord) (string, bool) { n := *at(t); return strconv.FormatInt(int64(n), 10), n == 0 },
		read: func(_ *decoder, t *taskRecord, f board.Field) {
			n, err := strconv.ParseUint(f.Value, 10, bits)
			if err != nil {
				n = 0 // strconv has the largest there is for what is too large
			}
			*at(t) = N(n)
		}}
}

// taskTime is an instant: Unix seconds, read also with a fraction, or as RFC 3339; what is
// neither reads as 0.
func taskTime(name string, at func(*taskRecord) *domain.UnixTime) field[taskRecord] {
	f := number32(name, at)
	f.read = func(_ *decoder, t *taskRecord, f board.Field) { *at(t) = timeIn(f.Value) }
	return f
}

func timeIn(text string) domain.UnixTime {
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
