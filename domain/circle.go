package domain

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of circles and their tasks: both names become parts of keys, which
// have 255 bytes at the most.
const (
	MaxCircleBytes = 200
	MaxTaskIDBytes = 200
	MaxRPCIDBytes  = 1 << 10
	MaxReplyBytes  = 255 // of the name of a reply queue
)

// circlePattern is that of circles' names: upstream they are public keys.
var circlePattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.:@+-]*$`)

// ValidateCircle checks the name of a circle.
//
// Errors: [ErrInvalid].
func ValidateCircle(name string) error {
	if len(name) > MaxCircleBytes || !circlePattern.MatchString(name) {
		return Invalidf("circle %q: want a letter, a digit or '_' first, then also '-', '.', ':', '@' and '+', up to %d in all", name, MaxCircleBytes)
	}
	return nil
}

// ServedCircle is a circle that a node serves, in the context it belongs to.
type ServedCircle struct {
	Name    string   `json:"name"`
	Context TenantID `json:"context"`
}

// String is the circle as people name it: "friends=7".
func (c ServedCircle) String() string {
	return c.Name + "=" + strconv.FormatUint(uint64(c.Context), 10)
}

// Validate checks what somebody wants served.
//
// Errors: [ErrInvalid].
func (c ServedCircle) Validate() error {
	if c.Context == 0 {
		return Invalidf("circle %q: context 0 is the node's own space; want 1 or more", c.Name)
	}
	return ValidateCircle(c.Name)
}

// TaskStatus is where a circle's task stands.
type TaskStatus string

// The task statuses, in order. A task goes back to pending when its worker was
// lost.
//
// Source: seed 001, "Redis Data Structures".
const (
	TaskPending    TaskStatus = "pending"
	TaskProcessing TaskStatus = "processing"
	TaskCompleted  TaskStatus = "completed"
	TaskError      TaskStatus = "error"
)

// Final reports whether the task's life is over.
func (s TaskStatus) Final() bool { return s == TaskCompleted || s == TaskError }

// Task is one Rhai script that was put into a circle to be run once.
//
// Source: seed 001, "Task Details".
type Task struct {
	ID          string     `json:"task_id"`
	Script      string     `json:"script"`
	Status      TaskStatus `json:"status"`
	ClientRPCID string     `json:"client_rpc_id,omitzero"`
	Output      string     `json:"output,omitzero"`
	Error       string     `json:"error,omitzero"`
	CreatedAt   UnixTime   `json:"created_at"`
	UpdatedAt   UnixTime   `json:"updated_at"`
	// ReplyToQueue is the list that gets a message at the end; "" is none.
	ReplyToQueue string `json:"reply_to_queue,omitzero"`

	// Circle is known of tasks that came through Ramet.
	Circle string `json:"circle,omitzero"`
	// CallerID is who handed it in through Ramet: the script's CALLER_ID.
	CallerID ActorID `json:"caller_id,omitzero"`
	// Attempt counts the workers that took it, Losses those that were lost.
	Attempt int64 `json:"attempt,omitzero"`
	Losses  int   `json:"losses,omitzero"`
	// LeaseOwner is who has it now.
	LeaseOwner string `json:"lease_owner,omitzero"`
}

// Final reports whether the task's life is over.
func (t *Task) Final() bool { return t.Status.Final() }

// Validate checks what a caller gave.
//
// Errors: [ErrInvalid].
func (t *Task) Validate() error {
	if err := ValidateTaskID(t.ID); err != nil {
		return err
	}
	switch {
	case len(t.Script) > MaxScriptBytes:
		return Invalidf("task %q: the script has %d bytes, the limit is %d", t.ID, len(t.Script), MaxScriptBytes)
	case !utf8.ValidString(t.Script):
		return Invalidf("task %q: the script is not UTF-8", t.ID)
	case len(t.ClientRPCID) > MaxRPCIDBytes:
		return Invalidf("task %q: client_rpc_id has %d bytes, the limit is %d", t.ID, len(t.ClientRPCID), MaxRPCIDBytes)
	case len(t.ReplyToQueue) > MaxReplyBytes || strings.ContainsFunc(t.ReplyToQueue, unicode.IsControl):
		return Invalidf("task %q: reply_to_queue %.40q: want up to %d bytes without control characters", t.ID, t.ReplyToQueue, MaxReplyBytes)
	}
	return nil
}

// ValidateTaskID checks a task's id: whatever a client made up, as long as it
// can be part of a key and stand in a line.
//
// Errors: [ErrInvalid].
func ValidateTaskID(id string) error {
	if id == "" || len(id) > MaxTaskIDBytes || strings.ContainsFunc(id, unicode.IsControl) || !utf8.ValidString(id) {
		return Invalidf("task id %.40q: want 1 to %d bytes of text without control characters", id, MaxTaskIDBytes)
	}
	return nil
}

// Circle is one circle of a context.
type Circle struct {
	Name string `json:"name"`
	// Queued is how many tasks wait in it.
	Queued int `json:"queued"`
	// Fault says what lies where its tasks would wait, if that is no list.
	Fault string `json:"fault,omitzero"`
}
