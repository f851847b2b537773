package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
	"github.com/ramet-run/ramet/saga"
	"github.com/ramet-run/ramet/stream"
	"github.com/ramet-run/ramet/stream/natsstream"
)

// This file measures sagas on an embedded JetStream that syncs each message,
// beside what a program gets that uses JetStream itself for the same messages.

// theatre is a node's part that moves sagas and does effects.
type theatre struct {
	r       *rig
	log     *natsstream.Log
	engine  *saga.Engine
	effects *effect.Worker
	stop    func()
}

// oneTenant is a deployment without tenants.
type oneTenant struct{}

func (oneTenant) TenantByName(context.Context, string) (domain.TenantID, error) { return 1, nil }
func (oneTenant) TenantName(context.Context, domain.TenantID) (string, error)   { return "", nil }

// nothing is a provider that has done it already.
type nothing struct{}

func (nothing) Do(context.Context, effect.Call) (json.RawMessage, error) {
	return json.RawMessage("{}"), nil
}
func (nothing) Check(context.Context, domain.TenantID) error { return nil }
func (nothing) Target() string                               { return "nowhere" }
func (nothing) Close() error                                 { return nil }

// openTheatre opens streams, engine and workers. bench is over with stop.
func openTheatre(r *rig, def *domain.SagaDefinition) *theatre {
	ctx := context.Background()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	l, err := natsstream.Open(ctx, natsstream.Config{DataDir: filepath.Join(r.dir, "n"), Logger: log})
	check(err)
	t := &theatre{r: r, log: l}
	t.engine = saga.New(r.board, l, saga.Config{Names: oneTenant{}, Logger: log})
	_, _, err = t.engine.Apply(ctx, 1, 1, def, "")
	check(err)
	secrets, err := effect.NewSecrets(nil, log)
	check(err)
	set, err := effect.OpenSet([]effect.Definition{{Name: "step", Kind: "nothing"}}, map[domain.EffectKind]effect.Open{
		"nothing": func(effect.Definition, effect.Host) (effect.Provider, error) { return nothing{}, nil },
	}, effect.Host{Secrets: secrets})
	check(err)
	t.effects = effect.NewWorker(l, r.board, set, effect.Config{Tenant: oneTenant{}.TenantByName, Logger: log})
	return t
}

// work starts the workers; effects says whether effects are done.
func (t *theatre) work(effects bool) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { check(saga.NewWorker(t.engine, saga.WorkerConfig{Owner: "bench/1"}).Run(ctx)) })
	if effects {
		all.Go(func() { check(t.effects.Run(ctx)) })
	}
	log := slog.New(slog.DiscardHandler)
	all.Go(func() {
		check(clockwork.Run(ctx, t.r.board, clockwork.Config{Owner: "bench/1", Logger: log}, []clockwork.Maintenance{
			clockwork.Alarms(t.r.board, log, t.engine.HandleAlarm, nil),
		}))
	})
	t.stop = func() { cancel(); all.Wait() }
}

func (t *theatre) close() {
	if t.stop != nil {
		t.stop()
	}
	check(t.log.Close())
}

// event is what begins the instance of a number.
func event(i int) stream.Message {
	n := strconv.Itoa(i)
	return stream.Message{Stream: domain.AggregateEvents, Subject: "aggregate.Order." + n, ID: "e" + n,
		Data: []byte(`{"event_id":"e` + n + `","event_type":"Placed","payload":{"order":` + n + `,"total":5,"lines":["one thing","another thing"]}}`)}
}

// oneEffect asks for one effect and is done.
func oneEffect() *domain.SagaDefinition {
	return &domain.SagaDefinition{Name: "one", Initial: "new", Correlation: `event.payload.order.to_string()`,
		Triggers: []domain.SagaTrigger{{Of: "Order", Types: []string{"Placed"}}}, Effects: []string{"step"},
		States: []domain.SagaState{
			{Name: "new", On: map[string]domain.Reaction{"Placed": domain.Handle, "*": domain.Ignore}},
			{Name: "asked", On: map[string]domain.Reaction{"*": domain.Ignore}},
		},
		Script: `fn on_event(state, event) { #{next: "asked", state: #{total: event.payload.total}, work: [#{effect: "step", payload: #{total: ` +
			`event.payload.total}}]} }`}
}

// threeEffects asks for three effects, one after the other.
func threeEffects() *domain.SagaDefinition {
	on := map[string]domain.Reaction{"step.Succeeded": domain.Handle, "*": domain.Ignore}
	return &domain.SagaDefinition{Name: "three", Initial: "new", Correlation: `event.payload.order.to_string()`,
		Triggers: []domain.SagaTrigger{{Of: "Order", Types: []string{"Placed"}}}, Effects: []string{"step"},
		States: []domain.SagaState{
			{Name: "new", On: map[string]domain.Reaction{"Placed": domain.Handle, "*": domain.Ignore}},
			{Name: "a", On: on}, {Name: "b", On: on}, {Name: "c", On: on}, {Name: "done", Final: true},
		},
		Script: `fn on_event(state, event) {
  let work = [#{effect: "step", payload: #{n: 1}}];
  switch event.state {
    "new" => #{next: "a", work: work, state: #{n: 0}},
    "a" => { state.n += 1; #{next: "b", state: state, work: work} },
    "b" => { state.n += 1; #{next: "c", state: state, work: work} },
    _ => { state.n += 1; #{next: "done", state: state} }
  }
}`}
}

// waits sets a timer and is done when it comes.
func waits(after domain.Span) *domain.SagaDefinition {
	return &domain.SagaDefinition{Name: "waits", Initial: "new", Correlation: `event.payload.order.to_string()`,
		Triggers: []domain.SagaTrigger{{Of: "Order", Types: []string{"Placed"}}},
		States: []domain.SagaState{
			{Name: "new", On: map[string]domain.Reaction{"Placed": domain.Handle, "*": domain.Ignore}},
			{Name: "waiting", On: map[string]domain.Reaction{"Late": domain.Handle, "*": domain.Ignore}, Timeout: &domain.SagaTimeout{After: after, Event: "Late"}},
			{Name: "done", Final: true},
		},
		Script: `fn on_event(state, event) { if event.type == "Late" { #{next: "done"} } else { #{next: "waiting"} } }`}
}

// publish stores events by 64 callers, one by one.
func (t *theatre) publish(from, to int) {
	var next atomic.Int64
	next.Store(int64(from) - 1)
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for i := int(next.Add(1)); i < to; i = int(next.Add(1)) {
				check(t.log.Publish(context.Background(), event(i)))
			}
		})
	}
	all.Wait()
}

// last waits until a stream has so many messages.
func (t *theatre) last(n domain.StreamName, want uint64) {
	for {
		s, err := t.log.Stats(context.Background(), n)
		check(err)
		if s.Last >= want {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// sagaRate measures transitions that each ask for an effect: while others
// publish, and from a backlog; beside JetStream used bare.
func sagaRate(r *rig) figures {
	n := min(*jobs, 20_000)
	out := figures{"events": n}
	rawPublish, rawWhole := rawJetStream(r, n)
	out["raw_publish_per_s"], out["raw_publish_fetch_ack_publish_per_s"] = rawPublish, rawWhole

	t := openTheatre(r, oneEffect())
	defer t.close()
	t.work(false)
	t.publish(0, 1000) // warm
	t.last(domain.WorkflowCommands, 1000)
	cpu, begun := selfCPU(), time.Now()
	t.publish(1000, 1000+n)
	t.last(domain.WorkflowCommands, uint64(1000+n))
	rate := perSecond(n, time.Since(begun))
	out["transitions_per_s"], out["cpu_us_per_transition"] = rate, round((selfCPU()-cpu)*1e6/float64(n))
	out["ratio"] = round(rate / rawWhole)
	t.stop()
	t.publish(1000+n, 1000+2*n)
	begun = time.Now()
	t.work(false)
	t.last(domain.WorkflowCommands, uint64(1000+2*n))
	out["from_backlog_per_s"] = perSecond(n, time.Since(begun))
	return out
}

// rawJetStream does with JetStream what a program does that has no board: it
// publishes events, fetches and acks each, and publishes what follows from it.
func rawJetStream(r *rig, n int) (publish, whole float64) {
	ctx := context.Background()
	s, err := server.NewServer(&server.Options{DontListen: true, JetStream: true, StoreDir: filepath.Join(r.dir, "raw"), NoSigs: true, SyncAlways: true})
	check(err)
	s.Start()
	defer s.Shutdown()
	if !s.ReadyForConnections(10 * time.Second) {
		check(fmt.Errorf("nats-server does not start"))
	}
	nc, err := nats.Connect("", nats.InProcessServer(s))
	check(err)
	defer nc.Close()
	js, err := jetstream.New(nc)
	check(err)
	for name, subject := range map[string]string{"EVENTS": "aggregate.*.*", "COMMANDS": "effect.*.*"} {
		_, err = js.CreateStream(ctx, jetstream.StreamConfig{Name: name, Subjects: []string{subject}, Storage: jetstream.FileStorage})
		check(err)
	}
	c, err := js.CreateConsumer(ctx, "EVENTS", jetstream.ConsumerConfig{Durable: "one", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 10_000})
	check(err)
	begun := time.Now()
	var fetched sync.WaitGroup
	work := make(chan jetstream.Msg, 1000)
	fetched.Go(func() {
		for got := 0; got < n; {
			batch, err := c.Fetch(256, jetstream.FetchMaxWait(time.Second))
			check(err)
			for m := range batch.Messages() {
				work <- m
				got++
			}
		}
		close(work)
	})
	for range 64 {
		fetched.Go(func() {
			for m := range work {
				_, err := js.Publish(ctx, "effect.step."+m.Subject()[len("aggregate.Order."):], m.Data())
				check(err)
				check(m.Ack())
			}
		})
	}
	var next atomic.Int64
	var published sync.WaitGroup
	for range 64 {
		published.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				m := event(i)
				_, err := js.Publish(ctx, m.Subject, m.Data, jetstream.WithMsgID(m.ID))
				check(err)
			}
		})
	}
	published.Wait()
	publish = perSecond(n, time.Since(begun))
	fetched.Wait()
	return publish, perSecond(n, time.Since(begun))
}

// sagaLatency measures an idle node: from the call that publishes an event to
// its command in the stream, and to the result of the effect.
func sagaLatency(r *rig) figures {
	ctx := context.Background()
	t := openTheatre(r, oneEffect())
	defer t.close()
	commands, err := t.log.Read(ctx, stream.Consumer{Durable: "bench-commands", Stream: domain.WorkflowCommands})
	check(err)
	results, err := t.log.Read(ctx, stream.Consumer{Durable: "bench-results", Stream: domain.WorkflowEvents})
	check(err)
	t.work(true)
	time.Sleep(time.Second)
	var toCommand, toResult []time.Duration
	for i := range 500 {
		begun := time.Now()
		check(t.log.Publish(ctx, event(i)))
		_, err := commands.Next(ctx, 1)
		check(err)
		toCommand = append(toCommand, time.Since(begun))
		_, err = results.Next(ctx, 1)
		check(err)
		toResult = append(toResult, time.Since(begun))
		time.Sleep(2 * time.Millisecond)
	}
	slices.Sort(toCommand)
	slices.Sort(toResult)
	return figures{
		"event_to_command_ms_p50": millis(percentile(toCommand, 0.5)), "event_to_command_ms_p99": millis(percentile(toCommand, 0.99)),
		"event_to_result_ms_p50": millis(percentile(toResult, 0.5)), "event_to_result_ms_p99": millis(percentile(toResult, 0.99)),
	}
}

// sagaThree measures whole instances of three effects, a thousand at once.
func sagaThree(r *rig) figures {
	t := openTheatre(r, threeEffects())
	defer t.close()
	t.work(true)
	n := min(*jobs, 5_000)
	t.publish(0, 200) // warm
	t.last(domain.WorkflowEvents, 3*200)
	cpu, begun := selfCPU(), time.Now()
	t.publish(200, 200+n)
	t.last(domain.WorkflowEvents, uint64(3*(200+n)))
	t.ended(200 + n)
	took := time.Since(begun)
	return figures{"instances": n, "instances_per_s": perSecond(n, took), "cpu_us_per_instance": round((selfCPU() - cpu) * 1e6 / float64(n))}
}

// ended waits until the last instance has ended, and checks a few others.
func (t *theatre) ended(n int) {
	for _, i := range []int{0, n / 2, n - 2, n - 1} {
		for {
			in, err := t.engine.Instance(context.Background(), 1, "three", strconv.Itoa(i))
			if err == nil && in.Status == domain.SagaEnded {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
}

// sagaTimers has 100,000 instances that wait for a timer each, all due at
// about one time.
func sagaTimers(r *rig) figures {
	n := min(*jobs, 100_000)
	const after = 120
	t := openTheatre(r, waits(after))
	defer t.close()
	t.work(false)
	begun := time.Now()
	for from := 0; from < n; from += 1000 {
		list := make([]stream.Message, 0, 1000)
		for i := from; i < min(from+1000, n); i++ {
			list = append(list, event(i))
		}
		check(t.log.Publish(context.Background(), list...))
	}
	made := time.Now()
	for {
		in, err := t.engine.Instance(context.Background(), 1, "waits", strconv.Itoa(n-1))
		if err == nil && in.State == "waiting" {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	out := figures{"instances": n, "begun_per_s": perSecond(n, time.Since(begun)), "published_s": round(made.Sub(begun).Seconds()), "memory_mb": peakMB()}
	due := begun.Add(after * time.Second)
	time.Sleep(time.Until(due))
	t.last(domain.WorkflowCommands, uint64(n))
	out["timers_rung_s_after_the_first_was_due"] = round(time.Since(due).Seconds())
	return out
}
