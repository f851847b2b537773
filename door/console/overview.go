package console

import (
	"cmp"
	"errors"
	"fmt"
	nethttp "net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
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
}

// figure is a number with what it means.
type figure struct {
	Name, Value, Note, Link string
	Class                   string
	Spark                   *spark // nil: none
}

// need is something that a person should look at.
type need struct {
	State state
	What  string
	Link  string
	Why   string
	At    moment
	// Count is how many flows it stands for, Blueprint what they are of.
	Count     int
	Blueprint string
	// Other is what it is where it is no flow: an alarm, a dead letter.
	Other string
}

func (c *Console) mountOverview() {
	c.page("GET {$}", (*visit).home)
	c.live("GET {$}", (*visit).overviewPage)
}

// home leads to the first context that one may look at.
func (v *visit) home() error {
	list, err := call(v, api.ContextList, api.ListContextsParams{Limit: 1})
	if err != nil {
		return err
	}
	if len(list.Contexts) == 0 {
		v.render(nethttp.StatusOK, page{Title: "No context", Template: "nothing"})
		return nil
	}
	return v.redirect(Path + "c/" + contextName(list.Contexts[0]) + "/")
}

func (v *visit) overviewPage() error {
	b := &overviewBody{Make: v.command("flow", "submit", "nightly.yaml")}
	var err error
	if b.Info, err = call(v, api.NodeInfo, api.NodeInfoParams{}); err != nil {
		return err
	}
	wrong, err := v.flowsOf(domain.FlowError, wrongLook)
	if err != nil {
		return err
	}
	alive, err := v.flowsOf(domain.FlowStarted, overviewMost)
	if err != nil {
		return err
	}
	if err := v.needs(b, wrong, alive); err != nil {
		return err
	}
	for i := range alive {
		row := v.flowRow(&alive[i])
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
	if b.Figures, err = v.figures(); err != nil {
		return err
	}
	v.render(nethttp.StatusOK, page{Title: "Overview", Template: "overview", Noun: "Overview", Command: v.command("doctor"), Follow: lists("flow", "job", "instance", "dead_letter"), Body: b,
		Sentence: overviewSentence(b, len(alive))})
	return nil
}

// figures are the numbers of the overview: what runs and waits now, and what ended in the
// last hour.
func (v *visit) figures() (list []figure, err error) {
	count := func(status domain.JobStatus) (string, error) {
		found, err := call(v, api.JobList, api.ListJobsParams{Context: v.tenant.ID, JobFilter: api.JobFilter{Status: status}, Count: true})
		if err != nil || found.Count == nil {
			return "0", err
		}
		if found.Count.More {
			return grouped(found.Count.Matching) + "+", nil
		}
		return grouped(found.Count.Matching), nil
	}
	runs := figure{Name: "jobs running", Link: v.path("jobs?status=started"), Class: running}
	if runs.Value, err = count(domain.JobStarted); err != nil {
		return nil, err
	}
	waits := figure{Name: "jobs waiting", Link: v.path("jobs?status=dispatched"), Class: waiting}
	if waits.Value, err = count(domain.JobDispatched); err != nil {
		return nil, err
	}
	oldest, err := call(v, api.JobList, api.ListJobsParams{Context: v.tenant.ID, JobFilter: api.JobFilter{Status: domain.JobDispatched}, Sort: api.SortOldest, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(oldest.Jobs) > 0 {
		j := oldest.Jobs[0]
		waits.Note = "the oldest for " + v.at(cmp.Or(j.QueuedMs, int64(j.CreatedAt)*1000)).Ago
	}
	list = []figure{runs, waits}
	hour, err := v.lastHour()
	if err != nil || hour == nil {
		return list, err
	}
	well, bad := 0, 0
	for _, m := range hour {
		well, bad = well+m.well, bad+m.bad
	}
	now := v.now.Unix() / 60
	return append(list, figure{Name: "ended in the last hour", Value: grouped(well + bad), Note: "jobs and flows", Link: v.path("archive"), Class: succeeded, Spark: sparkOf(hour, now, false)},
		figure{Name: "of them in error", Value: grouped(bad), Link: v.path("archive") + query("status", string(domain.JobError)), Class: errored, Spark: sparkOf(hour, now, true)}), nil
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
		row := nodeRow{Name: n.Name, Version: n.Version, Host: n.Host, Durability: n.Durability, Seen: v.at(n.SeenMs), State: state{"up", succeeded}}
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

// flowsOf are the first flows of a status.
func (v *visit) flowsOf(status domain.FlowStatus, most int) ([]domain.Flow, error) {
	found, err := call(v, api.FlowList, api.ListFlowsParams{Context: v.tenant.ID, FlowFilter: api.FlowFilter{Status: status}, Limit: most})
	return found.Flows, err
}

// needs finds what a person should look at: flows that wait for a decision, or that
// nothing will move, and flows that went wrong, those of one blueprint and one cause together.
func (v *visit) needs(b *overviewBody, wrong, alive []domain.Flow) error {
	for i := range alive {
		f := &alive[i]
		x, err := call(v, api.FlowExplain, api.FlowParams{Context: v.tenant.ID, Flow: f.ID})
		if notThere(err) {
			continue
		} else if err != nil {
			return err
		}
		n := need{What: flowName(f), Link: v.path("flows/%d", f.ID), Why: upper(x.Text), At: v.at(x.SinceMs), Count: 1}
		switch x.Standing {
		case domain.StandingDeciding:
			n.State = state{"needs approval", held}
			if len(x.WaitsFor) > 0 {
				n.Why = "Approve or reject " + strings.Join(x.WaitsFor, ", ")
			}
		case domain.StandingStuck:
			n.State = state{"stuck", errored}
		default:
			continue
		}
		b.Needs = append(b.Needs, n)
	}
	at := map[string]int{} // in b.Needs, by blueprint and cause
	for i := range wrong {
		f := &wrong[i]
		if f.Reason == domain.FlowCancelled { // somebody wanted that
			continue
		}
		key := f.Blueprint + "\n" + string(f.Reason) + "\n" + f.Error
		if k, known := at[key]; known && f.Blueprint != "" {
			n := &b.Needs[k]
			n.Count++
			n.What = fmt.Sprintf("%s, %d times", f.Blueprint, n.Count)
			n.Link = v.path("flows?status=error&reason=%s&blueprint=", f.Reason) + urlEscape(f.Blueprint)
			continue
		}
		at[key] = len(b.Needs)
		b.Needs = append(b.Needs, need{State: flowEnd(f), What: flowName(f), Link: v.path("flows/%d", f.ID), Why: upper(f.Error), At: v.at(f.FinishedMs), Count: 1, Blueprint: f.Blueprint})
	}
	return v.otherNeeds(b)
}

// lateAfter is from when on an alarm that has come and is not handled is told of.
const lateAfter = 10 * time.Second

// otherNeeds finds what is no flow: what was given up on, by cause, with the instances of
// sagas that it holds, and an alarm that nobody handles.
func (v *visit) otherNeeds(b *overviewBody) error {
	if late := b.Info.LateAlarm; late != nil && late.Context == v.tenant.ID && late.LateMs > lateAfter.Milliseconds() {
		b.Needs = append(b.Needs, need{State: state{"late", errored}, What: late.Name, Link: v.path("operate"), Why: "It has come, and no node handles it",
			At: v.at(v.now.UnixMilli() - late.LateMs), Other: "alarm"})
	}
	groups, _, _, err := v.countCauses()
	if notThere(err) || errors.Is(err, domain.ErrUnavailable) {
		return nil // a node without streams has none; whether they are away, the sentence says
	} else if err != nil {
		return err
	}
	for _, g := range groups[:min(len(groups), overviewMost)] {
		n := need{State: state{"given up on", errored}, What: plural(g.count, "dead letter") + " of " + cmp.Or(g.Saga, g.Effect, string(g.Kind)),
			Link: v.path("letters/list") + g.query(), Why: upper(g.text), At: v.at(g.latest), Other: "dead letter", Count: g.count}
		if g.holds > 0 {
			n.Why = strings.TrimRight(n.Why, ".") + "; " + plural(g.holds, "instance") + " stopped by it"
		}
		b.Needs = append(b.Needs, n)
	}
	return nil
}

// overviewSentence says how all stands.
func overviewSentence(b *overviewBody, alive int) *sentence {
	for _, away := range [...]string{b.Info.BoardError, b.Info.DiskError, b.Info.StreamError, b.Info.ArchiveError} {
		if away != "" {
			return &sentence{State: state{"away", errored}, Text: upper(away) + "."}
		}
	}
	switch {
	case len(b.Needs) > 0:
		return needsSentence(b.Needs)
	case alive == 0:
		return &sentence{State: state{"well", succeeded}, Text: "All is well, and nothing runs."}
	case alive == 1:
		return &sentence{State: state{"well", succeeded}, Text: "All is well: 1 flow runs, and nothing needs you."}
	}
	return &sentence{State: state{"well", succeeded}, Text: "All is well: " + plural(alive, "flow") + " run, and nothing needs you."}
}

// needsSentence says what needs somebody: decisions first, for they wait; then the cause
// that most flows went wrong by.
func needsSentence(needs []need) *sentence {
	var decide, stuck, wrong, letters, late int
	worst := &need{}
	for i := range needs {
		switch n := &needs[i]; {
		case n.Other == "alarm":
			late++
		case n.Other != "":
			letters += n.Count
		case n.State.Word == "needs approval":
			decide++
		case n.State.Word == "stuck":
			stuck++
		default:
			if wrong += n.Count; n.Count > worst.Count {
				worst = n
			}
		}
	}
	var parts []string
	s := &sentence{State: state{"needs you", held}}
	if decide > 0 {
		parts = append(parts, counted(decide, "flow waits", "flows wait")+" for a decision")
	}
	if stuck > 0 {
		parts = append(parts, counted(stuck, "flow is", "flows are")+" stuck")
		s.State.Class = errored
	}
	if wrong > 0 {
		s.State.Class = worst.State.Class
		part := counted(wrong, "flow", "flows") + " went wrong"
		if worst.Why != "" {
			share := strconv.Itoa(worst.Count) + " of them"
			if worst.Count == wrong {
				share = "all"
			}
			where := cmp.Or(worst.Blueprint, worst.What)
			if wrong > 1 {
				where = share + " in " + where
			}
			part += ", " + where + ": " + strings.ToLower(worst.Why[:1]) + worst.Why[1:]
		}
		parts = append(parts, part)
	}
	if letters > 0 {
		parts = append(parts, counted(letters, "dead letter waits", "dead letters wait"))
	}
	if late > 0 {
		parts = append(parts, "an alarm is late")
	}
	if letters+late > 0 {
		s.State.Class = errored
	}
	s.Text = upper(strings.Join(parts, "; ")) + "."
	return s
}

// counted is a count with what is counted, in the form for one or for many.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
