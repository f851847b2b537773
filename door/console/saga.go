package console

import (
	"maps"
	nethttp "net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// This file has the list of sagas, and one with its instances. One instance is in
// sagainstance.go, the drawing of its states in machine.go.

// sagasBody is what the list of sagas shows.
type sagasBody struct {
	Rows  []sagaRow
	Pager pager
	Make  string
}

// sagaRow is a saga in the list.
type sagaRow struct {
	Name, Link, Summary string
	Version             int
	Updated             moment
	By                  domain.ActorID
}

// sagaBody is what a saga's page shows.
type sagaBody struct {
	Name, Summary string
	Facts         []fact
	Tabs          []tab
	Tab           string
	Actions       []action
	// Instances and what leads through them, on the first tab.
	Rows     []instanceRow
	Fields   []formField
	Filters  []filter
	Pager    pager
	Filtered bool
	Many     *many
	Make     string
	// States are what it does in each state, on the second, and Machine their drawing.
	States  []stateRow
	Machine *drawnMachine
	// Lags are its partitions, on the third.
	Lags []domain.SagaLag
}

// instanceRow is an instance in a list.
type instanceRow struct {
	Pick         string // as row.Pick
	ID, Link, At string // At is the state of the saga's machine
	State        state
	Version      int64
	Updated      moment
	Began        moment
}

// stateRow is a state of a saga's machine.
type stateRow struct {
	Name  string
	On    string // its reactions, as "handles Placed; ignores all others"
	After string // how long it may last, and what comes then
	End   string // the outcome of a final state
}

func (c *Console) mountSagas() {
	c.live("GET sagas", (*visit).sagasPage)
	c.live("GET sagas/{saga}", (*visit).sagaPage)
	c.inContext("POST sagas/{saga}/{act}", (*visit).actOnSaga)
	c.mountMany("sagas/{saga}", (*visit).manyInstances)
	c.mountInstance()
}

// sagaPath is where a saga is shown; its name is one that somebody else chose.
func (v *visit) sagaPath(name string) string { return v.path("sagas/%s", url.PathEscape(name)) }

func (v *visit) sagasPage() error {
	q := v.r.URL.Query()
	found, err := call(v, api.SagaList, api.ListSagasParams{Context: v.tenant.ID, Cursor: q.Get("cursor"), Limit: pageRows})
	if err != nil {
		return err
	}
	b := &sagasBody{Pager: v.pagerOf("sagas", q, found.Next), Make: v.command("saga", "apply", "order.yaml")}
	for _, s := range found.Sagas {
		b.Rows = append(b.Rows, sagaRow{Name: s.Name, Link: v.sagaPath(s.Name), Summary: s.Summary, Version: s.Version, Updated: v.past(s.UpdatedMs), By: s.By})
	}
	v.render(nethttp.StatusOK, page{Title: "Sagas", Noun: "Sagas", Command: v.command("saga", "list"), Crumbs: []crumb{{"Sagas", ""}},
		Follow: lists("instance"), Body: b})
	return nil
}

// sagaTabs are the tabs of a saga's page.
var sagaTabs = []struct{ Key, Name string }{{"instances", "Instances"}, {"states", "States"}, {"lag", "Partitions"}}

// instanceFilters are those of one click.
var instanceFilters = []struct{ Name, Where string }{
	{"All", ""}, {"Running", `status == "running"`}, {"Held", `held != ""`}, {"Undoing", `status == "compensating"`}, {"Ended",
		`status == "ended"`}, {"Failed", `outcome == "failed"`},
}

func (v *visit) sagaPage() error {
	name := v.r.PathValue("saga")
	s, err := call(v, api.SagaShow, api.SagaParams{Context: v.tenant.ID, Name: name})
	if err != nil {
		return err
	}
	b := &sagaBody{Name: s.Name, Summary: s.Summary, Make: v.command("event", "publish", "--help"), Tab: sagaTabs[0].Key,
		Facts: []fact{{Name: "version", Text: strconv.Itoa(s.Version)}, {Name: "applied", At: v.past(s.UpdatedMs)}, {Name: "by",
			Text: "actor " + strconv.Itoa(int(s.By))}}}
	for _, t := range sagaTabs {
		if t.Key == v.r.FormValue("tab") {
			b.Tab = t.Key
		}
	}
	for _, t := range sagaTabs {
		link := v.sagaPath(name)
		if t.Key != sagaTabs[0].Key {
			link += "?tab=" + t.Key
		}
		b.Tabs = append(b.Tabs, tab{t.Name, link, t.Key == b.Tab})
	}
	if s.Paused {
		b.Facts = append(b.Facts, fact{Name: "paused", Text: "it takes no event until it is resumed"})
	}
	b.Actions = v.sagaActions(name, s.Paused)
	command := v.command("saga", "show", name)
	switch b.Tab {
	case "instances":
		command, err = v.fillInstances(b)
	case "states":
		b.States, b.Machine = statesOf(s.Definition), v.machineOf(s.Definition, nil, nil)
	case "lag":
		var lags api.SagaLags
		lags, err = call(v, api.SagaLag, api.NameSagaParams{Context: v.tenant.ID, Name: name})
		b.Lags, command = lags.Lags, v.command("saga", "lag", name)
	}
	if err != nil {
		return err
	}
	said, err := v.sagaSentence(name)
	if err != nil {
		return err
	}
	v.render(statusOf(b.Fields), page{Title: "Saga " + name, Sentence: said, Noun: "Sagas", Command: command,
		Crumbs: []crumb{{"Sagas", v.path("sagas")},
			{name, ""}}, Follow: lists("instance"), Body: b})
	return nil
}

// fillInstances reads a page of instances.
func (v *visit) fillInstances(b *sagaBody) (command string, err error) {
	q := v.r.URL.Query()
	where := q.Get("where")
	found, err := call(v, api.SagaInstances, api.ListInstancesParams{Context: v.tenant.ID, Name: b.Name,
		InstanceFilter: api.InstanceFilter{State: q.Get("state"), Where: where, Narrowing: narrowing(q)}, Cursor: q.Get("cursor"), Limit: pageRows})
	b.Fields = v.fields(typed("text", "Text", q.Get("text"), "ann"), typed("where", "Where", where, `state == "paying"`))
	if err = blame(err, b.Fields); err != nil {
		return "", err
	}
	path := "sagas/" + url.PathEscape(b.Name)
	list := v.manyInstances()
	b.Many = v.manyOf(list)
	b.Pager, b.Filtered = v.pagerOf(path, q, found.Next), filtered(q)
	own, chosen := typedWhere(where)
	for _, f := range instanceFilters {
		to := maps.Clone(q)
		to.Set("where", both(own, f.Where))
		b.Filters = append(b.Filters, filter{f.Name, v.listAt(path, to), f.Where == chosen})
	}
	for _, i := range found.Instances {
		ticks := ""
		if b.Many != nil {
			ticks = pick(i.Correlation)
		}
		b.Rows = append(b.Rows, instanceRow{Pick: ticks, ID: i.Correlation, Link: v.sagaPath(b.Name) + "/instance" + query("id", i.Correlation), At: i.State,
			State:   instanceState(i),
			Version: i.Version, Updated: v.past(i.UpdatedMs), Began: v.past(i.CreatedMs)})
	}
	// The board keeps no order among them; of a page, the last that moved come first.
	slices.SortStableFunc(b.Rows, func(a, b instanceRow) int { return int(min(1, max(-1, b.Updated.Ms-a.Updated.Ms))) })
	return v.command(append([]string{"saga", "instances", b.Name}, list.flags(list.filter(q))...)...), nil
}

// typedWhere parts a condition into what somebody typed and the filter of one click that
// was put behind it: see [both].
func typedWhere(where string) (own, chosen string) {
	for _, f := range instanceFilters {
		if f.Where == "" {
			continue
		} else if where == f.Where {
			return "", f.Where
		} else if own, found := strings.CutSuffix(where, ") && "+f.Where); found && strings.HasPrefix(own, "(") {
			return own[1:], f.Where
		}
	}
	return where, ""
}

// both is what somebody typed, and a filter of one click.
func both(own, chosen string) string {
	if own == "" || chosen == "" {
		return own + chosen
	}
	return "(" + own + ") && " + chosen
}

// statesOf are the states of a definition, in its order.
func statesOf(d *domain.SagaDefinition) (rows []stateRow) {
	for i := range d.States {
		s := &d.States[i]
		row := stateRow{Name: s.Name}
		row.On = reactionsOf(s.On)
		if s.Timeout != nil {
			row.After = "after " + span(s.Timeout.After.Time()) + ": " + s.Timeout.Event
		}
		if s.Final {
			row.End = "succeeded"
			if s.Outcome != "" {
				row.End = string(s.Outcome)
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// reactionsOf says what a state does with events, by what it does.
func reactionsOf(on map[string]domain.Reaction) string {
	var parts []string
	for _, r := range domain.Reactions {
		var events []string
		for event, reaction := range on {
			if reaction == r && event != domain.AnyEvent {
				events = append(events, event)
			}
		}
		slices.Sort(events)
		if on[domain.AnyEvent] == r {
			events = append(events, "all others")
		}
		if len(events) > 0 {
			parts = append(parts, string(r)+"s "+strings.Join(events, ", "))
		}
	}
	return strings.Join(parts, "; ")
}

// sagaActions are what can be done with a whole saga: it is either paused, or not.
func (v *visit) sagaActions(name string, paused bool) (list []action) {
	if !paused && v.may(api.SagaPause.Operation) {
		list = append(list, action{Name: "Pause", Verb: "Pause the saga", Post: v.sagaPath(name) + "/pause",
			Will: "None of its instances takes an event until it is resumed; events wait in their streams.", Command: v.command("saga", "pause", name)})
	}
	if paused && v.may(api.SagaResume.Operation) {
		list = append(list, action{Name: "Resume", Verb: "Resume the saga", Post: v.sagaPath(name) + "/resume",
			Will: "It takes events again, from where it stopped.", Command: v.command("saga", "resume", name)})
	}
	return list
}

// actOnSaga pauses or resumes a saga, or the instance that the form names.
func (v *visit) actOnSaga() error {
	p := api.SteerSagaParams{Context: v.tenant.ID, Name: v.r.PathValue("saga"), Correlation: v.r.PostFormValue("id")}
	to, what := v.sagaPath(p.Name), "The saga"
	if p.Correlation != "" {
		to, what = to+"/instance"+query("id", p.Correlation), "The instance"
	}
	var done api.SagaDone
	var err error
	said := ""
	switch act := v.r.PathValue("act"); act {
	case "pause":
		done, err = call(v, api.SagaPause, p)
		said = what + " is paused."
	case "resume":
		done, err = call(v, api.SagaResume, p)
		said = what + " goes on."
	default:
		return domain.NotFoundf("a saga cannot be told to %q", domain.PlainText(act, 20))
	}
	if !done.Done {
		said = "It is noted durably, and is carried out as soon as whoever serves it comes to it."
	}
	return v.did(to, said, err)
}

// instanceState is how an instance stands.
func instanceState(i *domain.SagaInstance) state {
	switch {
	case i.Held != "":
		return state{"held by a dead letter", errored}
	case i.Status == domain.SagaEnded && i.Outcome == domain.OutcomeFailed:
		return state{"ended, failed", failed}
	case i.Status == domain.SagaEnded:
		return state{"ended, " + strings.ToLower(string(i.Outcome)), succeeded}
	case i.Paused:
		return state{"paused", held}
	case i.Status == domain.SagaCompensating:
		return state{"undoing", held}
	}
	return state{"running", running}
}
