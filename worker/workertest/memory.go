package workertest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/durable"
	"github.com/ramet-run/ramet/worker"
)

// Memory is what a job remembers, and what comes to it from others. The zero Memory is of a
// job that has done nothing, and to which nothing comes. Run again, a function goes on from
// where it was: so a test sees what it does after a failure. It is for one function at a time.
type Memory struct {
	// Signals are those that were sent and not waited for yet, by their names: payloads,
	// which become JSON, the oldest first.
	Signals map[string][]any
	// Calls says how a job or a flow ends that the function calls: with its result, or an
	// error. Default: they go on.
	Calls func(worker.Call) (map[string]string, error)
	// Decide says what a person has decided, ok that somebody has. Default: nobody has.
	Decide func(name string, asked worker.Approval) (d worker.Decision, ok bool)
	// Met says whether a prerequisite is met. Default: each is.
	Met func(prerequisite string) bool

	attempts int64
	mu       sync.Mutex
	items    []string
	skipped  time.Duration
	children map[string]child
}

// child is what a function has called, and when.
type child struct {
	domain.Call
	at time.Time
}

// Now is the time of the job: the clock's, and all that was slept and waited.
func (m *Memory) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now()
}

func (m *Memory) now() time.Time { return time.Now().Add(m.skipped) }

// Steps are what the job remembers, in order: "step charge", "sleep nap", "wait click", "call
// bill", and what was drawn.
func (m *Memory) Steps() (list []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, item := range m.items {
		e, err := durable.DecodeEvent(item)
		if err != nil {
			panic("BUG: " + err.Error())
		}
		switch e.Kind {
		case durable.EventFailed, durable.EventCame, durable.EventReturned:
		default:
			list = append(list, strings.TrimSpace(e.Kind+" "+e.Name))
		}
	}
	return list
}

// Run calls a handler with arguments as a job would carry them, as JSON, and again from its
// top whenever what it slept or waited for is over. change may change the job before.
//
// Errors: those of the handler, the time of the last call; [worker.ErrSuspended] where the
// function waits for what never comes here, which the text names.
func (m *Memory) Run(ctx context.Context, h worker.Handler, args any, change ...func(*domain.Assignment)) (Ran, error) {
	var ran Ran
	for {
		m.attempts++
		a, err := assignment(args, m.attempts, change)
		if err != nil {
			return ran, err
		}
		job, script := worker.NewJob(a), durable.NewScript(store{m}, "workertest", func(bool) {})
		job.RememberBy(func(ctx context.Context, ask domain.WorkerStep) (domain.WorkerStepAnswer, error) {
			return answer(ctx, script, ask.Request)
		})
		result, err := h(ctx, job)
		ran.Log = append(ran.Log, job.Close()...)
		what := script.Suspended()
		if what == nil {
			ran.Result = result
			return ran, err
		}
		if until := m.next(what); until.IsZero() {
			return ran, fmt.Errorf("%w: %s", worker.ErrSuspended, waitsFor(what))
		} else if ctx.Err() != nil {
			return ran, context.Cause(ctx)
		} else {
			m.skip(until)
		}
	}
}

// answer answers a request as a node does.
func answer(ctx context.Context, script *durable.Script, request json.RawMessage) (out domain.WorkerStepAnswer, err error) {
	r, err := durable.ParseRequest(request)
	var a durable.Answer
	if err == nil {
		a, err = script.Do(ctx, r)
	}
	if err != nil {
		a = durable.Answer{Error: durable.ErrorOf(err)}
	}
	if a.Suspend {
		out.Suspension = script.Suspended()
	}
	out.Answer, err = json.Marshal(a)
	return out, err
}

// waitsFor says what does not come.
func waitsFor(s *domain.Suspension) string {
	for _, w := range []struct {
		names []string
		what  string
	}{{s.Signals, "signal"}, {s.Prerequisites, "prerequisite"}} {
		if len(w.names) > 0 {
			return fmt.Sprintf("%s %q waits for the %s %s, which does not come in this test", s.Kind, s.Name, w.what, strings.Join(w.names, ", "))
		}
	}
	return fmt.Sprintf("%s %q waits for the end of what it has called, which this test does not say", s.Kind, s.Name)
}

// next is when the job goes on if nothing comes; zero is never.
func (m *Memory) next(s *domain.Suspension) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := s.Until()
	for _, key := range s.Children {
		if due := m.children[key].due(); !due.IsZero() && (next.IsZero() || due.Before(next)) {
			next = due
		}
	}
	return next
}

// due is until when somebody may decide; zero is for ever.
func (c child) due() time.Time {
	if c.Approval == nil || c.Approval.Deadline == 0 {
		return time.Time{}
	}
	return c.at.Add(time.Duration(c.Approval.Deadline) * time.Second)
}

func (m *Memory) skip(until time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.skipTo(until)
}

func (m *Memory) skipTo(until time.Time) {
	m.skipped += max(0, until.Sub(m.now()))
}

// store is a memory as the history of a job.
type store struct{ m *Memory }

func (s store) Load(context.Context) ([]string, error) {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	return append([]string(nil), s.m.items...), nil
}

func (s store) Append(_ context.Context, _ int, item string) error {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	return s.m.add(item)
}

func (m *Memory) add(item string) error {
	e, err := durable.DecodeEvent(item)
	if err != nil {
		return err
	}
	m.items = append(m.items, item)
	// What is short does not end the function, and would be waited for here.
	if until := time.UnixMilli(e.UntilMs); e.UntilMs != 0 && !until.After(m.now().Add(durable.Short)) {
		m.skipTo(until)
	}
	return nil
}

func (s store) Take(_ context.Context, _ int, signal string, item func(json.RawMessage) (string, error)) (bool, error) {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	sent := s.m.Signals[signal]
	if len(sent) == 0 {
		return false, nil
	}
	payload, err := json.Marshal(sent[0])
	if err != nil {
		return false, domain.Invalidf("signal %q: its payload cannot be written as JSON: %v", signal, err)
	}
	text, err := item(payload)
	if err != nil {
		return false, err
	}
	s.m.Signals[signal] = sent[1:]
	return true, s.m.add(text)
}

func (s store) Call(_ context.Context, _ int, c domain.Call, _ domain.CalledBy, item func(string) (string, error)) error {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	key := domain.JobKey{Caller: 1, ID: domain.JobID(len(s.m.children) + 2)}.String()
	text, err := item(key)
	if err != nil {
		return err
	}
	if s.m.children == nil {
		s.m.children = map[string]child{}
	}
	s.m.children[key] = child{c, s.m.now()}
	return s.m.add(text)
}

func (s store) Ended(_ context.Context, children []string) ([]*domain.ChildEnd, error) {
	ends := make([]*domain.ChildEnd, len(children))
	for i, key := range children {
		s.m.mu.Lock()
		c, now := s.m.children[key], s.m.now()
		s.m.mu.Unlock()
		if c.Approval != nil {
			ends[i] = s.m.decided(c, now)
		} else if s.m.Calls != nil {
			ends[i] = ended(s.m.Calls(c.Call))
		}
	}
	return ends, nil
}

func ended(result map[string]string, err error) *domain.ChildEnd {
	if err != nil {
		return &domain.ChildEnd{Failure: &domain.StepFailure{Text: err.Error()}}
	}
	return &domain.ChildEnd{Result: result}
}

func (m *Memory) decided(c child, now time.Time) *domain.ChildEnd {
	if m.Decide != nil {
		if d, ok := m.Decide(c.Name, *c.Approval); ok {
			result := map[string]string{"by": d.By, "comment": d.Comment}
			for name, text := range d.Answers {
				result[name] = text
			}
			return &domain.ChildEnd{Decided: d.Approved, Result: result}
		}
	}
	if due := c.due(); due.IsZero() || due.After(now) {
		return nil
	}
	switch c.Approval.OnDeadline {
	case domain.DeadlineApprove:
		return &domain.ChildEnd{Decided: true}
	case domain.DeadlineReject:
		return &domain.ChildEnd{}
	case domain.DeadlineFail:
		return &domain.ChildEnd{Failure: &domain.StepFailure{Text: "nobody has decided in time"}}
	}
	return &domain.ChildEnd{Late: true}
}

func (s store) Met(_ context.Context, prerequisite string, _ bool) (bool, error) {
	return s.m.Met == nil || s.m.Met(prerequisite), nil
}

func (s store) Now() time.Time { return s.m.Now() }
