package clockwork_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
)

// past is an instant in the bubble's first day.
func past(hour int) domain.Instant {
	return domain.Instant(time.Date(2000, 1, 1, hour, 0, 0, 0, time.UTC).UnixMilli())
}

// backfill begins a backfill of the times from one hour to before another.
func (r *timer) backfill(from, to, most int) *domain.Backfill {
	r.Helper()
	s, err := r.s.Backfill(r.Context(), 1, "s", domain.Backfill{From: past(from), To: past(to), Max: most, CallerID: 9})
	if err != nil {
		r.Fatal(err)
	}
	return s.State.Backfill
}

// filled hands over the alarm of the backfill until it is not due any more.
func (r *timer) filled() *domain.Backfill {
	r.Helper()
	for {
		at, set, err := r.b.AlarmOf(r.Context(), 1, "backfill:s")
		if err != nil {
			r.Fatal(err)
		}
		if !set || at.After(time.Now().Add(time.Second)) {
			return r.show().State.Backfill
		}
		time.Sleep(time.Until(at))
		if ours, err := r.s.HandleAlarm(r.Context(), board.Alarm{Space: 1, Name: "backfill:s", At: at}); !ours || err != nil {
			r.Fatalf("got %v, %v", ours, err)
		}
	}
}

// ends lets a flow of a backfill end, as flows do that have ended.
func (r *timer) ends(id domain.FlowID, status domain.FlowStatus) {
	r.Helper()
	b := board.Batch{Space: 1}
	b.Set(domain.FlowKey(id), board.Field{Name: "status", Value: string(status)},
		board.Field{Name: "finished_ms", Value: strconv.FormatInt(time.Now().UnixMilli(), 10)}).
		SetAlarm("backfill:s", time.Now())
	if err := r.b.Commit(r.Context(), b); err != nil {
		r.Fatal(err)
	}
}

func (r *timer) wantsFill(got *domain.Backfill, status domain.BackfillStatus, made, existing, failed int, alive ...domain.FlowID) {
	r.Helper()
	if got.Status != status || got.Made != made || got.Existing != existing || got.Failed != failed || gocmp.Diff(alive, got.Alive) != "" {
		r.Errorf("got %+v, want %s with %d made, %d existing, %d failed, and %v alive", got, status, made, existing, failed, alive)
	}
}

func TestABackfillMakesPastFlowsAFewAtOnce(t *testing.T) {
	timers(t, func(r *timer) {
		time.Sleep(10 * time.Hour)
		r.apply(domain.Schedule{Every: 3600, Paused: true})
		if got := r.backfill(2, 7, 2); got.Total != 5 || got.Status != domain.BackfillRunning {
			t.Errorf("begun: got %+v, want 5 times", got)
		}
		r.wantsFill(r.filled(), domain.BackfillRunning, 2, 0, 0, 1, 2)
		r.ends(1, domain.FlowFinished)
		r.wantsFill(r.filled(), domain.BackfillRunning, 3, 0, 0, 2, 3)
		r.ends(3, domain.FlowError)
		r.ends(2, domain.FlowFinished)
		r.wantsFill(r.filled(), domain.BackfillRunning, 5, 0, 1, 4, 5)
		r.ends(4, domain.FlowFinished)
		r.wantsFill(r.filled(), domain.BackfillRunning, 5, 0, 1, 5)
		r.ends(5, domain.FlowFinished)
		r.wantsFill(r.filled(), domain.BackfillFinished, 5, 0, 1)
		r.wants("20000101020000", "20000101030000", "20000101040000", "20000101050000", "20000101060000")
		r.counts(domain.ScheduleState{})
		if got := r.show().State; got.LastFlow != 0 || got.Backfill.EndedMs == 0 {
			t.Errorf("got last flow %d, ended %d: the schedule's own flows are others", got.LastFlow, got.Backfill.EndedMs)
		}
		for _, req := range r.flows.reqs {
			if req.Caller != 9 || !req.Backfill || req.Schedule != "s" {
				t.Errorf("got %+v, want it in the name of who asked", req)
			}
		}
	})
}

func TestABackfillThatIsAskedForTwiceMakesNothingTwice(t *testing.T) {
	timers(t, func(r *timer) {
		time.Sleep(10 * time.Hour)
		r.apply(domain.Schedule{Every: 3600, Overlap: domain.OverlapAllow})
		r.backfill(3, 6, 100)
		r.filled()
		for id := domain.FlowID(1); id <= 3; id++ {
			r.ends(id, domain.FlowFinished)
		}
		r.wantsFill(r.filled(), domain.BackfillFinished, 3, 0, 0)
		p, err := r.s.PlanBackfill(r.Context(), 1, "s", domain.Backfill{From: past(2), To: past(7), Max: 1})
		if err != nil || p.Existing != 3 || len(p.Times) != 5 || p.Times[0].Flow != 0 || p.Times[1].Flow != 1 || p.Times[1].Trigger != "s-20000101030000" {
			t.Errorf("planned: got %+v, %v, want 5 times of which 3 have flows", p, err)
		}
		r.backfill(2, 7, 1)
		r.wantsFill(r.filled(), domain.BackfillRunning, 1, 0, 0, 4)
		r.ends(4, domain.FlowFinished)
		r.wantsFill(r.filled(), domain.BackfillRunning, 2, 3, 0, 8) // three numbers were drawn in vain
		r.ends(8, domain.FlowFinished)
		r.wantsFill(r.filled(), domain.BackfillFinished, 2, 3, 0)
		r.wants("20000101030000", "20000101040000", "20000101050000", "20000101020000", "20000101060000")
		// Now all have flows: another would only write over what has become of this one.
		_, err = r.s.Backfill(r.Context(), 1, "s", domain.Backfill{From: past(2), To: past(7), Max: 1, CallerID: 9})
		if !errors.Is(err, domain.ErrConflict) || !strings.Contains(err.Error(), "nothing to make: 5 of 5 times") {
			t.Errorf("got %v, want that there is nothing to make", err)
		}
		r.wantsFill(r.filled(), domain.BackfillFinished, 2, 3, 0)
	})
}

// TestABackfillOfManyTimesLooksAtAllOfThem: one that has no flow is enough.
func TestABackfillOfManyTimesLooksAtAllOfThem(t *testing.T) {
	timers(t, func(r *timer) {
		time.Sleep(10 * time.Hour)
		r.apply(domain.Schedule{Every: 20})
		ask := domain.Backfill{From: past(0), To: past(0) + domain.Instant(20_000*(clockwork.MaxUpcoming+2)), Max: 1, CallerID: 9}
		last := clockwork.MaxUpcoming + 1
		for i := range last {
			at := past(0).Time().Add(time.Duration(i) * 20 * time.Second)
			b := board.Batch{Space: 1}
			b.Set("name:b/s-"+at.UTC().Format("20060102150405"), board.Field{Name: "id", Value: "7"})
			if err := r.b.Commit(r.Context(), b); err != nil {
				t.Fatal(err)
			}
		}
		if p, err := r.s.PlanBackfill(r.Context(), 1, "s", ask); err != nil || p.Existing != clockwork.MaxUpcoming || p.Total != last+1 {
			t.Fatalf("planned: got %d of %d, %v", p.Existing, p.Total, err)
		}
		if s, err := r.s.Backfill(r.Context(), 1, "s", ask); err != nil || s.State.Backfill.Status != domain.BackfillRunning {
			t.Errorf("got %+v, %v, want that it begins for the last time", s, err)
		}
	})
}

// TestABackfillThatIsAskedForAgainIsTheSame asks again as who has not heard an answer does.
func TestABackfillThatIsAskedForAgainIsTheSame(t *testing.T) {
	timers(t, func(r *timer) {
		time.Sleep(10 * time.Hour)
		r.apply(domain.Schedule{Every: 3600})
		r.backfill(2, 7, 2)
		r.wantsFill(r.filled(), domain.BackfillRunning, 2, 0, 0, 1, 2)
		r.wantsFill(r.backfill(2, 7, 2), domain.BackfillRunning, 2, 0, 0, 1, 2)
		for _, other := range []domain.Backfill{
			{From: past(3), To: past(7), Max: 2, CallerID: 9}, {From: past(2), To: past(6), Max: 2, CallerID: 9},
			{From: past(2), To: past(7), Max: 3, CallerID: 9}, {From: past(2), To: past(7), Max: 2, CallerID: 8},
		} {
			if _, err := r.s.Backfill(r.Context(), 1, "s", other); !errors.Is(err, domain.ErrConflict) {
				t.Errorf("%+v: got %v, want a conflict", other, err)
			}
		}
		r.wants("20000101020000", "20000101030000")
	})
}

func TestABackfillCountsOn(t *testing.T) {
	timers(t, func(r *timer) {
		time.Sleep(10 * time.Hour)
		r.apply(domain.Schedule{Every: 3600, Params: map[string]string{"n": "${n}"}, Variables: map[string]domain.Variable{"n": {Count: &domain.Counter{Next: 5}}}})
		r.backfill(2, 4, 10)
		r.filled()
		r.handle()
		var ns []string
		for _, req := range r.flows.reqs {
			ns = append(ns, req.Params["n"])
		}
		if diff := gocmp.Diff([]string{"5", "6", "7"}, ns); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestABackfillIsCancelled(t *testing.T) {
	timers(t, func(r *timer) {
		time.Sleep(10 * time.Hour)
		r.apply(domain.Schedule{Every: 3600})
		if _, err := r.s.CancelBackfill(r.Context(), 1, "s"); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("with none: got %v, want a conflict", err)
		}
		r.backfill(2, 7, 1)
		r.filled()
		if _, err := r.s.Backfill(r.Context(), 1, "s", domain.Backfill{From: past(2), To: past(3), Max: 1}); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("a second: got %v, want a conflict", err)
		}
		if _, err := r.s.CancelBackfill(r.Context(), 1, "s"); err != nil {
			t.Fatal(err)
		}
		r.ends(1, domain.FlowFinished)
		r.wantsFill(r.filled(), domain.BackfillCancelled, 1, 0, 0, 1)
		r.wants("20000101020000")
		if _, set, _ := r.b.AlarmOf(r.Context(), 1, "backfill:s"); set {
			t.Error("the end of its flow left an alarm behind")
		}
		r.backfill(2, 7, 1) // and another can begin
		if _, err := r.s.Delete(r.Context(), 1, "s"); err != nil {
			t.Fatal(err)
		}
		if _, set, _ := r.b.AlarmOf(r.Context(), 1, "backfill:s"); set {
			t.Error("a deleted schedule left the alarm of its backfill behind")
		}
	})
}

func TestABackfillThatIsRefused(t *testing.T) {
	for _, tc := range []struct {
		name   string
		refuse error
		status domain.BackfillStatus
	}{
		{"waits for a ban to end", domain.Conflictf("it is banned"), domain.BackfillRunning},
		{"ends where the blueprint is gone", domain.NotFoundf("blueprint b is not there"), domain.BackfillError},
	} {
		t.Run(tc.name, func(t *testing.T) {
			timers(t, func(r *timer) {
				time.Sleep(10 * time.Hour)
				r.apply(domain.Schedule{Every: 3600})
				r.flows.refuse = tc.refuse
				r.backfill(2, 4, 10)
				got := r.filled()
				r.wantsFill(got, tc.status, 0, 0, 0)
				if got.Error != tc.refuse.Error() {
					t.Errorf("got error %q, want %q", got.Error, tc.refuse)
				}
				r.flows.refuse = nil
				time.Sleep(time.Minute)
				if tc.status == domain.BackfillRunning {
					r.wantsFill(r.filled(), domain.BackfillRunning, 2, 0, 0, 1, 2)
				}
			})
		})
	}
}

func TestBackfillsThatMakeNoSense(t *testing.T) {
	timers(t, func(r *timer) {
		time.Sleep(10 * time.Hour)
		r.apply(domain.Schedule{Every: 3600, From: past(1), Until: past(23)})
		r.apply(domain.Schedule{Name: "often", Every: 1})
		for _, tc := range []struct {
			name     string
			schedule string
			ask      domain.Backfill
			want     string
		}{
			{"no such schedule", "other", domain.Backfill{From: past(2), To: past(3), Max: 1}, `schedule "other" is not there`},
			{"no bounds", "s", domain.Backfill{Max: 1}, "want from and to"},
			{"the wrong way round", "s", domain.Backfill{From: past(3), To: past(2), Max: 1}, "is not after"},
			{"what has not come", "s", domain.Backfill{From: past(2), To: past(11), Max: 1}, "has not come yet"},
			{"none at once", "s", domain.Backfill{From: past(2), To: past(3)}, "want 1 to 100"},
			{"too many at once", "s", domain.Backfill{From: past(2), To: past(3), Max: 101}, "want 1 to 100"},
			{"no time", "s", domain.Backfill{From: past(2) + 1, To: past(3), Max: 1}, "has no time from"},
			{"too many times", "often", domain.Backfill{From: past(1), To: past(9), Max: 1}, "more than 10000 times"},
		} {
			_, err := r.s.Backfill(r.Context(), 1, tc.schedule, tc.ask)
			_, planned := r.s.PlanBackfill(r.Context(), 1, tc.schedule, tc.ask)
			for _, err := range []error{err, planned} {
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("%s: got %v, want %q", tc.name, err, tc.want)
				}
			}
		}
	})
}

// TestABackfillWhoseFlowsAreShort has each flow end right before its backfill writes down that it is under way, with the
// alarm set to the very instant where it stands: the next flow is not held up.
func TestABackfillWhoseFlowsAreShort(t *testing.T) {
	timers(t, func(r *timer) {
		time.Sleep(10 * time.Hour)
		r.apply(domain.Schedule{Every: 3600})
		r.backfill(2, 7, 1)
		ended := domain.FlowID(0)
		ends := func(ctx context.Context, _ faultboard.Call) error {
			alive := r.show().State.Backfill.Alive
			if len(alive) == 0 || alive[0] == ended {
				return nil
			}
			ended = alive[0]
			at, _, err := r.b.AlarmOf(ctx, 1, "backfill:s")
			if err != nil {
				return err
			}
			time.Sleep(time.Until(at))
			r.ends(ended, domain.FlowFinished)
			return nil
		}
		r.s = clockwork.NewSchedules(faultboard.New(r.b, faultboard.Config{Before: ends}), r.flows, nil)
		began := time.Now()
		r.wantsFill(r.filled(), domain.BackfillFinished, 5, 0, 0)
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %v, want no pause", took)
		}
	})
}

// TestABackfillOutlivesItsNode has a node lose its board at each of its changes, right before it
// or right after; another goes on from what is there.
func TestABackfillOutlivesItsNode(t *testing.T) {
	for n := range 8 {
		for _, made := range []bool{false, true} {
			timers(t, func(r *timer) {
				time.Sleep(10 * time.Hour)
				r.apply(domain.Schedule{Every: 3600})
				r.backfill(2, 7, 3)
				seen := 0
				dies := func(context.Context, faultboard.Call) error {
					if seen++; seen > n {
						return domain.Unavailablef("the node has died")
					}
					return nil
				}
				cfg := faultboard.Config{Before: dies}
				if made {
					cfg = faultboard.Config{After: dies}
				}
				fb := faultboard.New(r.b, cfg)
				at, _, _ := r.b.AlarmOf(r.Context(), 1, "backfill:s")
				_, _ = clockwork.NewSchedules(fb, &flows{b: fb}, nil).HandleAlarm(r.Context(), board.Alarm{Space: 1, Name: "backfill:s", At: at})
				for range 20 {
					got := r.filled()
					if got.Final() {
						break
					}
					for _, id := range got.Alive {
						r.ends(id, domain.FlowFinished)
					}
				}
				if got := r.show().State.Backfill; got.Status != domain.BackfillFinished || got.Made != 5 || got.Existing != 0 {
					t.Errorf("dead at change %d (made: %v): got %+v, want 5 made, each once", n, made, got)
				}
			})
		}
	}
}

func TestABackfillPassesByWhatIsNoFlow(t *testing.T) {
	timers(t, func(r *timer) {
		time.Sleep(10 * time.Hour)
		r.apply(domain.Schedule{Every: 3600, Paused: true})
		r.backfill(2, 5, 2)
		r.filled()
		b := board.Batch{Space: 1}
		if err := r.b.Commit(r.Context(), *b.Delete("flow:1").PushLeft("flow:1", "x").SetAlarm("backfill:s", time.Now())); err != nil {
			r.Fatal(err)
		}
		r.wantsFill(r.filled(), domain.BackfillRunning, 3, 0, 0, 2, 3)
	})
}

func TestABackfillSaysThatThereIsNoRoom(t *testing.T) {
	timers(t, func(r *timer) {
		time.Sleep(10 * time.Hour)
		r.apply(domain.Schedule{Every: 3600, Paused: true})
		r.backfill(2, 5, 1)
		r.filled()
		r.flows.refuse = domain.Exhaustedf("the disk is nearly full")
		r.ends(1, domain.FlowFinished)
		got := r.filled()
		r.wantsFill(got, domain.BackfillRunning, 1, 0, 0)
		if got.Error != "the disk is nearly full" {
			r.Errorf("got error %q", got.Error)
		}
		r.flows.refuse = nil
		time.Sleep(time.Minute)
		r.wantsFill(r.filled(), domain.BackfillRunning, 2, 0, 0, 2)
	})
}
