package console

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// lastWords is the last line that a step's job wrote to its standard error, "" where it
// wrote none: scripts say there why they fail.
func (v *visit) lastWords(s *domain.StepView) string {
	lines, err := v.tailOf(s)
	if err != nil {
		return "" // the sentence is true without it
	}
	for _, l := range slices.Backward(lines) {
		if text := strings.TrimSpace(l.text()); l.Class == "err" && text != "" {
			return domain.CutText(text, 200)
		}
	}
	return ""
}

// jobsMost bounds the jobs of a flow that one page reads.
const jobsMost = 200

// stepRow is a step of a flow as people see it.
type stepRow struct {
	Name, Kind string
	State      state
	Progress   string // "3 of 8"
	Percent    int    // of those that have ended well
	Text       string
	Since      moment
	Took       string
	Link       string // to the step in the graph
	Job        string // link to its only job
	Flow       string // link to the only flow that it has made
	Needs      []string
	Summary    string
	Cells      []cell
	// Tail is the end of the log of its job, or of the first that went wrong.
	Tail []logLine
}

// unitRow is a part of a step: a job.
type unitRow struct {
	Name  string
	State state
	Text  string
	Link  string
}

// cell is a job in the grid of a step that has many.
type cell struct {
	Title, Link string
	State       state
}

func (v *visit) stepRow(f *domain.FlowView, s *domain.StepView) stepRow {
	r := stepRow{Name: s.Name, Kind: string(s.Kind), State: v.stepState(s), Text: whyOf(s), Since: v.past(s.SinceMs),
		Took: v.took(s.SinceMs, s.EndMs), Needs: s.Needs,
		Link: v.path("flows/%d", f.ID) + query("step", s.Name), Summary: s.Summary, Percent: int(s.Progress * 100), Progress: progressOf(s)}
	if r.Summary != "" && strings.Contains(r.Text, r.Summary) {
		r.Summary = "" // it is said once
	}
	if s.SinceMs == 0 {
		r.Took = ""
	}
	r.Job, r.Flow = v.jobLink(s.Job), v.flowLink(s.Flow)
	return r
}

// progressOf is how many of a step's jobs have ended well.
func progressOf(s *domain.StepView) string {
	switch {
	case s.Kind.One() || s.Kind == domain.StepApproval || s.SinceMs == 0:
		return ""
	case s.Endless || s.Total == 0:
		return fmt.Sprintf("%d done", s.Done)
	}
	return fmt.Sprintf("%d/%d", s.Done, s.Total)
}

// shardName is what people call a shard, of "3/8" or "3": it is counted from 0, so that "3/8"
// would read as if three of eight were done. "" of none.
func shardName(text string) string {
	if text == "" {
		return ""
	}
	number, _, _ := strings.Cut(text, "/")
	return "shard " + number
}

// neverBegan is how many units of a step nothing was begun for, and nothing will be.
func neverBegan(s *domain.StepView) int64 {
	if !s.Status.Done() {
		return 0
	}
	return max(0, s.Total-s.Done-int64(s.Open+s.Bad))
}

func unitName(s *domain.StepView, u *domain.UnitView) string {
	if s.Kind == domain.StepPack {
		return fmt.Sprintf("%d to %d", u.Start, u.End)
	}
	if s.Kind == domain.StepShard && s.Total > 0 {
		return shardName(strconv.FormatInt(u.ID, 10))
	}
	return cmp.Or(u.Key, strconv.FormatInt(u.ID, 10))
}

// queuedState is that of a job, or of a step of one, which no runner has taken yet.
var queuedState = state{"queued", waiting}

// stepState is how a step stands, and of one job whether a runner has it.
func (v *visit) stepState(s *domain.StepView) state {
	if s.Kind.One() && s.Status.Begun() {
		if j := v.openJob(s.Job); j != nil && j.StartedMs == 0 {
			return queuedState
		}
	}
	return stepState(s)
}

func (v *visit) unitState(u *domain.UnitView) state {
	switch u.Outcome {
	case "":
		if j := v.openJob(u.Job); j != nil {
			return jobState(j)
		}
		return state{"open", running}
	case "failed":
		return state{"failed", failed}
	case "errored":
		return state{"errored", errored}
	}
	return state{u.Outcome, skipped}
}

// openMost bounds the jobs that have not ended that are looked at for one page.
const openMost = 100

// openJob reads a job that has not ended, once for a page: nil where it cannot be told, or
// where too many were read already.
func (v *visit) openJob(text string) *domain.Job {
	if j, read := v.jobs[text]; read {
		return j
	}
	key, err := domain.ParseJobKey(text)
	if err != nil || len(v.jobs) >= openMost {
		return nil
	}
	j, err := call(v, api.JobShow, api.JobParams{Context: v.tenant.ID, Caller: key.Caller, ID: key.ID})
	if err != nil {
		j = nil // the page says less, and is right
	}
	if v.jobs == nil {
		v.jobs = map[string]*domain.Job{}
	}
	v.jobs[text] = j
	return j
}

// jobLink is where a job is shown, by its key on the board; "" for no job's.
func (v *visit) jobLink(key string) string {
	k, err := domain.ParseJobKey(key)
	if err != nil {
		return ""
	}
	return v.path("jobs/%d/%d", k.Caller, k.ID)
}

// flowLink is a link to a flow that a step has made, or that has made one.
func (v *visit) flowLink(key string) string {
	id, err := domain.ParseFlowKey(key)
	if err != nil {
		return ""
	}
	return v.path("flows/%d", id)
}

// chosenStep is the step that the address names, else the first that asks for attention:
// one that went wrong, waits for a person, or runs.
func (v *visit) chosenStep(b *flowBody) (*stepRow, error) {
	best, rank := -1, 0
	for i := range b.Flow.Steps {
		s := &b.Flow.Steps[i]
		if s.Name == v.r.FormValue("step") {
			best = i
			break
		}
		if r := attention(s); r > rank {
			best, rank = i, r
		}
	}
	if best < 0 {
		return nil, nil
	}
	s := &b.Flow.Steps[best]
	row := v.stepRow(&b.Flow, s)
	row.Cells = v.cellsOf(s)
	var err error
	if b.Items, err = v.itemsOf(&b.Flow, s); err != nil {
		return nil, err
	}
	row.Tail, err = v.tailOf(s)
	return &row, err
}

// cellsMost bounds the grid of a step: what is behind it is on the tab of the steps.
const cellsMost = 600

// cellsOf is the grid of a step that is done for many: a cell for each, by its index.
func (v *visit) cellsOf(s *domain.StepView) (cells []cell) {
	if s.Kind.One() || s.Kind == domain.StepPack || s.Total <= 1 || s.SinceMs == 0 {
		return nil
	}
	rest := state{"waiting", waiting}
	if s.Status.Done() {
		rest = state{"not begun", skipped}
	}
	for i := range min(s.Total, cellsMost) {
		cells = append(cells, cell{Title: fmt.Sprintf("%d: %s", i, rest.Word), State: rest})
	}
	for from, to := range rangesOf(s.Ranges) {
		for i := max(0, from); i <= min(to, int64(len(cells))-1); i++ {
			cells[i] = cell{Title: fmt.Sprintf("%d: succeeded", i), State: state{"succeeded", succeeded}}
		}
	}
	for i := range s.Units {
		if u := &s.Units[i]; u.ID >= 0 && u.ID < int64(len(cells)) {
			st := v.unitState(u)
			cells[u.ID] = cell{Title: unitName(s, u) + ": " + st.Word, State: st, Link: cmp.Or(v.jobLink(u.Job), v.flowLink(u.Flow))}
		}
	}
	return cells
}

// rangesOf reads ranges such as "[0,2];[5,9]".
func rangesOf(text string) iter.Seq2[int64, int64] {
	return func(yield func(from, to int64) bool) {
		for part := range strings.SplitSeq(text, ";") {
			first, last, _ := strings.Cut(strings.Trim(part, "[]"), ",")
			from, err := strconv.ParseInt(first, 10, 64)
			to, err2 := strconv.ParseInt(last, 10, 64)
			if err == nil && err2 == nil && !yield(from, to) {
				return
			}
		}
	}
}

// tailLines is how many of the last lines of a log are shown beside what went wrong.
const tailLines = 8

// tailOf is the end of the log of a step's job, or of the first that went wrong or runs.
func (v *visit) tailOf(s *domain.StepView) (lines []logLine, err error) {
	text := s.Job
	for i := range s.Units {
		if text == "" {
			text = s.Units[i].Job
		}
	}
	key, err := domain.ParseJobKey(text)
	if err != nil {
		return nil, nil // it has none
	}
	page, err := call(v, api.JobLogs, api.LogParams{JobParams: api.JobParams{Context: v.tenant.ID, Caller: key.Caller, ID: key.ID},
		LogWanted: api.LogWanted{Tail: tailLines}})
	if notThere(err) {
		return nil, nil // it has left the board, and nothing keeps it
	} else if err != nil {
		return nil, err
	}
	for i := range page.Logs {
		lines = append(lines, v.lineOf(page.From+i+1, &page.Logs[i]))
	}
	return lines, nil
}

// attention is how much a step asks to be looked at, from -1 for one that is done; who looks for one takes from 1 on.
func attention(s *domain.StepView) int {
	switch stepState(s).Class {
	case errored:
		return 5
	case held:
		return 4
	case failed:
		if s.Status == domain.StepFailedAccepted {
			return 1
		}
		return 5
	case running:
		return 3
	case succeeded:
		return -1 // what was skipped, or waits, hides behind nothing that is done
	}
	return 0
}

// flowJobs reads the jobs of a flow that the view names, up to [jobsMost].
func (v *visit) flowJobs(f *domain.FlowView) (jobs []*domain.Job, err error) {
	seen := map[domain.JobKey]bool{}
	read := func(key domain.JobKey) error {
		if seen[key] || len(jobs) >= jobsMost {
			return nil
		}
		seen[key] = true
		j, err := call(v, api.JobShow, api.JobParams{Context: v.tenant.ID, Caller: key.Caller, ID: key.ID})
		if notThere(err) {
			return nil // it has left the board, and nothing keeps it
		} else if err != nil {
			return err
		}
		jobs = append(jobs, j)
		return nil
	}
	order := make([]int, len(f.Steps))
	for i := range order {
		order[i] = i
	}
	if len(order) > jobsMost { // not all are read: what asks to be looked at is
		slices.SortStableFunc(order, func(a, b int) int { return attention(&f.Steps[b]) - attention(&f.Steps[a]) })
	}
	for _, i := range order {
		keys := []string{f.Steps[i].Job}
		for _, u := range f.Steps[i].Units {
			keys = append(keys, u.Job)
		}
		for _, text := range keys {
			if key, err := domain.ParseJobKey(text); err == nil {
				if err := read(key); err != nil {
					return nil, err
				}
			}
		}
	}
	if slices.ContainsFunc(f.Steps, func(s domain.StepView) bool { return !s.Kind.One() && s.Done > 0 }) {
		made, err := v.jobsMade(f)
		if err != nil {
			return nil, err
		}
		for _, j := range made { // they lack what nobody asks for here: script and result
			if len(jobs) < jobsMost && !seen[j.Key()] {
				seen[j.Key()] = true
				jobs = append(jobs, j)
			}
		}
	}
	for _, id := range f.Jobs {
		if err := read(domain.JobKey{Caller: f.CallerID, ID: id}); err != nil {
			return nil, err
		}
	}
	return jobs, nil
}
