package script

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// DefaultGrace is the time between being told to stop and being killed.
const DefaultGrace = 5 * time.Second

// The defaults of [Limits].
const (
	DefaultMemoryBytes = 4 << 30
	DefaultFileBytes   = 1 << 30
	DefaultFolderBytes = 8 << 30
	DefaultFolderFiles = 250_000
	DefaultFiles       = 1024
	DefaultProcesses   = 512
)

// WithDefaults fills what is zero, from other first and then from the
// defaults. A negative limit means none.
func (l Limits) WithDefaults(other Limits) Limits {
	return Limits{
		CPU:         cmp.Or(l.CPU, other.CPU),
		MemoryBytes: cmp.Or(l.MemoryBytes, other.MemoryBytes, DefaultMemoryBytes),
		FileBytes:   cmp.Or(l.FileBytes, other.FileBytes, DefaultFileBytes),
		FolderBytes: cmp.Or(l.FolderBytes, other.FolderBytes, DefaultFolderBytes),
		FolderFiles: cmp.Or(l.FolderFiles, other.FolderFiles, DefaultFolderFiles),
		Files:       cmp.Or(l.Files, other.Files, DefaultFiles),
		Processes:   cmp.Or(l.Processes, other.Processes, DefaultProcesses),
	}
}

// Exit is how a process ended: by an exit code, or by a signal.
type Exit struct {
	Code   int
	Signal syscall.Signal // 0 when it ended by itself
}

// ExitOf reads a wait status.
func ExitOf(status syscall.WaitStatus) Exit {
	if status.Signaled() {
		return Exit{Code: 128 + int(status.Signal()), Signal: status.Signal()}
	}
	return Exit{Code: status.ExitStatus()}
}

// Outcome turns a process's end into what came of its run: it reads the
// result file and adds what every process has. stopped is nil when the
// process ended by itself, else why it was made to end ([ErrTimeout] ...).
func (e Exit) Outcome(task Task, capture *Capture, host Host, stopped error) Outcome {
	capture.Flush()
	outcome := Outcome{ExitCode: e.Code}
	outcome.Verdict, outcome.Error = e.verdict(task.Limits, stopped)
	result, err := readResult(task.ResultFile, task.Hide)
	switch {
	case err == nil:
	case outcome.Verdict == Succeeded:
		outcome.Verdict, outcome.Invalid, outcome.Error = Errored, true, err.Error()
	default: // it ended badly already; that is the news, this a remark
		host.Log("ramet", []byte(err.Error()))
	}
	if result == nil {
		result = map[string]string{}
	}
	result[KeyExitCode] = strconv.Itoa(e.Code)
	result[KeyStdout] = capture.Stdout.Tail()
	result[KeyStderr] = capture.Stderr.Tail()
	outcome.Result = result
	return outcome
}

func (e Exit) verdict(limits Limits, stopped error) (Verdict, string) {
	switch full := (*FullError)(nil); {
	case errors.As(stopped, &full):
		return Errored, full.Reason
	case stopped != nil:
		return Stopped, fmt.Sprintf("stopped: %v", stopped)
	case e.Signal != 0:
		return Errored, fmt.Sprintf("killed by signal %d (%s)%s", int(e.Signal), unix.SignalName(e.Signal), e.reason(limits))
	case e.Code == 0:
		return Succeeded, ""
	case e.Code >= 125:
		return Errored, fmt.Sprintf("exit code %d%s", e.Code, codeMeaning(e.Code))
	default:
		return Failed, fmt.Sprintf("exit code %d", e.Code)
	}
}

// reason tells which limit a signal stands for.
func (e Exit) reason(limits Limits) string {
	switch e.Signal {
	case unix.SIGXCPU:
		return fmt.Sprintf(": it used up its processor time of %v", limits.CPU)
	case unix.SIGXFSZ:
		return fmt.Sprintf(": it wrote a file of more than %d bytes", limits.FileBytes)
	case unix.SIGKILL:
		return ": by someone else, or by the kernel for want of memory"
	}
	return ""
}

// codeMeaning explains the exit codes that shells give a meaning.
func codeMeaning(code int) string {
	switch {
	case code == 126:
		return ": a command was found but could not be run"
	case code == 127:
		return ": a command was not found"
	case code > 128 && unix.SignalName(syscall.Signal(code-128)) != "":
		return fmt.Sprintf(": a command was killed by signal %d (%s)", code-128, unix.SignalName(syscall.Signal(code-128)))
	}
	return ""
}

// Stop is why ctx ended, nil while it has not. A runtime asks when it is called,
// and again right before the script begins, when all else is ready.
func Stop(ctx context.Context) error {
	if look, found := ctx.Value(lookKey{}).(func()); found {
		look()
	}
	if ctx.Err() == nil {
		return nil
	}
	return context.Cause(ctx)
}

type lookKey struct{}

// WithLook has [Stop] call look before it says whether the context has ended. Its
// timers may be behind: a process that was stopped for a minute goes on where it
// was, before any of them is heard.
func WithLook(ctx context.Context, look func()) context.Context {
	return context.WithValue(ctx, lookKey{}, look)
}

// NotStarted is the outcome of a run whose context had ended before it began.
func NotStarted(stopped error) Outcome {
	return Outcome{Verdict: Stopped, ExitCode: 128 + int(unix.SIGTERM), Error: fmt.Sprintf("stopped before it began: %v", stopped), Result: map[string]string{}}
}
