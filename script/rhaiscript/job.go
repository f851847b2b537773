package rhaiscript

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/rhai"
	"github.com/ramet-run/ramet/rhai/value"
	"github.com/ramet-run/ramet/script"
)

// job is what a script is run for, and what it has left.
type job struct {
	task   script.Task
	host   script.Host
	result map[string]string // of set_result
	bytes  int               // of it
	inStep string            // the name of the step whose function runs

	session // with the objects of the context
}

func newJob(task script.Task, host script.Host) *job {
	return &job{task: task, host: host, result: map[string]string{}}
}

// names are the constants that each script finds, for the compiler; their
// values differ from job to job.
func names() *rhai.Scope {
	s := rhai.NewScope()
	for _, name := range []string{"CALLER_ID", "CONTEXT_ID", "JOB_ID", "ATTEMPT", "env", "params", "input"} {
		s.SetConst(name, value.Unit)
	}
	return s
}

// scope holds those constants for this job.
func (j *job) scope() (*rhai.Scope, error) {
	key, _ := domain.ParseJobKey(j.task.Name) // outside of an engine a task may have any name
	env := value.NewMap(len(j.task.Env))
	for name, text := range j.task.Env {
		env.AsMap().Set(name, value.Str(text))
	}
	input := value.NewMap(2)
	if j.task.Input != nil && looksAtInput(j.task.Script) {
		text, err := j.task.Input()
		if err != nil {
			return nil, err
		}
		if input, err = value.ReadJSON(string(text)); err != nil {
			return nil, fmt.Errorf("read the input of %s: %w", j.task.Name, err)
		}
	}
	params := value.NewMap(0)
	for _, name := range []string{"params", "needs"} {
		v := input.AsMap().Get(name)
		if v.IsNone() {
			v = value.NewMap(0)
			input.AsMap().Set(name, v)
		}
		if name == "params" {
			params = v
		}
	}
	return rhai.NewScope().
		SetConst("CALLER_ID", value.Int(int64(j.task.Caller))).
		SetConst("CONTEXT_ID", value.Int(int64(j.task.Context))).
		SetConst("JOB_ID", value.Int(int64(key.ID))).
		SetConst("ATTEMPT", value.Int(j.task.Attempt)).
		SetConst("env", env).
		SetConst("params", params.Keep()).
		SetConst("input", input), nil
}

// looksAtInput reports whether a script may look at what its job needed, which
// costs reads of the board: it names it, or may make the name up.
func looksAtInput(text string) bool {
	return strings.Contains(text, "input") || strings.Contains(text, "params") || strings.Contains(text, "eval")
}

// print writes to the log, a line for each of the text.
func (j *job) print(text string) { j.write(script.KeyStdout, text) }

// debug writes to the log where the script says what it does.
func (j *job) debug(text string, pos rhai.Pos) {
	j.write(script.KeyStderr, fmt.Sprintf("%d:%d | %s", pos.Line, pos.Col, text))
}

func (j *job) write(stream, text string) {
	lines := script.NewLines(func(line []byte) { j.host.Log(stream, line) })
	lines.Write(j.task.Hide.Bytes([]byte(text + "\n")))
}

// succeeded is the end of a script that gave v.
func (j *job) succeeded(v value.Value) script.Outcome {
	if j.task.Whole {
		return j.whole(v)
	}
	if err := j.take(v); err != nil {
		out := j.errored(err.Error())
		out.ExitCode, out.Invalid = 0, true
		out.Result[script.KeyExitCode] = "0"
		return out
	}
	j.result[script.KeyExitCode] = "0"
	return script.Outcome{Verdict: script.Succeeded, Result: j.result}
}

// whole is the end of a script whose value is wanted as it is.
func (j *job) whole(v value.Value) script.Outcome {
	if v.IsUnit() {
		return script.Outcome{Verdict: script.Succeeded}
	}
	s, err := text(v)
	if err == nil && len(s) > script.MaxResultBytes {
		err = domain.Invalidf("it has %d bytes, the limit is %d", len(s), script.MaxResultBytes)
	}
	if err != nil {
		return script.Outcome{Verdict: script.Errored, Invalid: true, Error: fmt.Sprintf("the value of the script: %v", err)}
	}
	return script.Outcome{Verdict: script.Succeeded, Value: s}
}

// take puts the value of the script into the result, wholly or not at all.
//
// Errors: [domain.ErrInvalid].
func (j *job) take(v value.Value) error {
	all := map[string]value.Value{}
	switch {
	case v.Is(value.MapKind):
		for _, e := range v.AsMap().Entries() {
			all[e.Key] = e.Value
		}
	case !v.IsUnit():
		all["value"] = v
	}
	result, size := maps.Clone(j.result), 0
	for key, v := range all {
		s, err := text(v)
		if err != nil {
			return domain.Invalidf("result: key %q: %v", key, err)
		}
		// One value may stand under many keys: what is too much is not made.
		if size += len(s); size > script.MaxResultBytes {
			return domain.Invalidf("result: its values take more bytes than the at most %d that are allowed", script.MaxResultBytes)
		}
		result[key] = s
	}
	if err := script.CheckResult(result); err != nil {
		return err
	}
	j.result = result
	return nil
}

// failed is the end of a script with an error.
func (j *job) failed(ctx context.Context, text string, err error) script.Outcome {
	var e *rhai.Error
	if !errors.As(err, &e) {
		return j.errored(err.Error())
	}
	in := e.Innermost()
	if stopped := script.Stop(ctx); stopped != nil && in.Kind == value.ErrorTerminated {
		return script.Outcome{Verdict: script.Stopped, ExitCode: 128 + int(unix.SIGTERM), Error: fmt.Sprintf("stopped: %v", stopped), Result: j.left()}
	}
	if in.Kind == value.ErrorTerminated && in.Cause != nil { // it waits, or is no longer ours: see durable.go
		return script.Outcome{Verdict: script.Stopped, ExitCode: 128 + int(unix.SIGTERM), Error: "stopped: " + oneLine(in.Cause.Error()), Result: j.left()}
	}
	for line := range strings.Lines(rhai.Explain(e, text)) {
		j.write("ramet", strings.TrimSuffix(line, "\n"))
	}
	out := j.errored(oneLine(e.Error()))
	if in.Kind == value.ErrorRuntime {
		out.Verdict = script.Failed
		if code := in.Value; code.Is(value.IntKind) && code.AsInt() >= 1 && code.AsInt() <= 255 {
			out.ExitCode = int(code.AsInt())
			out.Result[script.KeyExitCode] = strconv.Itoa(out.ExitCode)
		}
		if out.ExitCode >= 125 { // as for processes: nobody says these on purpose
			out.Verdict = script.Errored
		}
	}
	return out
}

// errored is the end of a script that something went wrong with.
func (j *job) errored(text string) script.Outcome {
	r := j.left()
	r[script.KeyExitCode] = "1"
	return script.Outcome{Verdict: script.Errored, ExitCode: 1, Error: text, Result: r}
}

// left is what the script had set as its result, where that can be used.
func (j *job) left() map[string]string {
	if script.CheckResult(j.result) != nil {
		return map[string]string{}
	}
	return maps.Clone(j.result)
}

// maxErrorText is where the text of an error is cut: what a script throws may
// be long.
const maxErrorText = 1 << 10 // bytes

func oneLine(s string) string {
	s = strings.ReplaceAll(s, "\n", "; ")
	if len(s) > maxErrorText {
		s = strings.ToValidUTF8(s[:maxErrorText], "") + "..."
	}
	return s
}
