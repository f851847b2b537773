package service_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/board/precondition"
	"github.com/ramet-run/ramet/doctor"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/internal/watched"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/listener"
	"github.com/ramet-run/ramet/queue"
	"github.com/ramet-run/ramet/saga"
	"github.com/ramet-run/ramet/service"
	"github.com/ramet-run/ramet/service/servicetest"
	"github.com/ramet-run/ramet/work"
)

// This file holds explain, lists, audit and doctor to one another, over all that waits in a context.

// reasons is a context with things in many states, and nobody who moves them further.
type reasons struct {
	*shop
	rand    *rand.Rand
	effects *standingEffects
	seen    map[string]int
	seed    uint64
	unheld  map[string]bool // messages that nobody has, though their records name somebody
	old     bool            // they stand for so long that audits doubt them
}

// standingEffects are effects that stand as the test says.
type standingEffects struct {
	*effect.Worker
	list []domain.EffectStatus
}

func (e *standingEffects) List(context.Context) []domain.EffectStatus { return slices.Clone(e.list) }

// waitingSaga has a state for each thing that an instance may wait for.
const waitingSaga = `
name: waits
triggers: [{of: Order, types: [Go, Bad, Never]}]
correlation: event.aggregate_id
effects: [go]
commands: [tell]
timers: [Ring]
initial: new
states:
  new: {on: {Go: handle, Bad: handle, "*": ignore}}
  called: {on: {go.Succeeded: handle, go.Failed: handle, go.TimedOut: handle, "*": ignore}}
  deaf: {on: {"*": ignore}}
  stranded: {on: {go.Succeeded: handle, "*": ignore}}
  timed: {on: {Ring: handle, "*": ignore}}
  told: {on: {Never: handle, "*": ignore}}
  done: {final: true}
script: |
  fn on_event(state, event) {
    if event.type == "Bad" { throw "it is bad" }
    let next = event.payload?.next;
    if next == () { return #{next: "done"} }
    let out = #{next: next};
    if next == "called" { out.work = [#{effect: "go", step: "call", payload: 1}]; }
    if next == "timed" { out.timers = [#{event: "Ring", after: "2h"}]; }
    out
  }
`

// change commits something past the doors.
func (r *reasons) change(what func(b *board.Batch)) {
	r.Helper()
	b := board.Batch{Space: layout.SpaceOf(house)}
	what(&b)
	r.must(r.board.Commit(r.Context(), b))
}

func (r *reasons) one(n int) bool { return r.rand.IntN(n) == 0 }

// nodes puts runners on the board that take other things, and are on duty or not.
func (r *reasons) nodes() {
	for id := range domain.RunnerID(r.rand.IntN(3)) {
		about := domain.Runner{ID: id + 1, Node: "n", SeenMs: time.Now().UnixMilli(), Serves: []domain.Service{{ScriptType: "shell", Served: !r.one(4)}}}
		for _, role := range []domain.Role{domain.RoleKeeper, domain.RoleClockwork, domain.RoleRunner} {
			if r.one(3) {
				about.Off = append(about.Off, domain.Off{Role: role, Rule: 1})
			}
		}
		b := board.Batch{}
		r.must(r.board.Commit(r.Context(), *b.Set(about.Key(), layout.EncodeRunner(about)...)))
	}
}

func (r *reasons) jobs() {
	for id := range domain.JobID(1 + r.rand.IntN(4)) {
		id++
		j := domain.Job{ID: id, Script: "x", ScriptType: []domain.ScriptType{"shell", "rust"}[r.rand.IntN(2)]}
		key := domain.JobKey{Caller: admin, ID: id}
		switch r.rand.IntN(4) {
		case 0:
			j.NotBefore = time.Now().Add(time.Hour).UnixMilli()
		case 1:
			j.Affinity = domain.Labels{"zone": "eu"}
		}
		p := api.SubmitParams{Context: house}
		p.Job = j
		_, err := r.as(admin).SubmitJobs(r.Context(), p)
		r.must(err)
		switch r.rand.IntN(6) {
		case 0:
			r.change(func(b *board.Batch) { b.Drop(queue.Of(&j), key.String()) })
		case 1:
			r.change(func(b *board.Batch) {
				b.Drop(queue.Of(&j), key.String()).Set(key.String(), field("status", "started"), field("lease_owner", "dead/x"))
			})
		case 2:
			r.change(func(b *board.Batch) { b.ClearAlarm(layout.Alarm(layout.AlarmStart, key)) })
		case 3:
			_, err := r.as(admin).CancelJob(r.Context(), api.JobParams{Context: house, Caller: admin, ID: id})
			r.must(err)
		}
	}
}

func (r *reasons) flows() {
	for range r.rand.IntN(3) {
		_, err := r.as(admin).SubmitFlows(r.Context(), api.SubmitFlowParams{Context: house, FlowInput: api.FlowInput{Blueprint: "hello"}})
		r.must(err)
	}
	list, err := r.as(reader).ListFlows(r.Context(), api.ListFlowsParams{Context: house})
	r.must(err)
	for _, f := range list.Flows {
		what := r.rand.IntN(4)
		if what < 2 { // a keeper has to look at it
			r.must(r.parts.Flows.(*flow.Engine).Pause(r.Context(), house, f.ID, false))
		}
		switch what {
		case 0:
			r.change(func(b *board.Batch) { b.Drop(queue.Keeper, layout.FlowState(f.ID)) })
		case 2:
			r.change(func(b *board.Batch) { b.Set(f.Key(), field(layout.FlowPaused, "true")) })
		}
	}
}

func (r *reasons) schedules() {
	for i := range 1 + r.rand.IntN(3) {
		s := domain.Schedule{Name: fmt.Sprint("s", i), Blueprint: "hello", Every: domain.Span([]int{60, 7200}[r.rand.IntN(2)]), Paused: r.one(4)}
		if r.one(3) {
			s.Blueprint = "gone"
		}
		_, err := r.as(admin).ApplySchedule(r.Context(), api.ScheduleApplyParams{Context: house, Schedule: api.Schedule{Schedule: s}})
		r.must(err)
		switch r.rand.IntN(5) {
		case 0:
			r.change(func(b *board.Batch) {
				b.Set(layout.Schedule(s.Name), field("last_error", "there was no room"), field("last_ms", "1000"))
			})
		case 1:
			r.change(func(b *board.Batch) { b.ClearAlarm(layout.ScheduleAlarm(s.Name)) })
		case 2: // it waits for the flow before
			until := time.Now().Add(time.Hour).UnixMilli()
			r.change(func(b *board.Batch) {
				b.Set(layout.Schedule(s.Name), field("looked_ms", fmt.Sprint(until)), field("next_ms", fmt.Sprint(until-1000)))
			})
		}
	}
}

func (r *reasons) listeners() {
	for i := range 1 + r.rand.IntN(2) {
		l := domain.Listener{Name: fmt.Sprint("l", i), On: domain.SagaTrigger{Of: "Order", Types: []string{"Go"}}, Blueprint: "hello", Paused: r.one(4)}
		if r.one(3) {
			l.Blueprint = "gone"
		}
		_, err := r.as(admin).ApplyListener(r.Context(), api.ListenerApplyParams{Context: house, Listener: l})
		r.must(err)
		if r.one(2) {
			r.change(func(b *board.Batch) {
				b.Set(layout.Listener(l.Name), field(layout.ListenerHeldMs, fmt.Sprint(time.Now().UnixMilli())), field(layout.ListenerHeldWhy, "no room"))
			})
		}
	}
}

// sagas begins instances, lets them come to where they wait, and spoils some.
func (r *reasons) sagas() {
	_, err := r.as(admin).ApplySaga(r.Context(), api.ApplySagaParams{Context: house, Text: waitingSaga})
	r.must(err)
	ctx, cancel := context.WithCancel(r.Context())
	var all sync.WaitGroup
	all.Go(func() {
		r.must(saga.NewWorker(r.parts.Sagas.(*saga.Engine), saga.WorkerConfig{Owner: "n1/1", Grace: time.Second}).Run(ctx))
	})
	var events []api.EventInput
	for i := range 2 + r.rand.IntN(5) {
		e := api.EventInput{Type: "Go", AggregateType: "Order", AggregateID: fmt.Sprint("i", i), Payload: json.RawMessage(fmt.Sprintf(`{"next":%q}`,
			[]string{"called", "deaf", "stranded", "timed", "told", "done"}[r.rand.IntN(6)]))}
		if r.one(5) {
			e.Type = "Bad"
		}
		events = append(events, e)
	}
	r.publish(events...)
	cancel()
	all.Wait()
	keys := layout.SagaKeys{Tenant: r.tenant()}
	for _, in := range r.instances() {
		in, err := r.as(reader).ShowInstance(r.Context(), api.InstanceParams{Context: house, Name: "waits", Correlation: in.Correlation})
		r.must(err)
		switch r.rand.IntN(4) {
		case 0:
			if in.Held != "" {
				r.change(func(b *board.Batch) { b.Delete(keys.Dead(domain.DeadSaga, saga.HeldBy(in))) })
			}
			for _, timer := range in.Timers {
				r.change(func(b *board.Batch) {
					b.ClearAlarm(layout.TimerAlarm(keys.Timer(in.Saga, in.Correlation, timer.DueMs)))
				})
			}
			for _, s := range in.Steps { // what it asked for could not be done
				d := domain.DeadLetter{Kind: domain.DeadEffect, ID: s.CommandID, Effect: s.Effect, Saga: in.Saga, Correlation: in.Correlation, Cause: "no luck"}
				text, _ := json.Marshal(d)
				r.change(func(b *board.Batch) {
					b.Set(keys.Dead(domain.DeadEffect, s.CommandID), field(layout.DeadText, string(text)))
				})
			}
		case 1:
			r.change(func(b *board.Batch) { b.Set(keys.Instance(in.Saga, in.Correlation), field("paused", "true")) })
		}
	}
}

func (r *reasons) tenant() string {
	name, err := r.parts.Directory.TenantName(r.Context(), house)
	r.must(err)
	return name
}

func (r *reasons) instances() []*domain.SagaInstance {
	page, err := r.as(reader).ListInstances(r.Context(), api.ListInstancesParams{Context: house, Name: "waits"})
	r.must(err)
	return page.Instances
}

func (r *reasons) messages() {
	for range r.rand.IntN(4) {
		sent, err := r.as(admin).SendMessage(r.Context(), api.SendParams{Context: house, Message: chat(reader, "hello")})
		r.must(err)
		key := domain.MessageKey{Caller: sent.CallerID, ID: sent.ID}.String()
		switch r.rand.IntN(4) {
		case 0:
			r.change(func(b *board.Batch) { b.Drop(queue.MsgOut, key) })
		case 1: // held by nobody
			r.unheld[key] = true
			r.change(func(b *board.Batch) { b.Drop(queue.MsgOut, key).Set(key, field(board.FieldOwner, "dead/x")) })
		case 2: // past the doors, and not queued yet
			r.change(func(b *board.Batch) { b.Drop(queue.MsgOut, key).Settle(key) })
		}
	}
}

func (r *reasons) standings() {
	breakers := []domain.BreakerState{domain.BreakerClosed, domain.BreakerOpen, domain.BreakerTrial}
	s := domain.EffectStatus{Name: "go", Target: "bank", Breaker: breakers[r.rand.IntN(3)]}
	if s.Breaker != domain.BreakerClosed || r.one(2) {
		s.Error = "no answer"
	}
	if r.one(4) {
		s.Paused = "somebody has paused it"
	}
	r.effects.list = []domain.EffectStatus{s}
}

// found is what audits and doctor say of a context.
type found struct {
	audit  api.AuditReport
	doctor doctor.Report
}

func (f *found) keyed(list []domain.Finding, key string) bool {
	return slices.ContainsFunc(list, func(x domain.Finding) bool { return x.Key == key })
}

// texts are those of doctor's findings that name a thing.
func (f *found) texts(of string) (texts []string) {
	for _, d := range f.doctor.Findings {
		if d.State != doctor.OK && (d.What == of || strings.HasPrefix(d.Text, of+" ") || strings.Contains(d.Text, "instance "+of+" ")) {
			texts = append(texts, d.Text)
		}
	}
	return texts
}

func (r *reasons) wrong(format string, args ...any) {
	r.Helper()
	r.Errorf("seed %d: "+format, append([]any{r.seed}, args...)...)
}

// count notes a state that the test has had before it.
func (r *reasons) count(kind string, state any) { r.seen[fmt.Sprint(kind, " ", state)]++ }

// TestExplainListsAuditAndDoctorAgree of all that waits in a context: what one of them says waits for
// something, none calls fine, stuck, done or lost.
func TestExplainListsAuditAndDoctorAgree(t *testing.T) {
	seen := map[string]int{}
	const all = 150 // of which each state below comes
	seeds := watched.Rounds(all, 15)
	for seed := range uint64(seeds) {
		synctest.Test(t, func(t *testing.T) {
			b := memboard.Open()
			defer b.Close()
			registry := identity.NewRegistry(precondition.Over(b))
			r := &reasons{shop: &shop{T: t, board: b}, rand: rand.New(rand.NewPCG(seed, 7)), seen: seen, seed: seed, unheld: map[string]bool{}}
			keys, err := servicetest.People(t.Context(), registry)
			r.must(err)
			r.parts = servicetest.Parts(b, registry, work.New(b, work.Config{}))
			r.effects = &standingEffects{Worker: r.parts.Effects.(*effect.Worker)}
			r.parts.Effects = r.effects
			r.parts.ListenersUnserved = func(ctx context.Context, tenant domain.TenantID) ([]domain.Finding, error) {
				return listener.Unserved(ctx, b, registry, tenant)
			}
			r.parts.Post, err = servicetest.Post(t.Context(), b, registry, r.parts, keys, t.TempDir())
			r.must(err)
			r.api = service.New(r.parts)
			r.make()
			r.attended(r.compare)
		})
	}
	for _, want := range []string{"job ended", "job mended", "job lacking", "job moves", "flow held", "flow mended", "flow lacking", "schedule late",
		"schedule paused", "schedule lacks", "schedule refused", "schedule waits", "schedule on", "listener paused", "listener lacks", "listener waits",
		"instance held", "instance paused", "instance stuck", "instance timer", "instance events", "instance ended", "message moves", "message mended",
		"message held", "effect breaker open", "effect on trial"} {
		if seen[want] == 0 && seeds == all {
			t.Errorf("there was no %s, but %v", want, seen)
		}
	}
}

func (r *reasons) make() {
	for _, name := range []string{"hello", "gone"} {
		_, err := r.as(admin).ApplyBlueprint(r.Context(), api.ApplyBlueprintParams{Context: house,
			Text: `{"name":"` + name + `","steps":[{"name":"a","script_type":"shell","script":"x"}]}`})
		r.must(err)
	}
	r.sagas()
	r.standings()
	r.jobs()
	r.flows()
	r.schedules()
	r.listeners()
	r.messages()
	_, err := r.as(admin).DeleteBlueprint(r.Context(), api.NameBlueprintParams{Context: house, Name: "gone"})
	r.must(err)
	if r.old = !r.one(4); r.old {
		time.Sleep(3 * time.Minute)
	}
	r.nodes()
}

// attended has somebody read events, or nobody: a worker of sagas that does nothing more.
func (r *reasons) attended(then func()) {
	if r.one(2) {
		then()
		return
	}
	unserved := r.parts.ListenersUnserved
	r.parts.ListenersUnserved = func(context.Context, domain.TenantID) ([]domain.Finding, error) { return nil, nil }
	r.api = service.New(r.parts)
	then()
	r.parts.ListenersUnserved = unserved
}

func (r *reasons) compare() {
	ctx := r.Context()
	as := r.as(admin)
	jobs, err := as.ListJobs(ctx, api.ListJobsParams{Context: house})
	r.must(err)
	flows, err := as.ListFlows(ctx, api.ListFlowsParams{Context: house})
	r.must(err)
	schedules, err := as.ListSchedules(ctx, api.ScheduleListParams{Context: house})
	r.must(err)
	listeners, err := as.ListListeners(ctx, api.ListenerListParams{Context: house})
	r.must(err)
	messages, err := as.ListMessages(ctx, api.ListMessagesParams{Context: house})
	r.must(err)
	effects, err := as.ListEffects(ctx, api.ListEffectsParams{Context: house})
	r.must(err)
	ofJobs, ofFlows := map[string]domain.JobExplanation{}, map[string]domain.FlowExplanation{}
	ofSagas, ofMessages := map[string]domain.SagaExplanation{}, map[string]domain.MessageExplanation{}
	for _, j := range jobs.Jobs {
		ofJobs[j.Key().String()], err = as.ExplainJob(ctx, api.JobParams{Context: house, Caller: j.CallerID, ID: j.ID})
		r.must(err)
	}
	for _, f := range flows.Flows {
		ofFlows[f.Key()], err = as.ExplainFlow(ctx, api.FlowParams{Context: house, Flow: f.ID})
		r.must(err)
	}
	instances := r.instances()
	for _, in := range instances {
		ofSagas[in.Correlation], err = as.ExplainInstance(ctx, api.InstanceParams{Context: house, Name: "waits", Correlation: in.Correlation})
		r.must(err)
	}
	for _, m := range messages.Messages {
		ofMessages[m.Key().String()], err = as.ExplainMessage(ctx, api.MessageParams{Context: house, Caller: m.CallerID, ID: m.ID})
		r.must(err)
	}

	look, err := as.LookForFindings(ctx, api.LookParams{Context: house})
	r.must(err)
	var f found
	f.audit, err = as.RunAudit(ctx, api.AuditParams{Context: house, All: true})
	r.must(err)
	for _, x := range look.Lacking {
		if !slices.Contains(f.audit.Lacking, x) {
			r.wrong("a look finds %+v, the audit %+v", x, f.audit.Lacking)
		}
	}
	answers := doctor.Answers{Audit: &f.audit, Listeners: listeners.Listeners, Schedules: schedules.Schedules}
	for _, kind := range doctor.DeadKinds {
		page, err := as.ListDeadLetters(ctx, api.ListDeadLettersParams{Context: house, DeadLetterFilter: api.DeadLetterFilter{Kind: kind}})
		r.must(err)
		answers.Add(page)
	}
	f.doctor = doctor.Of(answers, "", time.Now())

	for _, j := range jobs.Jobs {
		x := ofJobs[j.Key().String()]
		r.agree(&f, "job", x.Key, x.Text, x.Outlook, x.Standing, j.Final())
	}
	for i := range flows.Flows {
		x := ofFlows[flows.Flows[i].Key()]
		r.agree(&f, "flow", x.Key, x.Text, x.Outlook, x.Standing, flows.Flows[i].Final())
	}
	r.schedulesAgree(&f, schedules.Schedules)
	r.listenersAgree(&f, listeners.Listeners)
	for _, in := range instances {
		r.instanceAgrees(&f, in, ofSagas[in.Correlation], effects.Effects)
	}
	for _, m := range messages.Messages {
		r.messageAgrees(&f, m.Key().String(), m.Status, ofMessages[m.Key().String()])
	}
	for i := range effects.Effects {
		is, _ := effects.Effects[i].Stands()
		r.count("effect", is)
	}
}

// agree compares what is said of a job or flow.
func (r *reasons) agree(f *found, kind, key, text string, outlook domain.Outlook, standing domain.Standing, final bool) {
	if outlook == "" {
		r.count(kind, "ended")
	} else {
		r.count(kind, outlook)
	}
	if final != (standing == domain.StandingEnded) {
		r.wrong("%s is listed as ended: %v, and explained as %s: %s", key, final, standing, text)
	}
	stuck, mended := f.keyed(f.audit.Stuck, key), f.keyed(f.audit.Repaired, key)
	own := standing == domain.StandingStuck
	if want := r.old && own && outlook == domain.OutlookStuck; stuck != want {
		r.wrong("%s: the audit calls it stuck: %v, want %v: %s", key, stuck, want, text)
	}
	if want := r.old && own && outlook == domain.OutlookMended; mended != want {
		r.wrong("%s: the audit repairs it: %v, want %v: %s", key, mended, want, text)
	}
	told := slices.ContainsFunc(f.audit.Lacking, func(x domain.Finding) bool { return strings.Contains(text, x.Text) })
	if outlook == domain.OutlookLacking && !told {
		r.wrong("%s: explain says %q, the audit %+v", key, text, f.audit.Lacking)
	}
	for _, d := range f.doctor.Findings {
		if d.State == doctor.OK && strings.Contains(d.Text, "has a reason to be alive") && (stuck || mended || outlook == domain.OutlookLacking) {
			r.wrong("%s: doctor says %q, explain %q", key, d.Text, text)
		}
	}
}

func (r *reasons) schedulesAgree(f *found, list []api.Schedule) {
	late := 0
	for i := range list {
		s := &list[i]
		is, why := doctor.ScheduleStands(s, time.Now())
		r.count("schedule", is)
		texts, key := f.texts("schedule "+s.Name), "schedule "+s.Name
		switch is {
		case doctor.StartLate:
			late++
		case doctor.StartPaused, doctor.StartRefused:
			if len(texts) == 0 {
				r.wrong("%s is listed as %s, and doctor says nothing", s.Name, is)
			}
		case doctor.StartLacks:
			if !slices.ContainsFunc(f.audit.Lacking, func(x domain.Finding) bool { return strings.HasPrefix(x.Key, "schedule ") && x.Text == why }) {
				r.wrong("%s lacks %q, and the audit says %+v", s.Name, why, f.audit.Lacking)
			}
		default: // the steps of its flows may wait, which are made all the same
			for _, text := range texts {
				if !strings.Contains(text, "would wait") {
					r.wrong("%s is listed as %s, and doctor says %q", s.Name, is, text)
				}
			}
		}
		if is == doctor.StartPaused && f.keyed(f.audit.Lacking, key) {
			r.wrong("%s is paused, and lacks something to the audit", s.Name)
		}
	}
	told := 0
	for _, x := range f.audit.Lacking {
		if strings.HasPrefix(x.Key, "schedule ") && strings.HasPrefix(x.Text, "its time has come") {
			told += 1 + x.More
		}
	}
	if told != late {
		r.wrong("%d schedules are listed as late, %d by the audit: %+v", late, told, f.audit.Lacking)
	}
}

func (r *reasons) listenersAgree(f *found, list []api.Listener) {
	for i := range list {
		l := &list[i]
		is, why := doctor.ListenerStands(l)
		r.count("listener", is)
		texts := f.texts("listener " + l.Name)
		// That nobody reads events is of all listeners; that the steps of its flows would wait keeps none from being made.
		held := slices.DeleteFunc(slices.Clone(texts), func(text string) bool {
			return strings.Contains(text, "would wait") || strings.Contains(text, "reads events")
		})
		if len(held) > 1 {
			r.wrong("listener %s stands %d times in doctor: %q", l.Name, len(held), held)
		}
		switch is {
		case doctor.StartPaused, doctor.StartHeld:
			if len(held) == 0 || why != "" && !strings.HasSuffix(held[0], why) {
				r.wrong("listener %s is listed as %s (%s), and doctor says %q", l.Name, is, why, texts)
			}
		case doctor.StartLacks:
			if !slices.ContainsFunc(f.audit.Lacking, func(x domain.Finding) bool { return strings.HasPrefix(x.Key, "listener ") && x.Text == why }) {
				r.wrong("listener %s lacks %q, and the audit says %+v", l.Name, why, f.audit.Lacking)
			}
		default:
			if len(held) > 0 {
				r.wrong("listener %s is listed as %s, and doctor says %q", l.Name, is, texts)
			}
		}
	}
}

func (r *reasons) instanceAgrees(f *found, in *domain.SagaInstance, x domain.SagaExplanation, effects []domain.EffectStatus) {
	r.count("instance", x.Standing)
	if ended := in.Status == domain.SagaEnded; ended != (x.Standing == domain.StandingEnded) || in.Status != x.Status {
		r.wrong("%s is listed as %s, and explained as %s", x.Key, in.Status, x.Standing)
	}
	if in.Paused && x.Standing != domain.StandingPaused && in.Held == "" && in.Status != domain.SagaEnded {
		r.wrong("%s is listed as paused, and explained as %s: %s", x.Key, x.Standing, x.Text)
	}
	stuck, mended := f.keyed(f.audit.Stuck, x.Key), f.keyed(f.audit.Repaired, x.Key)
	is := x.Standing == domain.StandingStuck
	if (stuck || mended && in.Status != domain.SagaEnded && !in.Paused) && !is {
		r.wrong("%s: the audit calls it stuck (%v) or repairs it (%v): %s", x.Key, stuck, mended, x.Text)
	}
	if is && r.old && !stuck && !mended {
		r.wrong("%s: the audit finds nothing: %s", x.Key, x.Text)
	}
	if told := f.texts(in.Correlation); (x.Standing == domain.StandingHeld) != (len(told) > 0) && !in.Paused && !is {
		r.wrong("%s is explained as %s (%s), and doctor says %q", x.Key, x.Standing, x.Text, told)
	}
	for i := range x.Effects {
		a := &x.Effects[i]
		for j := range effects {
			e := &effects[j]
			if e.Name != a.Effect {
				continue
			}
			how, why := e.Stands()
			text := a.String()
			open, trial := strings.Contains(text, "is open"), strings.Contains(text, "lets one call through")
			if open != (how == domain.EffectOpen) || trial != (how == domain.EffectOnTrial) ||
				how == domain.EffectPaused && !strings.Contains(text, why) {
				r.wrong("%s: effect %s is listed as %s, and explained as %s", x.Key, e.Name, how, text)
			}
		}
	}
}

func (r *reasons) messageAgrees(f *found, key string, status domain.MessageStatus, x domain.MessageExplanation) {
	r.count("message", x.Outlook)
	if status.Final() != (x.Outlook == "") {
		r.wrong("%s is listed as %s, and explained as %s: %s", key, status, x.Outlook, x.Text)
	}
	if r.unheld[key] && x.Outlook != domain.OutlookMended {
		r.wrong("%s is nobody's, and explained as %s: %s", key, x.Outlook, x.Text)
	}
	if mended := f.keyed(f.audit.Repaired, key); mended != (r.old && x.Outlook == domain.OutlookMended) {
		r.wrong("%s: the audit repairs it: %v: %s", key, mended, x.Text)
	}
}
