package console

import (
	"cmp"
	nethttp "net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/service"
)

// overviewMost is how many things each part of the overview has; a part that is full says
// so, and links to the list.
const overviewMost = 10

// wrongLook is how many of the flows that went wrong last it looks at, to say what most of
// them have in common.
const wrongLook = 100

// overviewBody is what the overview shows.
type overviewBody struct {
	Figures []figure
	Needs   []need
	Running []flowRow
	Runs    []runs
	Nodes   []nodeRow
	// Make is the command that makes a first flow, where there is none.
	Make string
	Info api.Info
	// Findings are those of doctor that no row of Needs has, the bad ones first: of the node,
	// and of what it stands on. Health is where all of them are.
	Findings []finding
	Health   string
	// least says of what only the newest were looked at: there are at least so many.
	least map[needOf]bool
	// watching says that who looks may move nothing of it.
	watching bool
}

// Heading is above what somebody should look at: you, where you may do something about it.
func (b *overviewBody) Heading() string {
	if b.watching {
		return "Needs somebody"
	}
	return "Needs you"
}

// finding is a line of what doctor finds.
type finding struct {
	State      state
	What, Text string
}

// figure is a number with what it means.
type figure struct {
	Name, Value, Note, Link string
	Class                   string
	More                    string // where its note leads; "": nowhere
	Spark                   *spark // nil: none
}

func (c *Console) mountOverview() {
	c.page("GET {$}", (*visit).home)
	c.live("GET {$}", (*visit).overviewPage)
}

// nothing is what is shown to those who may look at no context.
type nothing struct{}

// home leads to the first context that one may look at.
func (v *visit) home() error {
	list, err := call(v, api.ContextList, api.ListContextsParams{Limit: contextsMost})
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(list.Contexts, v.seesInto); i >= 0 {
		return v.redirect(Path + "c/" + contextName(list.Contexts[i]) + "/")
	}
	v.render(nethttp.StatusOK, page{Title: "No context", Body: nothing{}})
	return nil
}

func (v *visit) overviewPage() error {
	b := &overviewBody{Make: v.command("flow", "submit", "nightly.yaml"), watching: !v.mayMove()}
	var err error
	if b.Info, err = v.info(); err != nil {
		return err
	}
	wrong, moreWrong, err := v.flowsOf(domain.FlowError, wrongLook)
	if err != nil {
		return err
	}
	run, _, err := v.flowsOf(domain.FlowStarted, overviewMost)
	if err != nil {
		return err
	}
	wait, _, err := v.flowsOf(domain.FlowDispatched, overviewMost)
	if err != nil {
		return err
	}
	alive := slices.Concat(run, wait)
	bad, moreBad, err := v.badJobs()
	if err != nil {
		return err
	}
	b.least = map[needOf]bool{needFlow: moreWrong, needJob: moreBad}
	if err := v.needs(b, wrong, bad, alive); err != nil {
		return err
	}
	for i := range alive {
		row := v.flowRow(&alive[i])
		if err := v.tellWhy(&row, &alive[i]); err != nil {
			return err
		}
		for _, n := range b.Needs {
			if n.Link == row.Link {
				row.State = n.State
			}
		}
		b.Running = append(b.Running, row)
	}
	if b.Runs, err = v.recentRuns(); err != nil {
		return err
	}
	if b.Nodes, err = v.nodeRows(); err != nil {
		return err
	}
	ran := slices.DeleteFunc(slices.Clone(bad), func(j *domain.Job) bool { return slices.Contains(neverRan, j.Reason) })
	if b.Figures, err = v.figures(wrong, ran); err != nil {
		return err
	}
	said := overviewSentence(b, len(run), len(wait))
	if v.stopped() != nil && len(b.Needs) == 0 {
		said = nil // that it is stopped is how it stands, and is said above
	}
	v.render(nethttp.StatusOK, page{Title: "Overview", Noun: "Overview", Command: v.command("doctor"),
		Follow: lists("flow", "job", "instance", "dead_letter"), Body: b,
		Sentence: said})
	return nil
}

const (
	// livingKept is for how long a count of what lives is shown, less than a page stays as it
	// is, and livingPart how many times as long as counting took at least: before a large
	// backlog it is a small part of the work.
	livingKept = pageRests / 2
	livingPart = 20
)

// liveJobs counts what lives of the context, once for all who look at it.
func (v *visit) liveJobs() (n service.LiveJobs, err error) {
	if !v.may(api.JobList.Operation) {
		return n, nil
	}
	return v.console.living.get(v, func(v *visit) (found[service.LiveJobs], error) {
		began := v.console.cfg.Now()
		n, err := v.caller.CountLive(v.r.Context(), v.tenant.ID)
		return found[service.LiveJobs]{n, n.All(), max(livingKept, livingPart*v.console.cfg.Now().Sub(began))}, err
	})
}

// figures are the numbers of the overview: what runs and waits now, and what ended in the
// last hour; in error at least the flows and jobs that the page knows, by which cause.
func (v *visit) figures(flows []domain.Flow, jobs []*domain.Job) (list []figure, err error) {
	live, err := v.liveJobs()
	if err != nil {
		return nil, err
	}
	count := func(n int) string {
		if live.More {
			return grouped(n) + "+"
		}
		return grouped(n)
	}
	runs := figure{Name: "jobs running", Value: count(live.Running), Link: v.path("jobs?phase=running"), Class: running}
	var beside []string // what has begun, too
	for _, more := range []struct {
		n           int
		what, phase string
	}{{live.Suspended, " more suspended", "suspended"}, {live.Retrying, " between attempts", "retrying"}} {
		if more.n > 0 {
			beside = append(beside, count(more.n)+more.what)
			runs.More = cmp.Or(runs.More, v.path("jobs?phase=%s", more.phase))
		}
	}
	runs.Note = strings.Join(beside, ", ")
	waits := figure{Name: "jobs waiting for a runner", Value: count(live.Waiting), Link: v.path("jobs?phase=queued"), Class: waiting}
	if live.OldestMs != 0 {
		waits.Note = "the oldest for " + v.past(live.OldestMs).Ago
	}
	if live.Blocked > 0 {
		waits.Note = strings.TrimPrefix(waits.Note+", "+count(live.Blocked)+" more for what they need", ", ")
	}
	list = []figure{runs, waits}
	hour, err := v.lastHour()
	if err != nil || hour == nil {
		return list, err
	}
	hour = withEnds(hour, endsOf(flows, jobs))
	well, bad := 0, 0
	for _, m := range hour {
		well, bad = well+m.well, bad+m.bad
	}
	badClass := failed // the count has scripts that failed and what crashed
	if bad == 0 {
		badClass = succeeded // none is well
	}
	now := v.now.Unix() / 60
	note := "jobs, and flows as a whole; " + rateText(hour, now-1) + soFarText(hour, now)
	if len(hour) < hourMinutes {
		note = "in the " + plural(len(hour), "minute") + " that are counted so far"
	}
	return append(list, figure{Name: "ended in the last hour", Value: grouped(well + bad), Note: note, Link: v.path("archive"),
		Class: succeeded, Spark: sparkOf(hour, now, false)},
		figure{Name: "of them in error", Value: grouped(bad), Note: cmp.Or(v.causesText(flows, jobs, bad), "failed, timed out, lost or cancelled"),
			Link: v.wrongLink(), Class: badClass, Spark: sparkOf(hour, now, true)}), nil
}

// nodeRow is a node of the board.
type nodeRow struct {
	Name, Version, Host, Durability string
	Seen                            moment
	State                           state
}

// nodeRows are the nodes of the board, for who may see them.
func (v *visit) nodeRows() (rows []nodeRow, err error) {
	if !v.may(api.NodeList.Operation) {
		return nil, nil
	}
	found, err := call(v, api.NodeList, api.ListNodesParams{})
	for i := range found.Nodes {
		n := &found.Nodes[i]
		row := nodeRow{Name: n.Name, Version: n.Version, Host: n.Host, Durability: n.Durability, Seen: v.past(n.SeenMs), State: state{"up", succeeded}}
		switch {
		case n.SeenMs == 0:
			row.State = state{"stopped", skipped}
		case !n.Alive:
			row.State = state{"not seen", errored}
		}
		rows = append(rows, row)
	}
	return rows, err
}

// flowsOf are the first flows of a status; more says that there may be others.
func (v *visit) flowsOf(status domain.FlowStatus, most int) (list []domain.Flow, more bool, err error) {
	found, err := call(v, api.FlowList, api.ListFlowsParams{Context: v.tenant.ID, FlowFilter: api.FlowFilter{Status: status}, Limit: most})
	return found.Flows, found.Next != "", err
}

// askedMost is how much of what a decision asks the overview says, in bytes.
const askedMost = 200

// endsOf are when flows and jobs ended.
func endsOf(flows []domain.Flow, jobs []*domain.Job) (ends []int64) {
	for i := range flows {
		ends = append(ends, flows[i].FinishedMs)
	}
	for _, j := range jobs {
		ends = append(ends, j.FinishedMs)
	}
	return ends
}

// lateAfter is from when on an alarm that has come and is not handled is told of.
const lateAfter = 10 * time.Second

// overviewSentence says how all stands. All is well only where doctor says so, too.
func overviewSentence(b *overviewBody, run, wait int) *sentence {
	for _, away := range [...]string{b.Info.BoardError, b.Info.DiskError, b.Info.StreamError, b.Info.ArchiveError} {
		if away != "" {
			return &sentence{State: state{"away", errored}, Text: upper(away) + "."}
		}
	}
	if len(b.Needs) > 0 {
		return needsSentence(b)
	}
	var what []string
	if run > 0 {
		what = append(what, counted(run, "flow runs", "flows run"))
	}
	if wait > 0 {
		what = append(what, counted(wait, "flow waits", "flows wait"))
	}
	now := cmp.Or(strings.Join(what, ", "), "nothing runs")
	if n := len(b.Findings); n > 0 {
		return &sentence{State: state{"works", succeeded}, Text: upper(now) + ", and nothing needs you. Doctor has " + plural(n, "warning") + ", below."}
	}
	if len(what) == 0 {
		return &sentence{State: state{"well", succeeded}, Text: "All is well, and nothing runs."}
	}
	return &sentence{State: state{"well", succeeded}, Text: "All is well: " + now + ", and nothing needs you."}
}

// counted is a count with what is counted, in the form for one or for many.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
