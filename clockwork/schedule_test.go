package clockwork_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	_ "time/tzdata"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/layout"
)

// flows makes flows that do nothing: a record with the business name, and one
// with the status.
type flows struct {
	b board.Board

	mu     sync.Mutex
	refuse error
	reqs   []flow.Request // those that were made, by this one
}

func (f *flows) Submit(ctx context.Context, tenant domain.TenantID, reqs []flow.Request) ([]flow.Receipt, error) {
	f.mu.Lock()
	refuse := f.refuse
	f.mu.Unlock()
	r := reqs[0]
	if refuse != nil {
		return []flow.Receipt{{Err: refuse}}, nil
	}
	space := layout.SpaceOf(tenant)
	n, err := f.b.Next(ctx, space, "flows", 1)
	if err != nil {
		return nil, err
	}
	id := domain.FlowID(n)
	name := "name:" + r.Blueprint + "/" + r.Trigger
	b := board.Batch{Space: space}
	b.Absent(name).Set(name, board.Field{Name: "id", Value: strconv.FormatInt(n, 10)})
	r.Also(&b, id)
	b.Set(domain.FlowKey(id), board.Field{Name: "status", Value: "started"}, board.Field{Name: "created_at", Value: fmt.Sprint(time.Now().Unix())})
	if err := f.b.Commit(ctx, b); errors.Is(err, domain.ErrConflict) {
		recs, gone := f.b.Get(ctx, space, name)
		if gone == nil && recs[0] != nil {
			n, _ := strconv.Atoi(recs[0].Get("id"))
			return []flow.Receipt{{ID: domain.FlowID(n), Existing: true}}, nil
		}
		return []flow.Receipt{{Err: err}}, nil
	} else if err != nil {
		return []flow.Receipt{{Err: err}}, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reqs = append(f.reqs, r)
	return []flow.Receipt{{ID: id}}, nil
}

// Named are the flows that have names.
func (f *flows) Named(ctx context.Context, tenant domain.TenantID, blueprint string, triggers []string) ([]domain.FlowID, error) {
	ids := make([]domain.FlowID, len(triggers))
	for i, trigger := range triggers {
		recs, err := f.b.Get(ctx, layout.SpaceOf(tenant), "name:"+blueprint+"/"+trigger)
		if err != nil {
			return nil, err
		}
		n, _ := strconv.Atoi(recs[0].Get("id"))
		ids[i] = domain.FlowID(n)
	}
	return ids, nil
}

// end lets a flow end.
func (f *flows) end(t *testing.T, id domain.FlowID) {
	t.Helper()
	b := board.Batch{Space: 1}
	if err := f.b.Commit(t.Context(), *b.Set(domain.FlowKey(id), board.Field{Name: "status", Value: "finished"})); err != nil {
		t.Fatal(err)
	}
}

// timer is schedules on a board, whose alarms a test hands over itself.
type timer struct {
	*testing.T
	b     *memboard.Board
	s     *clockwork.Schedules
	flows *flows
}

func timers(t *testing.T, test func(r *timer)) {
	bubble(t, func(t *testing.T, b *memboard.Board) {
		f := &flows{b: b}
		test(&timer{T: t, b: b, s: clockwork.NewSchedules(b, f, nil), flows: f})
	})
}

// apply applies a schedule named s of blueprint b.
func (r *timer) apply(def domain.Schedule) *domain.Schedule {
	r.Helper()
	def.Name, def.Blueprint = cmp.Or(def.Name, "s"), cmp.Or(def.Blueprint, "b")
	s, err := r.s.Apply(r.Context(), 1, def, 7)
	if err != nil {
		r.Fatal(err)
	}
	return s
}

func (r *timer) show() *domain.Schedule {
	r.Helper()
	s, err := r.s.Show(r.Context(), 1, "s")
	if err != nil {
		r.Fatal(err)
	}
	return s
}

// alarm is the alarm of the schedule.
func (r *timer) alarm() (at time.Time, set bool) {
	r.Helper()
	at, set, err := r.b.AlarmOf(r.Context(), 1, "schedule:s")
	if err != nil {
		r.Fatal(err)
	}
	return at, set
}

// due waits for the alarm and returns it.
func (r *timer) due() board.Alarm {
	r.Helper()
	at, set := r.alarm()
	if !set {
		r.Fatal("no alarm is set")
	}
	time.Sleep(time.Until(at))
	return board.Alarm{Space: 1, Name: "schedule:s", At: at}
}

// handle waits for the alarm and hands it over.
func (r *timer) handle() {
	r.Helper()
	if ours, err := r.s.HandleAlarm(r.Context(), r.due()); !ours || err != nil {
		r.Fatalf("got %v, %v", ours, err)
	}
}

// sweep hands over the alarm as long as it is due.
func (r *timer) sweep() {
	r.Helper()
	for {
		at, set := r.alarm()
		if !set || at.After(time.Now()) {
			return
		}
		r.handle()
	}
}

// triggers are those of the flows that were made, without the name.
func (r *timer) triggers() []string {
	r.flows.mu.Lock()
	defer r.flows.mu.Unlock()
	list := []string{}
	for _, req := range r.flows.reqs {
		list = append(list, strings.TrimPrefix(req.Trigger, "s-"))
	}
	return list
}

func (r *timer) wants(triggers ...string) {
	r.Helper()
	if diff := gocmp.Diff(append([]string{}, triggers...), r.triggers()); diff != "" {
		r.Errorf("triggers (-want +got):\n%s", diff)
	}
}

// state compares the counts of what became of times.
func (r *timer) counts(want domain.ScheduleState) {
	r.Helper()
	got := r.show().State
	got = domain.ScheduleState{Fired: got.Fired, Skipped: got.Skipped, Missed: got.Missed, Refused: got.Refused}
	if diff := gocmp.Diff(want, got, cmpopts.IgnoreUnexported(flow.Request{})); diff != "" {
		r.Errorf("state (-want +got):\n%s", diff)
	}
}

// A bubble's time begins at 2000-01-01T00:00:00Z.

func TestAScheduleComesOnTimeAndNeverEarly(t *testing.T) {
	bubble(t, func(t *testing.T, b *memboard.Board) {
		f := &flows{b: b}
		s := clockwork.NewSchedules(b, f, discard())
		if _, err := s.Apply(t.Context(), 1, domain.Schedule{Name: "s", Blueprint: "b", Cron: "*/10 * * * * *", Overlap: domain.OverlapAllow}, 7); err != nil {
			t.Fatal(err)
		}
		var at []time.Time
		handle := func(ctx context.Context, a board.Alarm) (bool, error) {
			at = append(at, time.Now())
			return s.HandleAlarm(ctx, a)
		}
		defer run(t, b, "n/a", clockwork.Alarms(b, discard(), clockwork.Handlers(handle), nil))()
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		begun := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
		if len(f.reqs) != 29 && len(f.reqs) != 30 {
			t.Errorf("got %d flows in five minutes, want 30", len(f.reqs))
		}
		for i, r := range f.reqs {
			want := begun.Add(time.Duration(i+1) * 10 * time.Second)
			if r.Trigger != "s-"+want.Format("20060102150405") || at[i].Before(want) || at[i].Sub(want) > 100*time.Millisecond {
				t.Errorf("flow %d: trigger %s at %v, want %v", i, r.Trigger, at[i], want)
			}
		}
	})
}

func TestTheFlowThatIsAskedFor(t *testing.T) {
	timers(t, func(r *timer) {
		eu := "eu"
		r.apply(domain.Schedule{
			Version: 3, Trigger: "night", Every: 3600, Priority: 4, Env: map[string]string{"E": "${run}"},
			Params: map[string]string{"day": "${day}/${region}", "n": "${run}", "other": "${unknown}"},
			Variables: map[string]domain.Variable{"run": {Count: &domain.Counter{Next: 5}}, "region": {Const: &eu},
				"day": {Time: &domain.TimeStamp{Pattern: "yyyyMMdd", Offset: -86400}}},
		})
		r.handle()
		got := r.flows.reqs[0]
		got.Also = nil
		want := flow.Request{Caller: 7, Blueprint: "b", Version: 3, Trigger: "night-20000101010000", Priority: 4, Env: map[string]string{"E": "${run}"},
			Params: map[string]string{"day": "19991231/eu", "n": "5", "other": "${unknown}"}, Schedule: "s"}
		if diff := gocmp.Diff(want, got, cmpopts.IgnoreUnexported(flow.Request{})); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestMissedTimesAreMadeUp(t *testing.T) {
	timers(t, func(r *timer) {
		window := domain.Span(3 * 3600)
		r.apply(domain.Schedule{Every: 3600, Overlap: domain.OverlapAllow, CatchUp: &window})
		time.Sleep(5*time.Hour + 30*time.Minute) // nobody is there
		r.sweep()
		r.wants("20000101030000", "20000101040000", "20000101050000")
		r.counts(domain.ScheduleState{Fired: 3, Missed: 2})
		if at, _ := r.alarm(); !at.Equal(time.Date(2000, 1, 1, 6, 0, 0, 0, time.UTC)) {
			t.Errorf("the next is at %v, want 6:00", at)
		}
	})
}

// outcomes counts what an observer is told.
type outcomes map[string]int64

func (o outcomes) ScheduleTimes(_ domain.TenantID, _, outcome string, n int64, _ time.Duration) {
	o[outcome] += n
}

func TestAnObserverIsToldOfTimes(t *testing.T) {
	timers(t, func(r *timer) {
		told := outcomes{}
		r.s.Observed(told)
		window := domain.Span(3 * 3600)
		r.apply(domain.Schedule{Every: 3600, Overlap: domain.OverlapAllow, CatchUp: &window})
		time.Sleep(5*time.Hour + 30*time.Minute) // nobody is there
		r.sweep()
		r.apply(domain.Schedule{Every: 3600, Overlap: domain.OverlapSkip})
		r.handle()
		if told[domain.ScheduleMade] != 3 || told[domain.ScheduleMissed] != 2 || told[domain.ScheduleSkipped] != 1 {
			t.Errorf("got %v, want 3 made, 2 missed, 1 skipped", told)
		}
	})
}

func TestWithoutAWindowALateTimeIsMissed(t *testing.T) {
	for _, tc := range []struct {
		name string
		late time.Duration
		want domain.ScheduleState
	}{
		{"half a minute late is not missed", 30 * time.Second, domain.ScheduleState{Fired: 1}},
		{"more is", 31 * time.Second, domain.ScheduleState{Missed: 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			timers(t, func(r *timer) {
				r.apply(domain.Schedule{Every: 3600, CatchUp: new(domain.Span)})
				time.Sleep(time.Hour + tc.late)
				r.sweep()
				r.counts(tc.want)
			})
		})
	}
}

func TestAYearOfMissedSecondsIsCounted(t *testing.T) {
	timers(t, func(r *timer) {
		r.apply(domain.Schedule{Every: 1, Overlap: domain.OverlapAllow, CatchUp: new(domain.Span)})
		time.Sleep(365 * 24 * time.Hour)
		r.sweep()
		// Half a minute is no more than late.
		r.counts(domain.ScheduleState{Fired: 31, Missed: 365*24*3600 - 31})
	})
}

func TestOverlapSkip(t *testing.T) {
	timers(t, func(r *timer) {
		r.apply(domain.Schedule{Every: 3600})
		r.handle()
		r.handle()
		r.handle()
		r.wants("20000101010000")
		r.counts(domain.ScheduleState{Fired: 1, Skipped: 2})
		if got := r.show().State.LastError; got != "skipped: flow:1 of the time before had not ended" {
			t.Errorf("got error %q", got)
		}
		r.flows.end(t, 1)
		r.handle()
		r.wants("20000101010000", "20000101040000")
		if got := r.show().State.LastError; got != "" {
			t.Errorf("got error %q after a time that was good", got)
		}
	})
}

func TestOverlapAllow(t *testing.T) {
	timers(t, func(r *timer) {
		r.apply(domain.Schedule{Every: 3600, Overlap: domain.OverlapAllow})
		r.handle()
		r.handle()
		r.wants("20000101010000", "20000101020000")
	})
}

func TestOverlapQueue(t *testing.T) {
	timers(t, func(r *timer) {
		r.apply(domain.Schedule{Every: 3600, Overlap: domain.OverlapQueue})
		r.handle()
		// The flow takes ten hours; that is longer than the window, but the
		// times were seen to wait.
		looks := 0
		for end := time.Now().Add(10 * time.Hour); time.Now().Before(end); looks++ {
			r.handle()
		}
		r.wants("20000101010000")
		if looks > 10*120+100 {
			t.Errorf("it was looked at %d times in 10 hours, want about each 30 s", looks)
		}
		r.flows.end(t, 1)
		ended := time.Now()
		for id := domain.FlowID(2); id <= 11; id++ {
			r.handle()
			for len(r.triggers()) < int(id) {
				r.handle()
			}
			r.flows.end(t, id)
		}
		r.wants("20000101010000", "20000101020000", "20000101030000", "20000101040000", "20000101050000", "20000101060000",
			"20000101070000", "20000101080000", "20000101090000", "20000101100000", "20000101110000")
		r.counts(domain.ScheduleState{Fired: 11})
		if took := time.Since(ended); took > time.Minute {
			t.Errorf("ten short flows took %v", took)
		}
	})
}

func TestAQueueIsBounded(t *testing.T) {
	timers(t, func(r *timer) {
		r.apply(domain.Schedule{Every: 60, Overlap: domain.OverlapQueue})
		r.handle()
		for end := time.Now().Add(5 * time.Hour); time.Now().Before(end); {
			r.handle()
		}
		// From 0:02 to 5:01, less the newest hundred.
		r.counts(domain.ScheduleState{Fired: 1, Skipped: 200})
		r.flows.end(t, 1)
		r.handle()
		r.wants("20000101000100", "20000101032200")
	})
}

func TestTimesThatNobodySawWaitAreMissed(t *testing.T) {
	timers(t, func(r *timer) {
		r.apply(domain.Schedule{Every: 3600, Overlap: domain.OverlapQueue})
		r.handle()                   // 1:00
		time.Sleep(61 * time.Minute) // 2:00 has come
		r.handle()                   // and waits
		r.flows.end(t, 1)
		time.Sleep(10 * time.Hour) // nobody is there; it is 12:01
		r.sweep()
		r.flows.end(t, 2)
		r.sweep()
		r.wants("20000101010000", "20000101020000")
		time.Sleep(time.Minute)
		r.sweep()
		r.wants("20000101010000", "20000101020000", "20000101120000")
		r.counts(domain.ScheduleState{Fired: 3, Missed: 9})
	})
}

func TestCountersGoOn(t *testing.T) {
	timers(t, func(r *timer) {
		def := domain.Schedule{Every: 60, Overlap: domain.OverlapAllow, Params: map[string]string{"n": "${n}"},
			Variables: map[string]domain.Variable{"n": {Count: &domain.Counter{Next: 5}}}}
		ns := func() (list []string) {
			for _, req := range r.flows.reqs {
				list = append(list, req.Params["n"])
			}
			return list
		}
		r.apply(def)
		r.handle()
		r.handle()
		r.s = clockwork.NewSchedules(r.b, r.flows, nil) // another node
		r.handle()
		def.Summary = "changed"
		r.apply(def)
		r.handle()
		if diff := gocmp.Diff([]string{"5", "6", "7", "8"}, ns()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		def.Variables = map[string]domain.Variable{"n": {Count: &domain.Counter{Next: 100}}}
		r.apply(def)
		r.handle()
		// A refused flow does not count.
		r.flows.refuse = domain.Invalidf("no")
		r.handle()
		r.flows.refuse = nil
		r.handle()
		if diff := gocmp.Diff([]string{"5", "6", "7", "8", "100", "101"}, ns()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestScheduleThroughBothMovesOfTheClocks(t *testing.T) {
	timers(t, func(r *timer) {
		r.apply(domain.Schedule{Cron: "30 2 25,26,27,29,30 3,10 *", Zone: "Europe/Berlin", Overlap: domain.OverlapAllow})
		for range 10 {
			r.handle()
		}
		r.wants("20000325013000", "20000326010000", "20000327003000", "20000329003000", "20000330003000",
			"20001025003000", "20001026003000", "20001027003000", "20001029003000", "20001030013000")
	})
}

func TestAnAlarmAfterTheLastTime(t *testing.T) {
	timers(t, func(r *timer) {
		r.apply(domain.Schedule{At: []domain.Instant{domain.Instant(time.Now().Add(time.Hour).UnixMilli())}})
		r.handle()
		r.wants("20000101010000")
		if at, set := r.alarm(); set || r.show().State.NextMs != 0 {
			t.Errorf("an alarm is set at %v", at)
		}
	})
}

func TestRefusedFlowsAreKeptAndTheNextTimeComes(t *testing.T) {
	for _, kind := range []error{domain.NotFoundf("blueprint %q is not there", "b"), domain.Conflictf("a flow lives"), domain.Invalidf("bad param"),
		domain.Forbiddenf("no")} {
		timers(t, func(r *timer) {
			r.apply(domain.Schedule{Every: 3600})
			r.flows.refuse = kind
			r.handle()
			r.counts(domain.ScheduleState{Refused: 1})
			if got := r.show().State.LastError; got != kind.Error() {
				t.Errorf("got error %q, want %q", got, kind)
			}
			r.flows.refuse = nil
			r.handle()
			r.wants("20000101020000")
			r.counts(domain.ScheduleState{Fired: 1, Refused: 1})
		})
	}
}

func TestWhatMayGoWellLaterIsTriedAgain(t *testing.T) {
	for _, kind := range []error{domain.Unavailablef("the board is away"), domain.Exhaustedf("too many"), errors.New("odd"), context.Canceled} {
		timers(t, func(r *timer) {
			r.apply(domain.Schedule{Every: 3600})
			a := r.due()
			r.flows.refuse = kind
			if ours, err := r.s.HandleAlarm(t.Context(), a); !ours || !errors.Is(err, kind) {
				t.Errorf("got %v, %v, want %v", ours, err, kind)
			}
			if at, set := r.alarm(); !set || !at.Equal(a.At) {
				t.Errorf("the alarm is at %v, %v, want %v still", at, set, a.At)
			}
			r.flows.refuse = nil
			r.handle()
			r.wants("20000101010000")
		})
	}
}

func TestAFlowThatIsThereAlreadyWillDo(t *testing.T) {
	timers(t, func(r *timer) {
		r.apply(domain.Schedule{Every: 3600})
		if _, err := r.flows.Submit(t.Context(), 1,
			[]flow.Request{{Blueprint: "b", Trigger: "s-20000101010000", Also: func(*board.Batch, domain.FlowID) {}}}); err != nil {
			t.Fatal(err)
		}
		r.handle()
		r.wants("20000101010000") // by hand
		r.counts(domain.ScheduleState{})
		if got := r.show().State.LastFlow; got != 1 {
			t.Errorf("got flow %d, want 1", got)
		}
		r.handle()
		r.counts(domain.ScheduleState{Skipped: 1}) // that flow lives
	})
}

func TestPause(t *testing.T) {
	timers(t, func(r *timer) {
		def := domain.Schedule{Every: 3600, Overlap: domain.OverlapAllow}
		r.apply(def)
		a := r.due()
		for range 2 { // the second changes nothing
			if s, err := r.s.Pause(t.Context(), 1, "s"); err != nil || !s.Paused {
				t.Fatal(s, err)
			}
		}
		// A node that read the alarm before.
		if ours, err := r.s.HandleAlarm(t.Context(), a); !ours || err != nil {
			t.Fatal(ours, err)
		}
		def.Summary = "changed; it stays paused"
		r.apply(def)
		if _, set := r.alarm(); set {
			t.Error("a paused schedule has an alarm")
		}
		time.Sleep(10*time.Hour + time.Minute)
		if s, err := r.s.Resume(t.Context(), 1, "s"); err != nil || s.Paused {
			t.Fatal(s, err)
		}
		r.handle()
		r.wants("20000101120000")
	})
}

func TestDelete(t *testing.T) {
	timers(t, func(r *timer) {
		r.apply(domain.Schedule{Every: 3600})
		a := r.due()
		if _, err := r.s.Delete(t.Context(), 1, "s"); err != nil {
			t.Fatal(err)
		}
		if _, err := r.s.Delete(t.Context(), 1, "s"); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("again: got %v, want not found", err)
		}
		if ours, err := r.s.HandleAlarm(t.Context(), a); !ours || err != nil {
			t.Errorf("got %v, %v", ours, err)
		}
		// An alarm that outlived its record.
		setAlarm(t, r.b, "schedule:s", time.Now())
		r.handle()
		if _, set := r.alarm(); set || len(r.triggers()) > 0 {
			t.Errorf("the alarm is still set, flows %v", r.triggers())
		}
	})
}

// TestAScheduleWhoseRecordIsGoneIsTold: nobody deleted it by Ramet, and its times would
// stay away without a word.
func TestAScheduleWhoseRecordIsGoneIsTold(t *testing.T) {
	timers(t, func(r *timer) {
		lost := func() []string {
			t.Helper()
			lines, err := r.b.List(t.Context(), 1, layout.Lost, 0, 10)
			if err != nil {
				t.Fatal(err)
			}
			return lines
		}
		r.apply(domain.Schedule{Every: 3600})
		if _, err := r.s.Delete(t.Context(), 1, "s"); err != nil {
			t.Fatal(err)
		}
		if got := lost(); len(got) != 0 {
			t.Errorf("one that was deleted: got %q", got)
		}
		r.apply(domain.Schedule{Every: 3600})
		b := board.Batch{Space: 1}
		if err := r.b.Commit(t.Context(), *b.Delete(layout.Schedule("s"))); err != nil {
			t.Fatal(err)
		}
		r.handle()
		if got := lost(); len(got) != 1 || !strings.HasSuffix(got[0], " "+layout.Schedule("s")) {
			t.Errorf("got %q, want the schedule", got)
		}
	})
}

// between lets something happen on the board after a schedule was read and
// before its flow is written.
func (r *timer) between(happen func()) {
	once := sync.OnceFunc(happen)
	fb := faultboard.New(r.b, faultboard.Config{Before: func(context.Context, faultboard.Call) error { once(); return nil }})
	var log bytes.Buffer
	racing := clockwork.NewSchedules(fb, &flows{b: fb}, slog.New(slog.NewTextHandler(&log, nil)))
	if ours, err := racing.HandleAlarm(r.Context(), r.due()); !ours || err != nil {
		r.Fatalf("got %v, %v", ours, err)
	}
	if log.Len() > 0 {
		r.Errorf("nothing was refused, and the log says %s", &log)
	}
}

func TestAChangeWhileATimeIsDue(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(r *timer, def domain.Schedule)
		want   []string // what is made of it after all, with the param
	}{
		{"deleted", func(r *timer, _ domain.Schedule) {
			if _, err := r.s.Delete(r.Context(), 1, "s"); err != nil {
				r.Fatal(err)
			}
		}, nil},
		{"paused", func(r *timer, _ domain.Schedule) {
			if _, err := r.s.Pause(r.Context(), 1, "s"); err != nil {
				r.Fatal(err)
			}
		}, nil},
		{"with other params the time is kept", func(r *timer, def domain.Schedule) {
			def.Params = map[string]string{"p": "new"}
			r.apply(def)
		}, []string{"20000101010000 new"}},
		{"with other times it is not", func(r *timer, def domain.Schedule) {
			def.Every = 7200
			r.apply(def)
		}, nil},
		{"deleted and made again", func(r *timer, def domain.Schedule) {
			if _, err := r.s.Delete(r.Context(), 1, "s"); err != nil {
				r.Fatal(err)
			}
			r.apply(def)
		}, nil},
		{"another node was first", func(r *timer, _ domain.Schedule) { r.handle() }, []string{"20000101010000 old"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			timers(t, func(r *timer) {
				def := domain.Schedule{Every: 3600, Params: map[string]string{"p": "old"}}
				r.apply(def)
				r.between(func() { tc.change(r, def) })
				r.sweep()
				var got []string
				for _, req := range r.flows.reqs {
					got = append(got, strings.TrimPrefix(req.Trigger, "s-")+" "+req.Params["p"])
				}
				if diff := gocmp.Diff(tc.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				keys, _, err := r.b.Keys(t.Context(), 1, "flow:", "", 10)
				if err != nil || len(keys) != len(tc.want) {
					t.Errorf("flows on the board: %v, %v, want %d", keys, err, len(tc.want))
				}
			})
		})
	}
}

func TestManyNodesMakeOneFlow(t *testing.T) {
	bubble(t, func(t *testing.T, b *memboard.Board) {
		fb := faultboard.New(b, faultboard.Config{Delay: 3 * time.Millisecond, Seed: 1}) // so that they interleave
		f := &flows{b: fb}
		r := &timer{T: t, b: b, s: clockwork.NewSchedules(b, f, nil), flows: f}
		r.apply(domain.Schedule{Every: 10, Overlap: domain.OverlapAllow, Variables: map[string]domain.Variable{"n": {Count: &domain.Counter{}}}})
		for range 200 {
			a := r.due()
			var nodes sync.WaitGroup
			for range 4 {
				node := clockwork.NewSchedules(fb, f, nil)
				nodes.Go(func() {
					if _, err := node.HandleAlarm(t.Context(), a); err != nil {
						t.Error(err)
					}
				})
			}
			nodes.Wait()
		}
		seen := map[string]bool{}
		for _, trigger := range r.triggers() {
			if seen[trigger] {
				t.Errorf("%s was made twice", trigger)
			}
			seen[trigger] = true
		}
		state := r.show().State
		if len(seen) != 200 || state.Fired != 200 || state.Counts["n"] != 200 {
			t.Errorf("got %d flows, %d counted, the counter at %d, want 200", len(seen), state.Fired, state.Counts["n"])
		}
	})
}

func TestNoTimeIsLostOrDoubledByFaults(t *testing.T) {
	for seed := range uint64(20) {
		bubble(t, func(t *testing.T, b *memboard.Board) {
			fb := faultboard.New(b, faultboard.Config{Seed: seed, Refuse: 0.2, Lose: 0.2})
			f := &flows{b: fb}
			r := &timer{T: t, b: b, s: clockwork.NewSchedules(b, f, nil), flows: f}
			r.apply(domain.Schedule{Every: 60, Overlap: domain.OverlapAllow, Params: map[string]string{"n": "${n}"},
				Variables: map[string]domain.Variable{"n": {Count: &domain.Counter{}}}})
			begun := time.Now()
			node := clockwork.NewSchedules(fb, f, nil)
			for time.Since(begun) < 30*time.Minute {
				if _, err := node.HandleAlarm(t.Context(), r.due()); err != nil && !errors.Is(err, domain.ErrUnavailable) {
					t.Fatalf("seed %d: %v", seed, err)
				}
			}
			var names []string
			for cursor := ""; ; {
				keys, next, err := b.Keys(t.Context(), 1, "name:b/", cursor, 100)
				if err != nil {
					t.Fatal(err)
				}
				names = append(names, keys...)
				if cursor = next; next == "" {
					break
				}
			}
			state := r.show().State
			n := int64(len(names))
			if n < 29 || n > 30 || state.Fired != n || state.Counts["n"] != n || state.Missed != 0 {
				t.Errorf("seed %d: %d flows on the board in half an hour, %+v", seed, n, state)
			}
		})
	}
}

func TestTrigger(t *testing.T) {
	timers(t, func(r *timer) {
		r.apply(domain.Schedule{Every: 3600, Params: map[string]string{"n": "${n}"}, Variables: map[string]domain.Variable{"n": {Count: &domain.Counter{}}}})
		next, _ := r.alarm()
		time.Sleep(90*time.Second + 300*time.Millisecond)
		receipt, err := r.s.Trigger(t.Context(), 1, "s", 9, "")
		if err != nil || receipt.ID != 1 {
			t.Fatal(receipt, err)
		}
		r.wants("20000101000130")
		if got := r.flows.reqs[0]; got.Caller != 9 || got.Params["n"] != "0" {
			t.Errorf("got %+v", got)
		}
		if at, _ := r.alarm(); !at.Equal(next) {
			t.Errorf("the next time moved to %v", at)
		}
		_, err = r.s.Trigger(t.Context(), 1, "s", 9, "")
		if !errors.Is(err, domain.ErrConflict) || !strings.Contains(err.Error(), "flow:1 of schedule \"s\" has not ended") {
			t.Errorf("while it lives: got %v", err)
		}
		r.flows.end(t, 1)
		r.flows.refuse = domain.Conflictf("banned")
		if _, err := r.s.Trigger(t.Context(), 1, "s", 9, ""); !errors.Is(err, domain.ErrConflict) || err.Error() != "banned" {
			t.Errorf("refused: got %v", err)
		}
		r.flows.refuse = nil
		if _, err := r.s.Pause(t.Context(), 1, "s"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if _, err := r.s.Trigger(t.Context(), 1, "s", 9, ""); err != nil {
			t.Errorf("paused: got %v", err)
		}
		r.counts(domain.ScheduleState{Fired: 2})
		if _, err := r.s.Trigger(t.Context(), 1, "other", 9, ""); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("another: got %v, want not found", err)
		}
	})
}

func TestApplyingTheSameChangesNothing(t *testing.T) {
	timers(t, func(r *timer) {
		none := domain.Span(0)
		def := domain.Schedule{At: []domain.Instant{1000 * 86400 * 365 * 100}, Params: map[string]string{}, CatchUp: &none}
		first := r.apply(def)
		time.Sleep(time.Minute)
		def.Params = nil
		if second := r.apply(def); second.UpdatedAt != first.UpdatedAt || second.State.Revision != first.State.Revision {
			t.Errorf("got %+v, want %+v", second, first)
		}
		s, err := r.s.Apply(t.Context(), 1, *first, 8)
		if err != nil || s.CallerID != 8 || s.CreatedAt != first.CreatedAt || s.State.NextMs != first.State.NextMs {
			t.Errorf("by another: got %+v, %v", s, err)
		}
	})
}

func TestSchedulesAreListedPageByPage(t *testing.T) {
	timers(t, func(r *timer) {
		for i := range 250 {
			r.apply(domain.Schedule{Name: fmt.Sprintf("s%d", i), Every: 3600})
		}
		damaged := board.Batch{Space: 1}
		damaged.Set("ramet:schedule:s7", board.Field{Name: "fired", Value: "many"}).Delete("ramet:schedule:s8").PushLeft("ramet:schedule:s8", "x")
		if err := r.b.Commit(t.Context(), damaged); err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for cursor := ""; ; {
			list, next, err := r.s.List(t.Context(), 1, cursor)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range list {
				seen[s.Name] = true
			}
			if cursor = next; next == "" {
				break
			}
		}
		if len(seen) != 248 || seen["s7"] || seen["s8"] {
			t.Errorf("got %d schedules", len(seen))
		}
		if _, err := r.s.Show(t.Context(), 1, "s7"); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("damaged: got %v", err)
		}
	})
}

func TestTheSchedulesOfAContextAreBounded(t *testing.T) {
	timers(t, func(r *timer) {
		for i := range clockwork.MaxSchedules {
			r.apply(domain.Schedule{Name: fmt.Sprintf("s%d", i), Every: 3600})
		}
		more := domain.Schedule{Name: "more", Blueprint: "b", Every: 3600}
		if _, err := r.s.Apply(r.Context(), 1, more, 1); !errors.Is(err, domain.ErrLimit) {
			t.Errorf("one more: got %v", err)
		}
		if _, err := r.s.Apply(r.Context(), 2, more, 1); err != nil {
			t.Errorf("in another context: got %v", err)
		}
		r.apply(domain.Schedule{Name: "s7", Every: 7200}) // a change needs no room
	})
}

func TestAlarmsOfOthersAreLeft(t *testing.T) {
	timers(t, func(r *timer) {
		for _, name := range []string{"retry:job:1:7", "schedule:acme:order:7:1700000000", "schedule:", "schedules"} {
			if ours, err := r.s.HandleAlarm(t.Context(), board.Alarm{Space: 1, Name: name}); ours || err != nil {
				t.Errorf("%s: got %v, %v", name, ours, err)
			}
		}
	})
}

func TestUpcoming(t *testing.T) {
	s := clockwork.NewSchedules(nil, nil, nil)
	def := domain.Schedule{Name: "s", Blueprint: "b", Every: 60}
	for _, n := range []int{0, -1, clockwork.MaxUpcoming + 1} {
		if _, err := s.Upcoming(def, time.Unix(0, 0), n); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("%d times: got %v, want invalid", n, err)
		}
	}
	got, err := s.Upcoming(def, time.Unix(0, 0), 2)
	if diff := gocmp.Diff([]time.Time{time.Unix(60, 0).UTC(), time.Unix(120, 0).UTC()}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestAnAlarmThatWasMovedMeanwhileIsNotHandled(t *testing.T) {
	timers(t, func(r *timer) {
		r.apply(domain.Schedule{Every: 3600})
		a := r.due()
		setAlarm(t, r.b, a.Name, a.At.Add(time.Minute))
		if ours, err := r.s.HandleAlarm(t.Context(), a); !ours || err != nil {
			t.Fatal(ours, err)
		}
		r.wants()
		r.handle()
		r.wants("20000101010000")
	})
}

func TestANodeWhoseClockIsBehindTheBoards(t *testing.T) {
	timers(t, func(r *timer) {
		r.apply(domain.Schedule{Every: 3600})
		at, _ := r.alarm()
		if ours, err := r.s.HandleAlarm(t.Context(), board.Alarm{Space: 1, Name: "schedule:s", At: at}); !ours || err != nil {
			t.Fatal(ours, err)
		}
		r.wants("20000101010000")
	})
}

func TestLongErrorsOfSchedulesAreCut(t *testing.T) {
	long := errors.New(strings.Repeat("ä", clockwork.MaxScheduleError))
	if got := clockwork.ScheduleError(long); len(got) > clockwork.MaxScheduleError || !strings.HasSuffix(got, "ä…") {
		t.Errorf("got %d bytes, ending in %q", len(got), got[len(got)-6:])
	}
}

// ahead is a board as a node has it whose own clock is ahead of the board's.
type ahead struct {
	*memboard.Board
	by time.Duration
}

func (a ahead) Now() time.Time { return time.Now().Add(-a.by) }

// TestANodeWhoseClockIsAheadMissesNoTime has a node handle a time when its own clock is
// far beyond what may be made up: by the board's, it has just come.
func TestANodeWhoseClockIsAheadMissesNoTime(t *testing.T) {
	timers(t, func(r *timer) {
		b := ahead{r.b, time.Hour}
		r.s = clockwork.NewSchedules(b, r.flows, nil)
		catchUp := domain.Span(60)
		r.apply(domain.Schedule{Every: 60, CatchUp: &catchUp})
		a := r.due() // by this clock it came long ago
		if ours, err := r.s.HandleAlarm(t.Context(), a); !ours || err != nil {
			t.Fatal(ours, err)
		}
		if s := r.show(); s.State.Fired != 1 || s.State.Missed != 0 {
			t.Errorf("got %+v, want a flow and nothing missed", s.State)
		}
		if _, late, err := clockwork.Overdue(t.Context(), b); err != nil || late > 0 {
			t.Errorf("the next is late by %v, %v, want not at all", late, err)
		}
	})
}
