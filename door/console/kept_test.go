package console_test

import (
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// hiddenFields are the names and values of a page's hidden fields.
func hiddenFields(text string) (form []string) {
	for _, m := range regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`).FindAllStringSubmatch(text, -1) {
		form = append(form, m[1], html.UnescapeString(m[2]))
	}
	return form
}

// TestWhatWasWrittenComesBackBehindSigningIn walks the way of somebody without script whose
// session ends while a blueprint is written.
func TestWhatWasWrittenComesBackBehindSigningIn(t *testing.T) {
	r := newRig(t)
	b := r.stranger()
	text := "name: long\nsummary: \"<b>&amp; 'quoted'\"\nsteps: [{name: a, script: say a, script_type: words}]\n"
	a := b.post(401, path("blueprint/store"), "text", text, "base", "0")
	b.has(a, "It is kept on this page")
	a = b.post(401, "sign-in", append(hiddenFields(a.text), "proof", "wrong")...)
	b.has(a, "It is kept on this page")
	a = b.post(200, "sign-in", append(hiddenFields(a.text), "proof", r.token(admin))...)
	b.has(a, "You are signed in again", `action="/console/c/7/blueprint/store"`)
	if got := do(r, admin, api.BlueprintList, api.ListBlueprintsParams{Context: 7}).Blueprints; len(got) != 0 {
		t.Errorf("it was stored before somebody said so: %v", got)
	}
	b.has(b.post(200, path("blueprint/store"), hiddenFields(a.text)...), "Version 1 of long is stored.")
	if got := do(r, admin, api.BlueprintShow, api.BlueprintParams{Context: 7, Name: "long"}); got.Blueprint.Summary != "<b>&amp; 'quoted'" {
		t.Errorf("what was stored has summary %q", got.Blueprint.Summary)
	}
}

func TestWhatCannotGoAlongIsSaid(t *testing.T) {
	r := newRig(t)
	b := r.stranger()
	b.has(b.post(401, path("blueprint/edit"), "text", strings.Repeat("a", domain.MaxBlueprintBytes)), "It is not kept on this page")
	// A secret is never sent back, nor what is made up.
	b.hasNot(b.post(401, path("rights/tokens/new"), "proof", "SECRET"), "SECRET", `name="kept"`)
	a := b.post(200, "sign-in", "proof", r.token(admin), "next", "https://example.org/console/", "kept", "AAAA")
	b.has(a, `action="/console/"`)
	b.hasNot(a, `type="hidden"`)
}

func TestScriptsAskWhetherOneIsSignedIn(t *testing.T) {
	r := newRig(t)
	r.as(reader).get(204, "signed-in")
	r.stranger().get(401, "signed-in")
}
