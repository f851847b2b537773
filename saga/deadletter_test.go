package saga_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/simtest"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/saga"
	"github.com/ramet-run/ramet/stream"
)

// logOf is a way to streams on which each message that is published is looked
// at first.
type logOf struct {
	stream.Log
	look func(m stream.Message) error
}

func (l logOf) Publish(ctx context.Context, messages ...stream.Message) error {
	for _, m := range messages {
		if err := l.look(m); err != nil {
			return err
		}
	}
	return l.Log.Publish(ctx, messages...)
}

// lateLog is a way to streams on which nothing is read before a gate opens.
type lateLog struct {
	stream.Log
	gate *simtest.Gate
}

func (l lateLog) Read(ctx context.Context, c stream.Consumer) (stream.Reader, error) {
	r, err := l.Log.Read(ctx, c)
	return lateReader{r, l.gate}, err
}

type lateReader struct {
	stream.Reader
	gate *simtest.Gate
}

func (r lateReader) Next(ctx context.Context, most int) ([]stream.Message, error) {
	list, err := r.Reader.Next(ctx, most)
	r.gate.Pass()
	return list, err
}

// lateBoard has some commits on their way until a gate opens.
type lateBoard struct {
	board.Board
	wire *simtest.Gate
	late func(b board.Batch) bool
}

func (b lateBoard) Commit(ctx context.Context, batch board.Batch) error {
	if b.late(batch) {
		b.wire.Pass()
		ctx = context.WithoutCancel(ctx)
	}
	return b.Board.Commit(ctx, batch)
}

func (b lateBoard) CommitEach(ctx context.Context, batches []board.Batch) []error {
	errs := make([]error, len(batches))
	for i := range batches {
		errs[i] = b.Commit(ctx, batches[i])
	}
	return errs
}

// does says of a commit whether it does something with keys.
func does(kind board.OpKind, prefix string) func(b board.Batch) bool {
	return func(b board.Batch) bool {
		return slices.ContainsFunc(b.Ops, func(op board.Op) bool { return op.Kind == kind && strings.HasPrefix(op.Key, prefix) })
	}
}

func TestTwoSagasThatFailOnOneEventHaveADeadLetterEach(t *testing.T) {
	bubble(t, func(r *rig) {
		for _, name := range []string{"a", "b"} {
			r.apply(shop, machineOf(name, `fn on_event(state, event) { throw "no" }`))
		}
		defer r.work(saga.WorkerConfig{})()
		r.publish(shop, goes("e1", `{"id":1}`))
		r.must(r.log.Publish(r.Context(), stream.Message{Stream: domain.AggregateEvents, Subject: "tenant.acme.aggregate.Thing.1", Data: []byte("{")}))
		time.Sleep(time.Second)
		list := r.deadLetters(shop)
		if len(list) != 4 {
			t.Fatalf("%d dead letters, want 4: %+v", len(list), list)
		}
		for _, d := range list {
			r.must(r.engine.Drop(r.Context(), shop, d.Kind, d.ID))
		}
		time.Sleep(time.Second)
		for _, name := range []string{"a", "b"} {
			if x := r.instance(shop, name, "1"); x.Held != "" {
				t.Errorf("%s is held by %s", name, x.Held)
			}
		}
		if list := r.deadLetters(shop); len(list) != 0 {
			t.Errorf("left: %+v", list)
		}
	})
}

func TestADeadLetterIsReplayedOnce(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, machineOf("s", `fn on_event(state, event) { if state.n == 0 && event.id == "e1" && event.now_ms == event.time_ms { throw "not `+
			`yet" } state.n += 1; #{state: state} }`))
		defer r.work(saga.WorkerConfig{})()
		r.publish(shop, goes("e1", `{"id":1}`))
		time.Sleep(time.Second)
		r.bans.ban(shop, "s", true) // so that both come in one round
		d := r.deadLetters(shop)[0]
		for range 3 {
			r.must(r.engine.Replay(r.Context(), shop, d.Kind, d.ID))
		}
		time.Sleep(time.Second)
		r.bans.ban(shop, "s", false)
		time.Sleep(time.Second)
		if got := r.data(shop, "s", "1"); got != `{"n":1}` || len(r.deadLetters(shop)) != 0 {
			t.Errorf("got %s, dead letters %+v", got, r.deadLetters(shop))
		}
	})
}

func TestADeadLetterOfAMessageIsNotLostByItsReplay(t *testing.T) {
	bubble(t, func(r *rig) {
		def := machineOf("s", countsEvents)
		def.Events = []domain.SagaEvent{{Type: "Go", MaxVersion: 1}}
		r.apply(shop, def)
		defer r.work(saga.WorkerConfig{})()
		ev := goes("e1", `{"id":1}`)
		ev.SchemaVersion = 2
		r.publish(shop, ev)
		r.must(r.log.Publish(r.Context(), stream.Message{Stream: domain.AggregateEvents, Subject: "tenant.acme.aggregate.Thing.1",
			Data: []byte(`{"event_type":"Go","event_id":"e2"}`)}))
		time.Sleep(time.Second)
		for range 3 {
			list := r.deadLetters(shop)
			if len(list) != 2 {
				t.Fatalf("letters %+v", list)
			}
			for _, d := range list {
				r.must(r.engine.Replay(r.Context(), shop, d.Kind, d.ID))
			}
			time.Sleep(time.Second)
		}
		def.Events = nil
		def.Correlation = `if event.payload == () { "1" } else { event.payload.id.to_string() }`
		r.apply(shop, def)
		for _, d := range r.deadLetters(shop) {
			r.must(r.engine.Replay(r.Context(), shop, d.Kind, d.ID))
		}
		time.Sleep(time.Minute)
		if got := r.data(shop, "s", "1"); got != `{"n":2}` || len(r.deadLetters(shop)) != 0 {
			t.Errorf("got %s, dead letters %+v", got, r.deadLetters(shop))
		}
	})
}

func TestWorkThatAStreamRefusesIsADeadLetter(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, machineOf("s", `fn on_event(state, event) { #{work: [#{fact: event.payload.fact, payload: #{}}]} }`))
		var good atomic.Bool
		defer r.workOn(r.board, logOf{r.log, func(m stream.Message) error {
			if !good.Load() && strings.Contains(string(m.Data), "Bad") {
				return domain.Invalidf("it is refused")
			}
			return nil
		}}, saga.WorkerConfig{})()
		for i := range 3 {
			r.publish(shop, goes(fmt.Sprint("e", i), fmt.Sprintf(`{"id":%d,"fact":%q}`, i, []string{"Good", "Bad", "Fine"}[i])))
		}
		time.Sleep(time.Minute)
		list := r.deadLetters(shop)
		if stats, err := r.log.Stats(r.Context(), domain.WorkflowEvents); err != nil || stats.Last != 2 || len(list) != 1 || list[0].Kind != domain.DeadWork {
			t.Fatalf("%d facts, dead letters %+v, %v", stats.Last, list, err)
		}
		good.Store(true)
		r.must(r.engine.Replay(r.Context(), shop, domain.DeadWork, list[0].ID))
		time.Sleep(time.Second)
		if stats, err := r.log.Stats(r.Context(), domain.WorkflowEvents); err != nil || stats.Last != 3 || len(r.deadLetters(shop)) != 0 {
			t.Errorf("%d facts after the replay, dead letters %+v, %v", stats.Last, r.deadLetters(shop), err)
		}
	})
}

// smallBoard takes no large commits, as etcd does not.
type smallBoard struct {
	board.Board
	err error
}

func (s smallBoard) Commit(ctx context.Context, b board.Batch) error {
	n := 0
	for _, op := range b.Ops {
		for _, f := range op.Fields {
			n += len(f.Value)
		}
	}
	if n > 100_000 {
		return s.err
	}
	return s.Board.Commit(ctx, b)
}

func (s smallBoard) CommitEach(ctx context.Context, batches []board.Batch) []error {
	errs := make([]error, len(batches))
	for i := range batches {
		errs[i] = s.Commit(ctx, batches[i])
	}
	return errs
}

func TestWhatDoesNotFitOnTheBoardIsADeadLetter(t *testing.T) {
	for _, err := range []error{domain.Limitf("too large"), domain.Invalidf("too large")} {
		bubble(t, func(r *rig) {
			r.apply(shop, machineOf("s",
				`fn on_event(state, event) { state.n += 1; if event.payload.big { state.t = "<"; state.t.pad(200000, '<'); } #{state: state} }`))
			defer r.workOn(smallBoard{r.board, err}, r.log, saga.WorkerConfig{})()
			r.bans.ban(shop, "s", true)
			for i := range 30 {
				r.publish(shop, goes(fmt.Sprint("e", i), fmt.Sprintf(`{"id":%d,"big":%v}`, i%10, i == 13)))
			}
			time.Sleep(time.Second)
			r.bans.ban(shop, "s", false)
			time.Sleep(10 * time.Second)
			list := r.deadLetters(shop)
			if len(list) != 1 || !list[0].Holds || list[0].Correlation != "3" {
				t.Fatalf("letters %+v", list)
			}
			r.must(r.engine.Drop(r.Context(), shop, list[0].Kind, list[0].ID))
			time.Sleep(time.Second)
			for i := range 10 {
				want := `{"n":3}`
				if i == 3 {
					want = `{"n":2}`
				}
				if got := r.data(shop, "s", fmt.Sprint(i)); got != want {
					t.Errorf("%d: %s, want %s", i, got, want)
				}
			}
		})
	}
}

func TestADeadLetterOfAnInstanceThatIsGoneCanBeDropped(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, machineOf("s", `fn on_event(state, event) { throw "no" }`))
		defer r.work(saga.WorkerConfig{})()
		r.publish(shop, goes("e1", `{"id":1}`))
		time.Sleep(time.Second)
		b := board.Batch{Space: board.Space(shop)}
		r.must(r.board.Commit(r.Context(), *b.Delete("saga:acme:s:1")))
		d := r.deadLetters(shop)[0]
		r.must(r.engine.Replay(r.Context(), shop, d.Kind, d.ID))
		time.Sleep(time.Second)
		if list := r.deadLetters(shop); len(list) != 1 {
			t.Errorf("replayed: %+v", list)
		}
		r.must(r.board.Commit(r.Context(), *b.Delete("saga:acme:s:1")))
		r.must(r.engine.Drop(r.Context(), shop, d.Kind, d.ID))
		time.Sleep(time.Second)
		if list := r.deadLetters(shop); len(list) != 0 {
			t.Errorf("dropped: %+v", list)
		}
	})
}

// TestADeadLetterOfOthersIsDroppedAndReplayed has dead letters as effect workers write
// them.
func TestADeadLetterOfOthersIsDroppedAndReplayed(t *testing.T) {
	bubble(t, func(r *rig) {
		for _, id := range []string{"a", "b"} {
			text, err := json.Marshal(domain.DeadLetter{Kind: domain.DeadEffect, ID: id, Cause: "<no> & never", Subject: "tenant.acme.effect.do." + id, Data: "{}"})
			r.must(err)
			b := board.Batch{Space: board.Space(shop)}
			r.must(r.board.Commit(r.Context(), *b.Set("deadletter:acme:effect:"+id, board.Field{Name: layout.DeadText, Value: string(text)})))
		}
		r.must(r.engine.Drop(r.Context(), shop, domain.DeadEffect, "a"))
		r.must(r.engine.Replay(r.Context(), shop, domain.DeadEffect, "b"))
		stats, err := r.log.Stats(r.Context(), domain.WorkflowCommands)
		if err != nil || stats.Last != 1 || len(r.deadLetters(shop)) != 0 {
			t.Errorf("%d commands, dead letters %+v, %v", stats.Last, r.deadLetters(shop), err)
		}
	})
}

func TestAMalformedEventOfAnySizeIsADeadLetter(t *testing.T) {
	for _, data := range []string{strings.Repeat("\x01", stream.MaxData), strings.Repeat("\xff", stream.MaxData), strings.Repeat(`"`, stream.MaxData), ""} {
		bubble(t, func(r *rig) {
			r.apply(shop, machineOf("s", countsEvents))
			defer r.work(saga.WorkerConfig{})()
			r.must(r.log.Publish(r.Context(), stream.Message{Stream: domain.AggregateEvents, Subject: "tenant.acme.aggregate.Thing.1", Data: []byte(data)}))
			r.publish(shop, goes("e1", `{"id":1}`))
			time.Sleep(10 * time.Second)
			if got, list := r.data(shop, "s", "1"), r.deadLetters(shop); got != `{"n":1}` || len(list) != 1 || list[0].Seq != 1 {
				t.Errorf("%.3q: got %s, %d dead letters", data, got, len(list))
			}
		})
	}
}

// TestAnEventThatEndsTheProcessIsADeadLetter has one whose commit is each time the
// last thing that a life of the worker does.
func TestAnEventThatEndsTheProcessIsADeadLetter(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, machineOf("s", `fn on_event(state, event) { state.n += 1; if event.id == "e13" { state.deadly = true; } #{state: state} }`))
		for i := range 30 {
			r.publish(shop, goes(fmt.Sprint("e", i), fmt.Sprintf(`{"id":%d}`, i%10)))
		}
		lives := 0
		for ; lives < 30; lives++ {
			died := make(chan struct{})
			var once sync.Once
			var life *faultboard.Board
			life = faultboard.New(r.board, faultboard.Config{Before: func(_ context.Context, c faultboard.Call) error {
				if c.Batch == nil {
					return nil
				}
				for _, op := range c.Batch.Ops {
					for _, f := range op.Fields {
						if strings.Contains(f.Value, "deadly") {
							once.Do(func() { life.Cut(); close(died) })
							return domain.Unavailablef("dead")
						}
					}
				}
				return nil
			}})
			stop := r.workOn(life, r.log, saga.WorkerConfig{Grace: time.Second})
			select {
			case <-died:
				stop()
				time.Sleep(10 * time.Second)
				continue
			case <-time.After(time.Minute):
			}
			stop()
			break
		}
		list := r.deadLetters(shop)
		if lives > 8 || len(list) != 1 || list[0].Correlation != "3" || !list[0].Holds {
			t.Fatalf("after %d lives the dead letters are %+v", lives, list)
		}
		r.must(r.engine.Drop(r.Context(), shop, list[0].Kind, list[0].ID))
		defer r.work(saga.WorkerConfig{})()
		time.Sleep(time.Minute)
		for i := range 10 {
			want := `{"n":3}`
			if i == 3 {
				want = `{"n":2}`
			}
			if got := r.data(shop, "s", fmt.Sprint(i)); got != want {
				t.Errorf("%d: %s, want %s", i, got, want)
			}
		}
		recs, err := r.board.Get(r.Context(), board.Space(shop), "ramet:saga:shard:acme:s:0/1")
		if err != nil || recs[0].Get("trying") != "" || recs[0].Get("lives") != "0" {
			t.Errorf("the shard's record is %v, %v", recs[0], err)
		}
	})
}
