package script

import (
	"context"
	"errors"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/durable"
	"github.com/ramet-run/ramet/internal/hide"
)

// The causes with which a run's context ends. The caller sets them by
// context.WithTimeoutCause and context.WithCancelCause; a runtime only needs
// to know that the script must stop, the caller reads the cause afterwards.
var (
	ErrTimeout   = errors.New("timeout")
	ErrCancelled = errors.New("cancelled")
	ErrLost      = errors.New("lease lost")
	ErrDraining  = errors.New("node is draining")
	// ErrSuspended: what the script waits for takes long, and it goes on in its next attempt.
	ErrSuspended = errors.New("suspended")
)

// Limits of what a run may leave behind.
const (
	// TailBytes is how much of the end of stdout and of stderr a process
	// leaves in its result.
	TailBytes = 4 << 10
	// MaxResultBytes bounds a result file and all of a result's keys and
	// values together: it must fit into one field of a record.
	MaxResultBytes = 512 << 10
	// MaxResultKeys bounds the number of keys of a result.
	MaxResultKeys = 1024
	// MaxCheckpointBytes bounds a checkpoint file, for the same reason.
	MaxCheckpointBytes = 512 << 10
	// MaxLineBytes is where a log line is cut into two.
	MaxLineBytes = 16 << 10
)

// InProcessSlots is how many scripts at once suit a runtime inside the node:
// many, because then their ends are written together.
const InProcessSlots = 1024

// Runtime runs the scripts of one type. It is safe for concurrent use.
type Runtime interface {
	// Type is the script type it serves, and so the queue.
	Type() domain.ScriptType

	// Info says what it is and what holds its scripts in, as it really is on
	// this machine. It may start what it needs (a pool) to find out.
	Info() Info

	// Check reports why the runtime cannot run scripts here, with what to do
	// about it: a missing interpreter, say. A node does not serve the queue
	// of a runtime whose Check fails.
	//
	// Errors: [domain.ErrUnavailable].
	Check(ctx context.Context) error

	// Run runs one script to its end. When ctx ends first, the script is told
	// to stop (SIGTERM to its process group for processes), and killed with
	// everything it started Task.Grace later. Run returns only when nothing
	// of the script is left.
	//
	// A script that fails is an Outcome, not an error; an error means that
	// the runtime itself could not do its part.
	Run(ctx context.Context, task Task, host Host) (Outcome, error)

	// Close ends what the runtime keeps for later runs. Runs in progress are
	// the caller's to end first.
	Close() error
}

// Info describes a runtime for people: `ramet runner list`, /info.
type Info struct {
	// Summary is what it is, in a few words: "python3 3.11.7, forked pool".
	Summary string `json:"summary"`
	// Slots is how many scripts at once are sensible here.
	Slots int `json:"slots"`
	// InProcess is true for runtimes inside the node: they need no work
	// folder and no files, Task.Dir and the file names are empty.
	InProcess bool `json:"in_process,omitzero"`
	// Outside is true for those of them whose scripts act outside of the board, so
	// that a crash that takes back what they wrote there does not take that back.
	// Scripts that are processes do in any case.
	Outside bool `json:"-"`
	// Level is what a script gets that asks for none; "" where scripts are no
	// processes. Levels are all that can be had here, and Refused says why the
	// others cannot.
	Level   Level            `json:"level,omitempty"`
	Levels  []Level          `json:"levels,omitempty"`
	Refused map[Level]string `json:"refused,omitempty"`
	// Isolation lists every measure that is promised at Level, in force or not.
	Isolation []Measure `json:"isolation"`
}

// JobMemory is the measure that bounds a job's memory as a whole; see there.
const JobMemory = domain.JobMemory

// Measure is one means of holding a script in.
type Measure struct {
	// Name is one of the standard words: process_group, rlimits,
	// private_folder, clean_environment, closed_stdin, no_new_privileges,
	// landlock, seccomp, cgroup, operations, memory, depth, no_process; of walls namespaces,
	// view, private_tmp, unprivileged, processes, network; of jobs as a whole
	// [JobMemory] and job_processes.
	Name string `json:"name"`
	// InForce is true only where it was seen to work on this machine.
	InForce bool `json:"in_force"`
	// Detail says what it does here, or why it is not in force.
	Detail string `json:"detail,omitempty"`
}

// Unasked is why a runtime does not work that nobody has asked for: it is off unless somebody
// turns it on, or a language whose program this machine has not.
type Unasked struct{ Why error }

func (e *Unasked) Error() string { return e.Why.Error() }
func (e *Unasked) Unwrap() error { return e.Why }

// Task is one script to run.
type Task struct {
	// Name is the job's key, for messages.
	Name string
	// Script is the source text, or what the runtime takes for it.
	Script string
	// Env is the whole environment of the script, complete but for what a
	// runtime must add itself (PATH, HOME, TMPDIR, LANG). Runtimes inside the
	// process get the flow's and the job's variables only: the RAMET_ ones
	// stand in the fields below, which cost nothing to set.
	Env map[string]string
	// Secrets are the secrets that it names, by variable. Scripts that are processes have
	// them in Env, too.
	Secrets map[string]string
	// Hide takes them out of what it says. Nil: there are none.
	Hide *hide.Values
	// Context, Caller and Attempt say where and for whom it runs.
	Context domain.TenantID
	Caller  domain.ActorID
	Attempt int64
	// TraceParent is the header "traceparent" of what the script calls, "" where its job
	// belongs to no trace.
	TraceParent string
	// Dir is the script's work folder. It exists, belongs to this run alone,
	// and is all that the script may write to.
	Dir string
	// ResultFile, CheckpointFile and InputFile are absolute paths inside Dir,
	// also given in Env as RAMET_RESULT, RAMET_CHECKPOINT and RAMET_INPUT. The
	// runtime reads the result file; the caller deals with the other two.
	ResultFile     string
	CheckpointFile string
	InputFile      string
	// Input reads what InputFile would hold, for runtimes inside the process that
	// look at it; nil where there is nothing in it.
	Input func() ([]byte, error)
	// Checkpoint is what such a runtime has in the place of CheckpointFile. Nil
	// where nobody would keep it.
	Checkpoint *Checkpoint
	// Channel is what the script asks for what it remembers: durable steps, sleeps, waits. A
	// runtime inside the process calls it for its native functions; a script that was
	// answered to suspend ends, and what it ends with says nothing. Processes find it as a socket,
	// by RAMET_CHANNEL in Env. Nil where nobody would keep it.
	Channel durable.Channel
	// Whole asks for what the script gives as one text, Outcome.Value, in the
	// place of a result. Only runtimes inside the process know of it.
	Whole bool
	// Limits bound the run.
	Limits Limits
	// Level is how much of the machine the script sees. Default: the runtime's.
	// A runtime that cannot hold a script in so far does not run it.
	Level Level
	// Grace is the time between being told to stop and being killed.
	// Default: 5s.
	Grace time.Duration
}

// Limits bound one run. Zero means the runtime's default.
type Limits struct {
	// CPU is processor time. Default: none beyond the job's timeout.
	CPU time.Duration
	// MemoryBytes is address space for processes. Default: 4 GiB.
	MemoryBytes int64
	// FileBytes is the size of one file it writes. Default: 1 GiB.
	FileBytes int64
	// FolderBytes is the room that its work folder takes. Default: 8 GiB.
	FolderBytes int64
	// FolderFiles is how many files and folders its work folder holds. Default: 250,000.
	FolderFiles int
	// Files is how many descriptors may be open. Default: 1024.
	Files int
	// Processes is how many processes its user may have. Default: 512. It has
	// no effect on root; Info says so.
	Processes int
}

// Host is the run's way to speak while it runs.
type Host interface {
	// Log takes one line without its line end. stream is "stdout", "stderr"
	// or "ramet" for the runtime's own remarks. The line is copied if kept.
	// It is safe for concurrent use and does not block for long.
	Log(stream string, line []byte)
}

// Verdict says how a script ended.
type Verdict string

// The verdicts.
const (
	// Succeeded: exit code 0, or a script that returned.
	Succeeded Verdict = "succeeded"
	// Failed: the script said so, by exit code 1..124 or a thrown value.
	Failed Verdict = "failed"
	// Errored: unexpected: killed by a signal, exit code 125 and over, a limit
	// overstepped, an unusable result file.
	Errored Verdict = "errored"
	// Stopped: the context ended and the script was stopped for it.
	Stopped Verdict = "stopped"
)

// Outcome is what came of a run.
type Outcome struct {
	Verdict Verdict
	// ExitCode is the process's exit code, 128+n for signal n, 0 or 1 for
	// runtimes without processes.
	ExitCode int
	// Error is one line for people; empty when Succeeded.
	Error string
	// Invalid is set when the script did its work but left a result that
	// cannot be used; Error says why.
	Invalid bool
	// Final is set when another attempt would end the same: the job is not tried
	// again, whatever retries it has left.
	Final bool
	// After is the least time before the next attempt. Default: the job
	// engine's.
	After time.Duration
	// Result is what the job's record gets: exit_code; stdout and stderr tails
	// of processes; the keys the script added.
	Result map[string]string
	// Value is what the script gave, where Task.Whole asks for it: texts as they
	// are, nothing as "", anything else as JSON.
	Value string
}
