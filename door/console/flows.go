package console

import (
	"cmp"
	"errors"
	"maps"
	nethttp "net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// pageRows is how many rows a list has at once.
const pageRows = 50

// flowsBody is what the list of flows shows.
type flowsBody struct {
	Rows    []flowRow
	Filters []filter
	Fields  []formField
	Pager   pager
	Looked  int
	// Filtered says that something is asked for, so that an empty list does not mean that
	// there is nothing.
	Filtered bool
	Many     *many
	// Make is the command that makes what stands in an empty list.
	Make string
}

// flowRow is a flow in a list.
type flowRow struct {
	Pick     string // as row.Pick
	ID       domain.FlowID
	Link     string
	Name     string
	Trigger  string
	State    state
	Why      string
	Progress string
	Made     moment
	Took     string
	By       domain.ActorID
}

// filter is a choice that is one click away.
type filter struct {
	Name, Link string
	Here       bool
}

// formField is what a person types into a form, or chooses.
type formField struct {
	Name, Label, Value, Hint string
	// Options are what can be chosen; none: it is typed. Area is how many lines there
	// are to type in, where it is more than one.
	Options []string
	Area    int
	Flag    bool // it is ticked: "true", else "false"
	Needed  bool // the form is not sent without it
	Hidden  bool // it is sent, and not shown
	// Suggest are values that are offered while one types; others will do.
	Suggest []string
	// Help says more below the field, Fault what is wrong with what was typed.
	Help, Fault string
	// wrong says what is wrong with a value; nil: that is not known here.
	wrong func(value string) string
	// Half says that another field stands beside it, where there is room.
	Half bool
	// Secret is not shown again, nor kept by a browser.
	Secret bool
}

// rows are the lines that there are to type in; 0: it is one, which takes no ends of lines.
func (f formField) rows() int {
	if f.Area == 0 && strings.ContainsAny(f.Value, "\r\n") {
		return min(8, 1+strings.Count(f.Value, "\n"))
	}
	return f.Area
}

// typed is the value as if somebody had typed it: all of it, for it is sent back.
func (f formField) typed() string {
	if f.Area > 0 {
		return f.Value
	}
	return typable(f.Value)
}

// typable is a text with one kind of end of a line, and with "?" for what acts on what shows it.
func typable(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && domain.Acts(r) {
			return '?'
		}
		return r
	}, lineEnds.Replace(text))
}

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// ID names what the page says below a field.
func (f formField) ID() string { return "about-" + f.Name }

// blame puts an error of a filter where it was typed, so that it can be mended there: a
// condition that cannot be read, else the first that was typed. What no field is to blame
// for is returned.
func blame(err error, fields []formField) error {
	if !errors.Is(err, domain.ErrInvalid) {
		return err
	}
	i := slices.IndexFunc(fields, func(f formField) bool { return f.Name == "where" && f.Value != "" })
	if i < 0 {
		i = slices.IndexFunc(fields, func(f formField) bool { return f.Value != "" && !f.Hidden })
	}
	if i < 0 {
		return err
	}
	fields[i].Fault = err.Error()
	return nil
}

// faulty reports whether something was typed that cannot be read.
func faulty(fields []formField) bool {
	return slices.ContainsFunc(fields, func(f formField) bool { return f.Fault != "" })
}

// statusOf is that of a page with a form.
func statusOf(fields []formField) int {
	if faulty(fields) {
		return nethttp.StatusBadRequest
	}
	return nethttp.StatusOK
}

// fields are those of a list's filter, and hidden beside them what the address has
// already, such as a state that was chosen.
func (v *visit) fields(list ...formField) []formField {
	q := v.r.URL.Query()
	for _, name := range slices.Sorted(maps.Keys(q)) {
		if q.Get(name) == "" || name == "cursor" || name == "said" || slices.ContainsFunc(list, func(f formField) bool { return f.Name == name }) {
			continue
		}
		list = append(list, formField{Name: name, Value: q.Get(name), Hidden: true})
	}
	return list
}

func typed(name, label, value, hint string) formField {
	return formField{Name: name, Label: label, Value: value, Hint: hint}
}

// pager leads through a list by cursors.
type pager struct{ First, Next string }

func (c *Console) mountFlows() {
	c.live("GET flows", (*visit).flowsPage)
	c.inContext("GET flows/compare", (*visit).comparePage)
	c.mountMany("flows", (*visit).manyFlows)
	c.mountFlow()
}

// flowFilters are those of one click, by the parameter that each sets.
var flowFilters = []struct{ name, param, value string }{
	{"All", "status", ""}, {"Running", "awaits", string(domain.AwaitsJobs)}, {"Need approval", "awaits", string(domain.AwaitsDecision)},
	{"Waiting", "awaits", string(domain.AwaitsOthers)}, {"Went wrong", "status", string(domain.FlowError)}, {"Succeeded", "status", string(domain.FlowFinished)},
}

func (v *visit) flowsPage() error {
	q := v.r.URL.Query()
	caller, _ := strconv.ParseUint(q.Get("caller"), 10, 32) // what is no number filters nothing
	filter := api.FlowFilter{Status: domain.FlowStatus(q.Get("status")), Reason: domain.FlowReason(q.Get("reason")),
		Blueprint: q.Get("blueprint"), Trigger: q.Get("trigger"), Caller: domain.ActorID(caller), Awaits: domain.FlowAwaits(q.Get("awaits")),
		Where: q.Get("where"), Narrowing: narrowing(q)}
	p := api.ListFlowsParams{Context: v.tenant.ID, FlowFilter: filter, Cursor: q.Get("cursor"), Limit: pageRows}
	fields := v.fields(typed("text", "Text", p.Text, "shop 3"), typed("blueprint", "Blueprint", p.Blueprint, "nightly"),
		typed("trigger", "Trigger", p.Trigger, "2026-12-24"), typed("where", "Where", p.Where, "flow.retried > 0"))
	found, err := call(v, api.FlowList, p)
	if err = blame(err, fields); err != nil {
		return err
	}
	list := v.manyFlows()
	b := &flowsBody{Many: v.manyOf(list), Looked: found.Looked, Filtered: filtered(q), Pager: v.pagerOf("flows", q, found.Next), Make: v.command("flow",
		"submit", "nightly.yaml"), Fields: fields}
	for _, f := range flowFilters {
		b.Filters = append(b.Filters, v.eitherOf("flows", "awaits", f.name, f.param, f.value))
	}
	for i := range found.Flows {
		row := v.flowRow(&found.Flows[i])
		if err := v.tellWhy(&row, &found.Flows[i]); err != nil {
			return err
		}
		if b.Many != nil {
			row.Pick = pick(found.Flows[i].Key())
		}
		b.Rows = append(b.Rows, row)
	}
	words := append([]string{"flow", "list"}, list.flags(list.filter(q))...)
	v.render(statusOf(fields), page{Title: "Flows", Noun: "Flows", Command: v.command(words...), Crumbs: []crumb{{"Flows", ""}},
		Follow: lists("flow"), Body: b})
	return nil
}

// eitherOf is a filter of one click: of status and another parameter it sets one, and takes
// away the other.
func (v *visit) eitherOf(path, other, name, param, value string) filter {
	q := v.r.URL.Query()
	here := q.Get(param) == value && (value != "" || q.Get(other) == "")
	q.Del("status")
	q.Del(other)
	if !here {
		q.Set(param, value)
	}
	return filter{name, v.listAt(path, q), here}
}

func (v *visit) flowRow(f *domain.Flow) flowRow {
	r := flowRow{ID: f.ID, Link: v.path("flows/%d", f.ID), Name: cmp.Or(f.Blueprint, "flow "+strconv.Itoa(int(f.ID))), Trigger: f.Trigger,
		State: flowState(f, false),
		Made:  v.past(int64(f.CreatedAt) * 1000), Took: v.took(f.StartedMs, f.FinishedMs), By: f.CallerID}
	if f.Final() {
		r.Why = f.Error
	} else if f.Progress != "" {
		whole, _, _ := strings.Cut(f.Progress, ".")
		r.Progress = whole + " %"
	}
	return r
}

// hindered says of a flow that goes on only when somebody comes, or never, that it is so: its jobs are under way, and
// nobody takes them. It is the state that the overview has of the same fact.
func (r *flowRow) hindered(x domain.FlowExplanation) {
	if st, is := hinderedState(&x); is {
		r.State, r.Why = st, x.Text
	}
}

// hinderedState is how a flow stands that somebody has to do something for; false for others.
func hinderedState(x *domain.FlowExplanation) (st state, is bool) {
	switch {
	case x.Outlook == domain.OutlookLacking:
		return state{"waits", failed}, true
	case x.Outlook == domain.OutlookStuck || x.Standing == domain.StandingStuck:
		return state{"stuck", errored}, true
	}
	return state{}, false
}

// tellWhy says what a flow waits for of which nothing is under way, and of one that seems to go on, whether nobody is
// there for it: that is asked only where an audit has found that something of the context does not.
func (v *visit) tellWhy(r *flowRow, f *domain.Flow) error {
	switch {
	case f.Final():
		return nil
	case f.Paused:
		r.Why = "somebody has paused it"
		return nil
	case f.WaitsFor() == domain.AwaitsDecision:
		r.Why = "somebody has to decide"
		return nil
	case f.WaitsFor() == domain.AwaitsJobs:
		audit, err := v.unfinished()
		if err != nil || audit == nil || len(audit.Lacking)+len(audit.Stuck) == 0 {
			return err
		}
	}
	x, err := call(v, api.FlowExplain, api.FlowParams{Context: v.tenant.ID, Flow: f.ID})
	if err != nil {
		return nil // the list says less, and is right
	}
	if f.WaitsFor() != domain.AwaitsJobs {
		r.Why = x.Text
	}
	r.hindered(x)
	return nil
}

// filtered reports whether a query asks for less than all.
func filtered(q url.Values) bool {
	for name, values := range q {
		if name != "cursor" && name != "said" && len(values) > 0 && values[0] != "" {
			return true
		}
	}
	return false
}

// listAt is the address of a list with what a query asks for, from its first page on.
func (v *visit) listAt(path string, q url.Values) string {
	to := url.Values{}
	for name, values := range q {
		if name != "cursor" && name != "said" && len(values) > 0 && values[0] != "" {
			to.Set(name, values[0])
		}
	}
	return v.path("%s", path) + behindMark(to)
}

// pagerOf leads to the next page of a list, and back to its beginning.
func (v *visit) pagerOf(path string, q url.Values, next string) (p pager) {
	first := v.listAt(path, q)
	if q.Get("cursor") != "" {
		p.First = first
	}
	if next != "" {
		p.Next = first + "?"
		if strings.Contains(first, "?") {
			p.Next = first + "&"
		}
		p.Next += "cursor=" + urlEscape(next)
	}
	return p
}
