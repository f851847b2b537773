package flow

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/script"
)

// maxResultBytes bounds a flow's result as JSON: it is a field of a record.
const maxResultBytes = 512 << 10

// results gathers what steps give to the result of their flow:
// "<step>.<key>", and the bare key of a step that nobody needs, where only one
// such step has it.
type results struct {
	output map[string]string // name -> "<step>.<key>"; nil where all is taken
	all    map[string]string
	bare   map[string]string
	twice  map[string]bool // bare keys of more than one step
	bytes  int
	cut    bool
}

func newResults(plan *Plan) *results {
	r := &results{all: map[string]string{}, bare: map[string]string{}, twice: map[string]bool{}}
	if plan != nil {
		r.output = plan.Output
	}
	return r
}

// add takes in the result of a step.
func (r *results) add(step string, leaf bool, result map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(result)) {
		value := result[key]
		name := step + "." + key
		if len(r.output) > 0 {
			for as, from := range r.output {
				if from == name {
					r.put(r.all, as, value)
				}
			}
			continue
		}
		switch {
		case key == script.KeyExitCode || key == script.KeyStdout || key == script.KeyStderr:
			continue // every process has them; `output` may name them
		case strings.HasPrefix(key, "params.") || strings.HasPrefix(key, "steps."):
			continue // for the flow itself
		}
		r.put(r.all, name, value)
		if !leaf {
			continue
		}
		if _, there := r.bare[key]; there {
			r.twice[key] = true
		}
		r.put(r.bare, key, value)
	}
}

// put puts a value in, as long as there is room.
func (r *results) put(into map[string]string, name, value string) {
	// As JSON a text may be six times as long.
	if r.bytes += len(layout.MapField("", map[string]string{name: value}).Value); r.bytes > maxResultBytes {
		r.cut = true
		return
	}
	into[name] = value
}

// resultCut says in a result that not all of it is there.
const resultCut = "ramet.cut"

// map_ is the whole result.
func (r *results) map_() map[string]string {
	for key, value := range r.bare {
		if _, there := r.all[key]; !there && !r.twice[key] {
			r.all[key] = value
		}
	}
	if r.cut {
		r.all[resultCut] = "the result is larger than a record can hold; the rest stands in the results of the jobs"
	}
	return r.all
}

// result is that of a flow of steps: what its single steps and approvals gave.
func (t *tending) result(ctx context.Context, plan *Plan, s *seen, v *verdict) (map[string]string, error) {
	r := newResults(plan)
	for i := range plan.Steps {
		st := v.at(i)
		if classOf(st.Status) != well {
			continue
		}
		name := plan.Steps[i].Name
		switch {
		case hasList(&plan.Steps[i]) && st.Split != nil:
			if err := t.addList(ctx, r, name, plan.leaf[i], st); err != nil {
				return nil, err
			}
		case st.Result != nil:
			r.add(name, plan.leaf[i] && plan.Steps[i].KindOr().One(), st.Result)
		case st.Job != 0:
			j, err := t.work.Show(ctx, t.tenant(), domain.JobKey{Caller: s.caller, ID: st.Job})
			if errors.Is(err, domain.ErrNotFound) {
				continue
			} else if err != nil {
				return nil, err
			}
			r.add(name, plan.leaf[i], j.Result)
		}
	}
	return r.map_(), nil
}

// addList takes in what the jobs or flows of a step left that was done for each element of a list.
func (t *tending) addList(ctx context.Context, r *results, name string, leaf bool, st *StepState) error {
	need := domain.Need{Items: st.Split.Total, List: st.List}
	if st.Split.Flows && !st.Split.Each && need.Items == 1 {
		list, err := t.work.Results(ctx, t.tenant(), t.ref.id, need)
		if err == nil {
			r.add(name, leaf, list[0])
		}
		return r.pass(err)
	}
	text, err := t.work.ResultsText(ctx, t.tenant(), t.ref.id, need, maxResultBytes)
	if err == nil {
		r.add(name, false, map[string]string{"results": text})
	}
	return r.pass(err)
}

// pass notes an error by which something is not in the result, and gives back any other.
func (r *results) pass(err error) error {
	if cannotBe(err) {
		r.cut, err = true, nil
	}
	return err
}
