package saga_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/saga"
	"github.com/ramet-run/ramet/stream"
)

// away is a log of which nothing can be read while deaf, and nothing can be asked while gone.
type away struct {
	stream.Log
	deaf, gone atomic.Bool
}

func (a *away) Read(ctx context.Context, c stream.Consumer) (stream.Reader, error) {
	if a.deaf.Load() {
		return nil, domain.Unavailablef("the broker is away")
	}
	r, err := a.Log.Read(ctx, c)
	return &deafReader{r, a}, err
}

func (a *away) Count(ctx context.Context, n domain.StreamName, subjects []string, after uint64) (uint64, error) {
	if a.gone.Load() {
		return 0, domain.Unavailablef("the broker is away")
	}
	return a.Log.Count(ctx, n, subjects, after)
}

type deafReader struct {
	stream.Reader
	a *away
}

func (r *deafReader) Next(ctx context.Context, most int) ([]stream.Message, error) {
	list, err := r.Reader.Next(ctx, most)
	if err == nil && r.a.deaf.Load() {
		return nil, domain.Unavailablef("the broker is away")
	}
	return list, err
}

// TestABrokerThatIsAwayIsNoSagaThatHasCaughtUp: its worker has lost the partition, and is to have it.
// One that was behind stays so, and what is not known is counted.
func TestABrokerThatIsAwayIsNoSagaThatHasCaughtUp(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, machineOf("s", countsEvents))
		log := &away{Log: r.log}
		w := saga.NewWorker(r.newEngine(r.board, log), saga.WorkerConfig{Owner: "node1/1"})
		ctx, stop := context.WithCancel(r.Context())
		var all sync.WaitGroup
		all.Go(func() { r.must(w.Run(ctx)) })
		defer all.Wait()
		defer stop()
		r.publish(shop, goes("e1", `{"id":1}`))
		time.Sleep(time.Minute)
		look := func(when string, behind uint64, age time.Duration, unknown int, whole bool) {
			t.Helper()
			got := w.Standings(ctx, 10)
			if len(got.List) != 1 || got.List[0].Behind != behind || got.Unknown != unknown || got.Whole != whole {
				t.Fatalf("%s: got %+v, want one that is %d behind", when, got, behind)
			}
			if at := got.List[0].Oldest; behind > 0 && time.Since(at) < age {
				t.Errorf("%s: the oldest is of %v ago, want %v", when, time.Since(at), age)
			}
		}
		look("there", 0, 0, 0, true)
		log.deaf.Store(true)
		r.publish(shop, goes("e2", `{"id":1}`))
		time.Sleep(time.Minute)
		look("nothing is read", 1, time.Minute, 0, true)
		told := func(when string, want bool) {
			t.Helper()
			a, err := r.engine.AuditWithin(ctx, shop, time.Second)
			r.must(err)
			found := slices.ContainsFunc(a.Lacking, func(f domain.Finding) bool {
				return f.Key == "saga s" && strings.Contains(f.Text, "not handled: 1, the oldest for 6m")
			})
			unread := slices.ContainsFunc(a.Lacking, func(f domain.Finding) bool { return strings.Contains(f.Text, "cannot read the streams for") })
			if found != want || !unread || !found && len(a.Lacking) > 1 {
				t.Errorf("%s: the audit has found %v", when, a.Lacking)
			}
		}
		told("behind for a minute", false)
		time.Sleep(5 * time.Minute)
		told("behind for six minutes", true)
		look("nothing is read still", 1, 6*time.Minute, 0, true)
		log.gone.Store(true)
		look("nothing can be asked", 1, time.Minute, 0, false)
		time.Sleep(time.Hour)
		look("for an hour", 1, time.Hour, 1, false)
		if got := w.Standings(ctx, 0); got.Whole || len(got.List) != 0 {
			t.Errorf("got %+v: want to be told that there are more", got)
		}
		if got := w.Standings(ctx, 10); len(got.List) != 0 || got.Unknown != 1 {
			t.Errorf("of which nothing was ever seen: got %+v", got)
		}
		log.deaf.Store(false)
		log.gone.Store(false)
		time.Sleep(time.Minute)
		look("again", 0, 0, 0, true)
	})
}

// brokenReader is a log of which a saga's consumers cannot be opened, for a reason that does not pass.
type brokenReader struct {
	stream.Log
	after  time.Duration // until it says so
	broken atomic.Bool
}

func (l *brokenReader) Read(ctx context.Context, c stream.Consumer) (stream.Reader, error) {
	if l.broken.Load() {
		time.Sleep(l.after)
		return nil, domain.Invalidf("no such consumer can be made")
	}
	return l.Log.Read(ctx, c)
}

// TestAPartitionThatNobodyComesToHaveIsTold at once, not when an event has waited for long: whoever asks sees it, with streams or
// without, and no longer than it is so.
func TestAPartitionThatNobodyComesToHaveIsTold(t *testing.T) {
	for _, after := range []time.Duration{0, 8 * time.Second} { // of which each worker fails
		t.Run(after.String(), func(t *testing.T) { toldOfPartition(t, after) })
	}
}

func toldOfPartition(t *testing.T, after time.Duration) {
	bubble(t, func(r *rig) {
		r.apply(shop, machineOf("s", countsEvents))
		log := &brokenReader{Log: r.log, after: after}
		defer r.workOn(r.board, log, saga.WorkerConfig{Owner: "node1/1"})()
		told := func(when string, want bool) {
			t.Helper()
			a, err := r.engine.AuditWithin(r.Context(), shop, time.Second)
			r.must(err)
			without, err := saga.Unserved(r.Context(), r.board, names{}, shop)
			r.must(err)
			for who, list := range map[string][]domain.Finding{"with streams": a.Lacking, "without": without} {
				found := slices.ContainsFunc(list, func(f domain.Finding) bool {
					return f.Key == "saga s" && strings.Contains(f.Text, "no node has come to have its one partition") && strings.Contains(f.Text, "node1/1")
				})
				if found != want || !found && len(list) > 0 {
					t.Errorf("%s, %s: found %v", when, who, list)
				}
			}
		}
		time.Sleep(10 * time.Second)
		told("while all is well", false)
		log.broken.Store(true)
		r.apply(shop, func() *domain.SagaDefinition { d := machineOf("s", countsEvents); d.Summary = "second"; return d }()) // it is opened anew
		time.Sleep(20 * time.Second)
		told("after 20 seconds", false)
		time.Sleep(70 * time.Second)
		told("after 90 seconds", true)
		log.broken.Store(false)
		time.Sleep(time.Minute)
		told("when it is mended", false)
	})
}

// TestAPartitionThatItsWorkerCannotReadIsTold, though the streams can be asked by others: what came there is not old yet.
func TestAPartitionThatItsWorkerCannotReadIsTold(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, machineOf("s", countsEvents))
		log := &away{Log: r.log}
		log.deaf.Store(true)
		defer r.workOn(r.board, log, saga.WorkerConfig{})()
		told := func(when string, want bool) {
			t.Helper()
			const text = "cannot read the streams for"
			a, err := r.engine.AuditWithin(r.Context(), shop, time.Second)
			r.must(err)
			without, err := saga.Unserved(r.Context(), r.board, names{}, shop)
			r.must(err)
			for who, list := range map[string][]domain.Finding{"with streams": a.Lacking, "without": without} {
				if found := len(list) == 1 && strings.Contains(list[0].Text, "worker node1/1 has its one partition and "+text); found != want || !want && len(list) > 0 {
					t.Errorf("%s, %s: found %v", when, who, list)
				}
			}
			lags, err := r.engine.Lags(r.Context(), shop, "s")
			r.must(err)
			if strings.Contains(lags[0].Trouble, text) != want {
				t.Errorf("%s: the lag has trouble %q", when, lags[0].Trouble)
			}
		}
		r.publish(shop, goes("e1", `{"id":1}`))
		time.Sleep(5 * time.Second)
		told("after 5 seconds", false)
		time.Sleep(40 * time.Second)
		told("after 45 seconds", true)
		log.deaf.Store(false)
		time.Sleep(10 * time.Second)
		told("when it can", false)
	})
}

// TestWhatHasAPartitionNoMoreIsTold: its lease ran out, and nobody has taken it, though some may.
func TestWhatHasAPartitionNoMoreIsTold(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, machineOf("s", countsEvents))
		_, err := r.board.Occupy(r.Context(), board.Space(shop), layout.SagaKeys{Tenant: "acme"}.Shard("s", 0)+"/1", "gone/1", 5*time.Second)
		r.must(err)
		b := new(board.Batch).Set("ramet:saga:worker:idle/1", board.Field{Name: "serves", Value: "{}"})
		r.must(r.board.Commit(r.Context(), *b))
		_, err = r.board.Occupy(r.Context(), 0, "ramet:saga:worker:idle/1", "idle/1", time.Hour)
		r.must(err)
		for _, c := range []struct {
			after time.Duration
			want  bool
		}{{10 * time.Second, false}, {30 * time.Second, true}} {
			time.Sleep(c.after)
			a, err := r.engine.AuditWithin(r.Context(), shop, time.Second)
			r.must(err)
			if found := len(a.Lacking) == 1 && strings.Contains(a.Lacking[0].Text, "no node has come to have its one partition for"); found != c.want {
				t.Errorf("%v later: got %+v, want it told: %v", c.after, a.Lacking, c.want)
			}
		}
	})
}

// TestASagaThatNobodyServesHidesNoOther that is behind.
func TestASagaThatNobodyServesHidesNoOther(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, machineOf("s", countsEvents))
		r.apply(shop, machineOf("other", countsEvents))
		log := &away{Log: r.log}
		defer r.workOn(r.board, log, saga.WorkerConfig{Placement: func() saga.Placement { return saga.Placement{Sagas: []string{"s"}} }})()
		time.Sleep(time.Second)
		log.deaf.Store(true)
		r.publish(shop, goes("e", `{"id":1}`))
		time.Sleep(6 * time.Minute)
		a, err := r.engine.AuditWithin(r.Context(), shop, time.Second)
		r.must(err)
		var keys []string
		for _, f := range a.Lacking {
			keys = append(keys, f.Key)
		}
		slices.Sort(keys)
		if keys = slices.Compact(keys); !slices.Equal(keys, []string{"saga other", "saga s"}) { // of s also that it cannot be read
			t.Errorf("got %+v", a.Lacking)
		}
	})
}

// TestAGatewayThatTakesNothingIsTold, with its cause, while its commands wait.
func TestAGatewayThatTakesNothingIsTold(t *testing.T) {
	bubble(t, func(r *rig) {
		def := machineOf("s", sends)
		def.Commands = []string{"tell"}
		r.apply(shop, def)
		var up atomic.Bool
		defer r.work(saga.WorkerConfig{Gateway: door(func(domain.SubmitCommandRequest) int {
			if up.Load() {
				return 200
			}
			return 503
		}).config()})()
		told := func(when string, want bool) {
			t.Helper()
			a, err := r.engine.AuditWithin(r.Context(), shop, time.Second)
			r.must(err)
			without, err := saga.Unserved(r.Context(), r.board, names{}, shop)
			r.must(err)
			for who, list := range map[string][]domain.Finding{"with streams": a.Lacking, "without": without} {
				found := slices.ContainsFunc(list, func(f domain.Finding) bool {
					return f.Key == "saga s" && strings.Contains(f.Text, "its gateway has not taken: 2, the first for 6m") &&
						strings.Contains(f.Text, "gateway answers Service Unavailable")
				})
				if found != want || !found && len(list) > 0 {
					t.Errorf("%s, %s: found %v", when, who, list)
				}
			}
		}
		r.publish(shop, goes("1", `{"id":"1"}`))
		r.publish(shop, goes("2", `{"id":"2"}`))
		time.Sleep(3 * time.Minute)
		told("after three minutes", false)
		time.Sleep(3 * time.Minute)
		told("after six", true)
		up.Store(true)
		time.Sleep(5 * time.Minute)
		told("when it is back", false)
	})
}

// shorter is a log whose streams end at 0.
type shorter struct {
	stream.Log
	is atomic.Bool
}

func (l *shorter) Stats(ctx context.Context, n domain.StreamName) (stream.Stats, error) {
	stats, err := l.Log.Stats(ctx, n)
	if l.is.Load() {
		stats.Last = 0
	}
	return stats, err
}

// TestASagaBeyondItsStreamHasNotCaughtUp: how far it is behind is not known, to metrics either.
func TestASagaBeyondItsStreamHasNotCaughtUp(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, machineOf("s", countsEvents))
		log := &shorter{Log: r.log}
		w := saga.NewWorker(r.newEngine(r.board, log), saga.WorkerConfig{Owner: "node1/1"})
		ctx, stop := context.WithCancel(r.Context())
		var all sync.WaitGroup
		all.Go(func() { r.must(w.Run(ctx)) })
		defer all.Wait()
		defer stop()
		r.publish(shop, goes("e1", `{"id":1}`))
		time.Sleep(time.Minute)
		if got := w.Standings(ctx, 10); len(got.List) != 1 || got.Unknown != 0 {
			t.Errorf("got %+v, want one that has caught up", got)
		}
		log.is.Store(true)
		time.Sleep(2 * time.Minute)
		if got := w.Standings(ctx, 10); len(got.List) != 0 || got.Unknown != 1 {
			t.Errorf("got %+v, want it unknown", got)
		}
	})
}

// behind is a board whose time is two hours behind this machine's.
type behind struct{ board.Board }

func (b behind) Now() time.Time { return b.Board.Now().Add(-2 * time.Hour) }

// TestInstantsOfSagasAreOfTheBoardsTime: of an event that is published and of a dead letter.
func TestInstantsOfSagasAreOfTheBoardsTime(t *testing.T) {
	bubble(t, func(r *rig) {
		b := behind{r.board}
		engine := r.newEngine(b, r.log)
		def := machineOf("s", sends)
		def.Commands = []string{"tell"}
		r.apply(shop, def)
		defer r.workOn(b, r.log, saga.WorkerConfig{})()
		ev := goes("1", `{"id":"1"}`)
		ev.TimeMs = 0
		made, err := engine.Publish(r.Context(), shop, &ev)
		r.must(err)
		time.Sleep(10 * time.Second)
		dead := r.deadLetters(shop)
		if len(dead) != 1 {
			t.Fatalf("got dead letters %+v", dead)
		}
		for name, ms := range map[string]int64{"the event": made.TimeMs, "the dead letter": dead[0].MadeMs} {
			if age := b.Now().Sub(time.UnixMilli(ms)); age.Abs() > time.Hour {
				t.Errorf("%s is of %v, and it is %v", name, time.UnixMilli(ms), b.Now())
			}
		}
	})
}
