package console_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/ban"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/service"
)

func (r *rig) routine(d domain.Routine) {
	r.Helper()
	if d.ScriptType == "" {
		d.ScriptType = "words"
	}
	do(r, admin, api.RoutineApply, api.RoutineApplyParams{Context: 7, Routine: d})
}

// setRound writes where an instance of a routine is, as the node does that looks after it.
func (r *rig) setRound(name string, p domain.RoutinePart, i domain.RoutineInstance) {
	r.Helper()
	b := board.Batch{Space: layout.SpaceOf(7)}
	if err := r.board.Commit(r.Context(), *b.Set(layout.RoutineInstance(name, p), layout.EncodeInstance(i)...)); err != nil {
		r.Fatal(err)
	}
}

func TestNoRoutineSaysHowToMakeOne(t *testing.T) {
	b := newRig(t).as(reader)
	b.has(b.get(200, path("routines")), "No script is run again and again yet.", "ramet routine apply sync.yaml", "--context 7")
	b.get(404, path("routine?name=none"))
}

// TestRoutinesSayHowTheyStand has the list and a page for each way in which a routine stands.
func TestRoutinesSayHowTheyStand(t *testing.T) {
	r := newRig(t)
	now := time.Now().UnixMilli()
	one := domain.RoutinePart{Scale: 1}
	for _, name := range []string{"bad", "calm", "new", "off", "tardy", "banned", "busy"} {
		r.routine(domain.Routine{Name: name, Script: "say hello", Every: new(domain.Span(300)), Summary: "for <b>all</b>", Paused: name == "off"})
	}
	r.routine(domain.Routine{Name: "many", Script: "say hello", Scale: new(2)})
	r.setRound("bad", one, domain.RoutineInstance{Round: 5, Failures: 3, Error: "script_failed: exit code 3", EndedMs: now, NextMs: now + 60_000})
	r.setRound("calm", one, domain.RoutineInstance{Round: 9, LastJob: "job:20:4", BeganMs: now - 4000, EndedMs: now - 1000,
		NextMs: now + 60_000, Checkpoint: "at 900"})
	r.setRound("tardy", one, domain.RoutineInstance{Round: 2, NextMs: now - 600_000})
	r.setRound("banned", one, domain.RoutineInstance{Round: 2, Held: "banned (exec) by actor 1: too loud"})
	r.setRound("busy", one, domain.RoutineInstance{Round: 7, Job: "job:20:8", BeganMs: now})
	r.setRound("many", domain.RoutinePart{Scale: 2, Index: 1}, domain.RoutineInstance{Round: 7, Error: "no sensor", Failures: 1, Job: "job:20:9", BeganMs: now})
	b := r.as(reader)
	list := b.get(200, path("routines"))
	b.has(list, "3 routines of 8 went wrong the last time.", `href="/console/c/7/routine?name=calm"`, `href="/console/c/7/jobs/20/8"`, "5m",
		"too loud", "for &lt;b&gt;all&lt;/b&gt;")
	b.hasNot(list, "at 900", "What the nodes do for the whole board")
	failing := b.get(200, path("routines?state=failing"))
	b.has(failing, "name=bad", "name=many")
	b.hasNot(failing, "name=calm")
	for name, want := range map[string][]string{
		"bad":    {"The last 3 rounds failed, most recently: script_failed: exit code 3.", "the next round begins in"},
		"calm":   {"Round 9 ended well.", "at 900", `href="/console/c/7/jobs/20/4"`, "3.0 s"},
		"new":    {"No round has begun yet."},
		"off":    {"It is paused: no further round begins."},
		"tardy":  {"has not begun, and no node has dealt with it"},
		"banned": {"Banned (exec) by actor 1: too loud."},
		"busy":   {"Round 7 is under way.", `href="/console/c/7/jobs/20/8"`},
		"many":   {"many-2.1: the last round failed: no sensor.", "round 7 is under way", "many-2.0"},
	} {
		a := b.get(200, path("routine?name=%s", name))
		b.has(a, append(want, "ramet routine show "+name+" --context 7")...)
		b.hasNot(a, "Pause the routine", ">Change<")
	}
}

// TestAPausedRoutineSaysWhenItGoesOn: the time that was set before its pause still counts, as long as it has not gone by.
func TestAPausedRoutineSaysWhenItGoesOn(t *testing.T) {
	r := newRig(t)
	later, gone := time.Now().Add(time.Hour).UnixMilli(), time.Now().Add(-time.Hour).UnixMilli()
	for name, next := range map[string][]int64{"rests": {later, later}, "passed": {gone, gone}, "both": {gone, later}} {
		r.routine(domain.Routine{Name: name, Script: "say hello", Scale: new(2), Paused: true})
		for i, at := range next {
			r.setRound(name, domain.RoutinePart{Scale: 2, Index: i}, domain.RoutineInstance{Round: 4, NextMs: at})
		}
	}
	b := r.as(admin)
	list := b.get(200, path("routines"))
	if n := strings.Count(list.text, ">in 59 m"); n != 2 {
		t.Errorf("%d routines have a next round, want rests and both: %s", n, mainOf(list.text))
	}
	for name, want := range map[string]struct {
		says string
		next int
	}{"rests": {"Its next round begins in 59 m", 2}, "passed": {"Its next round begins at once", 0}, "both": {"the others at theirs, the last in 59 m", 1}} {
		a := b.get(200, path("routine?name=%s", name))
		b.has(a, want.says)
		if n := strings.Count(a.text, ">in 59 m"); n != want.next {
			t.Errorf("%s: %d instances have a next round, want %d: %s", name, n, want.next, mainOf(a.text))
		}
	}
}

// TestRoundsEndWithTheLast: that the board has more jobs does not mean that it has more rounds.
func TestRoundsEndWithTheLast(t *testing.T) {
	r := newRig(t)
	r.routine(domain.Routine{Name: "sync", Script: "say hello", Paused: true})
	// One page of a list looks at 500 jobs, and at 2,000 at the most.
	var jobs []api.JobInput
	for range 2100 {
		jobs = append(jobs, api.JobInput{Job: domain.Job{Script: "x", ScriptType: "words", NotBefore: time.Now().Add(time.Hour).UnixMilli()}})
	}
	for part := range slices.Chunk(jobs, 100) {
		do(r, admin, api.JobSubmit, api.SubmitParams{Context: 7, JobInputs: api.JobInputs{Jobs: part}})
	}
	round := func(key string) {
		b := board.Batch{Space: layout.SpaceOf(7)}
		if err := r.board.Commit(t.Context(), *b.Set(key, board.Field{Name: layout.JobRoutine, Value: "sync:1.0"})); err != nil {
			t.Fatal(err)
		}
	}
	round("job:10:2100")
	r.setRound("sync", domain.RoutinePart{Scale: 1}, domain.RoutineInstance{Round: 1})
	b := r.as(admin)
	a := b.get(200, path("routine?name=sync&tab=rounds"))
	b.has(a, "job:10:2100")
	b.hasNot(a, "next page")

	round("job:10:1")
	r.setRound("sync", domain.RoutinePart{Scale: 1}, domain.RoutineInstance{Round: 2})
	a = b.get(200, path("routine?name=sync&tab=rounds"))
	b.has(a, "job:10:2100", "next page")
	b.hasNot(a, "job:10:1<")
	_, at, _ := strings.Cut(a.text, `<a href="/console/c/7/routine?name=sync&amp;tab=rounds&amp;seen=1&amp;cursor=`)
	at, _, _ = strings.Cut(at, `"`)
	a = b.get(200, path("routine?name=sync&tab=rounds&seen=1&cursor=%s", at))
	b.has(a, "job:10:1<", "first page")
	b.hasNot(a, "next page")
}

// TestARoutineIsMadeChangedRunPausedAndDeleted by what a person clicks.
func TestARoutineIsMadeChangedRunPausedAndDeleted(t *testing.T) {
	r := newRig(t)
	b := r.as(admin)
	b.has(b.post(400, path("routines/new"), "name", "no spaces", "script_type", "words", "script", "say x", "every", "5 parrots", "act", "make"),
		"parrots")
	b.has(b.post(400, path("routines/new"), "name", "sync", "script_type", "words", "script", "say x", "scale", "101", "act", "make"), "want a number up to 100")
	b.has(b.post(400, path("routines/new"), "act", "make"), "say what it is called", "say what is run")
	all := b.post(400, path("routines/new"), "name", "a b", "script_type", "c d", "every", "5 parrots", "priority", "99", "act", "make")
	for _, field := range []string{"name", "script_type", "script", "every", "priority"} {
		b.has(all, `class="below fault" id="about-`+field+`"`) // at once
	}
	b.has(b.post(200, path("routines/new"), "name", "sync", "script_type", "words", "script", "say <i>\r\nsay b", "every", "5m", "params", "table=orders"),
		"whose first round begins at once")
	made := b.post(200, path("routines/new"), "name", "sync", "script_type", "words", "script", "say <i>\r\nsay b", "every", "5m", "params", "table=orders",
		"act", "make")
	b.has(made, "The routine sync is made.", "No round has begun yet.")
	b.has(b.post(400, path("routines/new"), "name", "sync", "script_type", "words", "script", "say x", "act", "make"), "is there already")
	b.has(b.get(200, path("routine?name=sync&tab=definition")), "say &lt;i&gt;", "orders", "5m")

	edit := b.get(200, path("routine/edit?name=sync"))
	b.has(edit, "say &lt;i&gt;", "table=orders", `value="5m"`)
	base := baseOf(edit)
	b.has(b.post(200, path("routine/edit"), "name", "sync", "script_type", "words", "script", "say other", "every", "10m", "base", base, "act", "make"),
		"The routine sync was changed.", "10m")
	b.has(b.post(400, path("routine/edit"), "name", "sync", "script_type", "words", "script", "say x", "base", base, "act", "make"), "meanwhile")

	b.has(b.post(200, path("routine/run"), "name", "sync"), "The next round begins now.")
	b.has(b.post(200, path("routine/pause"), "name", "sync"), "The routine is paused.", "Resume the routine")
	b.has(b.post(200, path("routine/run"), "name", "sync"), "is paused")
	b.has(b.post(200, path("routine/resume"), "name", "sync"), "The routine goes on.")
	b.has(b.get(200, path("search?q=sync")), `href="/console/c/7/routine?name=sync"`)
	b.has(b.get(200, path("search?q=routine")), "Make a routine", `href="/console/c/7/routines"`)
	history := path("routine?name=sync&tab=history")
	for deadline := time.Now().Add(10 * time.Second); ; {
		if a := b.get(200, history); strings.Contains(a.text, "resumed it") && strings.Contains(a.text, "paused it") {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("the history says nothing of what was done: %s", mainOf(a.text))
		}
	}
	b.has(b.post(200, path("routine/delete"), "name", "sync"), "The routine sync was deleted.", "No script is run again and again yet.")
	b.post(404, path("routine/explode"), "name", "sync")
	b.post(404, path("routine/edit"), "name", "sync", "act", "make")
}

// TestWhoMayNotReadAnEnvironmentStoresNoStarsOfARoutine in the place of its values.
func TestWhoMayNotReadAnEnvironmentStoresNoStarsOfARoutine(t *testing.T) {
	r := newRig(t)
	r.routine(domain.Routine{Name: "sync", Script: "say hello", Env: map[string]string{"TOKEN": "tulip"}})
	b := r.as(admin)
	shown := b.get(200, path("routine?name=sync&tab=definition"))
	b.has(shown, "TOKEN")
	executors := r.as(executor)
	executors.hasNot(executors.get(200, path("routine?name=sync&tab=definition")), "tulip")
	if a := executors.get(statusAny, path("routine/edit?name=sync")); a.StatusCode != 403 {
		t.Errorf("got %d: %s", a.StatusCode, mainOf(a.text))
	}
	b.post(200, path("routine/edit"), "name", "sync", "script_type", "words", "script", "say x",
		"base", baseOf(b.get(200, path("routine/edit?name=sync"))), "act", "make")
	if now := do(r, admin, api.RoutineShow, api.RoutineParams{Context: 7, Name: "sync"}); now.Env["TOKEN"] != "tulip" || now.Script != "say x" {
		t.Errorf("got %+v", now)
	}
}

// TestARoundThatHasNotBegunDoesNotRun: its job waits for a runner, or for the end of a ban.
func TestARoundThatHasNotBegunDoesNotRun(t *testing.T) {
	var cache *ban.Cache
	r := newRig(t, func(r *rig, p *service.Parts) {
		cache = ban.NewCache(r.board, nil)
		p.Routines = clockwork.NewRoutines(r.board, r.engine, cache)
	})
	now := time.Now().UnixMilli()
	round := domain.RoutinePart{Scale: 1}
	for n, name := range []string{"slow", "banned"} {
		r.routine(domain.Routine{Name: name, Script: "x", ScriptType: domain.ScriptType(name)})
		def := do(r, admin, api.RoutineShow, api.RoutineParams{Context: 7, Name: name})
		job := def.Job(7, domain.JobID(900+n), round, 4)
		if _, err := r.engine.Submit(t.Context(), 7, []*domain.Job{job}); err != nil {
			t.Fatal(err)
		}
		r.setRound(name, round, domain.RoutineInstance{Round: 4, Job: job.Key().String(), BeganMs: now})
	}
	do(r, admin, api.BanSet, api.BanParams{In: 7, BanInput: api.BanInput{BanScope: domain.BanScope{Kind: domain.BanType, Context: 7, Name: "banned"},
		Level: domain.BanPick, Reason: "too dear"}})
	if err := cache.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	b := r.as(reader)
	slow := b.get(200, path("routine?name=slow"))
	b.has(slow, "Round 4 waits for a runner.")
	b.hasNot(slow, "is under way", `chip running`)
	b.has(b.get(200, path("routine?name=banned")), "held up", "too dear")
	held := b.get(200, path("routines?state=held+up"))
	b.has(held, "name=banned")
	b.hasNot(held, "name=slow")
	b.hasNot(b.get(200, path("routines?state=running")), "name=banned", "name=slow")
	b.has(b.get(200, path("routines?state=waiting")), "name=slow")
}

// baseOf is which definition a form began with.
func baseOf(a answer) string {
	_, base, _ := strings.Cut(a.text, `name="base" value="`)
	base, _, _ = strings.Cut(base, `"`)
	return base
}

// TestRoundsAndRoutinesNameEachOther: the jobs of a routine's rounds are found from it, those of others are not, and they lead back.
func TestRoundsAndRoutinesNameEachOther(t *testing.T) {
	r := newRig(t)
	r.routine(domain.Routine{Name: "sync", Script: "say hello", Every: new(domain.Span(3600))})
	round := do(r, admin, api.RoutineShow, api.RoutineParams{Context: 7, Name: "sync"})
	job := round.Job(7, 900, domain.RoutinePart{Scale: 1}, 4)
	other := &domain.Job{ID: 901, CallerID: admin, ContextID: 7, Script: "say x", ScriptType: "words", Routine: "sync-other:1.0"}
	if _, err := r.engine.Submit(t.Context(), 7, []*domain.Job{job, other}); err != nil {
		t.Fatal(err)
	}
	single := r.job("say x")
	b := r.as(reader)
	rounds := b.get(200, path("routine?name=sync&tab=rounds"))
	key := job.Key()
	b.has(rounds, path("jobs/%d/%d", key.Caller, key.ID))
	b.hasNot(rounds, path("jobs/%d/%d", key.Caller, 901), path("jobs/%d/%d\"", single.Caller, single.ID))
	b.has(b.get(200, path("jobs/%d/%d", key.Caller, key.ID)), `href="/console/c/7/routine?name=sync"`, "round of")
	b.has(b.get(200, path("jobs")), `href="/console/c/7/routine?name=sync"`, "routine sync")
	do(r, admin, api.BanSet, api.BanParams{In: 7, BanInput: api.BanInput{BanScope: domain.BanScope{Kind: domain.BanRoutine, Context: 7, Name: "sync-2.1"},
		Level: domain.BanExec, Reason: "loud"}})
	b.has(b.get(200, path("operate/bans")), `href="/console/c/7/routine?name=sync"`)
}
