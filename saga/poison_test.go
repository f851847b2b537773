package saga_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
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
	"github.com/ramet-run/ramet/stream/memstream"
)

// This file has what a hostile review found, a test each.

// door is a gateway: a function of the command, which gives a status.
type door func(c domain.SubmitCommandRequest) int

func (d door) RoundTrip(req *http.Request) (*http.Response, error) {
	var c domain.SubmitCommandRequest
	text, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, err
	}
	if code := d(c); code != 0 {
		return answer(code), nil
	}
	return nil, errors.New("away")
}

func (d door) config() saga.GatewayConfig {
	return saga.GatewayConfig{URL: "http://gateway/", Client: &http.Client{Transport: d}}
}

// calls is what came to somewhere, in order.
type calls struct {
	mu   sync.Mutex
	list []string
}

func (c *calls) add(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, text)
}

func (c *calls) all() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.list...)
}

// machineOf is a saga of one state that does what its script says with events
// "Go" of aggregates "Thing", by their `id`.
func machineOf(name, script string) *domain.SagaDefinition {
	return &domain.SagaDefinition{
		Name: name, Initial: "open", Triggers: []domain.SagaTrigger{{Of: "Thing", Types: []string{"Go"}}}, Correlation: `event.payload.id.to_string()`,
		Data:    json.RawMessage(`{"n":0}`),
		Effects: []string{"do"}, Timers: []string{"Tick"},
		States: []domain.SagaState{{Name: "open", On: map[string]domain.Reaction{"*": domain.Handle}}, {Name: "closed", Final: true}},
		Script: script,
	}
}

const countsEvents = `fn on_event(state, event) { state.n += 1; #{state: state} }`

func goes(id string, payload string) domain.Event {
	return domain.Event{ID: id, Type: "Go", AggregateType: "Thing", AggregateID: "1", Payload: json.RawMessage(payload)}
}

func (r *rig) data(in domain.TenantID, name, id string) string {
	r.Helper()
	x, err := r.engine.Instance(r.Context(), in, name, id)
	if errors.Is(err, domain.ErrNotFound) {
		return ""
	}
	r.must(err)
	return string(x.Data)
}

func (r *rig) letters(in domain.TenantID) []*domain.DeadLetter {
	r.Helper()
	list, _, err := r.engine.DeadLetters(r.Context(), in, saga.DeadQuery{Limit: 1000})
	r.must(err)
	return list
}

func causes(list []*domain.DeadLetter) (all []string) {
	for _, d := range list {
		all = append(all, d.Cause)
	}
	return all
}

func TestACommandWaitsForWhatWasAskedForBefore(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, machineOf("s", `fn on_event(state, event) { if event.type != "Go" { return; }
			#{work: [#{effect: "do", payload: #{}}, #{command: #{aggregate_type: "T", aggregate_id: "1"}, payload: #{}}, #{fact: "Done", payload: #{}}]} }`))
		var got calls
		var up atomic.Bool
		defer r.workOn(r.board, logOf{r.log, func(m stream.Message) error {
			if parts := strings.Split(m.Subject, "."); parts[2] == "effect" || parts[2] == "workflow_event" {
				if !up.Load() {
					return domain.Unavailablef("away")
				}
				got.add(parts[2])
			}
			return nil
		}}, saga.WorkerConfig{Gateway: door(func(domain.SubmitCommandRequest) int { got.add("command"); return 200 }).config()})()
		r.publish(shop, goes("e1", `{"id":1}`))
		time.Sleep(10 * time.Second)
		if list := got.all(); len(list) != 0 {
			t.Errorf("before the effect was asked for there came %v", list)
		}
		up.Store(true)
		time.Sleep(time.Minute)
		if list := strings.Join(got.all(), " "); list != "effect command workflow_event" {
			t.Errorf("got %s", list)
		}
	})
}

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

func TestAPlaceAtTheGatewayIsForWhoeverWaits(t *testing.T) {
	bubble(t, func(r *rig) {
		def := machineOf("s", `fn on_event(state, event) { #{work: [#{command: #{aggregate_type: "T", aggregate_id: event.correlation}, payload: #{}}]} }`)
		def.Partitions = 5
		r.apply(shop, def)
		var got calls
		cfg := door(func(c domain.SubmitCommandRequest) int { time.Sleep(time.Second); got.add(c.AggregateID); return 200 }).config()
		cfg.MaxInFlight = 1
		defer r.work(saga.WorkerConfig{Gateway: cfg})()
		for i := range 20 {
			r.publish(shop, goes(fmt.Sprint("e", i), fmt.Sprintf(`{"id":%d}`, i)))
		}
		time.Sleep(time.Minute)
		if n := len(got.all()); n != 20 {
			t.Errorf("%d of 20 commands came", n)
		}
	})
}

func TestACommandThatIsTriedAgainIsInNobodysWay(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, machineOf("s", `fn on_event(state, event) { #{work: [#{command: #{aggregate_type: "T", aggregate_id: event.correlation}}]} }`))
		var got calls
		cfg := door(func(c domain.SubmitCommandRequest) int {
			if c.AggregateID == "0" {
				return 503
			}
			got.add(c.AggregateID)
			return 200
		}).config()
		cfg.MaxInFlight = 1
		defer r.work(saga.WorkerConfig{Gateway: cfg, Grace: time.Second})()
		for i := range 20 {
			r.publish(shop, goes(fmt.Sprint("e", i), fmt.Sprintf(`{"id":%d}`, i)))
		}
		time.Sleep(10 * time.Second)
		if n := len(got.all()); n != 19 {
			t.Errorf("%d of 19 other commands came", n)
		}
	})
}

func TestAWorkerThatWasForgottenComesBack(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, machineOf("s", countsEvents))
		away := faultboard.New(r.board, faultboard.Config{})
		defer r.workOn(away, r.log, saga.WorkerConfig{})()
		other := r.work(saga.WorkerConfig{})
		time.Sleep(5 * time.Second)
		away.Cut()
		time.Sleep(5 * time.Minute)
		away.Heal()
		time.Sleep(10 * time.Second)
		other()
		r.publish(shop, goes("e1", `{"id":1}`))
		time.Sleep(10 * time.Second)
		if got := r.data(shop, "s", "1"); got != `{"n":1}` {
			t.Errorf("got %s: nobody serves it", got)
		}
	})
}

func TestOutboxesOfPartitionsThatAreGoneAreSent(t *testing.T) {
	for _, to := range []int{1, 5} {
		bubble(t, func(r *rig) {
			def := machineOf("s", `fn on_event(state, event) { state.n += 1; #{state: state, work: [#{command: #{aggregate_type: "T", aggregate_id: `+
				`event.correlation}, payload: state.n}]} }`)
			def.Partitions = 3
			r.apply(shop, def)
			var up atomic.Bool
			var got calls
			defer r.work(saga.WorkerConfig{Gateway: door(func(c domain.SubmitCommandRequest) int {
				if !up.Load() {
					return 503
				}
				got.add(c.AggregateID + ":" + c.PayloadJSON)
				return 200
			}).config()})()
			for i := range 20 {
				r.publish(shop, goes(fmt.Sprint("e", i), fmt.Sprintf(`{"id":%d}`, i)))
			}
			time.Sleep(10 * time.Second)
			def.Partitions = to
			r.apply(shop, def)
			for i := range 20 {
				r.publish(shop, goes(fmt.Sprint("f", i), fmt.Sprintf(`{"id":%d}`, i)))
			}
			time.Sleep(time.Minute)
			up.Store(true)
			time.Sleep(2 * time.Minute)
			seen := map[string]bool{}
			for _, c := range got.all() {
				id, n, _ := strings.Cut(c, ":")
				if n == "2" && !seen[id+":1"] {
					t.Errorf("%d partitions: %s came before the first", to, c)
				}
				seen[c] = true
			}
			if len(seen) != 40 {
				t.Errorf("%d partitions: %d of 40 commands came", to, len(seen))
			}
		})
	}
}

// TestOtherPartitionsDoNothingTwice has one partition far behind when the saga
// gets others, and marks of events that do not last.
func TestOtherPartitionsDoNothingTwice(t *testing.T) {
	bubble(t, func(r *rig) {
		def := machineOf("s", countsEvents)
		def.Partitions, def.Dedupe = 3, 1
		r.apply(shop, def)
		var all atomic.Bool
		defer r.work(saga.WorkerConfig{Placement: func() saga.Placement {
			if all.Load() {
				return saga.Placement{}
			}
			return saga.Placement{Partitions: []int{0, 2}}
		}})()
		time.Sleep(time.Second)
		for i := range 60 {
			r.publish(shop, goes(fmt.Sprint("e", i), fmt.Sprintf(`{"id":%d}`, i%30)))
		}
		time.Sleep(time.Minute)
		behind := 0
		for i := range 30 {
			if r.data(shop, "s", fmt.Sprint(i)) == "" {
				behind++
			}
		}
		if behind == 0 || behind == 30 {
			t.Fatalf("%d instances are behind", behind)
		}
		def.Partitions = 2
		r.apply(shop, def)
		def.Correlation = `"" + event.payload.id`
		def.Partitions = 5
		r.apply(shop, def)
		all.Store(true)
		time.Sleep(time.Minute)
		for i := range 30 {
			if got := r.data(shop, "s", fmt.Sprint(i)); got != `{"n":2}` {
				t.Errorf("%d: %s", i, got)
			}
		}
	})
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

// TestACommitOfAnEarlierGenerationIsRefused has a worker that is stopped before
// its commit, while another one takes up the saga with other partitions.
func TestACommitOfAnEarlierGenerationIsRefused(t *testing.T) {
	bubble(t, func(r *rig) {
		def := machineOf("s", countsEvents)
		def.Partitions, def.Dedupe = 3, 1
		r.apply(shop, def)
		var wire, streams simtest.Gate
		stopped := lateBoard{r.board, &wire, does(board.OpAppend, "ramet:saga:history:")}
		var away atomic.Bool
		first := r.workOn(stopped, r.log, saga.WorkerConfig{Grace: time.Second, Placement: func() saga.Placement {
			if away.Load() {
				return saga.Placement{Sagas: []string{"none"}}
			}
			return saga.Placement{}
		}})
		time.Sleep(5 * time.Second)
		wire.Close()
		r.publish(shop, goes("e1", `{"id":1}`))
		time.Sleep(time.Second)
		away.Store(true)
		streams.Close()
		def.Partitions = 1
		r.apply(shop, def)
		second := r.workOn(r.board, lateLog{r.log, &streams}, saga.WorkerConfig{Grace: time.Second})
		time.Sleep(10 * time.Second)
		wire.Open()
		time.Sleep(10 * time.Second)
		streams.Open()
		time.Sleep(10 * time.Second)
		if got := r.data(shop, "s", "1"); got != `{"n":1}` {
			t.Errorf("got %s", got)
		}
		first()
		second()
	})
}

func TestAnEventAfterANewVersionIsHandledByIt(t *testing.T) {
	bubble(t, func(r *rig) {
		def := machineOf("s", countsEvents)
		r.apply(shop, def)
		// Many do not know of the version at once.
		slow := func() *faultboard.Board {
			return faultboard.New(r.board, faultboard.Config{Delay: 300 * time.Millisecond})
		}
		defer r.workOn(slow(), r.log, saga.WorkerConfig{})()
		time.Sleep(10 * time.Second)
		for i := range 20 {
			def.Triggers = append(def.Triggers, domain.SagaTrigger{Of: fmt.Sprint("More", i), Types: []string{"Go"}})
			r.publish(shop, goes(fmt.Sprint("a", i), `{"id":1}`))
			r.apply(shop, def)
			ev := goes(fmt.Sprint("b", i), `{"id":1}`)
			ev.AggregateType = fmt.Sprint("More", i)
			r.publish(shop, ev)
			r.publish(shop, goes(fmt.Sprint("c", i), `{"id":1}`))
			time.Sleep(100 * time.Millisecond)
			def.Summary = fmt.Sprint("program ", i) // events go the same ways
			stored, _, err := r.engine.Apply(r.Context(), shop, actor, def, "")
			r.must(err)
			r.publish(shop, goes(fmt.Sprint("d", i), fmt.Sprintf(`{"id":"new %d"}`, stored.Version)))
		}
		time.Sleep(time.Minute)
		for i := range 20 {
			if x := r.instance(shop, "s", fmt.Sprint("new ", 3+2*i)); x.Definition < 3+2*i {
				t.Errorf("%s began with version %d", x.Correlation, x.Definition)
			}
		}
		if got := r.data(shop, "s", "1"); got != `{"n":60}` {
			t.Errorf("got %s", got)
		}
	})
}

func TestAnInstanceBeginsWithTheNewestVersion(t *testing.T) {
	bubble(t, func(r *rig) {
		def := machineOf("s", countsEvents)
		r.apply(shop, def)
		// One that learns of everything late.
		defer r.workOn(faultboard.New(r.board, faultboard.Config{Delay: 500 * time.Millisecond}), r.log, saga.WorkerConfig{})()
		for i := range 20 {
			time.Sleep(10 * time.Second)
			def.Summary = fmt.Sprint("program ", i)
			stored, _, err := r.engine.Apply(r.Context(), shop, actor, def, "")
			r.must(err)
			r.publish(shop, goes(fmt.Sprint("e", i), fmt.Sprintf(`{"id":%d}`, stored.Version)))
		}
		time.Sleep(10 * time.Second)
		for v := 2; v < 22; v++ {
			if x := r.instance(shop, "s", fmt.Sprint(v)); x.Definition != v {
				t.Errorf("%d began with version %d", v, x.Definition)
			}
		}
	})
}

func TestAStreamThatWasNotReadBeforeBeginsNow(t *testing.T) {
	bubble(t, func(r *rig) {
		def := machineOf("s", countsEvents)
		def.Triggers = []domain.SagaTrigger{{Source: domain.SourceWorkflow, Types: []string{"Go"}}}
		r.apply(shop, def)
		defer r.work(saga.WorkerConfig{})()
		r.publish(shop, goes("old", `{"id":1}`))
		def.Triggers = append(def.Triggers, domain.SagaTrigger{Of: "Thing", Types: []string{"Go"}})
		r.apply(shop, def)
		r.publish(shop, goes("new", `{"id":1}`))
		time.Sleep(10 * time.Second)
		if got := r.data(shop, "s", "1"); got != `{"n":1}` {
			t.Errorf("got %s", got)
		}
	})
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
		list := r.letters(shop)
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
		if list := r.letters(shop); len(list) != 0 {
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
		d := r.letters(shop)[0]
		for range 3 {
			r.must(r.engine.Replay(r.Context(), shop, d.Kind, d.ID))
		}
		time.Sleep(time.Second)
		r.bans.ban(shop, "s", false)
		time.Sleep(time.Second)
		if got := r.data(shop, "s", "1"); got != `{"n":1}` || len(r.letters(shop)) != 0 {
			t.Errorf("got %s, dead letters %+v", got, r.letters(shop))
		}
	})
}

func TestNobodyElseControlsAnInstance(t *testing.T) {
	redo := `{"dead":"saga:acme:s:1","subject":"tenant.acme.workflow.s.1","event":{"event_id":"x","event_type":"Go","source":"workflow","saga":"s",` +
		`"correlation_id":"1","timestamp_ms":1}}`
	for _, m := range []stream.Message{
		{Stream: domain.AggregateEvents, Subject: "tenant.acme.aggregate.Thing.1",
			Header: map[string]string{"ramet-event": "redo", "event_type": "ramet:redo"}, Data: []byte(redo)},
		{Stream: domain.WorkflowCommands, Subject: "tenant.acme.workflow.s.1", Header: map[string]string{"event_type": "ramet:redo"}, Data: []byte(redo)},
		{Stream: domain.WorkflowCommands, Subject: "tenant.acme.workflow.s.1", Data: []byte(`{"event_type":"ramet:pause","event_id":"x"}`)},
		{Stream: domain.WorkflowCommands, Subject: "tenant.acme.workflow.s.1", Data: []byte(`{"event_type":"Tick","timer":5,"event_id":"x"}`)},
		{Stream: domain.WorkflowEvents, Subject: "tenant.acme.effect_result.do.x",
			Data: []byte(`{"command_id":"y","effect_name":"do","metadata":{"saga":"s","correlation_id":"1"}}`)},
		// Of Ramet's own, and wrong.
		{Stream: domain.WorkflowCommands, Subject: "tenant.acme.workflow.s.1", Header: map[string]string{"ramet-event": "event"},
			Data: []byte(`{"event_type":"ramet:drop","event_id":"x","payload":{"dead":"saga:acme:s:1"}}`)},
		{Stream: domain.WorkflowCommands, Subject: "tenant.acme.workflow.s.1", Header: map[string]string{"ramet-event": "event"},
			Data: []byte(`{"event_type":"ramet:drop","event_id":"x","payload":{"dead":"deadletter:acme:saga:other"}}`)},
		{Stream: domain.WorkflowCommands, Subject: "tenant.acme.workflow.s.1", Header: map[string]string{"ramet-event": "event"},
			Data: []byte(`{"event_type":"ramet:drop","event_id":"x","payload":{"dead":""}}`)},
		{Stream: domain.WorkflowCommands, Subject: "tenant.acme.workflow.s.1", Header: map[string]string{"ramet-event": "event"},
			Data: []byte(`{"event_type":"ramet:drop","event_id":"x","payload":17}`)},
		{Stream: domain.WorkflowCommands, Subject: "tenant.acme.workflow.s.1", Header: map[string]string{"ramet-event": "event"},
			Data: []byte(`{"event_type":"ramet:dance","event_id":"x"}`)},
		{Stream: domain.WorkflowCommands, Subject: "tenant.acme.workflow.s.77", Header: map[string]string{"ramet-event": "event"},
			Data: []byte(`{"event_type":"ramet:pause","event_id":"x"}`)},
		{Stream: domain.WorkflowCommands, Subject: "tenant.acme.workflow.s.77", Header: map[string]string{"ramet-event": "event"},
			Data: []byte(`{"event_type":"ramet:migrate","event_id":"x","payload":{"version":1}}`)},
		{Stream: domain.WorkflowCommands, Subject: "tenant.acme.workflow.s.1", Header: map[string]string{"ramet-event": "redo"},
			Data: []byte(`{"dead":"deadletter:acme:event:other","subject":"tenant.9.workflow.s.1","data":"e30="}`)},
	} {
		bubble(t, func(r *rig) {
			r.apply(shop, machineOf("s", countsEvents))
			defer r.work(saga.WorkerConfig{})()
			b := board.Batch{Space: board.Space(shop)}
			r.must(r.board.Commit(r.Context(),
				*b.Set("deadletter:acme:saga:other", board.Field{Name: layout.DeadText, Value: `{"kind":"saga","id":"other","saga":"other"}`})))
			r.publish(shop, goes("e1", `{"id":1}`))
			time.Sleep(time.Second)
			r.must(r.log.Publish(r.Context(), m))
			time.Sleep(time.Second)
			r.publish(shop, goes("e2", `{"id":1}`))
			time.Sleep(10 * time.Second)
			if x := r.instance(shop, "s", "1"); string(x.Data) != `{"n":2}` || x.Version != 2 || x.Paused {
				t.Errorf("%s %v: %+v", m.Subject, m.Header, x)
			}
			if recs, err := r.board.Get(r.Context(), board.Space(shop), "deadletter:acme:saga:other"); err != nil || recs[0] == nil {
				t.Errorf("%s %v: another one's dead letter is gone, %v", m.Subject, m.Header, err)
			}
		})
	}
}

// TestAnEventOfAnotherContextIsRefused: what the data says of whose it is does
// not go before whose the subject is, or the caller's right.
func TestAnEventOfAnotherContextIsRefused(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, machineOf("s", countsEvents))
		defer r.work(saga.WorkerConfig{})()
		for tenant, ok := range map[string]bool{"": true, "acme": true, "7": true, "8": false, "other": false} {
			ev := goes("by:"+tenant, `{"id":1}`)
			ev.Tenant = tenant
			if _, err := r.engine.Publish(r.Context(), shop, &ev); (err == nil) != ok || err != nil && !errors.Is(err, domain.ErrInvalid) {
				t.Errorf("tenant %q: %v", tenant, err)
			}
		}
		r.must(r.log.Publish(r.Context(), stream.Message{Stream: domain.AggregateEvents, Subject: "tenant.acme.aggregate.Thing.1",
			Data: []byte(`{"event_id":"e","event_type":"Go","tenant_id":"8","payload":{"id":1}}`)}))
		time.Sleep(time.Minute)
		if got, list := r.data(shop, "s", "1"), r.letters(shop); got != `{"n":3}` || len(list) != 1 || !strings.Contains(list[0].Cause, `tenant_id is "8"`) {
			t.Errorf("got %s, dead letters %q", got, causes(list))
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
			list := r.letters(shop)
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
		for _, d := range r.letters(shop) {
			r.must(r.engine.Replay(r.Context(), shop, d.Kind, d.ID))
		}
		time.Sleep(time.Minute)
		if got := r.data(shop, "s", "1"); got != `{"n":2}` || len(r.letters(shop)) != 0 {
			t.Errorf("got %s, dead letters %+v", got, r.letters(shop))
		}
	})
}

// TestAnEarlierHolderTakesNothingOut has a worker that is stopped when a command
// has arrived, and before it took that out of the outbox. Meanwhile another one
// has it refused, and a person has it sent again.
func TestAnEarlierHolderTakesNothingOut(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, machineOf("s", `fn on_event(state, event) { #{work: [#{command: #{aggregate_type: "T", aggregate_id: "1"}}]} }`))
		var stopped simtest.Gate
		stopped.Close()
		slow := lateBoard{r.board, &stopped, does(board.OpDelete, "outbox:")}
		var away atomic.Bool
		first := r.workOn(slow, r.log, saga.WorkerConfig{Grace: time.Second, Gateway: door(func(domain.SubmitCommandRequest) int {
			return 200
		}).config(), Placement: func() saga.Placement {
			if away.Load() {
				return saga.Placement{Sagas: []string{"none"}}
			}
			return saga.Placement{}
		}})
		time.Sleep(time.Second)
		r.publish(shop, goes("e1", `{"id":1}`))
		time.Sleep(time.Second)
		old, _, err := r.board.LeaseOf(r.Context(), board.Space(shop), "ramet:saga:shard:acme:s:0/1")
		r.must(err)
		r.must(r.board.Void(r.Context(), old.Owner)) // and stopped altogether
		var code atomic.Int64
		code.Store(422)
		away.Store(true)
		second := r.work(saga.WorkerConfig{Grace: time.Second, Gateway: door(func(domain.SubmitCommandRequest) int { return int(code.Load()) }).config()})
		time.Sleep(time.Minute)
		list := r.letters(shop)
		if len(list) != 1 {
			t.Fatalf("letters %+v", list)
		}
		code.Store(503)
		r.must(r.engine.Replay(r.Context(), shop, list[0].Kind, list[0].ID))
		time.Sleep(time.Second)
		stopped.Open()
		time.Sleep(time.Second)
		second()
		first()
		var got calls
		defer r.work(saga.WorkerConfig{Gateway: door(func(c domain.SubmitCommandRequest) int { got.add(c.CommandID); return 200 }).config()})()
		time.Sleep(time.Minute)
		if len(got.all()) != 1 {
			t.Errorf("got %v, want the command", got.all())
		}
	})
}

func TestAPayloadIsNotMadeLongerOnItsWay(t *testing.T) {
	bubble(t, func(r *rig) {
		def := machineOf("s", `fn on_event(state, event) { if event.type == "Go" { let t = "<"; t.pad(250000, '<'); #{state: #{t: t}, work: [#{effect: `+
			`"do", step: "s", payload: #{t: t}}]} } else { #{next: "closed"} } }`)
		r.apply(shop, def)
		defer r.work(saga.WorkerConfig{})()
		r.publish(shop, goes("e1", `{"id":1}`))
		time.Sleep(time.Minute)
		if x := r.instance(shop, "s", "1"); x.State != "closed" {
			t.Errorf("%s is in %s, dead letters %v", x.Correlation, x.State, causes(r.letters(shop)))
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
		list := r.letters(shop)
		if stats, err := r.log.Stats(r.Context(), domain.WorkflowEvents); err != nil || stats.Last != 2 || len(list) != 1 || list[0].Kind != domain.DeadWork {
			t.Fatalf("%d facts, dead letters %+v, %v", stats.Last, list, err)
		}
		good.Store(true)
		r.must(r.engine.Replay(r.Context(), shop, domain.DeadWork, list[0].ID))
		time.Sleep(time.Second)
		if stats, err := r.log.Stats(r.Context(), domain.WorkflowEvents); err != nil || stats.Last != 3 || len(r.letters(shop)) != 0 {
			t.Errorf("%d facts after the replay, dead letters %+v, %v", stats.Last, r.letters(shop), err)
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
			list := r.letters(shop)
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

// TestABoardThatIsFullForNowMakesNoDeadLetters has one that refuses commits, as Redis at its
// maxmemory.
func TestABoardThatIsFullForNowMakesNoDeadLetters(t *testing.T) {
	bubble(t, func(r *rig) {
		var full atomic.Int32
		faults := faultboard.New(r.board, faultboard.Config{Before: func(_ context.Context, c faultboard.Call) error {
			if c.Batch != nil && full.Add(-1) >= 0 {
				return domain.Exhaustedf("at its maxmemory")
			}
			return nil
		}})
		r.apply(shop, machineOf("s", `fn on_event(state, event) { state.n += 1; #{state: state} }`))
		defer r.workOn(faults, r.log, saga.WorkerConfig{})()
		r.publish(shop, goes("e0", `{"id":1}`))
		time.Sleep(time.Second)
		full.Store(2)
		r.publish(shop, goes("e1", `{"id":1}`))
		time.Sleep(10 * time.Minute)
		if full.Load() >= 0 {
			t.Error("nothing was committed")
		}
		if got := r.data(shop, "s", "1"); got != `{"n":2}` || len(r.letters(shop)) != 0 {
			t.Errorf("got %s, dead letters %+v", got, r.letters(shop))
		}
	})
}

func TestAnEventWithAllThatItMayAskForFits(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, machineOf("s", `fn on_event(state, event) {
			if event.type != "Go" || event.payload.small { return; } let work = []; let timers = [];
			for i in 0..64 { work.push(#{fact: "F", payload: i}); timers.push(#{event: "Tick", after: 100000 + i}); }
			#{work: work, timers: timers, cancel: ["Tick"]} }`))
		defer r.work(saga.WorkerConfig{})()
		r.bans.ban(shop, "s", true)
		n, large := 0, 0
		event := func(id int, small bool) {
			n++
			r.publish(shop, goes(fmt.Sprint("e", n), fmt.Sprintf(`{"id":%d,"small":%v}`, id, small)))
			if !small {
				large++
			}
		}
		for id := range 3 {
			event(id, false)
		}
		for few := range 25 { // so that a batch is as full as can be when the last comes
			event(0, false)
			event(1, false)
			for i := range few {
				event(100+i, true)
			}
			event(2, false)
		}
		time.Sleep(time.Second)
		r.bans.ban(shop, "s", false)
		time.Sleep(time.Minute)
		stats, err := r.log.Stats(r.Context(), domain.WorkflowEvents)
		if err != nil || stats.Last != uint64(64*large) || len(r.letters(shop)) != 0 {
			t.Errorf("%d facts, want %d, dead letters %v, %v", stats.Last, 64*large, causes(r.letters(shop)), err)
		}
	})
}

func TestAnInstanceThatWasChangedMeanwhileIsReadAgain(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, machineOf("s", countsEvents))
		var wire simtest.Gate
		defer r.workOn(lateBoard{r.board, &wire, does(board.OpAppend, "ramet:saga:history:")}, r.log, saga.WorkerConfig{})()
		r.publish(shop, goes("e1", `{"id":1}`))
		time.Sleep(time.Second)
		wire.Close()
		r.publish(shop, goes("e2", `{"id":1}`))
		time.Sleep(time.Second)
		b := board.Batch{Space: board.Space(shop)}
		r.must(r.board.Commit(r.Context(), *b.Set("saga:acme:s:1", board.Field{Name: "version", Value: "5"}, board.Field{Name: "state", Value: `{"n":10}`})))
		wire.Open()
		time.Sleep(10 * time.Second)
		if got := r.data(shop, "s", "1"); got != `{"n":11}` {
			t.Errorf("got %s", got)
		}
	})
}

func TestIdsMayHaveAnyText(t *testing.T) {
	for _, id := range []string{"a.b", "a b", "*", ">", "100%", "%41", "%#x", "ООО «Ромашка» 2024", strings.Repeat("ж", 50),
		strings.Repeat("%", 100), "a:b"} {
		bubble(t, func(r *rig) {
			def := machineOf("s", `fn on_event(state, event) { state.n += 1; if event.type == "Go" { #{state: state, timers: [#{event: "Tick", after: 1}], `+
				`work: [#{saga: "s", correlation: event.correlation, event: "More"}, #{fact: "F"}]} } else { #{state: state} } }`)
			def.Correlation = `event.aggregate_id`
			def.Triggers = append(def.Triggers, domain.SagaTrigger{Source: domain.SourceWorkflow, Types: []string{"More"}},
				domain.SagaTrigger{Source: domain.SourceFact, Of: "s", Types: []string{"F"}})
			def.Correlation = `if "aggregate_id" in event { event.aggregate_id } else { event.correlation }`
			r.apply(shop, def)
			defer r.work(saga.WorkerConfig{})()
			ev := goes("e1", `{}`)
			ev.AggregateID = id
			r.publish(shop, ev)
			r.publish(shop, domain.Event{Type: "More", Saga: "s", Correlation: id})
			time.Sleep(time.Minute)
			if got := r.data(shop, "s", id); got != `{"n":5}` {
				t.Errorf("%q: %s, dead letters %+v", id, got, r.letters(shop))
			}
		})
	}
}

func TestATimerThatIsSetAgainForTheSameInstantComesAgain(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, machineOf("s",
			`fn on_event(state, event) { state.n += 1; #{state: state, timers: if state.n < 5 { [#{event: "Tick", at_ms: 1000}] } else { [] }} }`))
		defer r.work(saga.WorkerConfig{})()
		r.publish(shop, goes("e1", `{"id":1}`))
		time.Sleep(time.Minute)
		if got := r.data(shop, "s", "1"); got != `{"n":5}` {
			t.Errorf("got %s", got)
		}
	})
}

// TestATimerThatWasSetAnewIsAnotherOne has one that is set again for the same
// instant, before and while its alarm is handled.
func TestATimerThatWasSetAnewIsAnotherOne(t *testing.T) {
	bubble(t, func(r *rig) {
		record := layout.SagaKeys{Tenant: "acme"}.Timer("s", "1", 5)
		set := func(by string) {
			b := board.Batch{Space: board.Space(shop)}
			b.Set(record, board.Field{Name: layout.TimerSaga, Value: "s"}, board.Field{Name: layout.TimerOf, Value: "1"}, board.Field{Name: "set_by", Value: by},
				board.Field{Name: layout.TimerPayload, Value: `{"event":"Tick","due_ms":5}`})
			r.must(r.board.Commit(r.Context(), *b.SetAlarm(layout.TimerAlarm(record), time.UnixMilli(5))))
		}
		ring := func(b board.Board) {
			a := board.Alarm{Space: board.Space(shop), Name: layout.TimerAlarm(record), At: time.UnixMilli(5)}
			if ours, err := r.newEngine(b, r.log).HandleAlarm(r.Context(), a); !ours || err != nil {
				t.Errorf("got %v, %v", ours, err)
			}
		}
		set("1")
		ring(r.board)
		set("2")
		ring(faultboard.New(r.board, faultboard.Config{Before: func(context.Context, faultboard.Call) error { set("3"); return nil }}))
		if _, there, err := r.board.AlarmOf(r.Context(), board.Space(shop), layout.TimerAlarm(record)); err != nil || !there {
			t.Errorf("the alarm of the third is gone, %v", err)
		}
		ring(r.board)
		if stats, err := r.log.Stats(r.Context(), domain.WorkflowCommands); err != nil || stats.Last != 3 {
			t.Errorf("%d events, want 3, %v", stats.Last, err)
		}
	})
}

func TestAllThatWaitedInAPausedInstanceIsHandled(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, machineOf("s", countsEvents))
		defer r.work(saga.WorkerConfig{})()
		r.publish(shop, goes("e", `{"id":1}`))
		time.Sleep(time.Second)
		r.must(r.engine.Pause(r.Context(), shop, "s", "1"))
		for i := range 200 {
			r.publish(shop, goes(fmt.Sprint("e", i), `{"id":1}`))
		}
		time.Sleep(time.Second)
		r.must(r.engine.Resume(r.Context(), shop, "s", "1"))
		time.Sleep(time.Minute)
		if got := r.data(shop, "s", "1"); got != `{"n":201}` {
			t.Errorf("got %s: %d are left", got, len(r.instance(shop, "s", "1").Deferred))
		}
	})
}

func TestContextsHaveIdsOfTheirOwn(t *testing.T) {
	bubble(t, func(r *rig) {
		for _, in := range []domain.TenantID{1, shop, 9} {
			r.apply(in, machineOf("s", countsEvents))
			r.publish(in, goes("same", `{"id":1}`))
		}
		defer r.work(saga.WorkerConfig{})()
		// Whose it is is the subject's to say: what says another is a dead letter.
		r.must(r.log.Publish(r.Context(), stream.Message{Stream: domain.AggregateEvents, Subject: "tenant.acme.aggregate.Thing.1",
			Data: []byte(`{"event_id":"x","event_type":"Go","tenant_id":"9","payload":{"id":1}}`)}))
		// A context may be called by its number too.
		r.must(r.log.Publish(r.Context(), stream.Message{Stream: domain.AggregateEvents, Subject: "tenant.7.aggregate.Thing.1",
			Data: []byte(`{"event_id":"y","event_type":"Go","payload":{"id":1}}`)}))
		time.Sleep(10 * time.Second)
		for in, want := range map[domain.TenantID]string{1: `{"n":1}`, shop: `{"n":2}`, 9: `{"n":1}`} {
			if got := r.data(in, "s", "1"); got != want {
				t.Errorf("context %d: %s, want %s", in, got, want)
			}
		}
	})
}

func TestNamesThatDoNotFitAreRefused(t *testing.T) {
	bubble(t, func(r *rig) {
		for _, name := range []string{"effect", strings.Repeat("x", 97)} {
			def := machineOf(name, countsEvents)
			if _, _, err := r.engine.Apply(r.Context(), shop, actor, def, ""); !errors.Is(err, domain.ErrInvalid) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestAVersionThatDoesNotCompileHoldsItsInstancesOnly(t *testing.T) {
	bubble(t, func(r *rig) {
		def := machineOf("s", countsEvents)
		r.apply(shop, def)
		stop := r.work(saga.WorkerConfig{})
		r.publish(shop, goes("e1", `{"id":1}`))
		time.Sleep(time.Second)
		stop()
		def.Summary = "second"
		r.apply(shop, def)
		good, err := r.board.Get(r.Context(), board.Space(shop), layout.SagaDefKeys.At("s", 1))
		r.must(err)
		set := func(text string) {
			b := board.Batch{Space: board.Space(shop)}
			r.must(r.board.Commit(r.Context(), *b.Set(layout.SagaDefKeys.At("s", 1), board.Field{Name: "text", Value: text})))
		}
		set(strings.Replace(good[0].Get("text"), "state.n += 1", "state.n +=", 1))
		stop = r.work(saga.WorkerConfig{})
		for i, id := range []int{1, 2, 1} {
			r.publish(shop, goes(fmt.Sprint("f", i), fmt.Sprintf(`{"id":%d}`, id)))
		}
		time.Sleep(10 * time.Second)
		stop()
		if got := r.data(shop, "s", "2"); got != `{"n":1}` {
			t.Errorf("another instance: %s", got)
		}
		x, list := r.instance(shop, "s", "1"), r.letters(shop)
		if x.Held != "f0" || len(x.Deferred) != 1 || len(list) != 1 || !list[0].Holds {
			t.Fatalf("%+v, dead letters %+v", x, list)
		}
		set(good[0].Get("text"))
		defer r.work(saga.WorkerConfig{})()
		r.must(r.engine.Replay(r.Context(), shop, list[0].Kind, list[0].ID))
		time.Sleep(10 * time.Second)
		if got := r.data(shop, "s", "1"); got != `{"n":3}` {
			t.Errorf("mended: %s", got)
		}
	})
}

func TestARecordThatCannotBeReadStopsNobodyElse(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, machineOf("s", countsEvents))
		defer r.work(saga.WorkerConfig{})()
		b := board.Batch{Space: board.Space(shop)}
		r.must(r.board.Commit(r.Context(), *b.Set("saga:acme:s:1", board.Field{Name: "version", Value: "many"})))
		r.publish(shop, goes("e1", `{"id":1}`))
		r.publish(shop, goes("e2", `{"id":2}`))
		time.Sleep(10 * time.Second)
		if got := r.data(shop, "s", "2"); got != `{"n":1}` || len(r.letters(shop)) != 1 {
			t.Errorf("got %s, dead letters %+v", got, r.letters(shop))
		}
	})
}

// TestAKeyOfTheWrongKindStopsNobodyElse has lists where an instance and the mark
// of an event would be.
func TestAKeyOfTheWrongKindStopsNobodyElse(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, machineOf("s", countsEvents))
		keys := layout.SagaKeys{Tenant: "acme"}
		b := board.Batch{Space: board.Space(shop)}
		b.PushLeft(keys.Instance("s", "1"), "x").PushLeft(keys.Seen("s", "e3"), "x")
		r.must(r.board.Commit(r.Context(), b))
		for i := range 4 {
			r.publish(shop, goes(fmt.Sprint("e", i+1), fmt.Sprintf(`{"id":%d}`, i+1)))
		}
		defer r.work(saga.WorkerConfig{})()
		time.Sleep(10 * time.Second)
		for id, want := range map[string]string{"2": `{"n":1}`, "4": `{"n":1}`} {
			if got := r.data(shop, "s", id); got != want {
				t.Errorf("instance %s: got %s, want %s", id, got, want)
			}
		}
		letters := r.letters(shop)
		if len(letters) != 2 || !strings.Contains(letters[0].Cause+letters[1].Cause, keys.Seen("s", "e3")) ||
			!strings.Contains(letters[0].Cause+letters[1].Cause, keys.Instance("s", "1")) {
			t.Errorf("got %+v, want two dead letters that name the keys", letters)
		}
	})
}

func TestANewVersionDoesNotWaitForTheGateway(t *testing.T) {
	bubble(t, func(r *rig) {
		def := machineOf("s", `fn on_event(state, event) { state.n += 1; #{state: state, work: [#{command: #{aggregate_type: "T", aggregate_id: `+
			`event.correlation}}]} }`)
		r.apply(shop, def)
		defer r.work(saga.WorkerConfig{Gateway: door(func(domain.SubmitCommandRequest) int { return 503 }).config()})()
		r.publish(shop, goes("e1", `{"id":1}`))
		time.Sleep(time.Second)
		def.Summary = "second"
		r.apply(shop, def)
		time.Sleep(15 * time.Second)
		r.publish(shop, goes("e2", `{"id":2}`))
		time.Sleep(time.Second)
		if x := r.instance(shop, "s", "2"); x.Definition != 2 {
			t.Errorf("%+v", x)
		}
	})
}

func TestWorkGoesOnWhileTheStreamsAreAway(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, machineOf("s", `fn on_event(state, event) { state.n += 1; #{state: state, work: [#{command: #{aggregate_type: "T", aggregate_id: `+
			`event.correlation}}]} }`))
		var got calls
		var up atomic.Bool
		defer r.work(saga.WorkerConfig{Gateway: door(func(domain.SubmitCommandRequest) int {
			got.add("command")
			if !up.Load() {
				return 503
			}
			return 200
		}).config()})()
		r.publish(shop, goes("e1", `{"id":1}`))
		time.Sleep(time.Second)
		r.broker.Fault(memstream.Faults{Away: true})
		time.Sleep(30 * time.Minute)
		if n := len(got.all()); n > 100 {
			t.Errorf("the gateway was asked %d times in half an hour", n)
		}
		up.Store(true)
		time.Sleep(30 * time.Minute)
		if keys, _, err := r.board.Keys(r.Context(), board.Space(shop), layout.OutboxPrefix, "", 10); err != nil || len(keys) != 0 {
			t.Errorf("the outbox has %v, %v", keys, err)
		}
		r.broker.Fault(memstream.Faults{})
		r.publish(shop, goes("e2", `{"id":1}`))
		time.Sleep(time.Minute)
		if got := r.data(shop, "s", "1"); got != `{"n":2}` {
			t.Errorf("got %s", got)
		}
	})
}

func TestABoardThatIsAwayForAnHourIsNotAskedAllTheTime(t *testing.T) {
	bubble(t, func(r *rig) {
		def := machineOf("s", countsEvents)
		def.Partitions = 10
		r.apply(shop, def)
		var mu sync.Mutex
		asked := 0
		away := faultboard.New(r.board, faultboard.Config{Before: func(context.Context, faultboard.Call) error {
			mu.Lock()
			defer mu.Unlock()
			asked++
			return nil
		}})
		defer r.workOn(away, r.log, saga.WorkerConfig{})()
		time.Sleep(time.Minute)
		for i := range 100 {
			r.publish(shop, goes(fmt.Sprint("e", i), fmt.Sprintf(`{"id":%d}`, i)))
		}
		away.Cut()
		mu.Lock()
		asked = 0
		mu.Unlock()
		time.Sleep(time.Hour)
		mu.Lock()
		if asked > 30_000 {
			t.Errorf("the board was asked to change something %d times", asked)
		}
		mu.Unlock()
		away.Heal()
		time.Sleep(time.Minute)
		for i := range 100 {
			if got := r.data(shop, "s", fmt.Sprint(i)); got != `{"n":1}` {
				t.Errorf("%d: %s", i, got)
			}
		}
	})
}

func TestAPositionIsSavedThoughNothingCame(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, machineOf("s", countsEvents))
		defer r.work(saga.WorkerConfig{})()
		for i := range 10 {
			ev := goes(fmt.Sprint("e", i), `{"id":1}`)
			ev.Type = "Other"
			r.publish(shop, ev)
		}
		time.Sleep(15 * time.Second)
		lags, err := r.engine.Lags(r.Context(), shop, "s")
		r.must(err)
		for _, l := range lags {
			if l.Position != l.Last {
				t.Errorf("%+v", l)
			}
		}
	})
}

func TestABanCountsForTheNextEvent(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, machineOf("s", countsEvents))
		defer r.work(saga.WorkerConfig{})()
		time.Sleep(time.Second)
		r.bans.ban(shop, "s", true)
		time.Sleep(time.Second)
		r.publish(shop, goes("e1", `{"id":1}`))
		time.Sleep(time.Minute)
		if got := r.data(shop, "s", "1"); got != "" {
			t.Errorf("handled while banned: %s", got)
		}
		r.bans.ban(shop, "s", false)
		time.Sleep(time.Second)
		if got := r.data(shop, "s", "1"); got != `{"n":1}` {
			t.Errorf("after the ban: %s", got)
		}
	})
}

func TestADeadLetterOfAnInstanceThatIsGoneCanBeDropped(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, machineOf("s", `fn on_event(state, event) { throw "no" }`))
		defer r.work(saga.WorkerConfig{})()
		r.publish(shop, goes("e1", `{"id":1}`))
		time.Sleep(time.Second)
		b := board.Batch{Space: board.Space(shop)}
		r.must(r.board.Commit(r.Context(), *b.Delete("saga:acme:s:1")))
		d := r.letters(shop)[0]
		r.must(r.engine.Replay(r.Context(), shop, d.Kind, d.ID))
		time.Sleep(time.Second)
		if list := r.letters(shop); len(list) != 1 {
			t.Errorf("replayed: %+v", list)
		}
		r.must(r.board.Commit(r.Context(), *b.Delete("saga:acme:s:1")))
		r.must(r.engine.Drop(r.Context(), shop, d.Kind, d.ID))
		time.Sleep(time.Second)
		if list := r.letters(shop); len(list) != 0 {
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
		if err != nil || stats.Last != 1 || len(r.letters(shop)) != 0 {
			t.Errorf("%d commands, dead letters %+v, %v", stats.Last, r.letters(shop), err)
		}
	})
}

func TestAnEventOfAnOldVersionFindsItsInstance(t *testing.T) {
	bubble(t, func(r *rig) {
		def := machineOf("s", countsEvents)
		def.Events = []domain.SagaEvent{{Type: "Go", MinVersion: 1, MaxVersion: 2, Upcast: []domain.SagaUpcast{{From: 1, Expr: `#{id: payload.number}`}}}}
		r.apply(shop, def)
		defer r.work(saga.WorkerConfig{})()
		r.publish(shop, goes("e1", `{"number":5}`))
		time.Sleep(time.Second)
		if got := r.data(shop, "s", "5"); got != `{"n":1}` {
			t.Errorf("got %s, dead letters %+v", got, r.letters(shop))
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
			if got, list := r.data(shop, "s", "1"), r.letters(shop); got != `{"n":1}` || len(list) != 1 || list[0].Seq != 1 {
				t.Errorf("%.3q: got %s, %d dead letters", data, got, len(list))
			}
		})
	}
}

func TestASagaThatWasDeletedAndAppliedAgainBeginsAnew(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, machineOf("s", countsEvents))
		defer r.work(saga.WorkerConfig{})()
		r.publish(shop, goes("e1", `{"id":1}`))
		time.Sleep(time.Second)
		_, err := r.engine.Delete(r.Context(), shop, "s", true)
		r.must(err)
		_, _, err = r.engine.Apply(r.Context(), shop, actor, machineOf("s", `fn on_event(state, event) { state.n += 10; #{state: state} }`), domain.SagaFromStart)
		r.must(err)
		time.Sleep(time.Minute)
		if got := r.data(shop, "s", "1"); got != `{"n":10}` {
			t.Errorf("got %s", got)
		}
	})
}

func TestARewoundSagaReadsAgain(t *testing.T) {
	bubble(t, func(r *rig) {
		def := machineOf("s", countsEvents)
		def.Dedupe, def.Partitions = 1, 3
		r.apply(shop, def)
		defer r.work(saga.WorkerConfig{})()
		for i := range 5 {
			r.publish(shop, goes(fmt.Sprint("e", i), fmt.Sprintf(`{"id":%d}`, i)))
		}
		time.Sleep(time.Minute)
		def.Partitions = 2
		r.apply(shop, def)
		time.Sleep(time.Minute)
		r.must(r.engine.Rewind(r.Context(), shop, "s", domain.AggregateEvents, 2))
		time.Sleep(time.Minute)
		for i := range 5 {
			want := `{"n":2}`
			if i < 2 {
				want = `{"n":1}`
			}
			if got := r.data(shop, "s", fmt.Sprint(i)); got != want {
				t.Errorf("%d: %s, want %s", i, got, want)
			}
		}
	})
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
		list := r.letters(shop)
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
