package listener_test

import (
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

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/internal/testwait"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/listener"
	"github.com/ramet-run/ramet/stream"
	"github.com/ramet-run/ramet/stream/memstream"
	"github.com/ramet-run/ramet/work"
)

const tenant = domain.TenantID(7)

type called struct{}

func (called) TenantName(context.Context, domain.TenantID) (string, error) { return "acme", nil }

// flows makes flows that are a record with the business name.
type flows struct {
	b board.Board

	mu     sync.Mutex
	refuse error
	die    bool // once what was made is on the board: its maker never learns
	params []map[string]string
	asked  int
}

func (f *flows) Submit(ctx context.Context, t domain.TenantID, reqs []flow.Request) ([]flow.Receipt, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]flow.Receipt, len(reqs))
	f.asked += len(reqs)
	for i, r := range reqs {
		if out[i].Err = f.refuse; f.refuse != nil {
			continue
		}
		id := domain.FlowID(len(f.params) + 1)
		b := board.Batch{Space: layout.SpaceOf(t)}
		name := "name:" + r.Blueprint + "/" + r.Trigger
		b.Absent(name).Set(name, board.Field{Name: "id", Value: strconv.Itoa(int(id))})
		r.Also(&b, id)
		if err := f.b.Commit(ctx, b); errors.Is(err, domain.ErrConflict) {
			recs, _ := f.b.Get(ctx, layout.SpaceOf(t), name)
			if recs[0] == nil {
				out[i].Err = err
				continue
			}
			out[i].Existing = true
			continue
		} else if err != nil {
			return nil, err
		}
		f.params = append(f.params, r.Params)
		out[i].ID = id
	}
	if f.die {
		return nil, domain.Unavailablef("the node died")
	}
	return out, nil
}

func (f *flows) made() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.params)
}

func (f *flows) set(refuse error, die bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refuse, f.die = refuse, die
}

type rig struct {
	*testing.T
	b     *memboard.Board
	log   stream.Log
	s     *listener.Store
	flows *flows
	w     *listener.Worker
}

func newRig(t *testing.T) *rig {
	b, log := memboard.Open(), memstream.Open()
	s := listener.New(b, log, called{}, nil)
	f := &flows{b: b}
	t.Cleanup(func() { log.Close(); b.Close() })
	return &rig{t, b, log, s, f, listener.NewWorker(s, f, listener.Config{})}
}

// run runs a node until the function that it returns is called.
func (r *rig) run() (stop func()) {
	ctx, cancel := context.WithCancel(r.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = r.w.Run(ctx)
	}()
	return func() { cancel(); <-ended }
}

func (r *rig) apply(change ...func(*domain.Listener)) {
	r.Helper()
	l := domain.Listener{Name: "shipped", Blueprint: "ship", On: domain.SagaTrigger{Of: "Order", Types: []string{"OrderShipped"}},
		When: `event.payload.country != "XX"`, Params: map[string]string{"order": "event.aggregate_id", "n": "event.payload.n + 1"}}
	for _, c := range change {
		c(&l)
	}
	if _, err := r.s.Apply(r.Context(), tenant, l, 12); err != nil {
		r.Fatal(err)
	}
}

func (r *rig) publish(id, typ, payload string) {
	r.Helper()
	err := r.log.Publish(r.Context(), stream.Message{Stream: domain.AggregateEvents, Subject: "tenant.acme.aggregate.Order.o-" + id, ID: "m-" + id + typ + payload,
		Data: fmt.Appendf(nil, `{"event_id":%q,"event_type":%q,"payload":%s}`, id, typ, payload)})
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) show() *domain.Listener {
	r.Helper()
	l, err := r.s.Show(r.Context(), tenant, "shipped")
	if err != nil {
		r.Fatal(err)
	}
	return l
}

func (r *rig) behind(want uint64) {
	r.Helper()
	if n, err := r.s.Behind(r.Context(), tenant, r.show()); err != nil || n != want {
		r.Errorf("it is %d behind, %v, want %d", n, err, want)
	}
}

func TestEachEventStartsAFlowOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.publish("old", "OrderShipped", `{"n":1}`)
		r.apply()
		stop := r.run()
		r.publish("e1", "OrderShipped", `{"n":1,"country":"BE"}`)
		r.publish("e2", "OrderPaid", `{"n":1}`)
		r.publish("e3", "OrderShipped", `{"n":1,"country":"XX"}`)
		r.publish("e1", "OrderShipped", `{"n":1,"country":"BE","again":true}`)
		time.Sleep(time.Minute)
		if n := r.flows.made(); n != 1 {
			t.Fatalf("%d flows were made, want 1", n)
		}
		if p := r.flows.params[0]; p["order"] != "o-e1" || p["n"] != "2" {
			t.Errorf("got params %v", p)
		}
		if s := r.show().State; s.Started != 1 || s.LastFlow != 1 || s.LastEvent != "e1" || s.Refused != 0 {
			t.Errorf("got %+v", s)
		}
		r.behind(0)
		stop()
	})
}

// TestAListenerOfAny hears events of all aggregates, and none of other kinds.
func TestAListenerOfAny(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.apply(func(l *domain.Listener) { l.On.Of = domain.AnyEvent })
		stop := r.run()
		r.publish("e1", "OrderShipped", `{"n":1}`)
		if err := r.log.Publish(r.Context(), stream.Message{Stream: domain.AggregateEvents, Subject: "tenant.acme.aggregate.Parcel.p-1", ID: "m-2",
			Data: []byte(`{"event_id":"e2","event_type":"OrderShipped","payload":{"n":2}}`)}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if n := r.flows.made(); n != 2 {
			t.Errorf("%d flows were made, want one of each aggregate", n)
		}
		r.behind(0)
		stop()
	})
}

// asked keeps how consumers are asked for.
type asked struct {
	stream.Log
	shared chan stream.Shared
}

func (a asked) Work(ctx context.Context, s stream.Shared) (stream.Queue, error) {
	a.shared <- s
	return a.Log.Work(ctx, s)
}

// A ban may last for years, and the broker forgets what it has given out too often.
func TestAnEventThatIsHeldUpIsNotGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		log := asked{r.log, make(chan stream.Shared, 10)}
		r.s = listener.New(r.b, log, called{}, nil)
		r.w = listener.NewWorker(r.s, r.flows, listener.Config{HeldPause: time.Second})
		r.apply()
		defer r.run()()
		if most := time.Duration((<-log.shared).MaxDeliver) * time.Second; most < 50*365*24*time.Hour {
			t.Errorf("an event that comes again each second is given up after %v", most)
		}
	})
}

// TestNothingIsLostWhereANodeDies: between the flow and the acknowledgement, and before both.
func TestNothingIsLostWhereANodeDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.apply()
		stop := r.run()
		r.flows.set(nil, true)
		for i := range 100 {
			r.publish(strconv.Itoa(i), "OrderShipped", `{"n":1}`)
		}
		time.Sleep(time.Second)
		stop()
		r.behind(100)
		r.flows.set(nil, false)
		r.w = listener.NewWorker(r.s, r.flows, listener.Config{})
		stop = r.run()
		time.Sleep(2 * time.Minute)
		stop()
		if n := r.flows.made(); n != 100 || r.show().State.Started != 100 {
			t.Errorf("%d flows were made, %d are counted, want 100", n, r.show().State.Started)
		}
		r.behind(0)
	})
}

func TestWhatHoldsUpAllWaits(t *testing.T) {
	for _, held := range []error{domain.NotFoundf("no blueprint"), domain.Forbiddenf("no right"), domain.Exhaustedf("no room"), domain.Conflictf("a ban"),
		fmt.Errorf("step a: %w", &work.UnknownTypeError{Type: "lua"})} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			r.apply()
			stop := r.run()
			defer func() { stop() }()
			r.flows.set(held, false)
			r.publish("e1", "OrderShipped", `{"n":1}`)
			time.Sleep(time.Minute)
			if s := r.show().State; s.HeldMs == 0 || s.HeldWhy != held.Error() || s.Refused != 0 || r.flows.made() != 0 {
				t.Fatalf("got %+v", s)
			}
			r.behind(1)
			if floor, some, err := r.s.Floor(t.Context(), domain.AggregateEvents); err != nil || !some || floor != 0 {
				t.Errorf("the stream may be cut up to %d, %v, %v", floor, some, err)
			}
			r.flows.set(nil, false)
			time.Sleep(time.Minute)
			if s := r.show().State; s.HeldMs != 0 || s.HeldWhy != "" || s.Started != 1 {
				t.Errorf("it goes on as %+v", s)
			}
			if _, some, err := r.s.Floor(t.Context(), domain.AggregateEvents); err != nil || some {
				t.Errorf("it holds back the stream still: %v, %v", some, err)
			}
		})
	}
}

func TestWhatIsWrongWithOneEventBecomesADeadLetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.apply()
		stop := r.run()
		defer func() { stop() }()
		r.publish("bad", "OrderShipped", `{"n":{}}`)
		r.publish("none", "", `{"n":1}`)
		r.publish("good", "OrderShipped", `{"n":1}`)
		time.Sleep(time.Minute)
		if s := r.show().State; s.Refused < 1 || s.Started != 1 || s.LastError == "" {
			t.Errorf("got %+v", s)
		}
		keys, _, err := r.b.Keys(t.Context(), 7, layout.SagaKeys{Tenant: "acme"}.Deads(domain.DeadEvent), "", 10)
		if err != nil || len(keys) != int(r.show().State.Refused) || !strings.Contains(keys[0], "shipped.") {
			t.Errorf("got %v, %v", keys, err)
		}
		r.behind(0)
	})
}

// dead counts dead letters as metrics do.
type dead map[domain.DeadKind]int

func (d dead) ListenerDead(kind domain.DeadKind) { d[kind]++ }

func (dead) ListenerRead(domain.TenantID, string, string, bool) {}

// A flood of events that nobody can read writes a line a minute, with the number of those in between,
// which comes by itself; metrics have each.
func TestAFloodOfDeadLettersDoesNotFillTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text testwait.Log
		told := dead{}
		r := newRig(t)
		r.w = listener.NewWorker(r.s, r.flows, listener.Config{Logger: slog.New(slog.NewTextHandler(&text, nil)), Observer: told})
		r.apply()
		stop := r.run()
		lines := func(want int, more string) {
			t.Helper()
			synctest.Wait()
			all := strings.Split(strings.TrimSpace(text.String()), "\n")
			if len(all) != want || !strings.Contains(all[want-1], more) {
				t.Errorf("got %d lines, want %d, the last with %s:\n%s", len(all), want, more, text.String())
			}
		}
		for i := range 500 {
			r.publish(fmt.Sprint("bad", i), "OrderShipped", `{"n":{}}`)
		}
		time.Sleep(59 * time.Second)
		lines(1, "cause=")
		time.Sleep(2 * time.Minute)
		lines(2, "more=499")
		r.publish("later", "OrderShipped", `{"n":{}}`)
		time.Sleep(time.Second)
		r.publish("last", "OrderShipped", `{"n":{}}`)
		time.Sleep(time.Second)
		lines(3, "cause=")
		stop()
		lines(4, "more=1")
		if n := r.show().State.Refused; n != 502 || told[domain.DeadEvent] != 502 {
			t.Errorf("%d dead letters, and metrics were told of %v, want 502", n, told)
		}
	})
}

func TestPauseChangeAndDelete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.apply()
		stop := r.run()
		defer func() { stop() }()
		if _, err := r.s.Pause(t.Context(), tenant, "shipped", true); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		r.publish("e1", "OrderShipped", `{"n":1}`)
		time.Sleep(time.Minute)
		if r.flows.made() != 0 {
			t.Error("a paused listener started a flow")
		}
		r.apply(func(l *domain.Listener) { l.Params = map[string]string{"order": `"changed"`} }) // and goes on
		time.Sleep(time.Minute)
		if r.flows.made() != 1 || r.flows.params[0]["order"] != "changed" {
			t.Errorf("got %v", r.flows.params)
		}
		if _, err := r.s.Delete(t.Context(), tenant, "shipped"); err != nil {
			t.Fatal(err)
		}
		r.publish("e2", "OrderShipped", `{"n":1}`)
		time.Sleep(time.Minute)
		r.apply() // made again, it hears what comes from now on
		r.publish("e3", "OrderShipped", `{"n":1}`)
		time.Sleep(time.Minute)
		if r.flows.made() != 2 || r.flows.params[1]["order"] != "o-e3" {
			t.Errorf("got %v", r.flows.params)
		}
	})
}

func TestAReplayedLetterStartsItsFlow(t *testing.T) {
	r := newRig(t)
	r.apply()
	d := &domain.DeadLetter{Listener: "shipped", Event: &domain.Event{ID: "e1", Type: "OrderShipped", AggregateID: "o-1", Payload: []byte(`{"n":1}`)}}
	for range 2 {
		if err := r.w.Again(t.Context(), tenant, d); err != nil {
			t.Fatal(err)
		}
	}
	if r.flows.made() != 1 {
		t.Errorf("%d flows were made", r.flows.made())
	}
	if err := r.w.Again(t.Context(), tenant, &domain.DeadLetter{Listener: "shipped"}); !errors.Is(err, domain.ErrConflict) {
		t.Errorf("got %v", err)
	}
}

func TestBadListeners(t *testing.T) {
	r := newRig(t)
	for _, tc := range []struct {
		change func(*domain.Listener)
		bad    string
	}{
		{func(l *domain.Listener) { l.On.Source = domain.SourceWorkflow }, "one instance"},
		{func(l *domain.Listener) { l.On.Source = "aggregates" }, "want aggregate"},
		{func(l *domain.Listener) { l.On.Types = nil }, "on_event.types"},
		{func(l *domain.Listener) { l.When = "evnt.type" }, "evnt"},
		{func(l *domain.Listener) { l.Params = map[string]string{"a": "main"} }, "params.a"},
		{func(l *domain.Listener) { l.Blueprint = "" }, "blueprint"},
		{func(l *domain.Listener) { l.Name = strings.Repeat("x", 31) }, "up to 30"},
	} {
		l := domain.Listener{Name: "x", Blueprint: "b", On: domain.SagaTrigger{Of: "Order", Types: []string{"OrderShipped"}}}
		tc.change(&l)
		if _, err := r.s.Apply(t.Context(), tenant, l, 1); !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), tc.bad) {
			t.Errorf("got %v, want an error with %q", err, tc.bad)
		}
	}
}

// TestAListenerIsServedThatIsMadeWhileANodeRuns: the index names it before its record is there.
func TestAListenerIsServedThatIsMadeWhileANodeRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		stop := r.run()
		defer func() { stop() }()
		b := board.Batch{}
		b.Include(layout.Listeners, layout.ListedListener(tenant, "shipped", time.Now().Add(time.Minute).UnixMilli()))
		if err := r.b.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // the node has looked, and found none
		r.apply()
		r.publish("e1", "OrderShipped", `{"n":1}`)
		time.Sleep(time.Minute)
		if r.flows.made() != 1 {
			t.Errorf("%d flows were made, want 1", r.flows.made())
		}
	})
}

// Whoever can write to the store can delete a listener's record, and a full one throws it away:
// events would pass by without a word.
func TestAListenerWhoseRecordIsGoneIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		told := func(want int) {
			t.Helper()
			if a, err := r.s.Audit(t.Context(), tenant, 0); err != nil || len(a.Stuck) != want {
				t.Errorf("got %+v, %v, want %d told", a, err, want)
			}
		}
		r.apply()
		told(0)
		b := board.Batch{Space: layout.SpaceOf(tenant)}
		if err := r.b.Commit(t.Context(), *b.Delete(layout.Listener("shipped"))); err != nil {
			t.Fatal(err)
		}
		told(1)
		told(0) // once; the list of what was lost has it for a week
		lines, err := r.b.List(t.Context(), layout.SpaceOf(tenant), layout.Lost, 0, 10)
		if err != nil || len(lines) != 1 || !strings.HasSuffix(lines[0], " ramet:listener:shipped") {
			t.Errorf("got lines %q, %v", lines, err)
		}
		r.apply()
		if _, err := r.s.Delete(t.Context(), tenant, "shipped"); err != nil {
			t.Fatal(err)
		}
		told(0)
	})
}

// TestWhatHasNoRoomIsNotListed: a name that is listed and has no record is told as lost.
func TestWhatHasNoRoomIsNotListed(t *testing.T) {
	r := newRig(t)
	refused := make([]bool, domain.MaxListenersOf+20)
	var wg sync.WaitGroup
	for i := range refused {
		wg.Go(func() {
			l := domain.Listener{Name: fmt.Sprint("l", i), Blueprint: "ship", On: domain.SagaTrigger{Of: "Order", Types: []string{"OrderShipped"}}}
			_, err := r.s.Apply(t.Context(), tenant, l, 12)
			if refused[i] = errors.Is(err, domain.ErrLimit); err != nil && !refused[i] {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	listed, err := r.b.Members(t.Context(), 0, layout.Listeners, "", 1000)
	if err != nil || len(listed) != domain.MaxListenersOf {
		t.Errorf("%d are listed, %v, want the %d that were made", len(listed), err, domain.MaxListenersOf)
	}
	for _, member := range listed {
		_, name, _ := layout.ParseListedListener(member)
		if i, _ := strconv.Atoi(name[1:]); refused[i] {
			t.Errorf("%s was refused, and is listed", name)
		}
	}
}

// behind is a board whose time is two hours behind this machine's.
type behind struct{ *memboard.Board }

func (b behind) Now() time.Time { return b.Board.Now().Add(-2 * time.Hour) }

// TestInstantsOfAListenerAreOfTheBoardsTime: of it and of its last flow.
func TestInstantsOfAListenerAreOfTheBoardsTime(t *testing.T) {
	b, log := behind{memboard.Open()}, memstream.Open()
	t.Cleanup(func() { log.Close(); b.Close() })
	s, f := listener.New(b, log, called{}, nil), &flows{b: b.Board}
	r := &rig{t, b.Board, log, s, f, listener.NewWorker(s, f, listener.Config{})}
	events, err := b.Watch(t.Context(), layout.SpaceOf(tenant), layout.Listener("shipped"))
	if err != nil {
		t.Fatal(err)
	}
	r.apply()
	defer r.run()()
	r.publish("1", "OrderShipped", `{"n":1}`)
	for {
		l, err := s.Show(t.Context(), tenant, "shipped")
		if err != nil {
			t.Fatal(err)
		}
		if l.State.LastMs == 0 {
			<-events
			continue
		}
		for name, at := range map[string]time.Time{"made": time.UnixMilli(l.State.MadeMs), "last": time.UnixMilli(l.State.LastMs)} {
			if b.Now().Sub(at).Abs() > time.Hour {
				t.Errorf("%s at %v, and it is %v", name, at, b.Now())
			}
		}
		return
	}
}
