package console_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

func TestASchedulesFormShowsItsTimesBeforeItIsMade(t *testing.T) {
	r := newRig(t)
	do(r, admin, api.BlueprintApply, api.ApplyBlueprintParams{Context: 7,
		Text: "name: nightly\nparams: {region: eu}\nsteps: [{name: a, script: say a, script_type: words}]"})
	b, form := r.as(admin), path("schedules/new")
	b.has(b.get(200, path("schedules")), `href="/console/c/7/schedules/new"`)
	b.has(b.get(200, form), `<option value="nightly">`, "ramet schedule create NAME --context 7")
	// As one types: what is not there yet is no fault.
	a := b.post(200, form, "name", "", "blueprint", "nightly", "cron", "0 2 * * *")
	b.has(a, "Say what it is called.", "By the clocks of UTC")
	b.hasNot(a, "aria-invalid", "Trigger of its flow", "NAME-20", "preview")
	a = b.post(200, form, "name", "", "blueprint", "", "cron", "0 2 * *")
	b.has(a, "want five fields")
	b.hasNot(a, "schedule &#34;")
	a = b.post(200, form, "name", "night", "blueprint", "nightly", "cron", "0 2 * * *", "zone", "Europe/Berlin", "params", "region = us", "overlap", "skip")
	b.has(a, "Next times", "By the clocks of Europe/Berlin", " 02:00:00 CE", "night-20", "Makes 1 schedule",
		"ramet schedule create night --blueprint nightly --cron &#39;0 2 * * *&#39; --zone Europe/Berlin --param region=us --context 7")
	if list := do(r, admin, api.ScheduleList, api.ScheduleListParams{Context: 7}).Schedules; len(list) != 0 {
		t.Fatalf("looking made %v", list)
	}
	for _, c := range []struct {
		field string
		form  []string
	}{
		{"name", []string{"name", "9 lives", "blueprint", "nightly", "cron", "0 2 * * *"}},
		{"name", []string{"blueprint", "nightly", "cron", "0 2 * * *"}},
		{"blueprint", []string{"name", "night", "blueprint", "daily", "cron", "0 2 * * *"}},
		{"cron", []string{"name", "night", "blueprint", "nightly"}},
		{"cron", []string{"name", "night", "blueprint", "nightly", "cron", "0 2 * *"}},
		{"zone", []string{"name", "night", "blueprint", "nightly", "cron", "0 2 * * *", "zone", "Europe/Atlantis"}},
		{"every", []string{"name", "night", "blueprint", "nightly", "every", "often"}},
		{"at", []string{"name", "night", "blueprint", "nightly", "at", "2100-01-31T02:00:00Z\ntomorrow"}},
		{"params", []string{"name", "night", "blueprint", "nightly", "every", "1h", "params", "region"}},
		{"params", []string{"name", "night", "blueprint", "nightly", "every", "1h", "params", "regoin=eu"}},
		{"trigger", []string{"name", "night", "blueprint", "nightly", "every", "1h", "trigger", "a b"}},
	} {
		a := b.post(400, form, append(c.form, "act", "make")...)
		if !strings.Contains(a.text, `class="below fault" id="about-`+c.field+`"`) {
			t.Errorf("%v: field %s is not blamed: %s", c.form, c.field, mainOf(a.text))
		}
	}
	a = b.post(400, form, "name", "9 lives", "cron", "99 * * * *", "zone", "Mars/Base", "every", "7", "at", "yesterday", "act", "make")
	for _, field := range []string{"name", "blueprint", "cron", "zone", "every", "at"} {
		b.has(a, `class="below fault" id="about-`+field+`"`) // all at once
	}
	a = b.post(400, form, "name", "night", "blueprint", "nightly", "cron", "0 2 * * *", "every", "1h", "act", "make")
	b.has(a, `class="below fault" id="about-every"`, "in one way alone")
	b.hasNot(a, `class="below fault" id="about-at"`)
	good := []string{"name", "night", "blueprint", "nightly", "every", "1h", "act", "make"}
	b.has(b.post(200, form, good...), "The schedule night is made: it comes next in")
	b.has(b.post(400, form, good...), `id="about-name"`, "is there already")
	b.has(b.post(200, form, good[:len(good)-2]...), `id="about-name"`, "is there already")
	r.as(reader).get(403, form)
	r.as(reader).post(403, form, good...)
	r.as(reader).hasNot(r.as(reader).get(200, path("schedules")), "schedules/new")
}

func TestContextsAndActorsAreMadeByForms(t *testing.T) {
	r := newRig(t)
	key, err := identity.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	do(r, domain.Operator, api.ContextCreate, api.CreateContextParams{Tenant: domain.Tenant{ID: 1, Admins: []domain.ActorID{domain.Operator}}})
	b := r.as(domain.Operator)
	path := func(at string) string { return "c/1/" + at }
	b.has(b.get(200, path("rights/actors")), `href="/console/c/1/rights/actors/new"`)
	b.has(b.post(400, path("rights/actors/new"), "pubkey", "abc", "act", "make"), `id="about-pubkey"`)
	b.has(b.post(400, path("rights/actors/new"), "pubkey", key.Pubkey(), "address", "node:x", "act", "make"), `id="about-address"`)
	b.has(b.post(200, path("rights/actors/new"), "pubkey", key.Pubkey(), "id", "77"), "Makes 1 actor", "ramet actor add "+key.Pubkey()+" --id 77")
	b.has(b.post(200, path("rights/actors/new"), "pubkey", key.Pubkey(), "id", "77", "act", "make"), "Actor 77 is made.", key.Pubkey())

	b.has(b.get(200, path("rights/contexts")), `href="/console/c/1/rights/contexts/new"`)
	form := path("rights/contexts/new")
	for field, value := range map[string]string{"alias": "9x", "id": "many", "admins": "nina", "weight": "2000", "executors": "0"} {
		b.has(b.post(400, form, field, value, "act", "make"), `class="below fault" id="about-`+field+`"`)
	}
	a := b.post(200, form, "alias", "shop", "executors", "20, 77", "executors_may_submit", "yes", "isolation", "walled", "archives", "all")
	b.has(a, "1 admin, 2 executors and 0 readers", "ramet context create --alias shop --admin 1 --executor 20,77 --executors-may-submit --isolation walled")
	b.has(b.post(200, form, "alias", "shop", "executors", "20, 77", "act", "make"), "Context shop is made.", "actor 77")
	for _, page := range []string{"rights/actors/new", "rights/contexts/new"} {
		r.as(admin).get(403, "c/7/"+page) // of a context, not of the node
		r.as(admin).post(403, "c/7/"+page, "act", "make", "alias", "mine")
	}
}

func TestATokenIsSignedOnceAndItsKeyForgotten(t *testing.T) {
	r := newRig(t)
	file := filepath.Join(t.TempDir(), "key")
	if err := identity.SaveKey(file, r.keys[admin]); err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	secret := strings.Split(string(key), `"`)
	b, form := r.as(admin), path("rights/tokens/new")
	b.has(b.get(200, form), "ramet token --key FILE --audience n1 --for 1h", "data-secret")
	a := b.post(400, form, "groups", "cats", "proof", string(key), "act", "make")
	b.has(a, `id="about-groups"`)
	for _, part := range secret {
		if len(part) > 40 {
			b.hasNot(a, part)
		}
	}
	b.has(b.post(400, form, "proof", `{"private_key":"x"}`, "act", "make"), `id="about-proof"`, "this is no whole key file")
	a = b.post(200, form, "name", "board", "for", "12h", "read_only", "yes", "contexts", "7", "groups", "", "proof", string(key), "act", "make")
	b.has(a, "It is shown this once", "--for 12h --name board --context 7 --read-only")
	_, token, _ := strings.Cut(a.text, "<code>ey")
	token, _, _ = strings.Cut("ey"+token, "</code>")
	b.has(b.get(200, path("rights/tokens")), "board", "only to read, context 7")
	narrow := r.stranger()
	narrow.post(200, "sign-in", "proof", token, "next", "/console/c/7/jobs")
	narrow.hasNot(narrow.get(200, path("schedules")), "schedules/new")
	narrow.get(403, path("schedules/new"))
}
