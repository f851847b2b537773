package trial

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/document"
	"github.com/ramet-run/ramet/domain"
)

// Report is what came of a file of tests.
type Report struct {
	File          string `json:"file"`
	Blueprint     string `json:"blueprint"`
	BlueprintFile string `json:"blueprint_file"`
	Cases         []Case `json:"cases"`
	// Coverage is what no case has shown: of all cases, whichever were run.
	Coverage []string `json:"coverage"`
}

// Case is what came of one case.
type Case struct {
	Name string `json:"name"`
	Line int    `json:"line"`
	Jobs int    `json:"jobs"` // that were run
	// Lines say what is not as expected: `states.load: got "failed", want "succeeded"`.
	Lines []string `json:"lines,omitzero"`
}

// Failed is how many cases were not as expected.
func (r *Report) Failed() (n int) {
	for i := range r.Cases {
		if len(r.Cases[i].Lines) > 0 {
			n++
		}
	}
	return n
}

// Run plays the cases of a file; only those whose name has a text in it, where that is given.
//
// Errors: *[document.Error]; those of [domain.FileErrorf]; [domain.ErrNotFound] where no case
// has that text.
func Run(ctx context.Context, path, only string, play Player) (Report, error) {
	f, err := read(path)
	if err != nil {
		return Report{}, err
	}
	r := Report{File: path, Blueprint: f.plan.Name, BlueprintFile: f.path, Cases: []Case{}}
	seen := newCoverage(f.plan)
	for i := range f.Cases {
		c := &f.Cases[i]
		if only != "" && !strings.Contains(c.Name, only) {
			continue
		}
		ask := Ask{Params: maps.Clone(f.Params), Skip: c.Skip}
		if ask.Params == nil {
			ask.Params = map[string]string{}
		}
		maps.Copy(ask.Params, c.Params)
		done := Case{Name: c.Name, Line: c.line}
		p, err := play(ctx, f.plan, ask, c.end)
		if err != nil {
			done.Lines = []string{"it cannot be played: " + err.Error()}
		} else {
			done.Jobs, done.Lines = len(p.Jobs), append(c.unmet(&p), c.Expect.compare(&p)...)
			if p.Hook != nil && p.Hook.Fault != "" {
				done.Lines = append(done.Lines, fmt.Sprintf("the hook for %s ends in error: %s", p.Hook.On, p.Hook.Fault))
			}
			seen.add(&p)
		}
		r.Cases = append(r.Cases, done)
	}
	if len(r.Cases) == 0 {
		return r, domain.NotFoundf("%s has no case with %q in its name", path, only)
	}
	r.Coverage = seen.missing()
	return r, nil
}

// compare says what is not as expected.
func (e *expect) compare(p *Played) (lines []string) {
	add := func(path, got, want string) {
		lines = append(lines, fmt.Sprintf("%s: got %s, want %s", path, got, want))
	}
	because := func(why string) string {
		if why == "" {
			return ""
		}
		return " (" + why + ")"
	}
	if e.End != nil && *e.End != p.End {
		add("end", strconv.Quote(p.End)+because(p.Why), strconv.Quote(*e.End))
	}
	if e.Error != nil && !strings.Contains(p.Why, *e.Error) {
		add("error", strconv.Quote(p.Why), "one with "+strconv.Quote(*e.Error))
	}
	for _, name := range slices.Sorted(maps.Keys(e.States)) {
		if got, want := p.States[name], e.States[name]; got != want {
			add("states."+name, strconv.Quote(got)+because(p.Texts[name]), strconv.Quote(want))
		}
	}
	if len(e.Order) > 0 {
		var got []string
		for _, name := range p.Order {
			if slices.Contains(e.Order, name) {
				got = append(got, name)
			}
		}
		if !slices.Equal(got, e.Order) {
			add("order", strings.Join(p.Order, ", "), strings.Join(e.Order, ", "))
		}
	}
	counts := map[string]int{}
	for i := range p.Jobs {
		counts[p.Jobs[i].Step]++
	}
	for _, name := range slices.Sorted(maps.Keys(e.Counts)) {
		if got := strconv.Itoa(counts[name]); got != e.Counts[name] {
			add("counts."+name, got, e.Counts[name])
		}
	}
	for i := range e.Jobs {
		e.Jobs[i].compare(fmt.Sprintf("jobs[%d]", i), p, add)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Result)) {
		if got, there := p.Result[name]; !there {
			add("result."+name, "nothing", strconv.Quote(e.Result[name]))
		} else if got != e.Result[name] {
			add("result."+name, strconv.Quote(got), strconv.Quote(e.Result[name]))
		}
	}
	if e.Hook != nil {
		e.Hook.compare(p.Hook, add)
	}
	return lines
}

// compare looks at the hook that was called.
func (w *wantHook) compare(h *Hook, add func(path, got, want string)) {
	if h == nil {
		h = &Hook{On: NoHook}
	}
	if w.On != nil && *w.On != h.On {
		add("hook.on", strconv.Quote(h.On), strconv.Quote(*w.On))
	}
	compareParams("hook", h.Params, w.Params, add)
	if w.Payload != nil {
		values("hook.payload", decode(h.Payload), decode(w.Payload), add)
	}
}

// compareParams looks for params; there may be more.
func compareParams(path string, have, want map[string]string, add func(path, got, want string)) {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got, there := have[name]; !there {
			add(path+".params."+name, "nothing", strconv.Quote(want[name]))
		} else if got != want[name] {
			add(path+".params."+name, strconv.Quote(got), strconv.Quote(want[name]))
		}
	}
}

// compare looks at the job that is meant.
func (w *wantJob) compare(path string, p *Played, add func(path, got, want string)) {
	at := slices.IndexFunc(p.Jobs, func(j Job) bool {
		return j.Step == w.Step && (w.Index == nil || j.Index == *w.Index) && (w.Range == nil || j.Range == *w.Range) &&
			(w.Item == nil || sameJSON(w.Item, j.Item))
	})
	if at < 0 {
		add(path, there(p, w.Step, w.Index != nil), meant(w.Step, w.Index, w.Range, w.Item))
		return
	}
	j := &p.Jobs[at]
	compareParams(path, j.Params, w.Params, add)
	if w.Payload != nil {
		values(path+".payload", decode(j.Payload), decode(w.Payload), add)
	}
}

// unmet says which ends were given to one job of a step that has others.
func (c *testCase) unmet(p *Played) (lines []string) {
	for i := range c.Given {
		g := &c.Given[i]
		begun := slices.ContainsFunc(p.Jobs, func(j Job) bool { return j.Step == g.Step })
		if g.one() && begun && !slices.ContainsFunc(p.Jobs, func(j Job) bool { return g.fits(&j) }) {
			lines = append(lines, fmt.Sprintf("given[%d]: got %s, want %s", i, there(p, g.Step, g.Index != nil), meant(g.Step, g.Index, nil, g.Item)))
		}
	}
	return lines
}

// meant names a job that is looked for.
func meant(step string, index *int64, span *string, item json.RawMessage) string {
	text := "one of step " + step
	if index != nil {
		text += fmt.Sprintf(" with the index %d", *index)
	}
	if span != nil {
		text += " for the range " + *span
	}
	if item != nil {
		text += " for " + string(item)
	}
	return text
}

// maxThere is how many jobs are named, and maxThereBytes bounds each name.
const (
	maxThere      = 10
	maxThereBytes = 200
)

// there names the jobs of a step where the one is not among them that is looked for: by their
// indexes, or else by their elements or ranges.
func there(p *Played, step string, indexes bool) string {
	var names []string
	count := 0
	for i := range p.Jobs {
		j := &p.Jobs[i]
		if j.Step != step {
			continue
		}
		if count++; count > maxThere {
			continue
		}
		switch {
		case j.Item != nil && !indexes:
			names = append(names, document.Clip(string(j.Item), maxThereBytes))
		case j.Range != "" && !indexes:
			names = append(names, j.Range)
		default:
			names = append(names, strconv.FormatInt(j.Index, 10))
		}
	}
	switch {
	case count == 0 && p.States[step] != "":
		return fmt.Sprintf("no such job (the step is %s, and has none)", p.States[step])
	case count == 0:
		return "no such job (the step has none)"
	case count > maxThere:
		names = append(names, fmt.Sprintf("and %d more", count-maxThere))
	}
	return "no such job (there are those for " + strings.Join(names, ", ") + ")"
}

func decode(text json.RawMessage) (v any) {
	if len(text) == 0 {
		return nil
	}
	if err := json.Unmarshal(text, &v); err != nil {
		panic("BUG: what was read or made is no JSON: " + err.Error())
	}
	return v
}

// values compares what JSON texts say; objects may have more than is wanted.
func values(path string, got, want any, add func(path, got, want string)) {
	compact := func(v any) string {
		text, _ := json.Marshal(v) // it was read from JSON
		return string(text)
	}
	if names, ok := want.(map[string]any); ok {
		if have, ok := got.(map[string]any); ok {
			for _, name := range slices.Sorted(maps.Keys(names)) {
				if v, there := have[name]; there {
					values(path+"."+name, v, names[name], add)
				} else {
					add(path+"."+name, "nothing", compact(names[name]))
				}
			}
			return
		}
	}
	if list, ok := want.([]any); ok {
		if have, ok := got.([]any); ok && len(have) == len(list) {
			for i := range list {
				values(fmt.Sprintf("%s[%d]", path, i), have[i], list[i], add)
			}
			return
		}
	}
	if g, w := compact(got), compact(want); g != w {
		add(path, g, w)
	}
}

// coverage is what cases have shown of a blueprint.
type coverage struct {
	plan *domain.Blueprint
	no   map[string]bool // conditions that were false
	ran  map[string]bool // steps that began
}

func newCoverage(b *domain.Blueprint) *coverage {
	return &coverage{b, map[string]bool{}, map[string]bool{}}
}

func (c *coverage) add(p *Played) {
	for name, holds := range p.Whens {
		c.no[name] = c.no[name] || !holds
	}
	for _, name := range p.Order {
		c.ran[name] = true
	}
}

// missing says what no case has shown.
func (c *coverage) missing() []string {
	lines := []string{}
	for i := range c.plan.Steps {
		s := &c.plan.Steps[i]
		switch {
		case !c.ran[s.Name]:
			lines = append(lines, fmt.Sprintf("step %s is begun in no case", s.Name))
		case s.When != "" && !c.no[s.Name]:
			lines = append(lines, fmt.Sprintf("the when of step %s is false in no case", s.Name))
		}
	}
	return lines
}

// Text writes the report for people. quiet leaves out the cases that are as expected,
// covered says what no case has shown.
func (r *Report) Text(w io.Writer, quiet, covered bool) error {
	out := bufio.NewWriter(w)
	for i := range r.Cases {
		c := &r.Cases[i]
		if len(c.Lines) == 0 {
			if !quiet {
				fmt.Fprintf(out, "ok    %s\n", c.Name)
			}
			continue
		}
		fmt.Fprintf(out, "FAIL  %s\n      %s:%d\n", c.Name, r.File, c.Line)
		for _, line := range c.Lines {
			fmt.Fprintf(out, "        %s\n", line)
		}
	}
	if covered {
		for _, line := range r.Coverage {
			fmt.Fprintf(out, "      not shown: %s\n", line)
		}
	}
	noun := "cases"
	if len(r.Cases) == 1 {
		noun = "case"
	}
	if failed := r.Failed(); failed == 0 {
		fmt.Fprintf(out, "ok    %s: %d %s of blueprint %s\n", r.File, len(r.Cases), noun, r.Blueprint)
	} else {
		fmt.Fprintf(out, "FAIL  %s: %d of %d %s of blueprint %s\n", r.File, failed, len(r.Cases), noun, r.Blueprint)
	}
	return out.Flush()
}
