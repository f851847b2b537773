package console_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

func TestHealthSaysWhatToDo(t *testing.T) {
	r := newRig(t)
	b := r.as(admin)
	a := b.get(200, path("operate"))
	b.has(a, "It works, with", "nothing: all is gone when the node ends", "warning", "ramet doctor --context 7", "Look and repair")
	b.hasNot(b.get(200, path("operate?state=bad")), "all is gone when the node ends")
	b.has(b.get(200, path("operate?state=bad")), "Nothing is like that")
	b.has(b.post(200, path("operate/audit")), "has a reason to be alive")
	b = r.as(reader)
	b.hasNot(b.get(200, path("operate")), "Look and repair", "Nodes &amp; boards")
	b.has(b.post(200, path("operate/audit")), "This was not done: actor")
	r.as(stranger).get(403, path("operate/queues"))
}

func TestQueuesSayWhatNobodyTakes(t *testing.T) {
	r := newRig(t)
	do(r, admin, api.WorkerClaim, api.ClaimParams{WorkerParams: api.WorkerParams{Context: 7, Worker: "web-1"},
		WorkerAsk: domain.WorkerAsk{Types: []domain.ScriptType{"send_mail"}, Slots: 4}})
	b := r.as(reader)
	b.has(b.get(200, path("operate/runners")), "web-1", "worker", "send_mail", "1 runner is alive; 0 of 4 slots are taken.")
	b.has(b.get(200, path("operate/queues")), "Nothing waits for a runner.", "send_mail", "served", "ramet job list --phase queued --context 7")
	do(r, admin, api.JobSubmit, api.SubmitParams{Context: 7, JobInput: api.JobInput{Job: domain.Job{Script: "x", ScriptType: "cobol"}}})
	b.has(b.get(200, path("operate/queues")), "1 job of type cobol wait", "nobody takes it", "jobs?phase=queued&amp;type=cobol")
}

// TestAFollowerThatIsQueuedIsCounted: its status goes on to say that it waits for others.
func TestAFollowerThatIsQueuedIsCounted(t *testing.T) {
	r := newRig(t)
	for _, j := range []domain.Job{{ID: 1, Script: "gate", ScriptType: "words"}, {ID: 2, Script: "y", ScriptType: "cobol", Dependends: []domain.JobID{1}},
		{ID: 3, Script: "z", ScriptType: "cobol", Dependends: []domain.JobID{2}}} {
		do(r, admin, api.JobSubmit, api.SubmitParams{Context: 7, JobInput: api.JobInput{Job: j}})
	}
	close(r.gate)
	r.jobEnded(api.JobParams{Context: 7, Caller: admin, ID: 1})
	b := r.as(admin)
	if j := do(r, admin, api.JobShow, api.JobParams{Context: 7, Caller: admin, ID: 2}); j.Status != domain.JobWaiting {
		t.Fatalf("the follower is %q, want what seeds call it", j.Status)
	}
	b.has(b.get(200, path("operate/queues")), "1 job of type cobol wait", "nobody takes it")
	b.has(b.get(200, path("jobs?phase=queued")), "job:10:2", "ramet job list --phase queued")
	b.hasNot(b.get(200, path("jobs?phase=queued")), "job:10:3")
	b.has(b.get(200, path("jobs?phase=blocked")), "job:10:3")
	b.hasNot(b.get(200, path("jobs?phase=blocked")), "job:10:2")
	b.has(b.get(200, path("")), "jobs?phase=queued", "1 more for what they need")
}

func TestRunnersAndNodesAreListed(t *testing.T) {
	r := newRig(t)
	b := r.as(reader)
	b.has(b.get(200, path("operate/runners")), "Nobody runs jobs now.", "ramet runner list --context 7")
	b.hasNot(b.get(200, path("operate")), "operate/nodes")
	b.get(403, path("operate/nodes"))
	do(r, domain.Operator, api.ContextCreate, api.CreateContextParams{Tenant: domain.Tenant{ID: 1, Admins: []domain.ActorID{domain.Operator}}})
	b = r.as(domain.Operator)
	b.has(b.get(200, "c/1/operate"), "operate/nodes")
	b.has(b.get(200, "c/1/operate/nodes"), "What n1 stands on", "memory", "board", "ramet node list")
}

func TestABanIsSetAndLifted(t *testing.T) {
	r := newRig(t)
	b := r.as(admin)
	b.has(b.get(200, path("operate/bans")), "Nothing is held up", "ramet ban blueprint nightly --reason", "Hold it up")
	a := b.post(200, path("operate/bans/set"), "kind", "blueprint", "name", "nightly", "level", "pick", "reason", "the target is down", "for", "1 hour")
	b.has(a, "It is held up: blueprint nightly", "1 thing is held up", "the target is down", "ramet ban lift blueprint nightly --context 7",
		"Lift 1 ban", "in 59 m")
	b.has(b.post(200, path("operate/bans/set"), "kind", "saga", "name", "x", "level", "occupy", "reason", "y"), "This was not done")
	b.has(b.post(200, path("operate/bans/set"), "kind", "context", "level", "pick", "reason", "y", "for", "until it is lifted"),
		"It is held up: context 7.", "2 things are held up")
	b.has(a, "There is no blueprint of that name now")
	other := r.as(reader)
	other.has(other.get(200, path("operate/bans")), "the target is down")
	other.hasNot(other.get(200, path("operate/bans")), `method="post" action="/console/c/7/`)
	other.has(other.post(200, path("operate/bans/lift?kind=blueprint&name=nightly")), "This was not done: actor")
	other.has(other.post(200, path("operate/bans/set"), "kind", "blueprint", "name", "n", "level", "pick", "reason", "y"), "This was not done: actor")
	b.has(b.post(200, path("operate/bans/lift?kind=blueprint&name=nightly")), "The ban is lifted", "1 thing is held up")
}

func TestDutiesAreTakenAndGivenBack(t *testing.T) {
	r := newRig(t)
	b := r.as(admin)
	b.hasNot(b.get(200, path("operate")), "operate/duties")
	b.get(403, path("operate/duties"))
	b.post(403, path("operate/duties/add"), "role", "effect")
	do(r, domain.Operator, api.ContextCreate, api.CreateContextParams{Tenant: domain.Tenant{ID: 1, Admins: []domain.ActorID{domain.Operator}}})
	b = r.as(domain.Operator)
	b.has(b.get(200, "c/1/operate/duties"), "has all its roles", "ramet duty show", "Add the rule")
	b.has(b.post(200, "c/1/operate/duties/add", "role", "effect", "host", "edge-.*"), "The rule holds", "whose host is not edge-.*")
	b.has(b.post(200, "c/1/operate/duties/add", "role", "saga", "min_version", "1.4.0"), "older than 1.4.0", "Remove rule 2")
	b.has(b.post(200, "c/1/operate/duties/add", "role", "effect", "host", "("), "This was not done")
	b.has(b.post(200, "c/1/operate/duties/add", "role", "none"), "This was not done")
	const first = `"" "edge-.*" "" "effect"`
	b.has(b.post(200, "c/1/operate/duties/remove", "rule", first), "The rule is gone", "Remove rule 1")
	b.has(b.post(200, "c/1/operate/duties/remove", "rule", first), "This was not done: that rule is not there any more")
	rules := do(r, domain.Operator, api.DutyShow, api.DutyParams{}).Rules
	if len(rules) != 1 || rules[0].MinVersion != "1.4.0" {
		t.Errorf("got rules %v", rules)
	}
	b.has(b.get(200, "c/1/operate/duties"), "ramet duty clear")
	b.has(b.post(200, "c/1/operate/duties/remove", "rule", `"1.4.0" "" "" "saga"`), "The rule is gone", "There is no rule of duty.")
	for _, text := range acts {
		harmless(t, b.post(statusAny, "c/1/operate/duties/add", "role", text, "host", text, "min_version", text))
	}
	harmless(t, b.get(200, "c/1/operate/duties"))
}

func TestHostileBans(t *testing.T) {
	r := newRig(t)
	b := r.as(admin)
	for _, text := range acts {
		text = strings.ReplaceAll(strings.ToValidUTF8(text, ""), "\x00", "")
		harmless(t, b.post(statusAny, path("operate/bans/set"), "kind", "effect", "name", text, "level", "pick", "reason", text))
		harmless(t, b.send(statusAny, "GET", path("operate?state=%s", url.QueryEscape(text)), ""))
	}
	harmless(t, b.get(200, path("operate/bans")))
	harmless(t, b.get(200, path("operate/runners")))
}

// TestAStoppedContextSaysSoOnEachPage, with how it goes on for who may have it so.
func TestAStoppedContextSaysSoOnEachPage(t *testing.T) {
	r := newRig(t)
	f := r.flow("name: n\nsteps:\n  - {name: a, script: say x, script_type: words}\n")
	r.ended(f)
	pages := []string{"", "flows", "flows/1", "jobs", "jobs/10/1", "sagas", "schedules", "webhooks", "blueprints",
		"effects", "messages", "operate", "operate/bans",
		"rights", "search", "bulk/none"}
	b, other := r.as(admin), r.as(reader)
	b.hasNot(b.get(200, path("")), "is stopped")
	b.post(200, path("operate/bans/set"), "kind", "context", "level", "pick", "reason", "the <b>disk</b> is full", "for", "1 hour")
	for _, page := range pages {
		b.has(b.get(statusAny, path("%s", page)), "Context 7 is stopped: what runs goes on, nothing more is begun, and what comes waits.",
			"The &lt;b&gt;disk&lt;/b&gt; is full (actor 10)", "ends by itself in 59 m", ">Let it go on<")
		a := other.get(statusAny, path("%s", page))
		other.has(a, "Context 7 is stopped", "an admin lifts it: ramet ban lift context --context 7")
		other.hasNot(a, "Let it go on")
	}
	b.hasNot(b.get(200, path("")), "nothing needs you")
	b.hasNot(b.get(200, "sessions"), "is stopped") // is of no context
	a := b.post(200, path("operate/bans/lift?kind=context"), "next", "/console/c/7/flows")
	b.has(a, "The ban is lifted")
	b.hasNot(a, "is stopped")
	if got := a.Request.URL.Path; got != "/console/c/7/flows" {
		t.Errorf("it leads to %s, want back", got)
	}
	// What the operator has stopped only the operator lets go on.
	do(r, domain.Operator, api.BanSetAll, api.BanInput{BanScope: domain.BanScope{Kind: domain.BanAll}, Level: domain.BanSubmit, Reason: "maintenance"})
	a = b.get(200, path("flows"))
	b.has(a, "Everything is stopped, in each context: what runs goes on, nothing more is begun, and nothing is taken in.",
		"the operator lifts it: ramet ban lift all")
	b.hasNot(a, "Let it go on")
}
