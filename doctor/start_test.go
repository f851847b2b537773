package doctor_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/doctor"
	"github.com/ramet-run/ramet/domain"
)

// TestHowWhatStartsFlowsStands has all states, and what goes before what: doctor, lists and the
// console say the same.
func TestHowWhatStartsFlowsStands(t *testing.T) {
	now := time.Now()
	ago := func(d time.Duration) int64 { return now.Add(-d).UnixMilli() }
	hour := time.Hour
	// In all of them the secret was set nine hours ago.
	proven := domain.WebhookState{LastMs: ago(3 * hour), RefusedMs: ago(2 * hour), ProvenMs: ago(2 * hour), LastError: "no room"}
	strangers := domain.WebhookState{LastMs: ago(3 * hour), RefusedMs: ago(time.Minute), LastError: "wrong"}
	for name, c := range map[string]struct {
		w       api.Webhook
		is      doctor.StartStanding
		because string
	}{
		"nothing came":                          {api.Webhook{}, doctor.StartUnused, ""},
		"it starts flows":                       {hook(domain.WebhookState{LastMs: ago(hour)}), doctor.StartOn, ""},
		"strangers, at one that works":          {hook(strangers), doctor.StartOn, ""},
		"strangers, long before it worked":      {hook(domain.WebhookState{LastMs: ago(hour), RefusedMs: ago(2 * hour)}), doctor.StartOn, ""},
		"somebody, at one that nobody has used": {hook(domain.WebhookState{RefusedMs: ago(time.Minute), LastError: "wrong"}), doctor.StartUnproven, "wrong"},
		"that, more than an hour ago":           {hook(domain.WebhookState{RefusedMs: ago(2 * hour)}), doctor.StartUnused, ""},
		"somebody, after the secret was changed": {hook(domain.WebhookState{LastMs: ago(10 * hour), RefusedMs: ago(time.Minute), LastError: "wrong"}),
			doctor.StartUnproven, "wrong"},
		"who has the secret":                {hook(proven), doctor.StartRefused, "no room"},
		"who has it, at the very instant":   {hook(domain.WebhookState{LastMs: 5, ProvenMs: 5, RefusedMs: 5, LastError: "x"}), doctor.StartRefused, "x"},
		"who has it, and it worked since":   {hook(domain.WebhookState{LastMs: ago(hour), ProvenMs: ago(2 * hour), RefusedMs: ago(2 * hour)}), doctor.StartOn, ""},
		"who has it, and a stranger since":  {hook(domain.WebhookState{LastMs: ago(hour), ProvenMs: ago(2 * hour), RefusedMs: ago(time.Minute)}), doctor.StartOn, ""},
		"its blueprint is gone":             {with(hook(proven), func(w *api.Webhook) { w.Lacks = "gone" }), doctor.StartLacks, "gone"},
		"paused, and its blueprint is gone": {with(hook(proven), func(w *api.Webhook) { w.Paused, w.Lacks = true, "gone" }), doctor.StartPaused, ""},
		"its secret does not open, and all else": {with(hook(proven), func(w *api.Webhook) { w.Paused, w.Lacks, w.Locked = true, "gone", "no key" }),
			doctor.StartLocked, "no key"},
	} {
		if is, why := doctor.WebhookStands(&c.w, now); is != c.is || why != c.because {
			t.Errorf("%s: got %s, %q, want %s, %q", name, is, why, c.is, c.because)
		}
	}
	for name, c := range map[string]struct {
		l       api.Listener
		is      doctor.StartStanding
		because string
	}{
		"no event came":             {api.Listener{}, doctor.StartUnused, ""},
		"it starts flows":           {heard(domain.ListenerState{LastMs: 5, RefusedMs: 5}), doctor.StartOn, ""},
		"the last is a dead letter": {heard(domain.ListenerState{LastMs: 5, RefusedMs: 6, LastError: "x"}), doctor.StartDead, "x"},
		"nobody serves a step":      {api.Listener{Lacks: "nobody"}, doctor.StartLacks, "nobody"},
		"an event waits":            {heard(domain.ListenerState{HeldMs: 7, HeldWhy: "y"}), doctor.StartHeld, "y"},
		"an event waits for that":   {with(heard(domain.ListenerState{HeldMs: 7, HeldWhy: "y"}), func(l *api.Listener) { l.Lacks = "no" }), doctor.StartLacks, "no"},
		"it is paused, and all else": {with(heard(domain.ListenerState{HeldMs: 7}), func(l *api.Listener) { l.Paused, l.Lacks = true, "z" }),
			doctor.StartPaused, ""},
	} {
		if is, why := doctor.ListenerStands(&c.l); is != c.is || why != c.because {
			t.Errorf("listener: %s: got %s, %q, want %s, %q", name, is, why, c.is, c.because)
		}
	}
}

// TestHowSchedulesStand has all states, and what goes before what.
func TestHowSchedulesStand(t *testing.T) {
	now := time.Now()
	in := func(d time.Duration) int64 { return now.Add(d).UnixMilli() }
	due := domain.ScheduleState{NextMs: in(-time.Minute)}
	for name, c := range map[string]struct {
		s       api.Schedule
		is      doctor.StartStanding
		because string
	}{
		"it comes":                           {of(domain.ScheduleState{NextMs: in(time.Hour)}), doctor.StartOn, ""},
		"it has come just now":               {of(domain.ScheduleState{NextMs: in(-time.Second)}), doctor.StartOn, ""},
		"nobody has dealt with it":           {of(due), doctor.StartLate, "has come, and no node has dealt with it"},
		"it waits for the flow before":       {of(domain.ScheduleState{NextMs: in(-time.Minute), LookedMs: in(-time.Second)}), doctor.StartHeld, "the one before"},
		"it made none":                       {of(domain.ScheduleState{NextMs: in(time.Hour), LastError: "no"}), doctor.StartRefused, "no"},
		"it made none, as the one before is": {of(domain.ScheduleState{NextMs: in(time.Hour), LastError: domain.SkippedFor(3)}), doctor.StartOn, ""},
		"it has no further time":             {of(domain.ScheduleState{LastMs: 7}), doctor.StartOver, ""},
		"its blueprint is gone": {with(of(domain.ScheduleState{NextMs: in(time.Hour), LastError: "no"}), func(s *api.Schedule) { s.Lacks = "gone" }),
			doctor.StartLacks, "gone"},
		"it is paused, and all else": {with(of(due), func(s *api.Schedule) { s.Paused, s.Lacks, s.State.LastError = true, "gone", "no" }),
			doctor.StartPaused, ""},
	} {
		if is, why := doctor.ScheduleStands(&c.s, now); is != c.is || !strings.Contains(why, c.because) || (why == "") != (c.because == "") {
			t.Errorf("%s: got %s, %q, want %s, %q", name, is, why, c.is, c.because)
		}
	}
}

// TestHowInstancesOfRoutinesStand has all states, and what goes before what.
func TestHowInstancesOfRoutinesStand(t *testing.T) {
	now := time.Now()
	in := func(d time.Duration) int64 { return now.Add(d).UnixMilli() }
	for name, c := range map[string]struct {
		i       domain.RoutineInstance
		paused  bool
		is      doctor.StartStanding
		because string
	}{
		"it has not begun":      {domain.RoutineInstance{}, false, doctor.StartUnused, ""},
		"it rests":              {domain.RoutineInstance{Round: 3, NextMs: in(time.Minute)}, false, doctor.StartOn, ""},
		"its time is just now":  {domain.RoutineInstance{Round: 3, NextMs: in(-time.Second)}, false, doctor.StartOn, ""},
		"nobody has begun it":   {domain.RoutineInstance{Round: 3, NextMs: in(-time.Hour), Error: "no"}, false, doctor.StartLate, "no node has dealt with it"},
		"a round is under way":  {domain.RoutineInstance{Round: 3, NextMs: in(-time.Hour), Job: "job:1:1"}, false, doctor.StartOn, ""},
		"its last round failed": {domain.RoutineInstance{Round: 3, NextMs: in(time.Minute), Error: "no"}, false, doctor.StartRefused, "no"},
		"a ban holds it up":     {domain.RoutineInstance{Round: 3, NextMs: in(-time.Hour), Error: "no", Held: "loud"}, false, doctor.StartHeld, "loud"},
		"it is paused, for all": {domain.RoutineInstance{Round: 3, NextMs: in(-time.Hour), Error: "no", Held: "loud"}, true, doctor.StartPaused, ""},
	} {
		is, why := doctor.RoutineStands(&domain.Routine{Name: "sync", Paused: c.paused}, &c.i, now)
		if is != c.is || !strings.Contains(why, c.because) || (why == "") != (c.because == "") {
			t.Errorf("%s: got %s, %q, want %s, %q", name, is, why, c.is, c.because)
		}
	}
}

func of(s domain.ScheduleState) api.Schedule {
	return api.Schedule{Schedule: domain.Schedule{State: s}}
}

func hook(s domain.WebhookState) api.Webhook {
	if s.LastMs != 5 {
		s.RotatedMs = time.Now().Add(-9 * time.Hour).UnixMilli()
	}
	return api.Webhook{Webhook: domain.Webhook{State: s}}
}

func heard(s domain.ListenerState) api.Listener {
	return api.Listener{Listener: domain.Listener{State: s}}
}

func with[T any](w T, change func(*T)) T {
	change(&w)
	return w
}

// TestWhatStartsFlowsIsJudgedByTheBoardsTime, as its instants are of that.
func TestWhatStartsFlowsIsJudgedByTheBoardsTime(t *testing.T) {
	now := time.Now()
	onBoard := now.Add(-48 * time.Hour)
	w := hook(domain.WebhookState{RefusedMs: onBoard.Add(-time.Minute).UnixMilli(), LastError: "wrong"})
	w.Name = "w"
	report := doctor.Of(doctor.Answers{Info: api.Info{BoardMs: onBoard.UnixMilli()}, Webhooks: []api.Webhook{w}}, "", now)
	for _, f := range report.Findings {
		if f.What == "webhook w" && strings.Contains(f.Text, "this is told for an hour") {
			return
		}
	}
	t.Errorf("nothing is said of it: %+v", report.Findings)
}

func TestWhatIsBehindAStreamsEndIsUnknown(t *testing.T) {
	for want, l := range map[string]domain.SagaLag{"0": {}, "7": {Behind: 7}, "unknown": {Position: 9, Last: 2, Beyond: 7}} {
		if got := doctor.BehindText(l); got != want {
			t.Errorf("%+v: got %q, want %q", l, got, want)
		}
	}
}
