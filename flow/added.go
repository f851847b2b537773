package flow

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// This file has what is taken back of the params that jobs have added, where their step is run
// anew: it does not begin on top of what it has added itself. Nobody notes who added a param; it
// is found by the results that stand on the records of jobs. Of shards, packs and lists these are
// not known, only that there were some.

// maxAddedRounds bounds the rounds of a step that are looked through, the newest first.
const maxAddedRounds = 1000

// adder is a step whose jobs may have added something.
type adder struct {
	step *domain.Step
	st   *StepState
	job  domain.JobKey // the newest, where it has one
	anew bool
}

// addedTo is what the rest of a flow has added to it, once steps are run anew: all that these
// have not, and of what both have, what the rest has. steps come in the order of the plan.
//
// A param that a step of many jobs may have added, too, is known as it is now alone: it goes where
// one of the steps that are run anew has added it, and stays where none is known to. Then unsure
// is set.
func (e *Engine) addedTo(ctx context.Context, tenant domain.TenantID, added map[string]string, steps []adder) (left map[string]string, unsure bool, err error) {
	left = map[string]string{}
	if len(added) == 0 {
		return left, false, nil
	}
	own, ownWhole, restWhole := map[string]string{}, true, true
	var rest []adder
	for _, a := range steps {
		if !a.anew {
			rest, restWhole = append(rest, a), restWhole && !a.many()
			continue
		}
		whole, err := e.addedBy(ctx, tenant, &a, nil, own)
		if err != nil {
			return nil, false, err
		}
		ownWhole = ownWhole && whole
	}
	doubtful := own
	if !ownWhole {
		doubtful = added
	}
	slices.SortStableFunc(rest, func(a, b adder) int { return cmp.Compare(a.st.EndMs, b.st.EndMs) })
	before := map[string]string{}
	for _, a := range rest {
		if len(doubtful) == 0 {
			break
		}
		if _, err := e.addedBy(ctx, tenant, &a, doubtful, before); err != nil {
			return nil, false, err
		}
	}
	for name, value := range added {
		_, theirs := own[name]
		was, known := before[name]
		unsure = unsure || !restWhole && (theirs || !ownWhole && !known)
		switch {
		case known:
			left[name] = was
		case theirs:
		case ownWhole || !restWhole:
			left[name] = value
		}
	}
	return left, unsure, nil
}

// many reports whether it has had jobs that are not known.
func (a *adder) many() bool {
	return a.step.Flow == nil && !a.step.KindOr().One() && (a.st.Done.Count() > 0 || a.st.Split != nil)
}

// jobs are those of its rounds, the newest first: of one that is run anew also those of rounds
// before it began anew once.
func (a *adder) jobs() iter.Seq[domain.JobKey] {
	return func(yield func(domain.JobKey) bool) {
		if a.job.ID == 0 || !yield(a.job) {
			return
		}
		left := a.st.Earlier.Count()
		if !a.anew {
			left = min(left, int64(a.st.Round)-1)
		}
		for _, r := range slices.Backward(a.st.Earlier) {
			for id := r.End; id >= r.Start && left > 0; id, left = id-1, left-1 {
				if !yield(domain.JobKey{Caller: a.job.Caller, ID: domain.JobID(id)}) {
					return
				}
			}
		}
	}
}

// addedBy puts into all what a step has added, of the names that are wanted; nil: of all names.
// whole is false where it may have added something else.
func (e *Engine) addedBy(ctx context.Context, tenant domain.TenantID, a *adder, wanted, all map[string]string) (whole bool, err error) {
	mine := map[string]string{}
	take := func(result map[string]string) {
		for name, value := range result {
			_, asked := wanted[name]
			if _, newer := mine[name]; (asked || wanted == nil) && !newer && (strings.HasPrefix(name, "params.") || strings.HasPrefix(name, domain.SettingPrefix)) {
				mine[name] = value
			}
		}
	}
	defer func() { maps.Copy(all, mine) }()
	if a.many() {
		return false, nil
	}
	take(a.st.Result)
	rounds := 0
	for key := range a.jobs() {
		if rounds++; rounds > maxAddedRounds || wanted != nil && len(mine) == len(wanted) {
			return rounds <= maxAddedRounds, nil
		}
		j, err := e.pastJob(ctx, tenant, key)
		if errors.Is(err, domain.ErrNotFound) {
			return false, nil
		} else if err != nil {
			return false, err
		}
		if j.Status == domain.JobFinished {
			take(j.Result)
		}
	}
	return true, nil
}

// takeBack finds what steps have added that a retry lets begin anew, and that goes with it.
func (t *tending) takeBack(ctx context.Context, plan *Plan, s *seen, v *verdict) error {
	var steps []adder
	for _, i := range plan.order {
		st := v.known.At(i)
		steps = append(steps, adder{&plan.Steps[i], st, domain.JobKey{Caller: s.caller, ID: st.Job}, slices.Contains(v.Anew, i)})
	}
	left, _, err := t.addedTo(ctx, t.tenant(), s.added, steps)
	if err != nil {
		return err
	}
	s.before, s.added = s.added, left
	return nil
}

// putBack adds to b what has been taken back.
func (t *tending) putBack(b *board.Batch, s *seen) {
	key := layout.FlowParams(t.ref.id)
	for _, name := range slices.Sorted(maps.Keys(s.before)) {
		value, stays := s.added[name]
		switch {
		case !stays:
			b.Unset(key, name)
		case value != s.before[name]:
			b.Set(key, board.Field{Name: name, Value: value})
		}
	}
}
