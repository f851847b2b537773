package console

import (
	nethttp "net/http"
	"strconv"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

func (c *Console) mountBlueprints() {
	c.inContext("GET blueprints", (*visit).blueprintsPage)
	c.mountBlueprint()
	c.mountBlueprintEditor()
}

// blueprintLink is where a version of a blueprint is shown; 0 is the newest.
func (v *visit) blueprintLink(name string, version int) string {
	text := ""
	if version != 0 {
		text = strconv.Itoa(version)
	}
	return v.path("blueprint") + with("name", name, "version", text)
}

func (v *visit) blueprintsPage() error {
	q := v.r.URL.Query()
	list, err := call(v, api.BlueprintList, api.ListBlueprintsParams{Context: v.tenant.ID, Cursor: q.Get("cursor"), Limit: pageRows})
	if err != nil {
		return err
	}
	b := &listBody{Title: "Blueprints", Pager: v.pagerOf("blueprints", q, list.Next), Intro: "Templates of flows, each with its versions.",
		None: "No blueprint is stored yet.", Make: v.command("blueprint", "apply", "nightly.yaml")}
	if v.may(api.BlueprintApply.Operation) {
		b.Links = []crumb{{"New blueprint", v.path("blueprint/edit")}}
	}
	t := table{Name: "Blueprints", Head: []column{{"Blueprint", "name"}, {"Version", "num"}, {"What for", "why"}, {"Stored", ""}, {"By", ""}, {"Flows", ""}}}
	for _, e := range list.Blueprints {
		link := v.blueprintLink(e.Name, 0)
		t.Rows = append(t.Rows, row{Link: link, Cells: []entry{linkTo(e.Name, link), number(int64(e.Version)), words(e.Summary), when(v.past(e.UpdatedMs)),
			words(actorText(e.By)),
			linkTo("its flows", v.path("flows")+with("blueprint", e.Name))}})
	}
	b.Tables = []table{t}
	v.render(nethttp.StatusOK, page{Title: "Blueprints", Noun: "Blueprints", Command: v.command("blueprint", "list"),
		Crumbs: []crumb{{"Blueprints", ""}}, Body: b})
	return nil
}

// blueprintGraph draws a blueprint: each step by its kind, in no state.
func (v *visit) blueprintGraph(b *domain.Blueprint, chosen, link string) *graph {
	f := &domain.FlowView{}
	for i := range b.Steps {
		s := &b.Steps[i]
		f.Steps = append(f.Steps, domain.StepView{Name: s.Name, Kind: s.KindOr(), Phase: s.Phase, Needs: s.Needs})
	}
	g := v.graphOf(f, &stepRow{Name: chosen})
	for i, n := range g.Nodes {
		n.State = state{string(f.Steps[i].Kind), waiting}
		n.Link = ""
		if link != "" {
			n.Link = link + "&step=" + urlEscape(n.Name)
		}
	}
	return g
}
