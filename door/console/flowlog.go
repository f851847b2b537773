package console

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

const (
	// logJobs bounds the jobs whose logs a flow's page has, logLines the lines of each.
	logJobs  = 60
	logLines = 200
)

// stepLog is the logs of a step's jobs.
type stepLog struct {
	Step  string
	State state
	Jobs  []jobLines
	Open  bool // it is not folded
}

// jobLines is the beginning of a job's log.
type jobLines struct {
	Name, Link string
	State      state
	Lines      []logLine
	More       bool // there are more lines on the job's page
}

// flowLogs reads the logs of a flow's jobs, by step in the order of the flow; where not all are shown, those that went
// wrong stand first.
func (v *visit) flowLogs(f *domain.FlowView) (list []stepLog, err error) {
	jobs, err := v.flowJobs(f)
	if err != nil {
		return nil, err
	}
	jobs = slices.DeleteFunc(jobs, func(j *domain.Job) bool { return j.Attempt == 0 })
	cut := len(jobs) > logJobs
	if cut { // not all are shown: those that went wrong are
		slices.SortStableFunc(jobs, func(a, b *domain.Job) int { return unwell(b) - unwell(a) })
		jobs = jobs[:logJobs]
	}
	slices.SortStableFunc(jobs, func(a, b *domain.Job) int { return cmp.Compare(a.StartedMs, b.StartedMs) })
	for i := range f.Steps {
		s := &f.Steps[i]
		st := v.stepState(s)
		sl := stepLog{Step: s.Name, State: st, Open: st.Class != succeeded && st.Class != skipped}
		for _, j := range jobs {
			if !ofStep(j, s) {
				continue
			}
			page, err := call(v, api.JobLogs, api.LogParams{JobParams: api.JobParams{Context: v.tenant.ID, Caller: j.CallerID, ID: j.ID}, Limit: logLines + 1})
			if err != nil {
				return nil, err
			}
			jl := jobLines{Name: cmp.Or(shardName(j.Shard), j.Pack, j.Key().String()), Link: v.path("jobs/%d/%d", j.CallerID, j.ID), State: jobState(j),
				More: len(page.Logs) > logLines}
			for n := range page.Logs[:min(len(page.Logs), logLines)] {
				line := v.lineOf(n+1, &page.Logs[n])
				line.Of = fmt.Sprintf("%d-%d", j.CallerID, j.ID)
				jl.Lines = append(jl.Lines, line)
			}
			sl.Jobs = append(sl.Jobs, jl)
		}
		if len(sl.Jobs) > 0 {
			list = append(list, sl)
		}
	}
	if cut || len(list) < begunSteps(f) { // and stand first, as the page says then: nobody finds them behind dozens
		slices.SortStableFunc(list, func(a, b stepLog) int { return unfolded(b) - unfolded(a) })
	}
	return list, nil
}

// unwell is 1 for a job that went wrong.
func unwell(j *domain.Job) int {
	if j.Status == domain.JobError {
		return 1
	}
	return 0
}

// unfolded is 1 for what is not folded.
func unfolded(l stepLog) int {
	if l.Open {
		return 1
	}
	return 0
}

// begunSteps counts the steps that have something to say, or had.
func begunSteps(f *domain.FlowView) (n int) {
	for i := range f.Steps {
		if s := &f.Steps[i]; s.SinceMs != 0 && s.Kind != domain.StepApproval {
			n++
		}
	}
	return n
}

// ofStep reports whether a job is a step's: by its name, or by its key in flows that were
// made of jobs.
func ofStep(j *domain.Job, s *domain.StepView) bool {
	return j.Step == s.Name && s.Name != "" || s.Job == j.Key().String()
}

// saidMost bounds the lines of a page that has all jobs' lines in the order of time.
const saidMost = 1000

// saidLines is what the jobs of a flow said, in the order of time.
type saidLines struct {
	Lines []saidLine
	// Older says that only the last lines are shown.
	Older bool
}

// saidLine is a line with whose it is.
type saidLine struct {
	Of, Link string // "measure 2/8", and the line in the job's log
	logLine
}

// saidLines reads the last lines of a flow; nil where they are wanted by step.
func (v *visit) saidLines(f *domain.FlowView) (*saidLines, error) {
	if v.r.FormValue("by") != "time" {
		return nil, nil
	}
	page, err := call(v, api.FlowLogs, api.FlowLogParams{FlowParams: api.FlowParams{Context: v.tenant.ID, Flow: f.ID}, LogWanted: api.LogWanted{Tail: saidMost}})
	if err != nil {
		return nil, err
	}
	said := &saidLines{Older: len(page.Logs) == saidMost}
	for i := range page.Logs {
		l := &page.Logs[i]
		line := saidLine{Of: strings.TrimSpace(l.Step + " " + l.Part), logLine: v.lineOf(l.N, &l.Log)}
		line.Link = v.path("jobs/%d/%d", f.CallerID, l.Job) + "#L" + strconv.Itoa(l.N)
		said.Lines = append(said.Lines, line)
	}
	return said, nil
}

// logsBy is where the logs are in another order.
func (b *flowBody) logsBy(order string) string {
	words := []string{"tab", "logs", "by", order}
	if b.Flow.StepsTotal > 0 {
		words = append(words, "steps_from", strconv.Itoa(b.Flow.StepsFrom))
	}
	return with(words...)
}
