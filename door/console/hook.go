package console

import (
	"cmp"
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// This file has hooks: those of a flow that were called, and those that a context has for
// flows without their own.

// hookRow is a hook that was called for a flow.
type hookRow struct {
	On    string
	State state
	Text  string
	Link  string // to its job
}

// hookRows are the hooks of a flow that were called, and what came of them.
func (v *visit) hookRows(f *domain.FlowView) (rows []hookRow) {
	for _, h := range f.Hooks {
		row := hookRow{On: string(h.On), State: state{"not there any more", skipped}, Text: h.Error, Link: v.jobLink(h.Job)}
		if h.Status != "" {
			row.State = jobState(&domain.Job{Status: h.Status, Reason: h.Reason})
		}
		rows = append(rows, row)
	}
	return rows
}

// hookTable says what is done when flows end, or take too long.
func hookTable(hooks *domain.Hooks) *table {
	t := &table{Name: "Hooks", Head: []column{{"When", "name"}, {"Does", ""}, {"What", "why"}, {"Tries again", "num"}}}
	for _, on := range domain.HookOns {
		h := hooks.Of(on)
		if h == nil {
			continue
		}
		does, what := "a script of type "+string(cmp.Or(h.ScriptType, "the file's")), firstLine(h.Script)
		if h.Effect != nil {
			does, what = "an effect", h.Effect.Target
		}
		name := map[domain.HookOn]string{domain.HookFailed: "a flow has failed", domain.HookErrored: "a flow has ended in error",
			domain.HookSucceeded: "a flow has succeeded",
			domain.HookCancelled: "a flow was cancelled", domain.HookLate: "a flow takes longer than " + span(h.After.Time())}[on]
		t.Rows = append(t.Rows, row{Cells: []entry{words(name), words(does), words(what), countOf(int64(h.Retries))}})
	}
	return t
}

// firstLine is the first line of a text that says something, with a sign where there are more.
func firstLine(text string) string {
	first, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if first = domain.CutText(first, 120); rest != "" {
		first += " …"
	}
	return first
}
