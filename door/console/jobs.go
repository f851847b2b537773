package console

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// jobsBody is what the list of jobs shows.
type jobsBody struct {
	Rows     []jobRow
	Filters  []filter
	Fields   []formField
	Pager    pager
	Looked   int
	Filtered bool
	Many     *many
	Make     string
}

// jobRow is a job in a list.
type jobRow struct {
	Key   string
	Pick  string // as row.Pick
	Link  string
	Type  domain.ScriptType
	State state
	Why   string
	// Flow and FlowLink are the flow and step, or the routine, that it belongs to.
	Flow, FlowLink string
	Made           moment
	Took           string
	By             domain.ActorID
}

func (c *Console) mountJobs() {
	c.live("GET jobs", (*visit).jobsPage)
	c.mountMany("jobs", (*visit).manyJobs)
	c.mountJob()
}

// jobFilters are those of one click, by the parameter that each sets.
var jobFilters = []struct{ name, param, value string }{
	{"All", "status", ""}, {"Running", "phase", string(domain.PhaseRunning)}, {"Waiting", "phase", string(domain.PhaseQueued)},
	{"Suspended", "phase", string(domain.PhaseSuspended)}, {"To be retried", "phase", string(domain.PhaseRetrying)},
	{"Wait for others", "phase", string(domain.PhaseBlocked)}, {"Went wrong", "status", string(domain.JobError)},
	{"Succeeded", "status", string(domain.JobFinished)},
}

func (v *visit) jobsPage() error {
	q := v.r.URL.Query()
	caller, _ := strconv.ParseUint(q.Get("caller"), 10, 32) // what is no number filters nothing
	filter := api.JobFilter{Status: domain.JobStatus(q.Get("status")), Phase: domain.JobPhase(q.Get("phase")),
		Type: domain.ScriptType(q.Get("type")), Caller: domain.ActorID(caller),
		Where: q.Get("where"), Narrowing: narrowing(q)}
	p := api.ListJobsParams{Context: v.tenant.ID, JobFilter: filter, Cursor: q.Get("cursor"), Limit: pageRows}
	fields := v.fields(typed("text", "Text", p.Text, "shop 3"), typed("type", "Type", string(p.Type), "python"),
		typed("where", "Where", p.Where, "job.losses > 0"))
	found, err := call(v, api.JobList, p)
	if err = blame(err, fields); err != nil {
		return err
	}
	list := v.manyJobs()
	b := &jobsBody{Many: v.manyOf(list), Looked: found.Looked, Filtered: filtered(q), Pager: v.pagerOf("jobs", q, found.Next), Make: v.command("job",
		"submit", "hello.py"), Fields: fields}
	for _, f := range jobFilters {
		b.Filters = append(b.Filters, v.eitherOf("jobs", "phase", f.name, f.param, f.value))
	}
	for _, j := range found.Jobs {
		row := v.jobRow(j)
		if b.Many != nil {
			row.Pick = pick(row.Key)
		}
		b.Rows = append(b.Rows, row)
	}
	words := append([]string{"job", "list"}, list.flags(list.filter(q))...)
	v.render(statusOf(fields), page{Title: "Jobs", Noun: "Jobs", Command: v.command(words...), Crumbs: []crumb{{"Jobs", ""}},
		Follow: lists("job"), Body: b})
	return nil
}

func (v *visit) jobRow(j *domain.Job) jobRow {
	r := jobRow{Key: j.Key().String(), Link: v.path("jobs/%d/%d", j.CallerID, j.ID), Type: j.ScriptType, State: jobState(j),
		Why:  cmp.Or(j.Error, v.suspendedFor(j)),
		Made: v.past(int64(j.CreatedAt) * 1000), Took: v.jobTook(j), By: j.CallerID}
	if name := routineOf(j); name != "" {
		r.Flow, r.FlowLink = "routine "+name, v.routineLink(name)
	}
	if j.FlowID != 0 {
		r.Flow = strconv.Itoa(int(j.FlowID)) + " " + j.Step
		r.FlowLink = v.path("flows/%d", j.FlowID) + query("step", j.Step)
	}
	return r
}

// suspendedFor says what a suspended job waits for; "" of others.
func (v *visit) suspendedFor(j *domain.Job) string {
	s := j.Suspended
	if s == nil || j.Final() {
		return ""
	}
	text := s.Kind + " " + s.Name
	if len(s.Signals) > 0 {
		text += ": for signal " + strings.Join(s.Signals, ", ")
	}
	if n := len(s.Children); n > 0 {
		text += ": for the end of " + counted(n, "child", "children")
	}
	if s.UntilMs != 0 {
		text += ", until " + time.UnixMilli(s.UntilMs).UTC().Format("2 Jan, 15:04:05 MST")
	}
	return text
}
