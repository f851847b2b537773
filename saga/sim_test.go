package saga_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
	"github.com/ramet-run/ramet/internal/simtest"
	"github.com/ramet-run/ramet/saga"
	"github.com/ramet-run/ramet/stream"
	"github.com/ramet-run/ramet/stream/memstream"
)

// This file simulates workers that share a board and streams, with faults
// between each and both, with sagas that ask a gateway and effects and each
// other: one seed is one run, in virtual time. What is promised is checked at
// every commit, and when the last fault has healed; see simjudge_test.go.

var simTrace = flag.Bool("trace", false, "print what was committed in a simulation that fails")

// simSeeds is how many seeds are simulated as a rule.
const simSeeds = 30

const simSteps = 30

func TestSimulation(t *testing.T) { simtest.Run(t, simSeeds, simulate) }

func simulate(t *testing.T, seed uint64) {
	synctest.Test(t, func(t *testing.T) {
		s := newSim(t, seed)
		for range simSteps {
			s.step()
			time.Sleep(time.Duration(s.Int64N(int64(6 * time.Second))))
		}
		s.heal()
		s.drained()
		s.stop()
		s.judge()
		if t.Failed() {
			for _, line := range s.board.trace {
				t.Log(line)
			}
			t.Logf("again: go test ./saga -run 'TestSimulation$' -seed %d", seed)
		}
	})
}

// sim is one run.
type sim struct {
	*rand.Rand // the driver's alone
	seed       uint64
	t          *testing.T
	// contexts are those that have sagas: one with an alias, and one without,
	// or that of a deployment without contexts.
	contexts []domain.TenantID
	board    *account
	broker   *memstream.Broker
	log      stream.Log // of those at the door
	hand     *saga.Engine
	calm     *saga.Engine // of the judge
	gateway  *simGateway
	bank     *simBank
	nodes    []*simNode
	lives    int
	bans     simBans

	published map[place]domain.Event // those that were acknowledged
	events    int
	versions  map[domain.TenantID]variant
	touched   map[string]bool // "<context>:<saga>:<correlation>": a person replayed or dropped what it had
	redone    map[place]bool
}

func (s *sim) yes(percent int) bool { return s.IntN(100) < percent }

func (s *sim) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// newLuck returns one that goroutines share.
func newLuck(seed uint64) *simtest.Luck { return simtest.NewLuck(seed, 7) }

func newSim(t *testing.T, seed uint64) *sim {
	s := &sim{Rand: rand.New(rand.NewPCG(seed, 5)), seed: seed, t: t, contexts: [][]domain.TenantID{{shop, 1}, {shop}, {1}, {9}}[seed%4],
		board: newAccount(t, memboard.Open()), broker: memstream.New(),
		published: map[place]domain.Event{}, versions: map[domain.TenantID]variant{}, touched: map[string]bool{}, redone: map[place]bool{}}
	s.board.redone = s.redone
	s.gateway = &simGateway{luck: newLuck(s.Uint64()), arrived: map[string][]arrival{}, done: map[string]bool{}}
	s.bank = &simBank{luck: newLuck(s.Uint64()), done: map[string]int{}}
	s.log = s.broker.Log()
	s.calm = s.engine(s.board, s.log)
	s.hand = s.engine(faultboard.New(s.board, faultboard.Config{Seed: s.Uint64(), Refuse: 0.03, Lose: 0.03, Delay: 20 * time.Millisecond}), s.log)
	for _, in := range s.contexts {
		s.versions[in] = variant{partitions: 1 + int(seed%3)}
		s.apply(in)
	}
	s.storm()
	for i := range 2 + int(seed%2) {
		s.nodes = append(s.nodes, nil)
		s.start(i)
	}
	return s
}

func (s *sim) engine(b board.Board, l stream.Log) *saga.Engine {
	log := slog.New(slog.DiscardHandler)
	if simtest.Only() && testing.Verbose() {
		log = slog.New(slog.NewTextHandler(s.t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug})).With("life", s.lives)
	}
	return saga.New(b, l, saga.Config{Names: names{}, Retention: 90 * 24 * time.Hour, History: 100_000, Share: 1 + int(s.seed%3),
		Logger: log, Banned: s.bans.banned})
}

// storm makes the broker bad.
func (s *sim) storm() {
	s.broker.Fault(memstream.Faults{Seed: s.Uint64(), Refuse: 0.05, Unsure: 0.1, Double: 0.3, Fail: 0.05, LoseAck: 0.1, Redeliver: 0.1,
		Delay: 30 * time.Millisecond})
}

// simBans are sagas that are paused.
type simBans struct {
	mu      sync.Mutex
	list    map[string]bool
	changed chan struct{}
}

func (b *simBans) banned(in domain.TenantID, name string) (bool, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed == nil {
		b.changed, b.list = make(chan struct{}), map[string]bool{}
	}
	return b.list[fmt.Sprint(in, name)], b.changed
}

func (b *simBans) ban(in domain.TenantID, name string, yes bool) {
	b.banned(in, name)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.list[fmt.Sprint(in, name)] = yes
	close(b.changed)
	b.changed = make(chan struct{})
}

// variant is what differs between versions of the order saga.
type variant struct {
	partitions int
	way        int // how the correlation id is written: the same ids
	n          int // of the program
}

// apply applies the sagas of a context as they are to be now.
func (s *sim) apply(in domain.TenantID) {
	for _, def := range []*domain.SagaDefinition{simOrder(s.versions[in]), simShip(), simLedger()} {
		for range 5 {
			_, _, err := s.hand.Apply(context.Background(), in, actor, def, domain.SagaFromStart)
			if err == nil || !errors.Is(err, domain.ErrUnavailable) {
				s.must(err)
				break
			}
		}
	}
}

// simNode is one life of a node.
type simNode struct {
	*simtest.Node
	i    int
	luck *simtest.Luck // when it crashes
}

// gatedLog is a node's way to the streams: a stopped node publishes late.
type gatedLog struct {
	stream.Log
	node *simtest.Node
}

func (l gatedLog) Publish(ctx context.Context, messages ...stream.Message) error {
	l.node.Pass()
	return l.Log.Publish(ctx, messages...)
}

// start begins a new life of node i.
func (s *sim) start(i int) {
	s.lives++
	n := &simNode{i: i, luck: newLuck(s.Uint64())}
	n.Node = simtest.Boot(s.board, faultboard.Config{Seed: s.Uint64(), Refuse: 0.03, Lose: 0.05, Delay: 30 * time.Millisecond},
		func() bool { return n.luck.N(2000) == 0 })
	streams := s.broker.Log()
	n.Link(func() { _ = streams.Close() })
	owner := fmt.Sprintf("node%d/%d", i, s.lives)
	log := gatedLog{streams, n.Node}
	e := s.engine(n.Board, log)
	worker := saga.NewWorker(e, saga.WorkerConfig{Owner: owner, Grace: 3 * time.Second,
		Gateway: saga.GatewayConfig{URL: "http://gateway/commands", Timeout: 2 * time.Second, MaxInFlight: 3, Client: &http.Client{Transport: s.gateway}}})
	effects, err := effect.OpenSet(simEffects(), map[domain.EffectKind]effect.Open{"sim": func(effect.Definition, effect.Host) (effect.Provider, error) {
		return s.bank, nil
	}}, effect.Host{})
	s.must(err)
	effector := effect.NewWorker(log, n.Board, effects, effect.Config{Tenant: names{}.TenantByName, Grace: 2 * time.Second, AckWait: 10 * time.Second})
	serve := func(ctx context.Context) error { s.must(worker.Run(ctx)); return nil }
	clock := func(ctx context.Context) error { ring(ctx, n.Board, e); return nil }
	n.Run(serve, effector.Run, clock)
	s.nodes[i] = n
}

// ring handles alarms.
func ring(ctx context.Context, b board.Board, e *saga.Engine) {
	for ctx.Err() == nil {
		due, err := b.Due(ctx, 100, time.Minute)
		if err != nil {
			time.Sleep(time.Second)
			continue
		}
		for _, a := range due {
			if _, err := e.HandleAlarm(ctx, a); err != nil {
				time.Sleep(100 * time.Millisecond)
			}
		}
	}
}

// step does one thing that people or misfortune do.
func (s *sim) step() {
	for i, n := range s.nodes {
		if n.Dead() && s.yes(50) {
			s.start(i)
		}
	}
	in := s.contexts[s.IntN(len(s.contexts))]
	n := s.nodes[s.IntN(len(s.nodes))]
	switch s.IntN(26) {
	case 0:
		n.Kill()
	case 1: // drain, and a new life
		n.Drain()
		s.start(n.i)
	case 2: // stopped, longer than its leases
		n.Freeze(time.Duration(s.Int64N(int64(90 * time.Second))))
	case 3: // cut off from the board
		if !n.Dead() {
			n.CutOff(time.Duration(s.Int64N(int64(30 * time.Second))))
		}
	case 4: // no streams for a while
		s.broker.Fault(memstream.Faults{Away: true})
		time.Sleep(time.Duration(s.Int64N(int64(40 * time.Second))))
		s.storm()
	case 5:
		if s.yes(30) {
			time.Sleep(time.Duration(s.Int64N(int64(20 * time.Minute))))
		}
	case 6: // another version, in one way or another
		v := s.versions[in]
		switch s.IntN(3) {
		case 0:
			v.partitions = 1 + s.IntN(3)
		case 1:
			v.way++
		default:
			v.n++
		}
		s.versions[in] = v
		s.apply(in)
	case 7, 8:
		s.byHand(in)
	case 9:
		s.malformed(in)
	case 10:
		s.again(in)
	case 11:
		name := []string{"order", "ship", "ledger"}[s.IntN(3)]
		s.bans.ban(in, name, true)
		time.AfterFunc(time.Duration(s.Int64N(int64(20*time.Second))), func() { s.bans.ban(in, name, false) })
	case 12, 13: // one instance has far more than its share, and others are behind it
		order := s.IntN(40)
		for range 10 + s.IntN(30) {
			s.events++
			s.publish(in, domain.Event{ID: "e" + strconv.Itoa(s.events), AggregateType: "Order", AggregateID: strconv.Itoa(order),
				Type: "Note", Payload: fmt.Appendf(nil, `{"order":%d,"bad":%v}`, order, s.yes(5))})
		}
		s.event(in)
	default:
		for range 1 + s.IntN(8) {
			s.event(in)
		}
	}
}

// event publishes one of an order.
func (s *sim) event(in domain.TenantID) {
	s.events++
	order := s.IntN(40)
	ev := domain.Event{ID: "e" + strconv.Itoa(s.events), AggregateType: "Order", AggregateID: strconv.Itoa(order)}
	switch s.IntN(6) {
	case 0:
		ev.Type, ev.Payload = "OrderCancelled", fmt.Appendf(nil, `{"order":%d}`, order)
	case 1, 2:
		ev.Type, ev.Payload = "Note", fmt.Appendf(nil, `{"order":%d,"bad":%v}`, order, s.yes(20))
	default:
		ev.Type, ev.Payload = "OrderPlaced", fmt.Appendf(nil, `{"order":%d,"total":%d,"fail":%v,"refuse":%v}`, order, s.IntN(50)-2, s.yes(20), s.yes(10))
	}
	s.publish(in, ev)
}

// publish publishes until that is acknowledged, or not any more.
func (s *sim) publish(in domain.TenantID, ev domain.Event) {
	for range 4 {
		_, err := s.hand.Publish(context.Background(), in, &ev)
		if err == nil {
			s.published[place{in, ev.ID}] = ev
			return
		}
		if !errors.Is(err, domain.ErrUnavailable) {
			s.t.Errorf("publish: %v", err)
		}
	}
}

// again publishes an event that there was: as a publisher does that does not
// know, and whose message has another id, or none.
func (s *sim) again(in domain.TenantID) {
	for p, ev := range s.published {
		if p.in != in {
			continue
		}
		ev.Source = domain.SourceAggregate
		data, err := json.Marshal(ev)
		s.must(err)
		_ = s.log.Publish(context.Background(),
			stream.Message{Stream: domain.AggregateEvents, Subject: prefixOf(in) + "aggregate.Order." + ev.AggregateID, Data: data})
		if s.yes(50) {
			return
		}
	}
}

// prefixOf is how subjects of a context begin.
func prefixOf(in domain.TenantID) string {
	if name, _ := (names{}).TenantName(context.Background(), in); name != "" {
		return "tenant." + name + "."
	}
	return ""
}

// malformed publishes what is no event, or none of those that may be.
func (s *sim) malformed(in domain.TenantID) {
	p := prefixOf(in)
	m := []stream.Message{
		{Stream: domain.AggregateEvents, Subject: p + "aggregate.Order.1", Data: []byte("{")},
		{Stream: domain.AggregateEvents, Subject: p + "aggregate.Order.1", Data: []byte(`{"event_type":"OrderPlaced","payload":{}}`)},
		{Stream: domain.AggregateEvents, Subject: p + "aggregate.Order.1", Header: map[string]string{"ramet-event": "redo"}, Data: []byte(`{"dead":"saga:order:1"}`)},
		{Stream: domain.WorkflowCommands, Subject: p + "workflow.order.1", Data: []byte(`{"event_type":"ramet:drop","payload":{"dead":"saga:order:1"}}`)},
		{Stream: domain.WorkflowCommands, Subject: p + "workflow.order.1", Data: []byte(`{"event_type":"Remind","timer":17}`)},
		{Stream: domain.WorkflowEvents, Subject: p + "effect_result.pay.x", Data: bytes.Repeat([]byte("<"), domain.MaxEventBytes+1)},
		{Stream: domain.WorkflowEvents, Subject: p + "effect_result.pay.y",
			Data: []byte(`{"command_id":"y","effect_name":"pay","result_type":"Succeeded","metadata":{"saga":"order","correlation_id":"3"}}`)},
		{Stream: domain.WorkflowEvents, Subject: p + "workflow_event.order.%#00", Data: []byte(`{"event_type":"OrderPaid"}`)},
	}[s.IntN(8)]
	_ = s.log.Publish(context.Background(), m)
}

// byHand does what people do about instances and dead letters.
func (s *sim) byHand(in domain.TenantID) {
	ctx := context.Background()
	name := []string{"order", "ship", "ledger"}[s.IntN(3)]
	list, _, err := s.calm.Query(ctx, in, saga.Query{Saga: name, Limit: 1000})
	s.must(err)
	if len(list) > 0 && s.yes(50) {
		x := list[s.IntN(len(list))]
		if s.yes(50) {
			_ = s.hand.Pause(ctx, in, name, x.Correlation)
		} else {
			_ = s.hand.Resume(ctx, in, name, x.Correlation)
		}
		return
	}
	deadLetters, _, err := s.calm.DeadLetters(ctx, in, saga.DeadQuery{Limit: 1000})
	s.must(err)
	for range min(len(deadLetters), 3) {
		s.decide(in, deadLetters[s.IntN(len(deadLetters))], s.yes(60))
	}
}

// decide deals with a dead letter.
func (s *sim) decide(in domain.TenantID, d *domain.DeadLetter, replay bool) {
	s.touched[fmt.Sprintf("%d:%s:%s", in, d.Saga, d.Correlation)] = true
	if d.Event != nil {
		s.board.mu.Lock()
		s.redone[place{in, d.Event.ID}] = true
		s.board.mu.Unlock()
	}
	do := s.hand.Drop
	if replay {
		do = s.hand.Replay
	}
	for range 1 + s.IntN(2) { // some press twice
		if err := do(context.Background(), in, d.Kind, d.ID); err != nil && !errors.Is(err, domain.ErrUnavailable) && !errors.Is(err, domain.ErrNotFound) {
			s.t.Errorf("dead letter %s: %v", d.ID, err)
		}
	}
}

// heal ends every fault.
func (s *sim) heal() {
	s.broker.Fault(memstream.Faults{})
	s.gateway.luck.End()
	s.bank.luck.End()
	s.hand = s.calm
	for _, in := range s.contexts {
		for _, name := range []string{"order", "ship", "ledger"} {
			s.bans.ban(in, name, false)
		}
	}
	for i, n := range s.nodes {
		n.luck.End()
		if n.Dead() {
			s.start(i)
			n = s.nodes[i]
			n.luck.End()
		}
		n.Calm()
	}
	for _, in := range s.contexts { // an apply whose answer was lost
		s.apply(in)
	}
}

func (s *sim) stop() {
	for _, n := range s.nodes {
		n.Stop()
	}
}

// arrival is a work item where it was to go.
type arrival struct {
	at   time.Time
	seq  uint64
	text string
}

// simGateway takes commands. What has an id that it knows it takes again
// without doing anything.
type simGateway struct {
	luck *simtest.Luck

	mu      sync.Mutex
	arrived map[string][]arrival // by command id
	done    map[string]bool
}

func (g *simGateway) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	if g.luck.Yes(10) {
		return nil, errors.New("connection refused")
	}
	var c domain.SubmitCommandRequest
	if err := json.Unmarshal(body, &c); err != nil || c.CommandID != req.Header.Get("Idempotency-Key") || c.TenantID != req.Header.Get("x-tenant-id") {
		return answer(http.StatusBadRequest), nil
	}
	g.mu.Lock()
	g.arrived[c.CommandID] = append(g.arrived[c.CommandID], arrival{at: time.Now(), text: string(body)})
	refuse := strings.Contains(c.PayloadJSON, `"refuse":true`)
	if !refuse {
		g.done[c.CommandID] = true
	}
	g.mu.Unlock()
	switch g.luck.N(12) {
	case 0: // it did it, and does not answer
		<-req.Context().Done()
		return nil, req.Context().Err()
	case 1:
		return answer(http.StatusServiceUnavailable), nil
	}
	if refuse {
		return answer(http.StatusUnprocessableEntity), nil
	}
	return answer(http.StatusAccepted), nil
}

func answer(code int) *http.Response {
	return &http.Response{StatusCode: code, Status: http.StatusText(code), Header: http.Header{}, Body: http.NoBody}
}

// simBank does effects: what has one key once.
type simBank struct {
	luck *simtest.Luck

	mu   sync.Mutex
	done map[string]int
}

func (b *simBank) Do(ctx context.Context, c effect.Call) (json.RawMessage, error) {
	var wish struct{ Fail bool }
	if err := json.Unmarshal(c.Payload, &wish); err != nil {
		return nil, err
	}
	if wish.Fail {
		return nil, effect.Refusedf("no")
	}
	if b.luck.Yes(15) {
		return nil, errors.New("away")
	}
	b.mu.Lock()
	b.done[c.CommandID] = 1
	b.mu.Unlock()
	if b.luck.Yes(10) { // it did it, and does not answer
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return json.RawMessage(`{"ref":"` + c.CommandID + `"}`), nil
}

func (b *simBank) Check(context.Context, domain.TenantID) error { return nil }
func (b *simBank) Target() string                               { return "bank" }
func (b *simBank) Close() error                                 { return nil }

func simEffects() (list []effect.Definition) {
	for _, name := range []string{"reserve", "pay", "undo"} {
		list = append(list, effect.Definition{Name: name, Kind: "sim", Timeout: 4 * time.Second, Attempts: 4, Backoff: 500 * time.Millisecond,
			MaxBackoff: 2 * time.Second,
			Breaker:    50, BreakerPause: time.Second})
	}
	return list
}

// simOrder reserves, pays, and has it sent.
func simOrder(v variant) *domain.SagaDefinition {
	results := func(r domain.Reaction, names ...string) map[string]domain.Reaction {
		on := map[string]domain.Reaction{"*": domain.Ignore}
		for _, name := range names {
			on[name] = r
		}
		return on
	}
	defers := func(on map[string]domain.Reaction, names ...string) map[string]domain.Reaction {
		for _, name := range names {
			on[name] = domain.Defer
		}
		return on
	}
	return &domain.SagaDefinition{
		Name: "order", Initial: "new", Partitions: v.partitions, Summary: "program " + strconv.Itoa(v.n),
		Triggers: []domain.SagaTrigger{
			{Of: "Order", Types: []string{"OrderPlaced", "OrderCancelled", "Note"}},
			{Source: domain.SourceWorkflow, Types: []string{"Shipped"}},
		},
		Correlation: strings.Repeat(`"" + `, v.way%3) + `event.payload.order.to_string()`,
		Effects:     []string{"reserve", "pay"},
		Timers:      []string{"Remind"},
		States: []domain.SagaState{
			{Name: "new", On: results(domain.Handle, "OrderPlaced", "Note")},
			{Name: "reserving", On: defers(results(domain.Handle, "reserve.Succeeded", "reserve.Failed", "reserve.TimedOut", "Late"), "OrderCancelled",
				"Note", "Remind"),
				Timeout: &domain.SagaTimeout{After: 100, Event: "Late"}},
			{Name: "paying", On: defers(results(domain.Handle, "pay.Succeeded", "pay.Failed", "pay.TimedOut", "OrderCancelled", "Late", "Remind"), "Note"),
				Timeout: &domain.SagaTimeout{After: 100, Event: "Late"}},
			{Name: "shipping", On: results(domain.Handle, "Shipped", "Late", "Note", "Remind"), Timeout: &domain.SagaTimeout{After: 150, Event: "Late"}},
			{Name: "done", Final: true},
			{Name: "undone", Final: true, Outcome: domain.OutcomeFailed},
			{Name: "stuck", Final: true, Outcome: domain.OutcomeFailed},
		},
		Compensation: &domain.SagaCompensation{Steps: []string{"reserve", "pay"}, Effects: []string{"undo"}, Done: "undone", Failed: "stuck"},
		Script: `
fn on_event(state, event) {
  let of = #{aggregate_type: "Order", aggregate_id: event.correlation};
  switch event.type {
    "OrderPlaced" => {
      if event.payload.total < 0 { throw "a negative total" }
      #{ state: #{order: event.payload.order, fail: event.payload.fail, notes: 0, by: ` + strconv.Itoa(v.n) + `}, next: "reserving",
         timers: [#{event: "Remind", after: 30}],
         work: [#{command: of, payload: #{act: "hold", refuse: event.payload.refuse}},
                #{effect: "reserve", step: "reserve", payload: #{order: event.payload.order}},
                #{command: of, payload: #{act: "look"}}, #{fact: "OrderSeen", payload: #{order: event.payload.order}}] }
    },
    "reserve.Succeeded" => #{ next: "paying", work: [#{effect: "pay", step: "pay", payload: #{fail: state.fail}}, #{command: of, payload: #{act: "bill"}}] },
    "pay.Succeeded" => #{ next: "shipping",
        work: [#{saga: "ship", correlation: "s " + event.correlation, event: "Ship", payload: #{order: event.correlation}},
               #{fact: "OrderPaid", payload: state}] },
    "Shipped" => #{ next: "done", work: [#{fact: "OrderDone", payload: state}, #{command: of, payload: #{act: "close"}}] },
    "Note" => {
      if event.payload.bad { throw "a bad note" }
      if "notes" in state { state.notes += 1 } else { return }
      #{state: state, work: [#{fact: "Noted", payload: #{n: state.notes}}]}
    },
    "Remind" => {
      state.reminded = event.now_ms;
      let again = [];
      if state.notes < 3 { again.push(#{event: "Remind", after: 20}); }
      #{state: state, timers: again}
    },
    _ => #{compensate: true}
  }
}
fn compensate(state, work) { #{effect: "undo", payload: #{of: work.command_id}} }`,
	}
}

// simShip is a graph: it has a label made, waits, and tells the order.
func simShip() *domain.SagaDefinition {
	return &domain.SagaDefinition{
		Name: "ship", Initial: "idle",
		Triggers: []domain.SagaTrigger{{Source: domain.SourceWorkflow, Types: []string{"Ship"}}},
		Effects:  []string{"reserve"},
		Timers:   []string{"Pack"},
		States: []domain.SagaState{
			{Name: "idle", On: map[string]domain.Reaction{"Ship": domain.Handle, "*": domain.Ignore}},
			{Name: "labelling", On: map[string]domain.Reaction{"reserve.Succeeded": domain.Handle, "reserve.Failed": domain.Handle,
				"reserve.TimedOut": domain.Handle, "*": domain.Ignore}},
			{Name: "packing", On: map[string]domain.Reaction{"Pack": domain.Handle, "*": domain.Ignore}},
			{Name: "sent", Final: true},
			{Name: "lost", Final: true, Outcome: domain.OutcomeFailed},
		},
		Nodes: []domain.SagaNode{
			{Name: "typ", Expr: `event.type`},
			{Name: "state", Expr: `#{order: event.payload.order}`, When: `typ == "Ship"`},
			{Name: "next", Expr: `switch typ { "Ship" => "labelling", "reserve.Succeeded" => "packing", "Pack" => "sent", _ => "lost" }`},
			{Name: "timers", Expr: `if typ == "reserve.Succeeded" { [#{event: "Pack", after: 20}] } else { [] }`},
			{Name: "work", Expr: `switch typ { "Ship" => [#{effect: "reserve", step: "label", payload: #{}}], "Pack" => [#{saga: "order", correlation: ` +
				`order, event: "Shipped"}], _ => [] }`},
			{Name: "order", Expr: `if typ == "Pack" { state.order } else { "" }`},
		},
	}
}

// simLedger hears of all facts and never ends; what it fails on it passes over.
func simLedger() *domain.SagaDefinition {
	return &domain.SagaDefinition{
		Name: "ledger", Initial: "open", OnPoison: domain.PoisonSkip,
		Triggers:    []domain.SagaTrigger{{Source: domain.SourceFact, Of: "order", Types: []string{"OrderSeen", "OrderPaid", "OrderDone", "Noted"}}},
		Correlation: `"Book " + event.correlation.len()`,
		Data:        json.RawMessage(`{"n":0}`),
		States:      []domain.SagaState{{Name: "open", On: map[string]domain.Reaction{"*": domain.Handle}}, {Name: "never", Final: true}},
		Script: `fn on_event(state, event) {
  if event.type == "Noted" && event.payload.n == 2 { throw "two" }
  state.n += 1;
  #{state: state}
}`,
	}
}
