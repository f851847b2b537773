package console

import (
	"cmp"
	nethttp "net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/domain"
)

// This file has one blueprint: its graph, source, versions and differences. The form that
// starts a flow of it is in start.go, the editor in blueprintedit.go.

func (c *Console) mountBlueprint() {
	c.inContext("GET blueprint", (*visit).blueprintPage)
	c.inContext("POST blueprint/start", (*visit).startBlueprint)
	c.inContext("POST blueprint/delete", (*visit).deleteBlueprint)
}

// blueprintPage shows a version.
func (v *visit) blueprintPage() error {
	name := v.r.FormValue("name")
	version, _ := strconv.Atoi(v.r.FormValue("version")) // what is no number is the newest
	stored, err := call(v, api.BlueprintShow, api.BlueprintParams{Context: v.tenant.ID, Name: name, Version: version})
	if err != nil {
		return err
	}
	newest, err := call(v, api.BlueprintVersions, api.BlueprintVersionsParams{Context: v.tenant.ID, Name: name, Cursor: v.r.FormValue("cursor"), Limit: pageRows})
	if err != nil {
		return err
	}
	bp := &stored.Blueprint
	b := &detailBody{Title: stored.Name, Actions: v.blueprintActions(&stored), Facts: []fact{{Name: "version", Text: strconv.Itoa(stored.Version)},
		{Name: "stored", At: v.past(stored.UpdatedMs)}, {Name: "by", Text: actorText(stored.By)}, {Name: "steps", Text: strconv.Itoa(len(bp.Steps))},
		{Name: "flows", Text: "its flows", Link: v.path("flows") + with("blueprint", name)}}}
	if stored.Summary != "" {
		b.Facts = append([]fact{{Name: "what for", Text: stored.Summary}}, b.Facts...)
	}
	switch mine := v.mayRewrite(&stored) == nil; {
	case mine && hidden(editable(stored)):
		b.Facts = append(b.Facts, fact{Name: "to edit", Text: "its file, for it has characters that cannot be seen: an editor in a browser would hide them from you"})
	case mine:
		b.Links = []crumb{{"Edit", v.path("blueprint/edit") + with("name", name)}}
	}
	at := func(key string) string {
		return v.path("blueprint") + with("name", name, "version", v.r.FormValue("version"), "tab", key)
	}
	tabs := []string{"graph", "Graph", "source", "Source", "versions", "Versions", "differences", "Differences"}
	if v.may(api.FlowSubmit.Operation) {
		tabs = append(tabs, "start", "Start")
	}
	var key string
	key, b.Tabs = v.tabsOf(at, tabs...)
	command, status := v.command("blueprint", "show", name), nethttp.StatusOK
	switch key {
	case "graph":
		b.Sections = v.blueprintSteps(bp, at(""))
	case "source":
		b.Sections = []section{{Lines: linesOf(string(blueprint.YAML(bp)))}}
	case "versions":
		b.Sections, command = []section{v.versionsOf(name, newest, at(key))}, v.command("blueprint", "versions", name)
	case "differences":
		var words []string
		b.Sections, words, err = v.differences(name, stored.Version)
		command = v.command(words...)
	case "start":
		var form *makeBody
		var done bool
		if form, status, done, err = v.startSection(&stored); done {
			return err
		}
		b.Sections, command = []section{{Asks: form}}, form.Command
	}
	if err != nil {
		return err
	}
	pg := page{Title: stored.Name, Noun: "Blueprints", Command: command, Body: b,
		Crumbs: []crumb{{"Blueprints", v.path("blueprints")}, {stored.Name, ""}}}
	if list := newest.Blueprints; len(list) > 0 && v.r.FormValue("cursor") == "" && list[0].Version > stored.Version {
		pg.Sentence = &sentence{State: state{"old", held}, Text: "This is version " + strconv.Itoa(stored.Version) + ". The newest is " +
			strconv.Itoa(list[0].Version) + "."}
	}
	v.render(status, pg)
	return nil
}

// blueprintActions are what can be done with a blueprint by who looks.
func (v *visit) blueprintActions(s *domain.StoredBlueprint) (list []action) {
	if v.may(api.BlueprintDelete.Operation) {
		list = append(list, action{Name: "Delete", Verb: "Delete the blueprint", Post: v.path("blueprint/delete"), Fields: []field{{"name", s.Name}},
			Will: "The blueprint leaves the board with all its versions; no schedule can make flows of it any more. Flows that there are go on. " +
				"This cannot be undone.",
			Command: v.command("blueprint", "delete", s.Name)})
	}
	return list
}

// blueprintSteps are the graph, and the step that was chosen in it.
func (v *visit) blueprintSteps(b *domain.Blueprint, link string) []section {
	chosen := v.r.FormValue("step")
	list := []section{{Graph: v.blueprintGraph(b, chosen, link)}}
	i := slices.IndexFunc(b.Steps, func(s domain.Step) bool { return s.Name == chosen })
	if i < 0 {
		if len(b.Inputs) > 0 {
			list = append(list, section{Title: "Inputs", Pairs: inputPairs(b)})
		}
		if len(b.Params) > 0 {
			list = append(list, section{Title: "Params", Pairs: pairs(b.Params)})
		}
		return list
	}
	s := &b.Steps[i]
	settings := []pair{{"kind", string(s.KindOr())}}
	for _, p := range []pair{{"what for", s.Summary}, {"script type", string(s.ScriptType)}, {"needs", strings.Join(s.Needs, ", ")},
		{"when", s.When}, {"at", s.At}} {
		if p.Value != "" {
			settings = append(settings, p)
		}
	}
	if s.Timeout != 0 {
		settings = append(settings, pair{"timeout", span(s.Timeout.Time())})
	}
	if s.Retries != 0 {
		settings = append(settings, pair{"retries", strconv.Itoa(s.Retries)})
	}
	if s.Effect != nil {
		settings = append(settings, pair{"effect", s.Effect.Target})
	}
	list = append(list, section{Title: "Step " + s.Name, Pairs: settings})
	if s.Script != "" {
		list = append(list, section{Lines: linesOf(s.Script)})
	}
	return list
}

// versionsOf are the versions of a blueprint, each with what it changed.
func (v *visit) versionsOf(name string, found api.BlueprintPage, here string) section {
	t := &table{Name: "Versions", Head: []column{{"Version", "id"}, {"What for", "why"}, {"Stored", ""}, {"By", ""}, {"Changes", ""}}}
	for _, e := range found.Blueprints {
		link, changes := v.blueprintLink(name, e.Version), entry{}
		if e.Version > 1 {
			changes = linkTo("what it changed", v.path("blueprint")+with("name", name, "tab", "differences", "to", strconv.Itoa(e.Version)))
		}
		t.Rows = append(t.Rows, row{Link: link, Cells: []entry{linkTo(strconv.Itoa(e.Version), link), words(e.Summary), when(v.past(e.UpdatedMs)),
			words(actorText(e.By)), changes}})
	}
	p := pager{}
	if found.Next != "" {
		p.Next = here + "&cursor=" + urlEscape(found.Next)
	}
	return section{Table: t, Pager: p}
}

// differences are those between two versions: those that the address names, else the one
// that is shown and the one before it.
func (v *visit) differences(name string, shown int) ([]section, []string, error) {
	from, _ := strconv.Atoi(v.r.FormValue("from")) // what is no number is the one before
	to, _ := strconv.Atoi(v.r.FormValue("to"))
	to = cmp.Or(to, shown)
	if to <= 1 && from == 0 {
		return []section{{None: "This is the first version: there is none before it to compare it with."}}, []string{"blueprint", "versions", name}, nil
	}
	found, err := call(v, api.BlueprintDiff, api.DiffBlueprintParams{Context: v.tenant.ID, Name: name, From: from, To: to})
	if err != nil {
		return nil, nil, err
	}
	s := section{Title: "From version " + strconv.Itoa(found.From.Version) + " to version " + strconv.Itoa(found.To.Version), Changes: changesOf(found.Changes),
		None: noneOf(len(found.Changes), "They are the same.")}
	return []section{s}, []string{"blueprint", "diff", name, "--from", strconv.Itoa(found.From.Version), "--to", strconv.Itoa(found.To.Version)}, nil
}

// changesOf are the lines of differences, with what they are.
func changesOf(list []domain.DocumentChange) (lines []change) {
	for _, c := range list {
		for line := range strings.SplitSeq(c.Text(), "\n") {
			class := ""
			switch trimmed := strings.TrimSpace(line); {
			case strings.HasPrefix(trimmed, "+ "):
				class = "new"
			case strings.HasPrefix(trimmed, "- "):
				class = "gone"
			}
			lines = append(lines, change{class, line})
		}
	}
	return lines
}

func (v *visit) deleteBlueprint() error {
	name := v.r.PostFormValue("name")
	done, err := call(v, api.BlueprintDelete, api.NameBlueprintParams{Context: v.tenant.ID, Name: name})
	if err != nil {
		return v.did(v.blueprintLink(name, 0), "", err)
	}
	return v.did(v.path("blueprints"), "Blueprint "+name+" was deleted, with "+plural(done.Versions, "version")+".", nil)
}
