package flow

import (
	"context"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// This file says of flows whether one of their jobs has begun. A flow's record says
// started from the moment its jobs may run: a runner that wrote there when the first of
// them does would make each flow cost one commit more. Who asks is told what the word
// means: while all jobs of a flow wait, it is dispatched.
//
// Source: seed 002, "FlowStatus": dispatched is "stored but not yet started", started "at
// least one job is running".

const (
	// begunJobs bounds the jobs that a page of flows, or one flow, is judged by. A flow of
	// which more are alive is taken for begun.
	begunJobs = 4_000
	// begunStates bounds the flows of steps whose state a page reads.
	begunStates = 100
)

// unbegun is a flow that may not have begun, with the jobs it has.
type unbegun struct {
	flow *domain.Flow
	keys []string
}

// tell says of flows none of whose jobs has begun that they are dispatched.
func (e *Engine) tell(ctx context.Context, space board.Space, list []unbegun) error {
	var keys []string
	for _, u := range list {
		keys = append(keys, u.keys...)
	}
	if len(keys) == 0 {
		return nil
	}
	recs, err := board.Readable(e.board.GetFields(ctx, space, []string{layout.JobStatus}, keys...))
	if err != nil {
		return err
	}
	for _, u := range list {
		waits := len(u.keys) > 0
		for _, rec := range recs[:len(u.keys)] {
			status := domain.JobStatus(rec.Get(layout.JobStatus)) // of one that is gone nobody can say that it waits
			waits = waits && (status == domain.JobDispatched || status == domain.JobWaiting)
		}
		if recs = recs[len(u.keys):]; waits {
			u.flow.Status, u.flow.StartedMs = domain.FlowDispatched, 0
		}
	}
	return nil
}

// mayWait reports whether a flow may be one none of whose jobs has begun, as far as its
// record tells.
func mayWait(f *domain.Flow) bool {
	return f.Status == domain.FlowStarted && f.Retried == 0 && strings.Trim(f.Progress, "0.") == ""
}

// tellView is tell for a flow that is shown whole.
func (e *Engine) tellView(ctx context.Context, p ref, v *domain.FlowView, s *stored) error {
	if !mayWait(&v.Flow) {
		return nil
	}
	if s.stepped {
		keys, waits := s.waiting()
		if !waits || len(keys) > begunJobs {
			return nil
		}
		return e.tell(ctx, p.space, []unbegun{{&v.Flow, keys}})
	}
	for i := range v.Steps {
		if st := v.Steps[i].Status; st != domain.StepDormant && st != domain.StepOpen {
			return nil
		}
	}
	if len(v.Steps) > 0 {
		v.Status, v.StartedMs = domain.FlowDispatched, 0
	}
	return nil
}

// waiting are the jobs of a flow of steps that have not ended; ok is false where something
// of it has ended.
func (s *stored) waiting() (keys []string, ok bool) {
	for i := range s.Steps {
		st := &s.Steps[i]
		if st.Status.Done() || st.Done.Count() > 0 || len(st.Bad) > 0 {
			return nil, false
		}
		for _, u := range st.Open {
			keys = append(keys, domain.JobKey{Caller: s.caller, ID: u.Job}.String())
		}
		if st.Job != 0 && len(st.Open) == 0 {
			keys = append(keys, domain.JobKey{Caller: s.caller, ID: st.Job}.String())
		}
	}
	return keys, true
}

// tellPage is tell for a page of flows; plain has what is known of the jobs of those that
// are plain, by their place in the page.
func (e *Engine) tellPage(ctx context.Context, space board.Space, flows []domain.Flow, plain map[int]board.Record) error {
	var list []unbegun
	jobs, states := 0, 0
	for i := range flows {
		f := &flows[i]
		if !mayWait(f) {
			continue
		}
		u := unbegun{flow: f}
		if f.Stepped {
			if states++; states > begunStates {
				continue
			}
			s, there, err := e.readState(ctx, ref{space, f.ID})
			if err != nil && ctx.Err() != nil {
				return err
			}
			if err != nil || !there { // one that cannot be read is shown as its record says
				continue
			}
			keys, ok := s.waiting()
			if !ok {
				continue
			}
			u.keys = keys
		} else if u.keys = plainJobs(f, plain[i], begunJobs-jobs); u.keys == nil {
			continue
		}
		if jobs += len(u.keys); jobs > begunJobs {
			break
		}
		list = append(list, u)
	}
	return e.tell(ctx, space, list)
}

// plainJobs are the keys of a plain flow's jobs, which follow each other; nil where they
// do not, or are more than most.
func plainJobs(f *domain.Flow, state board.Record, most int) (keys []string) {
	first, err1 := strconv.ParseUint(state.Get(layout.FlowStateFirst), 10, 32)
	count, err2 := strconv.Atoi(state.Get(layout.FlowStateCount))
	if err1 != nil || err2 != nil || count < 1 || count > most {
		return nil
	}
	for n := range count {
		keys = append(keys, domain.JobKey{Caller: f.CallerID, ID: domain.JobID(first) + domain.JobID(n)}.String())
	}
	return keys
}
