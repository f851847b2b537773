package console_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// acts are texts that would do something to a page, to a terminal, or to the direction of
// what stands behind them.
var acts = []string{`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `<svg onload=alert(1)>`, `</textarea></code></pre>`, `{{.Secret}}`,
	`javascript:alert(1)`, "\u202eEVIL\u202c", "\u2066x\u2069", "\x1b]0;title\x07", "\x1b[2J", "a\x00b", "\u200b", "\xff\xfe"}

// harmless fails where a page has any of them as it was.
func harmless(t *testing.T, a answer) {
	t.Helper()
	a.text = strings.ReplaceAll(a.text, ` title="javascript:`, ` title="`) // a text that one points at does nothing
	for _, bad := range []string{"<script>alert", "<img", "<svg onload", "\u202e", "\u2066", "\x1b", "\x00", "\x07", "</textarea></code>", `="javascript:`} {
		if strings.Contains(a.text, bad) {
			at := strings.Index(a.text, bad)
			t.Errorf("%s has %q: …%.200s", a.Request.URL, bad, a.text[max(0, at-60):])
		}
	}
	if !utf8.ValidString(a.text) {
		t.Errorf("%s is no UTF-8", a.Request.URL)
	}
}

func TestWhatOthersWroteDoesNothing(t *testing.T) {
	r := newRig(t)
	var script strings.Builder
	for i, text := range acts {
		text = strings.NewReplacer("\x00", "", "\n", "").Replace(text)
		fmt.Fprintf(&script, "say %s\nerr %s\nr%d=%s\n", text, text, i, text)
	}
	script.WriteString("fail")
	params := map[string]string{"p": strings.ReplaceAll(strings.ToValidUTF8(strings.Join(acts, " "), ""), "\x00", "")}
	done := do(r, admin, api.FlowSubmit, api.SubmitFlowParams{Context: 7, FlowInput: api.FlowInput{Trigger: "t", Params: params,
		Plan: &domain.Blueprint{Name: "hostile", Params: map[string]string{"p": ""},
			Steps: []domain.Step{{Name: "x", Script: strings.ToValidUTF8(script.String(), ""), ScriptType: "words"}}}}})
	id := done.Flows[0].ID
	v := r.ended(id)
	key, err := domain.ParseJobKey(v.Steps[0].Job)
	if err != nil {
		t.Fatal(err)
	}
	b := r.as(admin)
	for _, p := range []string{"", "flows", "jobs", "flows?blueprint=" + "%3Cscript%3Ealert(1)%3C/script%3E", "flows?trigger=%22%3E%3Cimg%20src=x%3E"} {
		harmless(t, b.get(200, path("%s", p)))
	}
	for _, tab := range []string{"graph", "gantt", "steps", "logs", "logs&by=time", "data", "history"} {
		harmless(t, b.get(200, path("flows/%d?tab=%s&step=%%3Csvg+onload=alert(1)%%3E", id, tab)))
	}
	for _, tab := range []string{"log", "data", "script", "history"} {
		harmless(t, b.get(200, path("jobs/%d/%d?tab=%s", key.Caller, key.ID, tab)))
	}
	for _, p := range []string{"%3Cscript%3Ealert(1)%3C/script%3E", "flows/%3Csvg%20onload=alert(1)%3E", "jump?q=%3Csvg%20onload=alert(1)%3E",
		"flows?status=%3Cscript%3Ealert(1)%3C/script%3E"} {
		a := b.send(statusAny, "GET", path("%s", p), "")
		harmless(t, a)
	}
	harmless(t, r.stranger().post(401, "sign-in", "proof", acts[0], "next", acts[1]))
	harmless(t, r.stranger().get(200, "enter?link=%22%3E%3Cscript%3Ealert(1)%3C/script%3E"))
}

func TestALongLineIsCutAndSaid(t *testing.T) {
	r := newRig(t)
	p := r.job("say " + strings.Repeat("<x>", 10_000)) // the engine keeps so much of a line
	r.jobEnded(p)
	b := r.as(reader)
	a := b.get(200, path("jobs/10/%d", p.ID))
	if len(a.text) > 100_000 {
		t.Errorf("the page has %d bytes", len(a.text))
	}
	b.has(a, "more bytes: see the download")
}
