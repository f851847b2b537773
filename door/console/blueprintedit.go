package console

import (
	"cmp"
	"errors"
	nethttp "net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/service"
)

// This file has the editor of blueprints: a text, what is wrong with it, what it would
// change, and its graph. It stores nothing before that was looked at.

// newBlueprint is what a new one begins with.
const newBlueprint = `name: hello
params:
  who: world
steps:
  - name: greet
    script_type: shell
    script: echo "hello $RAMET_PARAM_WHO"
`

// editorRows is how high the text area is.
const editorRows = 24

// editorBody is what the editor shows.
type editorBody struct {
	// Name is that of the blueprint that is edited, "" of a new one.
	Name        string
	Title, Text string
	Post, Store string
	Rows        int
	Faults      []domain.Fault
	// Base is the newest version when the text was loaded, or checked; 0: there was none.
	Base int
	// Right says that the text was checked, and can be stored.
	Right bool
	Will  string
	// Changes are what makes it of the newest version, where there is one.
	Changes []change
	Graph   *graph
	Command string
}

func (c *Console) mountBlueprintEditor() {
	c.inContext("GET blueprint/edit", (*visit).editBlueprint)
	c.inContext("POST blueprint/edit", (*visit).checkBlueprint)
	c.inContext("POST blueprint/store", (*visit).storeBlueprint)
}

// mayEdit refuses who could not store what it writes.
func (v *visit) mayEdit() error {
	if !v.may(api.BlueprintApply.Operation) {
		return domain.Forbiddenf("actor %d may not store blueprints in context %s", v.who.Actor, contextName(v.tenant))
	}
	return nil
}

// mayRewrite refuses who could not store a blueprint anew, and who would see values of its environments as stars, and
// store those.
func (v *visit) mayRewrite(b *domain.StoredBlueprint) error {
	if err := v.mayEdit(); err != nil {
		return err
	}
	hasEnv := slices.ContainsFunc(blueprint.EnvironmentsOf(&b.Blueprint), func(env map[string]string) bool { return len(env) > 0 })
	if hasEnv && !v.who.Permits(v.tenant, domain.VerbReadEnv, false, api.BlueprintApply.Group()) {
		return domain.Forbiddenf("actor %d may not read the values of env of blueprint %q, which it would store", v.who.Actor, b.Name)
	}
	return nil
}

func (v *visit) editBlueprint() error {
	if err := v.mayEdit(); err != nil {
		return err
	}
	name, text, base := v.r.FormValue("name"), newBlueprint, 0
	if name != "" {
		stored, err := call(v, api.BlueprintShow, api.BlueprintParams{Context: v.tenant.ID, Name: name})
		if err == nil {
			err = v.mayRewrite(&stored)
		}
		if err != nil {
			return err
		}
		base = stored.Version
		text = editable(stored)
		if hidden(text) {
			return domain.Invalidf("blueprint %q has characters that cannot be seen, which an editor in a browser would hide from you; edit its file", name)
		}
	}
	return v.editor(&editorBody{Name: name, Text: text, Base: base}, nil)
}

// editable is the text of a blueprint that an editor begins with: its version is the next, which is not said.
func editable(stored domain.StoredBlueprint) string {
	stored.Blueprint.Version = 0
	return string(blueprint.YAML(&stored.Blueprint))
}

// hidden reports whether a line of a text has characters that cannot be seen, or that
// turn the direction of writing.
func hidden(text string) bool {
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.ReplaceAll(line, "\t", " ")
		if domain.PlainText(line, len(line)) != line {
			return true
		}
	}
	return false
}

// checkBlueprint says what is wrong with a text, or what storing it would change.
func (v *visit) checkBlueprint() error {
	if err := v.mayEdit(); err != nil {
		return err
	}
	b := v.edited()
	bp, err := blueprint.Parse("", []byte(b.Text))
	if wrong := (*blueprint.Error)(nil); errors.As(err, &wrong) {
		b.Faults = wrong.Faults
		return v.editor(b, nil)
	} else if err != nil {
		return err
	}
	if err := blueprint.Storable(bp); err != nil {
		b.Faults = []domain.Fault{{Text: err.Error()}}
		return v.editor(b, nil)
	}
	return v.editor(b, bp)
}

// edited is what a form of the editor sent.
func (v *visit) edited() *editorBody {
	base, _ := strconv.Atoi(v.r.PostFormValue("base")) // what is no number knew of none
	return &editorBody{Name: v.r.PostFormValue("name"), Text: v.r.PostFormValue("text"), Base: base}
}

// editor shows the text, and what there is to say of it: bp is what it means, nil where
// that is not known.
func (v *visit) editor(b *editorBody, bp *domain.Blueprint) error {
	b.Title, b.Post, b.Store, b.Rows, b.Command = cmp.Or(b.Name,
		"New blueprint"), v.path("blueprint/edit"), v.path("blueprint/store"), editorRows, v.command("blueprint", "apply", "FILE.yaml")
	pg := page{Noun: "Blueprints", Command: b.Command, Crumbs: []crumb{{"Blueprints", v.path("blueprints")}}, Body: b}
	if b.Name != "" {
		pg.Crumbs = append(pg.Crumbs, crumb{b.Name, v.path("blueprint") + with("name", b.Name)}, crumb{"Edit", ""})
	} else {
		pg.Crumbs = append(pg.Crumbs, crumb{"New", ""})
	}
	if n := len(b.Faults); n > 0 {
		text := "1 thing is wrong."
		if n > 1 {
			text = strconv.Itoa(n) + " things are wrong."
		}
		pg.Sentence = &sentence{State: state{"wrong", errored}, Text: text}
	}
	if bp != nil {
		before, err := call(v, api.BlueprintShow, api.BlueprintParams{Context: v.tenant.ID, Name: bp.Name})
		switch {
		case notThere(err):
			b.Will = "Stores version 1 of a new blueprint, " + bp.Name + "."
		case err != nil:
			return err
		default:
			b.Changes = changesOf(blueprint.Diff(&before.Blueprint, bp))
			b.Will = "Stores version " + strconv.Itoa(max(bp.Version, before.Version+1)) + " of " + bp.Name +
				". Flows that run keep the version that they were made from."
		}
		b.Title, b.Right, b.Graph = bp.Name, true, v.blueprintGraph(bp, "", "")
		if before.Version > 0 && len(b.Changes) == 0 {
			b.Right, b.Will = false, ""
			pg.Sentence = &sentence{State: state{"the same", succeeded},
				Text: "This is version " + strconv.Itoa(before.Version) + " as it is stored: there is nothing to change."}
		} else {
			pg.Sentence = &sentence{State: state{"right", succeeded}, Text: "The text is right. " + b.Will}
		}
		if b.Base > 0 && before.Version > b.Base {
			pg.Sentence.State = state{"overtaken", failed}
			pg.Sentence.Why = newerText(&before, b.Base)
		}
		b.Base = before.Version
	}
	pg.Title = b.Title
	v.render(nethttp.StatusOK, pg)
	return nil
}

// newerText says that somebody else stored a blueprint meanwhile.
func newerText(newest *domain.StoredBlueprint, base int) string {
	return "You began with version " + strconv.Itoa(base) + "; meanwhile " + actorText(newest.By) + " has stored version " + strconv.Itoa(newest.Version) +
		". Your text is as you wrote it: what it would change is shown against that version, and storing it undoes what it has and yours does not."
}

// overtaken says that the newest version is not the one that the text was checked against.
type overtaken struct{ newest *domain.StoredBlueprint }

func (*overtaken) Error() string { return "somebody else stored another version meanwhile" }

// storeBlueprint stores what was checked, unless another version was stored since.
func (v *visit) storeBlueprint() error {
	if err := v.mayEdit(); err != nil {
		return v.did(v.path("blueprints"), "", err)
	}
	b := v.edited()
	p := &api.ApplyBlueprintParams{Context: v.tenant.ID, Text: b.Text}
	got, err := v.caller.CallHeld(v.r.Context(), service.Named(api.BlueprintApply.Name), p, func(answer any) error {
		newest, _ := answer.(domain.StoredBlueprint) // zero: there is none
		if newest.Version != b.Base {
			return &overtaken{&newest}
		}
		return nil
	})
	if wrong := (*blueprint.Error)(nil); errors.As(err, &wrong) {
		b.Faults = wrong.Faults
		return v.editor(b, nil)
	} else if other := (*overtaken)(nil); errors.As(err, &other) {
		bp, err := blueprint.Parse("", []byte(b.Text))
		if err != nil {
			return err
		}
		return v.editor(b, bp)
	} else if err != nil {
		return v.did(v.path("blueprints"), "", err)
	}
	done := got.(api.BlueprintApplied)
	return v.did(v.blueprintLink(done.Name, 0), "Version "+strconv.Itoa(done.Version)+" of "+done.Name+" is stored.", nil)
}
