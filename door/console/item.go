package console

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// This file has the items of a step that is more than one job: those of a list or of
// combinations, of a split range, and the flows that a step has made.

const (
	// itemsShown is how many items stand there at once; those behind them are unfolded, up
	// to itemsMost.
	itemsShown = 20
	itemsMost  = 200
	// madePages bounds the pages of the list of jobs, or of flows, in which those are looked
	// for that a flow has made.
	madePages = 8
)

// items are what a step is done for: those that went wrong first, then what is under way.
type items struct {
	// Counts say how many there are of each state, in the order of the rows.
	Counts []itemCount
	First  []unitRow
	Rest   []unitRow // folded
	// More says that there are others; All is the list of all.
	More bool
	All  string
}

// itemCount is how many items stand like this.
type itemCount struct {
	State state
	N     int64
}

// itemsOf are the items of a step; nil of one that is a single job, a flow or a decision.
func (v *visit) itemsOf(f *domain.FlowView, s *domain.StepView) (*items, error) {
	if s.Kind.One() || s.Kind == domain.StepApproval || s.Flow != "" || s.SinceMs == 0 {
		return nil, nil
	}
	it := &items{}
	var rows []unitRow
	open := map[string]bool{}
	for i := range s.Units {
		u := &s.Units[i]
		open[cmp.Or(u.Job, u.Flow)] = true
		rows = append(rows, unitRow{Name: unitName(s, u), State: v.unitState(u), Text: u.Text, Link: cmp.Or(v.jobLink(u.Job), v.flowLink(u.Flow))})
	}
	slices.SortStableFunc(rows, func(a, b unitRow) int { return urgency(b.State) - urgency(a.State) })
	well, err := v.wellOf(f, s, open)
	if err != nil {
		return nil, err
	}
	rows = append(rows, well...)
	if left := s.Total - s.Done - int64(s.Open+s.Bad); s.Status.Begun() && left > 0 {
		it.Counts = append(it.Counts, itemCount{state{"waiting", waiting}, left})
	}
	if n := neverBegan(s); n > 0 {
		it.Counts = append(it.Counts, itemCount{state{"never began", skipped}, n})
	}
	for _, c := range []itemCount{{state{"succeeded", succeeded}, s.Done}, {state{"under way", running}, int64(s.Open)},
		{state{"went wrong", worstOf(rows)}, int64(s.Bad)}} {
		if c.N > 0 {
			it.Counts = append(it.Counts, c)
		}
	}
	slices.Reverse(it.Counts)
	it.More = int64(len(rows)) < s.Done+int64(s.Open+s.Bad) || len(rows) > itemsMost
	rows = rows[:min(len(rows), itemsMost)]
	it.First, it.Rest = rows[:min(len(rows), itemsShown)], rows[min(len(rows), itemsShown):]
	it.All = v.stepJobs(f, s)
	return it, nil
}

// urgency is how much an item asks to be looked at.
func urgency(s state) int {
	return map[string]int{errored: 4, failed: 4, held: 3, running: 2, waiting: 1}[s.Class]
}

// worstOf is the class of those that went wrong: that of a script that said so, unless one
// of them did not even come to that.
func worstOf(rows []unitRow) string {
	class := errored
	for i := range rows {
		switch rows[i].State.Class {
		case errored:
			return errored
		case failed:
			class = failed
		}
	}
	return class
}

// stepJobs is the list of what a step has made.
func (v *visit) stepJobs(f *domain.FlowView, s *domain.StepView) string {
	if s.Kind == domain.StepFlow {
		return v.path("flows") + query("where", whereMade(f, s))
	}
	return v.path("jobs") + query("where", fmt.Sprintf("job.flow_id == %d && job.step == %q", f.ID, s.Name))
}

// whereMade is a condition for the flows that a step has made.
func whereMade(f *domain.FlowView, s *domain.StepView) string {
	return fmt.Sprintf("flow.parent != () && flow.parent.flow == %d && flow.parent.step == %q", f.ID, s.Name)
}

// wellOf are the items that ended well, which the flow itself does not remember one by one.
func (v *visit) wellOf(f *domain.FlowView, s *domain.StepView, known map[string]bool) (rows []unitRow, err error) {
	if s.Done == 0 {
		return nil, nil
	}
	if s.Kind == domain.StepFlow {
		return v.wellFlows(f, s, known)
	}
	jobs, err := v.jobsMade(f)
	for _, j := range jobs {
		if j.Step != s.Name || known[j.Key().String()] {
			continue
		}
		name := cmp.Or(shardName(j.Shard), j.Pack, j.Key().String())
		if s.Kind == domain.StepEach && len(rows) < itemsShown { // the list lacks what it is done for
			if whole := v.readJob(j.Key()); whole != nil && whole.Item != "" {
				name = domain.PlainText(itemText(whole.Item), 80)
			}
		}
		rows = append(rows, unitRow{Name: name, State: jobState(j), Text: v.took(j.StartedMs, j.FinishedMs), Link: v.path("jobs/%d/%d", j.CallerID, j.ID)})
	}
	return rows, err
}

// itemText is an element as people write it: of a text without its quotes.
func itemText(item string) string {
	if text, err := strconv.Unquote(item); err == nil {
		return text
	}
	return item
}

func (v *visit) wellFlows(f *domain.FlowView, s *domain.StepView, known map[string]bool) (rows []unitRow, err error) {
	p := api.ListFlowsParams{Context: v.tenant.ID, Limit: itemsMost, FlowFilter: api.FlowFilter{Where: whereMade(f, s), Narrowing: madeWhile(&f.Flow)}}
	for range madePages {
		found, err := call(v, api.FlowList, p)
		if err != nil {
			return rows, err
		}
		for i := range found.Flows {
			made := &found.Flows[i]
			if known[made.Key()] {
				continue
			}
			rows = append(rows, unitRow{Name: flowName(made), State: flowState(made, false),
				Text: cmp.Or(made.Error, v.took(made.StartedMs, made.FinishedMs)), Link: v.path("flows/%d", made.ID)})
		}
		if p.Cursor = found.Next; p.Cursor == "" {
			break
		}
	}
	return rows, nil
}

// madeWhile is when what belongs to a flow was made: while it ran.
func madeWhile(f *domain.Flow) (n api.Narrowing) {
	n.FromMs = int64(f.CreatedAt) * 1000
	if f.Final() {
		n.ToMs = f.FinishedMs + 1000 // a job's record has seconds
	}
	return n
}

// jobsMade are the jobs of a flow, oldest first, up to [jobsMost], read once for a page: one
// whose steps are more than one job does not remember those that ended well.
func (v *visit) jobsMade(f *domain.FlowView) ([]*domain.Job, error) {
	if v.made != nil {
		return v.made, nil
	}
	p := api.ListJobsParams{Context: v.tenant.ID, Sort: api.SortNewest, Limit: jobsMost,
		JobFilter: api.JobFilter{Flow: f.ID, Caller: f.CallerID, Narrowing: madeWhile(&f.Flow)}}
	v.made = []*domain.Job{}
	for range madePages {
		found, err := call(v, api.JobList, p)
		if err != nil {
			return nil, err
		}
		v.made = append(v.made, found.Jobs...)
		if p.Cursor = found.Next; p.Cursor == "" || len(v.made) >= jobsMost {
			break
		}
	}
	slices.Reverse(v.made)
	return v.made, nil
}

// readJob reads a job whole; nil where it is not there.
func (v *visit) readJob(key domain.JobKey) *domain.Job {
	j, err := call(v, api.JobShow, api.JobParams{Context: v.tenant.ID, Caller: key.Caller, ID: key.ID})
	if err != nil {
		return nil // the page says less, and is right
	}
	return j
}
