package saga_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"errors"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/saga"
	"github.com/ramet-run/ramet/stream"
	"github.com/ramet-run/ramet/stream/memstream"
)

const (
	shop  = domain.TenantID(7)
	actor = domain.ActorID(10)
)

// names are contexts by number; 7 has the alias acme.
type names struct{}

func (names) TenantByName(_ context.Context, name string) (domain.TenantID, error) {
	switch name {
	case "acme":
		return shop, nil
	case "":
		return 1, nil
	}
	n, err := strconv.ParseUint(name, 10, 32)
	if err != nil {
		return 0, domain.NotFoundf("no context %q", name)
	}
	return domain.TenantID(n), nil
}

func (names) TenantName(_ context.Context, id domain.TenantID) (string, error) {
	switch id {
	case shop:
		return "acme", nil
	case 1:
		return "", nil
	}
	return strconv.FormatUint(uint64(id), 10), nil
}

// rig is a board and a broker with some workers.
type rig struct {
	*testing.T
	board  board.Board
	broker *memstream.Broker
	log    stream.Log
	engine *saga.Engine // of nobody's: to ask

	bans  simBans
	share int // of an instance in a round; 0 is the default

	mu      sync.Mutex
	workers int
	calls   map[string]int // of effects, by command
}

// bubble runs a test in virtual time.
func bubble(t *testing.T, test func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{T: t, board: memboard.Open(), broker: memstream.New(), calls: map[string]int{}}
		r.log = r.broker.Log()
		r.engine = r.newEngine(r.board, r.log)
		test(r)
	})
}

func (r *rig) newEngine(b board.Board, l stream.Log) *saga.Engine {
	return saga.New(b, l, saga.Config{Names: names{}, Banned: r.bans.banned, Share: r.share,
		Logger: slog.New(slog.NewTextHandler(testWriter{r.T}, &slog.HandlerOptions{Level: slog.LevelDebug}))})
}

type testWriter struct{ *testing.T }

func (w testWriter) Write(p []byte) (int, error) { w.Logf("%s", p); return len(p), nil }

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// work starts a worker with its alarms and effects; the returned function
// drains it.
func (r *rig) work(cfg saga.WorkerConfig) (drain func()) { return r.workOn(r.board, r.log, cfg) }

// workOn is the same for a worker that has its own way to board and streams.
func (r *rig) workOn(b board.Board, l stream.Log, cfg saga.WorkerConfig) (drain func()) {
	r.workers++
	cfg.Owner = fmt.Sprintf("node%d/1", r.workers)
	e := r.newEngine(b, l)
	ctx, stop := context.WithCancel(r.Context())
	var all sync.WaitGroup
	all.Go(func() { r.must(saga.NewWorker(e, cfg).Run(ctx)) })
	all.Go(func() { ring(ctx, b, e) })
	all.Go(func() { r.effects(ctx, e) })
	return func() { stop(); all.Wait() }
}

// effects does what is asked for: a payload {"fail": true} fails.
func (r *rig) effects(ctx context.Context, _ *saga.Engine) {
	q, err := r.log.Work(ctx, stream.Shared{Durable: "effects", Stream: domain.WorkflowCommands, Subjects: []string{"tenant.*.effect.*.*", "effect.*.*"}})
	if ctx.Err() != nil {
		return
	}
	r.must(err)
	for {
		list, err := q.Next(ctx, 100)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			time.Sleep(time.Second)
			continue
		}
		for _, d := range list {
			var cmd domain.EffectCommand
			r.must(json.Unmarshal(d.Message().Data, &cmd))
			r.mu.Lock()
			r.calls[cmd.CommandID]++
			r.mu.Unlock()
			var wish struct{ Fail bool }
			r.must(json.Unmarshal(cmd.Payload, &wish))
			res := domain.EffectResult{TenantID: cmd.TenantID, CommandID: cmd.CommandID, EffectName: cmd.EffectName, ResultType: domain.ResultSucceeded,
				Payload: json.RawMessage(`{"ref":"r"}`), Metadata: cmd.Metadata, Timestamp: time.Now().UTC().Format(time.RFC3339Nano)}
			if wish.Fail {
				res.ResultType, res.Error = domain.ResultFailed, "no"
			}
			data, err := json.Marshal(res)
			r.must(err)
			prefix := ""
			if cmd.TenantID != "" {
				prefix = "tenant." + cmd.TenantID + "."
			}
			for r.log.Publish(ctx, stream.Message{Stream: domain.WorkflowEvents, Subject: prefix + "effect_result." + cmd.EffectName + "." + cmd.CommandID,
				ID: "result:" + cmd.CommandID, Data: data}) != nil {
				if ctx.Err() != nil {
					return
				}
				time.Sleep(time.Second)
			}
			_ = d.Ack(ctx)
		}
	}
}

func (r *rig) apply(in domain.TenantID, def *domain.SagaDefinition) {
	r.Helper()
	_, _, err := r.engine.Apply(r.Context(), in, actor, def, "")
	r.must(err)
}

func (r *rig) publish(in domain.TenantID, ev domain.Event) {
	r.Helper()
	_, err := r.engine.Publish(r.Context(), in, &ev)
	r.must(err)
}

func (r *rig) instance(in domain.TenantID, name, id string) *domain.SagaInstance {
	r.Helper()
	x, err := r.engine.Instance(r.Context(), in, name, id)
	r.must(err)
	return x
}

// order reserves, pays and is done; a payment that fails is compensated.
func order() *domain.SagaDefinition {
	return &domain.SagaDefinition{
		Name: "order", Initial: "new", Partitions: 3,
		Triggers:    []domain.SagaTrigger{{Of: "Order", Types: []string{"OrderPlaced", "OrderCancelled"}}},
		Correlation: `event.payload.order.to_string()`,
		Effects:     []string{"reserve", "pay", "release"},
		States: []domain.SagaState{
			{Name: "new", On: map[string]domain.Reaction{"OrderPlaced": domain.Handle, "*": domain.Ignore}},
			{Name: "reserving", On: map[string]domain.Reaction{"reserve.Succeeded": domain.Handle, "OrderCancelled": domain.Defer, "*": domain.Fail}},
			{Name: "paying", On: map[string]domain.Reaction{"pay.Succeeded": domain.Handle, "pay.Failed": domain.Handle, "OrderCancelled": domain.Handle,
				"*": domain.Ignore},
				Timeout: &domain.SagaTimeout{After: 60, Event: "PaymentTimedOut"}},
			{Name: "waiting", On: map[string]domain.Reaction{"*": domain.Handle}, Timeout: &domain.SagaTimeout{After: 60, Event: "TooLate"}},
			{Name: "paid", Final: true},
			{Name: "undone", Final: true, Outcome: domain.OutcomeFailed},
			{Name: "stuck", Final: true, Outcome: domain.OutcomeFailed},
		},
		Compensation: &domain.SagaCompensation{Steps: []string{"reserve"}, Done: "undone", Failed: "stuck"},
		Script: `
fn on_event(state, event) {
  switch event.type {
    "OrderPlaced" => {
      if event.payload.total < 0 { throw "a negative total" }
      if event.payload.wait == true { return #{next: "waiting"} }
      #{ state: #{total: event.payload.total, fail: event.payload.fail == true}, next: "reserving",
         work: [#{effect: "reserve", step: "reserve", payload: #{order: event.payload.order}}] }
    },
    "reserve.Succeeded" => #{ next: "paying", work: [#{effect: "pay", step: "pay", payload: #{fail: state.fail}}] },
    "pay.Succeeded" => #{ next: "paid", work: [#{fact: "OrderPaid", payload: state}] },
    "TooLate" => #{ next: "paid" },
    _ => #{ compensate: true }
  }
}
fn compensate(state, work) { #{effect: "release", payload: #{}} }`,
	}
}

func placed(id, payload string) domain.Event {
	return domain.Event{Type: "OrderPlaced", AggregateType: "Order", AggregateID: id, Payload: json.RawMessage(payload)}
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

func (r *rig) deadLetters(in domain.TenantID) []*domain.DeadLetter {
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
