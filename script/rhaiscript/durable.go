package rhaiscript

import (
	"encoding/json"
	"errors"
	"math"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/durable"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/rhai/value"
	"github.com/ramet-run/ramet/script"
)

// This file holds the functions by which a script remembers what it has done; see package
// durable. They call the channel of the job as it is, without a socket between.

// errSuspended ends a script that waits for long: no try of the script holds it.
var errSuspended = errors.New("the script waits, and goes on later")

var spanParam = value.Param{Kinds: value.Of(value.IntKind) | value.Of(value.FloatKind)}

func durableFunctions(p *program) []*value.Native {
	step := func(c *value.Ctx, name *value.Value, args []value.Value) value.Value {
		return p.job.step(c, name.AsString(), args)
	}
	wait := func(c *value.Ctx, name *value.Value, args []value.Value) value.Value {
		return p.job.wait(c, name.AsString(), args)
	}
	const stepDoc = "Runs f once, ever, and gives what it returned, to later runs of the script too. f may take #{key, attempt}; key is the same in all attempts."
	const waitDoc = "Waits for a signal to the job, and gives its payload; other jobs run meanwhile."
	// The word of other languages, call, is that of function pointers in Rhai.
	call := func(c *value.Ctx, name *value.Value, args []value.Value) value.Value {
		return p.job.call(c, name.AsString(), args)
	}
	const callDoc = "Has a flow or a job of its own done once, waits for its end, and gives its result; other jobs run meanwhile."
	approval := func(c *value.Ctx, name *value.Value, args []value.Value) value.Value {
		return p.job.approval(c, name.AsString(), args)
	}
	const approvalDoc = "Asks a person, and gives #{approved, by, comment, answers}; other jobs run meanwhile."
	drawn := func(verb, signature, doc string) *value.Native {
		return &value.Native{Name: verb, Volatile: true, Signature: signature, Doc: doc,
			Call: func(c *value.Ctx, _ *value.Value, _ []value.Value) value.Value {
				return p.job.value(c, durable.Request{Do: verb})
			}}
	}
	return []*value.Native{
		{Name: "step", Params: []value.Param{textParam, fnParam}, Volatile: true, Signature: "step(name: string, f: Fn) -> any", Doc: stepDoc, Call: step},
		{Name: "step", Params: []value.Param{textParam, fnParam, mapParam}, Volatile: true,
			Signature: "step(name: string, f: Fn, options: map) -> any", Doc: stepDoc +
				" Options: retries, and after, the seconds before the first of them.", Call: step},
		{Name: "sleep", Params: []value.Param{textParam, spanParam}, Volatile: true, Signature: "sleep(name: string, seconds: int or float)",
			Doc: "Sleeps as long, however often the node is started anew; other jobs run meanwhile.",
			Call: func(c *value.Ctx, name *value.Value, args []value.Value) value.Value {
				return p.job.sleep(c, name.AsString(), args[0])
			}},
		{Name: "wait", Params: []value.Param{textParam}, Volatile: true, Signature: "wait(name: string) -> any", Doc: waitDoc, Call: wait},
		{Name: "wait", Params: []value.Param{textParam, mapParam}, Volatile: true, Signature: "wait(name: string, options: map) -> any",
			Doc:  waitDoc + " Options: signal, its name where it is another; prerequisite, to wait for that instead; timeout, in seconds, after which it throws.",
			Call: wait},
		{Name: "approval", Params: []value.Param{textParam}, Volatile: true, Signature: "approval(name: string) -> map", Doc: approvalDoc, Call: approval},
		{Name: "approval", Params: []value.Param{textParam, mapParam}, Volatile: true, Signature: "approval(name: string, options: map) -> map",
			Doc:  approvalDoc + " Options: text, what it is about; timeout, in seconds; and what an approval of a flow has: approvers, answers, notice …",
			Call: approval},
		{Name: "child", Params: []value.Param{textParam, textParam}, Volatile: true, Signature: "child(name: string, blueprint: string) -> map",
			Doc: callDoc, Call: call},
		{Name: "child", Params: []value.Param{textParam, textParam, mapParam}, Volatile: true,
			Signature: "child(name: string, blueprint: string, params: map) -> map",
			Doc:       callDoc, Call: call},
		{Name: "child", Params: []value.Param{textParam, mapParam}, Volatile: true, Signature: "child(name: string, what: map) -> map",
			Doc: callDoc + " what has blueprint and version, or script, script_type, timeout and retries; and params.", Call: call},
		{Name: "gather", Params: []value.Param{listParam}, Volatile: true, Signature: "gather(calls: array) -> array",
			Doc: "Does calls side by side, each a map as for child with a name, and gives their results in that order when all have ended.",
			Call: func(c *value.Ctx, calls *value.Value, _ []value.Value) value.Value {
				return p.job.gather(c, calls.AsArray())
			}},
		drawn(durable.DoNow, "now() -> int", "The time in Unix milliseconds, the same in later runs of the script."),
		drawn(durable.DoRandom, "random() -> float", "A number from 0.0 to below 1.0, the same in later runs of the script."),
		drawn(durable.DoUUID, "uuid() -> string", "A UUID, the same in later runs of the script."),
		{Name: "version", Params: []value.Param{textParam, intParam}, Volatile: true, Signature: "version(name: string, n: int) -> int",
			Doc: "The version of what name is that this job began with, at most n.",
			Call: func(c *value.Ctx, name *value.Value, args []value.Value) value.Value {
				return p.job.value(c, durable.Request{Do: durable.DoVersion, Name: name.AsString(), N: args[0].AsInt()})
			}},
	}
}

// Waits between two questions while the board is away.
const (
	againMin = 100 * time.Millisecond
	againMax = 5 * time.Second
)

// ask asks the channel, again while the board is away. When not ok, c has failed.
func (j *job) ask(c *value.Ctx, r durable.Request) (a durable.Answer, ok bool) {
	switch {
	case j.task.Channel == nil:
		c.Throw("%s: nothing is remembered here: run the script as a job of a node", r.Do)
		return a, false
	case j.inStep != "":
		// It would wait for itself: what is in a step is remembered as a whole.
		c.Throw("%s inside of step %q: what a step does cannot have steps, sleeps and waits of its own", r.Do, j.inStep)
		return a, false
	}
	err := error(domain.ErrUnavailable)
	for try := 0; errors.Is(err, domain.ErrUnavailable) && script.Stop(j.ctx) == nil; try++ {
		if try > 0 {
			pause.For(j.ctx, pause.Doubled(againMin, againMax, try-1))
		}
		a, err = j.task.Channel.Do(j.ctx, r)
	}
	switch {
	case err == nil && !a.Suspend:
		return a, true
	case err == nil:
		err = errSuspended
	case errors.Is(err, domain.ErrInvalid) || errors.Is(err, domain.ErrLimit):
		c.Throw("%v", err)
		return a, false
	}
	// The job goes on later, or is no longer ours, or its script has drifted: it ends.
	c.Fail(&value.Error{Kind: value.ErrorTerminated, Value: value.Unit, Cause: err})
	return a, false
}

// value asks for what is drawn once.
func (j *job) value(c *value.Ctx, r durable.Request) value.Value {
	a, ok := j.ask(c, r)
	if !ok {
		return value.Value{}
	}
	return remembered(c, a.Value)
}

// remembered is a value of the history.
func remembered(c *value.Ctx, text json.RawMessage) value.Value {
	if len(text) == 0 {
		return value.Unit
	}
	// What it takes as a value is about what it takes as a text, some times over.
	if !c.Host.Charge(c, 4*len(text)) {
		return value.Value{}
	}
	v, err := value.ReadJSON(string(text))
	if err != nil {
		return c.Throw("what is remembered cannot be read: %v", err)
	}
	return v
}

// step runs a function once, ever.
func (j *job) step(c *value.Ctx, name string, args []value.Value) value.Value {
	retries, after := int64(0), int64(1000)
	if len(args) > 1 {
		var ok bool
		if retries, after, ok = stepOptions(c, args[1]); !ok {
			return value.Value{}
		}
	}
	ask := durable.Request{Do: durable.DoStep, Name: name}
	for {
		a, ok := j.ask(c, ask)
		if !ok {
			return value.Value{}
		}
		if ask.N = a.N; !a.Done {
			done := durable.Request{Do: durable.DoDone, Name: name, N: a.N}
			if !j.run(c, args[0], a, &done) {
				return value.Value{}
			}
			if done.Failure != nil && int64(a.Attempt) <= retries {
				wait := min(after<<min(a.Attempt-1, 16), durable.MaxSleep.Milliseconds())
				done.RetryAfterMs = &wait
			}
			if a, ok = j.tell(c, done); !ok {
				return value.Value{}
			}
		}
		switch {
		case a.Again: // the channel waits with it, or ends the script if that takes long
		case a.Failure != nil:
			return c.Throw("%s", a.Failure.Text)
		default:
			return remembered(c, a.Value)
		}
	}
}

// tell has remembered what came of a step, and gives that as it is remembered.
func (j *job) tell(c *value.Ctx, done durable.Request) (a durable.Answer, ok bool) {
	if err := done.Validate(); errors.Is(err, domain.ErrLimit) {
		// It is done, and would be done again if this were not remembered.
		done.Value, done.RetryAfterMs, done.Failure = nil, nil, &durable.Failure{Text: err.Error()}
	}
	if a, ok = j.ask(c, done); ok && a.Done {
		a.Value, a.Failure = done.Value, done.Failure
	}
	return a, ok
}

// run calls a step's function and puts what comes of it into done. It is not ok where the
// script ends with it.
func (j *job) run(c *value.Ctx, f value.Value, a durable.Answer, done *durable.Request) (ok bool) {
	about := value.NewMap(2)
	about.AsMap().Set("key", value.Str(a.Key))
	about.AsMap().Set("attempt", value.Int(int64(a.Attempt)))
	j.inStep = done.Name
	v := c.Host.Callback(c, f).Call(c, nil, nil, -1, []value.Value{about})
	j.inStep = ""
	if !v.IsNone() {
		text, err := jsonOf(v, 2*durable.MaxAnswer)
		if err != nil {
			done.Failure = &durable.Failure{Text: "what the step has returned cannot be remembered: " + err.Error()}
		} else {
			done.Value = json.RawMessage(text)
		}
		return true
	}
	if c.Err == nil || !c.Err.Innermost().Kind.Catchable() {
		return false // it ends, by itself or by a limit: nothing has come of the step
	}
	in := c.Err.Innermost()
	done.Failure = &durable.Failure{Kind: in.Kind.String(), Text: in.Text()}
	if in.Kind == value.ErrorRuntime {
		text, ok := c.Display(in.Value)
		if !ok {
			return false
		}
		done.Failure = &durable.Failure{Text: text}
	}
	c.Err = nil
	return true
}

// stepOptions reads #{retries, after}.
func stepOptions(c *value.Ctx, v value.Value) (retries, after int64, ok bool) {
	after = 1000
	for _, e := range v.AsMap().Entries() {
		switch {
		case e.Key == "retries" && e.Value.Is(value.IntKind) && e.Value.AsInt() >= 0:
			retries = e.Value.AsInt()
		case e.Key == "after" && isSpan(e.Value):
			after = *milliseconds(e.Value)
		default:
			c.Throw("step: option %s: want retries, a number from 0, and after, in seconds", e.Key)
			return 0, 0, false
		}
	}
	return retries, after, true
}

func (j *job) sleep(c *value.Ctx, name string, seconds value.Value) value.Value {
	if _, ok := j.ask(c, durable.Request{Do: durable.DoSleep, Name: name, ForMs: milliseconds(seconds)}); !ok {
		return value.Value{}
	}
	return value.Unit
}

func (j *job) wait(c *value.Ctx, name string, args []value.Value) value.Value {
	r := durable.Request{Do: durable.DoWait, Name: name}
	if len(args) > 0 {
		for _, e := range args[0].AsMap().Entries() {
			switch {
			case e.Key == "signal" && e.Value.Is(value.StringKind):
				r.Signal = e.Value.AsString()
			case e.Key == "prerequisite" && e.Value.Is(value.StringKind):
				r.Prerequisite = e.Value.AsString()
			case e.Key == "timeout" && isSpan(e.Value):
				r.TimeoutMs = milliseconds(e.Value)
			default:
				return c.Throw("wait: option %s: want signal, a name, prerequisite, and timeout, in seconds", e.Key)
			}
		}
	}
	return j.await(c, r)
}

// await asks for what comes, and gives it.
func (j *job) await(c *value.Ctx, r durable.Request) value.Value {
	a, ok := j.ask(c, r)
	switch {
	case !ok:
		return value.Value{}
	case a.TimedOut:
		return c.Throw("wait %q: what it waits for did not come in time", r.Name)
	case a.Failure != nil:
		return c.Throw("%s", a.Failure.Text)
	}
	return remembered(c, a.Value)
}

func isSpan(v value.Value) bool { return v.Is(value.IntKind) || v.Is(value.FloatKind) }

// milliseconds is a time that a script gave in seconds; the channel says what is too long.
func milliseconds(v value.Value) *int64 {
	seconds := 0.0
	if v.Is(value.FloatKind) {
		seconds = v.AsFloat()
	} else {
		seconds = float64(v.AsInt())
	}
	ms := int64(-1) // for what is no number, or none of this world
	if seconds >= 0 && seconds < math.MaxInt64/1e6 {
		ms = int64(math.Round(seconds * 1000))
	}
	return &ms
}
