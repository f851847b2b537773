package console

import (
	"cmp"
	"fmt"
	"maps"
	nethttp "net/http"
	"slices"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// This file has two runs side by side: what they were given, how their steps ended and
// how long they took, and what came out.

const (
	// compareSteps is how many steps the page has; those that differ come first where
	// there are more.
	compareSteps = 300
	// compareText bounds a value in a cell, in bytes.
	compareText = 200
	// slowerBy is from which factor on a difference of time is worth a word, where it is
	// more than slowerLeast.
	slowerBy    = 1.2
	slowerLeast = 100 * time.Millisecond
)

// compareFlows leads from two flows that are ticked to their comparison.
func (v *visit) compareFlows(keys []string) error {
	if len(keys) != 2 {
		return domain.Invalidf("%d flows are ticked; tick 2 of them to compare", len(keys))
	}
	a, err := domain.ParseFlowKey(keys[0])
	if err != nil {
		return err
	}
	b, err := domain.ParseFlowKey(keys[1])
	if err != nil {
		return err
	}
	return v.redirect(v.path("flows/compare?a=%d&b=%d", min(a, b), max(a, b)))
}

// comparePage compares flow a with flow b; without a, with the last run of its blueprint
// that was made before b.
func (v *visit) comparePage() error {
	b, err := v.flowNamed("b")
	if err != nil {
		return err
	}
	if v.r.FormValue("a") == "" {
		before, err := v.runBefore(&b.Flow)
		if err != nil {
			return err
		}
		return v.redirect(v.path("flows/compare?a=%d&b=%d", before, b.ID))
	}
	a, err := v.flowNamed("a")
	if err != nil {
		return err
	}
	c := comparison{v: v, a: a, b: b}
	body := &detailBody{Title: flowName(&a.Flow) + " and " + flowName(&b.Flow), Sections: []section{{Table: c.heads()},
		c.values("Params", a.Params, b.Params, "They were given the same."), c.steps(), c.values("Results", a.Result, b.Result, "Their results are the same.")}}
	v.render(nethttp.StatusOK, page{Title: "Compare " + strconv.Itoa(int(a.ID)) + " and " + strconv.Itoa(int(b.ID)), Noun: "Flows",
		Command: v.command("flow", "show", strconv.Itoa(int(a.ID))) + "; " + v.command("flow", "show", strconv.Itoa(int(b.ID))), Body: body, Sentence: c.sentence(),
		Crumbs: []crumb{{"Flows", v.path("flows")}, {"Compare", ""}}})
	return nil
}

// flowNamed is the flow that a parameter names.
func (v *visit) flowNamed(param string) (*domain.FlowView, error) {
	id, err := domain.ParseFlowKey(v.r.FormValue(param))
	if err != nil {
		return nil, err
	}
	f, err := call(v, api.FlowShow, api.ShowFlowParams{FlowParams: api.FlowParams{Context: v.tenant.ID, Flow: id}})
	return &f, err
}

const (
	// runLook is how many flows are looked at for the run before one, to know whether to offer
	// it; runLookMost, when it is asked for.
	runLook     = 100
	runLookMost = 50_000
)

// runBefore is the last flow of the same blueprint that was made before one.
func (v *visit) runBefore(f *domain.Flow) (domain.FlowID, error) {
	id, _, err := v.caller.RunBefore(v.r.Context(), v.tenant.ID, f, runLookMost)
	if id == 0 && err == nil {
		err = domain.NotFoundf("there is no earlier run of the same blueprint to compare flow %d with; tick two flows in the list", f.ID)
	}
	return id, err
}

// mayCompare reports whether a flow has a run before it, as far as a look tells. One that has
// not ended is not looked for: its page is made anew with each step.
func (v *visit) mayCompare(f *domain.Flow) bool {
	if !f.Final() {
		return false
	}
	id, further, err := v.caller.RunBefore(v.r.Context(), v.tenant.ID, f, runLook)
	return err == nil && (id != 0 || further)
}

// comparison is two flows side by side.
type comparison struct {
	v    *visit
	a, b *domain.FlowView
}

func (c *comparison) columns(first string) []column {
	return []column{{first, "name"}, {"Flow " + strconv.Itoa(int(c.a.ID)), "of"}, {"Flow " + strconv.Itoa(int(c.b.ID)), "of"}}
}

// heads are the runs themselves.
func (c *comparison) heads() *table {
	t := &table{Name: "The two runs", Head: c.columns("Of")}
	add := func(name string, of func(f *domain.FlowView) entry) {
		x, y := of(c.a), of(c.b)
		if x.Text != "" || y.Text != "" || x.State.Word != "" || x.At.Ms+y.At.Ms != 0 {
			t.Rows = append(t.Rows, row{Cells: []entry{words(name), x, y}})
		}
	}
	add("state", func(f *domain.FlowView) entry { return chip(flowState(&f.Flow, false)) })
	add("run", func(f *domain.FlowView) entry { return linkTo(flowName(&f.Flow), c.v.path("flows/%d", f.ID)) })
	add("version", func(f *domain.FlowView) entry { return countOf(int64(f.Version)) })
	add("began", func(f *domain.FlowView) entry { return when(c.v.past(f.StartedMs)) })
	add("took", func(f *domain.FlowView) entry { return words(c.v.took(f.StartedMs, f.FinishedMs)) })
	add("retried", func(f *domain.FlowView) entry { return countOf(int64(f.Retried)) })
	add("by", func(f *domain.FlowView) entry { return words(actorText(f.CallerID)) })
	return t
}

// values are what differs between two sets of values.
func (c *comparison) values(title string, a, b map[string]string, same string) section {
	names := slices.Sorted(maps.Keys(a))
	names = slices.AppendSeq(names, maps.Keys(b))
	slices.Sort(names)
	t, equal := &table{Name: title, Head: c.columns("Name")}, 0
	for _, name := range slices.Compact(names) {
		x, inA := a[name]
		y, inB := b[name]
		if x == y && inA == inB {
			equal++
			continue
		}
		t.Rows = append(t.Rows, row{Cells: []entry{words(name), words(value(x, inA)), words(value(y, inB))}})
	}
	s := section{Title: title, Table: t}
	switch {
	case len(t.Rows) == 0:
		s.None = same
	case equal > 0:
		s.Intro = counted(equal, "more value is", "more values are") + " the same."
	}
	return s
}

// value is a value in a cell; one that is not there is a dash.
func value(text string, there bool) string {
	if !there {
		return "–"
	}
	return cmp.Or(domain.CutText(text, compareText), `""`)
}

// stepPair is a step in both runs; nil where it is not in one.
type stepPair struct {
	name string
	a, b *domain.StepView
}

// pairs are the steps of both, in the order of the later run; those that only the earlier
// has come last.
func (c *comparison) pairs() (list []stepPair) {
	at := map[string]int{}
	for i := range c.b.Steps {
		s := &c.b.Steps[i]
		at[s.Name] = len(list)
		list = append(list, stepPair{name: s.Name, b: s})
	}
	for i := range c.a.Steps {
		s := &c.a.Steps[i]
		if k, both := at[s.Name]; both {
			list[k].a = s
		} else {
			list = append(list, stepPair{name: s.Name, a: s})
		}
	}
	return list
}

// differs reports whether a step ended otherwise, or is in one run only.
func (p *stepPair) differs() bool { return p.a == nil || p.b == nil || p.a.Status != p.b.Status }

func (c *comparison) steps() section {
	list := c.pairs()
	s := section{Title: "Steps"}
	if n := len(list); n > compareSteps {
		slices.SortStableFunc(list, func(x, y stepPair) int {
			switch {
			case x.differs() == y.differs():
				return 0
			case x.differs():
				return -1
			}
			return 1
		})
		list, s.Intro = list[:compareSteps], "Of "+strconv.Itoa(n)+" steps these are "+strconv.Itoa(compareSteps)+", first those that ended otherwise."
	}
	s.Table = &table{Name: "Steps", Head: []column{{"Step", "name"}, {"Flow " + strconv.Itoa(int(c.a.ID)), "of"}, {"took", "num"},
		{"Flow " + strconv.Itoa(int(c.b.ID)), "of"}, {"took", "num"}, {"What differs", "why"}}}
	for i := range list {
		p := &list[i]
		r := row{Cells: []entry{linkTo(p.name, c.v.path("flows/%d", c.b.ID)+query("step", p.name))}}
		for _, half := range [...]*domain.StepView{p.a, p.b} {
			if half == nil {
				r.Cells = append(r.Cells, words("–"), entry{})
			} else {
				r.Cells = append(r.Cells, chip(c.v.stepState(half)), words(c.v.took(half.SinceMs, half.EndMs)))
			}
		}
		r.Cells = append(r.Cells, words(p.difference()))
		s.Table.Rows = append(s.Table.Rows, r)
	}
	return s
}

// difference says what became of a step in the later run that did not in the earlier.
func (p *stepPair) difference() string {
	switch {
	case p.a == nil:
		return "is new"
	case p.b == nil:
		return "is gone"
	case p.a.Status != p.b.Status:
		return whyOf(p.b)
	case p.a.EndMs == 0 || p.b.EndMs == 0 || p.a.SinceMs == 0 || p.b.SinceMs == 0:
		return ""
	}
	before, after := float64(p.a.EndMs-p.a.SinceMs), float64(p.b.EndMs-p.b.SinceMs)
	least := float64(slowerLeast.Milliseconds())
	switch {
	case after > before*slowerBy && after-before > least:
		return fmt.Sprintf("%.1f times as long", after/max(before, 1))
	case before > after*slowerBy && before-after > least:
		return fmt.Sprintf("%.1f times as fast", before/max(after, 1))
	}
	return ""
}

// sentence says which steps ended otherwise.
func (c *comparison) sentence() *sentence {
	otherwise, first := 0, ""
	for _, p := range c.pairs() {
		if !p.differs() {
			continue
		}
		if otherwise++; first == "" && p.a != nil && p.b != nil {
			first = p.name + " " + stepState(p.a).Word + " in flow " + strconv.Itoa(int(c.a.ID)) +
				", and " + stepState(p.b).Word + " in flow " + strconv.Itoa(int(c.b.ID))
		}
	}
	s := &sentence{State: flowState(&c.b.Flow, false)}
	if !c.a.Final() || !c.b.Final() {
		s.State = state{"under way", running}
	}
	switch {
	case otherwise == 0 && s.State.Class == running:
		s.Text = "So far all steps stand alike: not both have ended."
	case otherwise == 0:
		s.Text = "All steps ended alike."
	case first == "":
		s.Text = counted(otherwise, "step is", "steps are") + " in one of the two only."
	case otherwise == 1:
		s.Text = "One step ended otherwise: " + first + "."
	default:
		s.Text = plural(otherwise, "step") + " ended otherwise. The first: " + first + "."
	}
	return s
}
