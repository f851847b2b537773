package console

import (
	"cmp"
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
	Needed  bool // the form is not sent without it
	Hidden  bool // it is sent, and not shown
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

// flowFilters are those of one click.
var flowFilters = []struct{ Name, Query string }{
	{"All", ""}, {"Running", "status=started"}, {"Waiting", "status=dispatched"}, {"Went wrong", "status=error"}, {"Succeeded", "status=finished"},
}

func (v *visit) flowsPage() error {
	q := v.r.URL.Query()
	caller, _ := strconv.ParseUint(q.Get("caller"), 10, 32) // what is no number filters nothing
	filter := api.FlowFilter{Status: domain.FlowStatus(q.Get("status")), Reason: domain.FlowReason(q.Get("reason")),
		Blueprint: q.Get("blueprint"), Trigger: q.Get("trigger"), Caller: domain.ActorID(caller), Where: q.Get("where"), Narrowing: narrowing(q)}
	p := api.ListFlowsParams{Context: v.tenant.ID, FlowFilter: filter, Cursor: q.Get("cursor"), Limit: pageRows}
	found, err := call(v, api.FlowList, p)
	if err != nil {
		return err
	}
	list := v.manyFlows()
	b := &flowsBody{Many: v.manyOf(list), Looked: found.Looked, Filtered: filtered(q), Pager: v.pagerOf("flows", q, found.Next), Make: v.command("flow",
		"submit", "nightly.yaml"),
		Fields: v.fields(typed("text", "Text", p.Text, "shop 3"), typed("blueprint", "Blueprint", p.Blueprint, "nightly"), typed("trigger", "Trigger",
			p.Trigger, "2026-12-24"), typed("where",
			"Where", p.Where, "flow.retried > 0"))}
	for _, f := range flowFilters {
		b.Filters = append(b.Filters, v.filterOf("flows", f.Name, f.Query, q))
	}
	for i := range found.Flows {
		row := v.flowRow(&found.Flows[i])
		if b.Many != nil {
			row.Pick = pick(found.Flows[i].Key())
		}
		b.Rows = append(b.Rows, row)
	}
	words := append([]string{"flow", "list"}, list.flags(list.filter(q))...)
	v.render(nethttp.StatusOK, page{Title: "Flows", Template: "flows", Noun: "Flows", Command: v.command(words...), Crumbs: []crumb{{"Flows", ""}},
		Follow: lists("flow"), Body: b})
	return nil
}

func (v *visit) flowRow(f *domain.Flow) flowRow {
	r := flowRow{ID: f.ID, Link: v.path("flows/%d", f.ID), Name: cmp.Or(f.Blueprint, "flow "+strconv.Itoa(int(f.ID))), Trigger: f.Trigger,
		State: flowState(f, false),
		Made:  v.at(int64(f.CreatedAt) * 1000), Took: v.took(f.StartedMs, f.FinishedMs), By: f.CallerID}
	if f.Final() {
		r.Why = f.Error
	} else if f.Progress != "" {
		whole, _, _ := strings.Cut(f.Progress, ".")
		r.Progress = whole + " %"
	}
	return r
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

// filterOf is a filter of one click: its query in place of the status that is asked for.
func (v *visit) filterOf(path, name, query string, now url.Values) filter {
	link := v.path("%s", path)
	if query != "" {
		link += "?" + query
	}
	want, _ := url.ParseQuery(query) // ours
	return filter{name, link, want.Get("status") == now.Get("status")}
}

// pagerOf leads to the next page of a list, and back to its beginning.
func (v *visit) pagerOf(path string, q url.Values, next string) (p pager) {
	with := func(cursor string) string {
		to := url.Values{}
		for name, values := range q {
			if name != "cursor" && name != "said" && len(values) > 0 && values[0] != "" {
				to.Set(name, values[0])
			}
		}
		if cursor != "" {
			to.Set("cursor", cursor)
		}
		if len(to) == 0 {
			return v.path("%s", path)
		}
		return v.path("%s", path) + "?" + to.Encode()
	}
	if q.Get("cursor") != "" {
		p.First = with("")
	}
	if next != "" {
		p.Next = with(next)
	}
	return p
}
