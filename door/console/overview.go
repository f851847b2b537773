package console

import (
	nethttp "net/http"
	"strconv"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// overviewMost is how many things each part of the overview has; a part that is full says
// so, and links to the list.
const overviewMost = 10

// overviewBody is what the overview shows.
type overviewBody struct {
	Figures []figure
	Needs   []need
	Running []flowRow
	// Make is the command that makes a first flow, where there is none.
	Make string
	Info api.Info
}

// figure is a number with what it means.
type figure struct {
	Name, Value, Note, Link string
	Class                   string
}

// need is something that a person should look at.
type need struct {
	State state
	What  string
	Link  string
	Why   string
	At    moment
}

func (c *Console) mountOverview() {
	c.page("GET {$}", (*visit).home)
	c.inContext("GET {$}", (*visit).overviewPage)
	c.inContext("GET jump", (*visit).jump)
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

// jump goes to what somebody typed: the key or number of a job or a flow, else the flows
// of a blueprint.
func (v *visit) jump() error {
	q := v.r.FormValue("q")
	if id, err := domain.ParseFlowKey(q); err == nil {
		return v.redirect(v.path("flows/%d", id))
	}
	if link := v.jobLink(q); link != "" {
		return v.redirect(link)
	}
	return v.redirect(v.path("flows") + query("blueprint", q))
}

func (v *visit) overviewPage() error {
	b := &overviewBody{Make: v.command("flow", "submit", "nightly.yaml")}
	var err error
	if b.Info, err = call(v, api.NodeInfo, api.NodeInfoParams{}); err != nil {
		return err
	}
	wrong, err := v.flowsOf(domain.FlowError)
	if err != nil {
		return err
	}
	alive, err := v.flowsOf(domain.FlowStarted)
	if err != nil {
		return err
	}
	waits, err := v.flowsOf(domain.FlowDispatched)
	if err != nil {
		return err
	}
	if err := v.needs(b, wrong, alive); err != nil {
		return err
	}
	for i := range alive {
		b.Running = append(b.Running, v.flowRow(&alive[i]))
	}
	count := func(list []domain.Flow) string {
		if len(list) >= overviewMost {
			return strconv.Itoa(overviewMost) + "+"
		}
		return strconv.Itoa(len(list))
	}
	b.Figures = []figure{
		{Name: "running", Value: count(alive), Note: "flows", Link: v.path("flows?status=started"), Class: running},
		{Name: "waiting", Value: count(waits), Note: "flows", Link: v.path("flows?status=dispatched"), Class: waiting},
		{Name: "went wrong", Value: count(wrong), Note: "flows", Link: v.path("flows?status=error"), Class: errored},
	}
	v.render(nethttp.StatusOK, page{Title: "Overview", Template: "overview", Noun: "Overview", Command: v.command("doctor"), Every: listEvery, Body: b,
		Sentence: overviewSentence(b, len(alive))})
	return nil
}

// flowsOf are the first flows of a status.
func (v *visit) flowsOf(status domain.FlowStatus) ([]domain.Flow, error) {
	found, err := call(v, api.FlowList, api.ListFlowsParams{Context: v.tenant.ID, FlowFilter: api.FlowFilter{Status: status}, Limit: overviewMost})
	return found.Flows, err
}

// needs finds what a person should look at: flows that wait for a decision, or that
// nothing will move, and flows that went wrong.
func (v *visit) needs(b *overviewBody, wrong, alive []domain.Flow) error {
	for i := range alive {
		f := &alive[i]
		x, err := call(v, api.FlowExplain, api.FlowParams{Context: v.tenant.ID, Flow: f.ID})
		if notThere(err) {
			continue
		} else if err != nil {
			return err
		}
		n := need{What: flowName(f), Link: v.path("flows/%d", f.ID), Why: upper(x.Text), At: v.at(x.SinceMs)}
		switch x.Standing {
		case domain.StandingDeciding:
			n.State = state{"needs approval", held}
		case domain.StandingStuck:
			n.State = state{"stuck", errored}
		default:
			continue
		}
		b.Needs = append(b.Needs, n)
	}
	for i := range wrong {
		f := &wrong[i]
		if f.Reason == domain.FlowCancelled { // somebody wanted that
			continue
		}
		b.Needs = append(b.Needs, need{State: flowEnd(f), What: flowName(f), Link: v.path("flows/%d", f.ID), Why: upper(f.Error), At: v.at(f.FinishedMs)})
	}
	return nil
}

// overviewSentence says how all stands.
func overviewSentence(b *overviewBody, alive int) *sentence {
	for _, away := range [...]string{b.Info.BoardError, b.Info.StreamError, b.Info.ArchiveError} {
		if away != "" {
			return &sentence{State: state{"away", errored}, Text: upper(away) + "."}
		}
	}
	if n := len(b.Needs); n > 0 {
		text := "1 thing needs you."
		if n > 1 {
			text = strconv.Itoa(n) + " things need you."
		}
		return &sentence{State: state{"needs you", held}, Text: text}
	}
	if alive == 0 {
		return &sentence{State: state{"well", succeeded}, Text: "All is well, and nothing runs."}
	}
	return &sentence{State: state{"well", succeeded}, Text: "All is well: " + plural(alive, "flow") + " run, and nothing needs you."}
}
