package queue

import "strings"

// The beginnings of names.
const (
	// JobPrefix begins the queues of jobs.
	JobPrefix = "queue:"
	// CirclePrefix begins the queues of circles, whose items are the ids of tasks;
	// TaskPrefix begins the keys of these.
	CirclePrefix = "rhai_tasks:"
	TaskPrefix   = "rhai_task_details:"
	// OwnPrefix begins the queues by which the engine gives itself something to do.
	OwnPrefix = "ramet:queue:"
)

// The queues of messages.
const (
	MsgOut  = "msg_out"
	MsgSent = "msg_out_coordinator"
	MsgIn   = "msg_in"
)

// The engine's own queues.
const (
	Checks     = OwnPrefix + "checks" // jobs whose addresses somebody is to look at
	Keeper     = OwnPrefix + "keeper" // flows that their keeper has to look at
	PostPush   = OwnPrefix + "push"   // messages to be handed to a bus again
	PostResult = OwnPrefix + "result" // received messages all of whose work has ended
	PostLogs   = OwnPrefix + "logs"   // received messages whose jobs may have said something
	PostJobs   = OwnPrefix + "remote" // jobs that another context is to run
)

// Prefixes begin the names of lists that can be claimed from.
var Prefixes = []string{JobPrefix, CirclePrefix, MsgOut, MsgIn, OwnPrefix}

// Is reports whether a list can be claimed from.
func Is(list string) bool {
	for _, p := range Prefixes {
		if strings.HasPrefix(list, p) {
			return true
		}
	}
	return false
}

// Circle is the queue of a circle.
func Circle(name string) string { return CirclePrefix + name }

// NamePrefix begins the keys of the records that a queue's items stand for: the
// items of a circle's are ids of tasks, those of other queues are the keys.
func NamePrefix(list string) string {
	if strings.HasPrefix(list, CirclePrefix) {
		return TaskPrefix
	}
	return ""
}

// ItemFor is the item by which a queue names the record key: what a claim of it
// took off the list, to be pushed back.
func ItemFor(list, key string) string { return strings.TrimPrefix(key, NamePrefix(list)) }

// Group is the name under which a queue's turns are kept: a priority shares that of
// what it stands behind ("queue:v:p7" -> "queue:v", "queue:v:at:zone=eu:p7" ->
// "queue:v:at:zone=eu"), every other queue is its own ("queue:v:runner7").
func Group(list string) string {
	i := len(list) - len(priority) - 1
	if i > len(JobPrefix) && strings.HasPrefix(list, JobPrefix) && list[i:i+len(priority)] == priority {
		return list[:i]
	}
	return list
}

// Siblings are the lists that share a group with others: a queue and its priorities.
// Nil: the group is one list.
func Siblings(group string) []string {
	if !strings.HasPrefix(group, JobPrefix) {
		return nil
	}
	out := []string{group}
	for p := range 10 {
		out = append(out, withPriority(group, p))
	}
	return out
}

// Lists are all lists that a group may have.
func Lists(group string) []string {
	if s := Siblings(group); s != nil {
		return s
	}
	return []string{group}
}

// CapGroup is the name under which leases are counted for caps: the type's plain
// queue for all queues of jobs ("queue:v:runner7" -> "queue:v").
func CapGroup(list string) string {
	if typ, found := strings.CutPrefix(list, JobPrefix); found {
		typ, _, _ = strings.Cut(typ, ":")
		return JobPrefix + typ
	}
	return list
}

// Counted reports whether leases of a cap group count to a space's caps. Those of
// the engine's own queues do not: at a cap it must still see that jobs ended.
func Counted(capGroup string) bool { return !strings.HasPrefix(capGroup, OwnPrefix) }

// MaxField is the field of a space's limits that has the cap of all its queues.
const MaxField = "max"

const capPrefix = MaxField + ":"

// CapField is the field of a space's limits that has the cap of a cap group.
func CapField(capGroup string) string { return capPrefix + capGroup }

// CappedGroup is the cap group that such a field is for; ok is false for other
// fields.
func CappedGroup(field string) (capGroup string, ok bool) { return strings.CutPrefix(field, capPrefix) }
