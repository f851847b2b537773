package layout

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/queue"
)

// Keys with one owner each.
const (
	Contexts = "contexts"       // space 0: set of context ids
	Finished = "ramet:finished" // list of ended work, newest left, for whoever keeps or clears it

	// Limits is the record by which the board weighs and caps a context.
	Limits = board.LimitsKey
)

// Trimmed is the record that counts, in TrimmedCount, the entries ever taken
// off Finished, and in ArchivedCount how many of all entries ever pushed there
// the archive has: those that are on the list still, too. AgainCount is how often the
// archive had lost what it had, so that ArchivedCount went back. TrimmedEndMs is when the
// youngest ended that was taken off.
const (
	Trimmed       = "ramet:finished:trimmed"
	TrimmedCount  = "count"
	ArchivedCount = "archived"
	AgainCount    = "again"
	TrimmedEndMs  = "trimmed_end_ms"
)

// Archive is the record in space 0 that says, in ArchiveWhere, where finished
// work of this board is archived. While it is there, nothing expires that the
// archive does not have. Its other fields are a [domain.ArchiveBacklog].
const (
	Archive      = "ramet:archive"
	ArchiveWhere = "where"

	archiveWaiting   = "waiting"
	archiveOldestMs  = "oldest_ms"
	archivePerSecond = "per_second"
	archiveToldMs    = "told_ms"
)

// Identity is the record in space 0 that tells a board from others: IdentityID is
// made with it, and its archive has it, too. IdentityStep counts up together with a
// mark of the archive, by which an older copy of either is known. IdentityEpoch is the
// last epoch in which its numbers were compared with those of the archive.
const (
	Identity      = "ramet:identity"
	IdentityID    = "id"
	IdentityStep  = "step"
	IdentityEpoch = "epoch"
)

// Streams is the record in space 0 that says of each event stream when the one
// was made that the sagas of this board read, and how far it has come.
const Streams = "ramet:streams"

// Restoring is the record in space 0 of a board that is being filled from a backup or
// from another board: until it is whole no node starts on it. RestoringFrom says from
// what, and RestoringSinceMs since when. RestoringID is told to nobody but the archive and
// the folders that are filled with it: by it the next run knows them as its own.
const (
	Restoring        = "ramet:restoring"
	RestoringFrom    = "from"
	RestoringID      = "id"
	RestoringSinceMs = "since_ms"
)

// Restored is the n-th set in a space of such a board, from 0 on, of the keys that were written there and that no
// node would write, see [Has]: by them the next run knows its own keys from those of another program.
func Restored(n int) string { return restoredPrefix + strconv.Itoa(n) }

// IsRestoring reports whether a key is of the filling of a board, and no part of what fills it.
func IsRestoring(key string) bool { return key == Restoring || strings.HasPrefix(key, restoredPrefix) }

const restoredPrefix = Restoring + ":"

// Taken is the set in space 0 of the queues from which foreign runners take
// jobs on the store itself: see [TakenFrom].
const Taken = "ramet:taken"

// TakenFrom is the member of Taken for a queue of a space: its type's, whatever
// the priority.
func TakenFrom(space board.Space, list string) string {
	return strconv.FormatUint(uint64(space), 10) + " " + queue.CapGroup(list)
}

// ParseTaken says of which space such a member is.
func ParseTaken(member string) (space board.Space, ok bool) {
	number, _, found := strings.Cut(member, " ")
	n, err := strconv.ParseUint(number, 10, 32)
	return board.Space(n), found && err == nil && n > 0
}

// Prefixes of keys, for listing.
const (
	JobPrefix     = "job:"
	ActorPrefix   = "actor:"
	RunnerPrefix  = "runner:"
	NodePrefix    = "ramet:node:"
	RoutinePrefix = "ramet:routine:"
	logsPrefix    = "ramet:logs:"
	stepsPrefix   = "ramet:steps:"
	signalsPrefix = "ramet:signals:"
)

// ours begin the keys that nodes write.
var ours = []string{Contexts, "ramet:", JobPrefix, FlowPrefix, MessagePrefix, RunnerPrefix, ActorPrefix, "context:",
	queue.JobPrefix, queue.CirclePrefix, queue.TaskPrefix, ReplyPrefix, SagaPrefix, CheckpointPrefix, OutboxPrefix, "outbox_index:",
	SagaTimerPrefix, DedupePrefix, DeadPrefix,
	queue.MsgOut, queue.MsgIn, queue.MsgSent}

// Has reports whether a key is one that nodes write, by its name. Others are those of callers, who may store
// what they like in a context's space, or of another program.
func Has(key string) bool {
	return slices.ContainsFunc(ours, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// SpaceOf is the space of a context: its number.
func SpaceOf(t domain.TenantID) board.Space { return board.Space(t) }

// Actor is an actor's key, in space 0.
func Actor(id domain.ActorID) string { return domain.Actor{ID: id}.Key() }

// ActorOf is the record in space 0 that says, in ActorOfID, which actor has a
// public key.
func ActorOf(pubkey string) string { return "ramet:actor:" + pubkey }

// ActorOfID is that record's field.
const ActorOfID = "id"

// Tenant is a context's key, in its own space.
func Tenant(id domain.TenantID) string { return domain.Tenant{ID: id}.Key() }

// Alias is the record in space 0 that says, in AliasOf, which context an alias
// is kept for.
func Alias(alias string) string { return "ramet:alias:" + alias }

// AliasOf is that record's field: the number of the context.
const AliasOf = "context"

// Runner is a runner's key.
func Runner(id domain.RunnerID) string { return domain.Runner{ID: id}.Key() }

// Node is the record of a node, in space 0.
func Node(name string) string { return NodePrefix + name }

// Routine is the record of a routine, in the space of its context.
func Routine(name string) string { return RoutinePrefix + name }

// Maintenance is the record by which a maintenance service is occupied, in space 0. The key is from when
// these were called routines, too; old and new nodes must find the same.
func Maintenance(name string) string { return RoutinePrefix + name }

// Fields of that record.
const (
	MaintenanceSinceMs = "since_ms" // when its holder occupied it
	MaintenanceEveryMs = "every_ms" // the pause between rounds; 0: it waits by itself
)

// Logs is the list of a job's log lines.
func Logs(job domain.JobKey) string { return logsPrefix + job.String() }

// Steps is the list of what a job's durable script remembers: its history, oldest left.
func Steps(job domain.JobKey) string { return stepsPrefix + job.String() }

// Signals is the list of the signals that were sent to a job and not waited for yet,
// oldest left.
func Signals(job domain.JobKey) string { return signalsPrefix + job.String() }

// Followers is the list of the jobs that wait for a job.
func Followers(job domain.JobKey) string { return "ramet:followers:" + job.String() }

// Checkpoint is the record with what a job saved for its next attempt.
func Checkpoint(job domain.JobKey) string { return "ramet:checkpoint:" + job.String() }

// CheckpointData is that record's field.
const CheckpointData = "data"

// Ticket is the record that says, in TicketJob, which job was submitted with a
// ticket.
func Ticket(name string) string { return "ramet:ticket:" + name }

const oncePrefix = "ramet:once:"

// Once is the record of a request that its caller gave a key: what it asked for,
// the seed of the names of what it creates, the first of their numbers, and its
// answer.
func Once(caller domain.ActorID, key string) string {
	sum := sha256.Sum256([]byte(key))
	return fmt.Sprintf("%s%d:%x", oncePrefix, caller, sum[:16])
}

// The fields of that record.
const (
	OnceAsked  = "asked"
	OnceSeed   = "seed"
	OnceFirst  = "first"
	OnceAnswer = "answer"
)

// TicketJob is that record's field, and MaxTicket bounds the name in bytes.
const (
	TicketJob     = "job"
	TicketMessage = "message" // the message that a request sent under that name
	MaxTicket     = 200
)

// Seq is the counter of a noun's ids, by caller where ids are a caller's own.
func Seq(noun string, caller domain.ActorID) string {
	if caller == 0 {
		return "ramet:seq:" + noun
	}
	return "ramet:seq:" + noun + ":" + strconv.FormatUint(uint64(caller), 10)
}

// Queues is what a runner claims from for one script type, in order: its own
// queue, then the type's by priority, then the plain one.
func Queues(t domain.ScriptType, r domain.RunnerID) []board.Queue {
	return []board.Queue{{Lists: []string{queue.OfRunner(t, r)}}, {Lists: queue.ByPriority(queue.OfType(t))}}
}

// AlarmKind says what an alarm of a job is for.
type AlarmKind string

// The kinds of alarm.
const (
	AlarmStart   AlarmKind = "start"   // not_before has come
	AlarmRetry   AlarmKind = "retry"   // the next attempt may begin
	AlarmPrereq  AlarmKind = "prereq"  // look at the prerequisites again
	AlarmCascade AlarmKind = "cascade" // tell the followers how the job ended
	AlarmForeign AlarmKind = "foreign" // look after a job that a foreign runner took
	AlarmCalled  AlarmKind = "called"  // look at what its script has called, whose ends set it, too
)

// Alarm is an alarm's name: "<kind>:<job key>".
func Alarm(kind AlarmKind, job domain.JobKey) string { return string(kind) + ":" + job.String() }

// ParseAlarm takes an alarm's name apart; ok is false for alarms that are not
// about a job.
func ParseAlarm(name string) (kind AlarmKind, job domain.JobKey, ok bool) {
	k, rest, found := strings.Cut(name, ":")
	if !found || !strings.HasPrefix(rest, JobPrefix) {
		return "", domain.JobKey{}, false
	}
	job, err := domain.ParseJobKey(rest)
	return AlarmKind(k), job, err == nil
}
