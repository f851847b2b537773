package effect_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/ban"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/stream"
	"github.com/ramet-run/ramet/stream/memstream"
)

// ledger is what a target knows: it does once what comes twice under one key.
type ledger struct {
	mu      sync.Mutex
	calls   map[string]int // by key
	applied map[string]int // how often it came after it could be applied
}

func (l *ledger) asks(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls[key]++
}

func (l *ledger) applies(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.applied[key]++
}

// asked is how often a call with a key came; "": any.
func (l *ledger) asked(key string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if key != "" {
		return l.calls[key]
	}
	for _, one := range l.calls {
		n += one
	}
	return n
}

func (l *ledger) wasApplied(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.applied[key] > 0
}

// fake is a provider of a target, and can be told what its next calls meet.
type fake struct {
	*ledger
	mu       sync.Mutex
	last     effect.Call
	inFlight int
	most     int
	closed   bool
	// before and after are what a call meets before it is applied, and after.
	before, after func(ctx context.Context, call effect.Call) error
	answer        func(call effect.Call) json.RawMessage
}

func newFake() *fake {
	return &fake{ledger: &ledger{calls: map[string]int{}, applied: map[string]int{}}}
}

// twin is another provider of the same target.
func (f *fake) twin() *fake { return &fake{ledger: f.ledger} }

func (f *fake) Do(ctx context.Context, call effect.Call) (json.RawMessage, error) {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return nil, errors.New("the provider is closed")
	}
	f.inFlight++
	f.most = max(f.most, f.inFlight)
	f.last = call
	before, after, answer := f.before, f.after, f.answer
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.inFlight--
		f.mu.Unlock()
	}()
	f.asks(call.CommandID)
	if before != nil {
		if err := before(ctx, call); err != nil {
			return nil, err
		}
	}
	f.applies(call.CommandID)
	if after != nil {
		if err := after(ctx, call); err != nil {
			return nil, err
		}
	}
	if answer != nil {
		return answer(call), nil
	}
	return json.RawMessage(`{"ok":true}`), nil
}

func (f *fake) Check(context.Context, domain.TenantID) error { return nil }
func (f *fake) Target() string                               { return "fake://target" }

func (f *fake) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.inFlight > 0 {
		return fmt.Errorf("closed while %d calls are in flight", f.inFlight)
	}
	f.closed = true
	return nil
}

// meets lets calls meet something before they are applied.
func (f *fake) meets(before func(ctx context.Context, call effect.Call) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before = before
}

// thenMeets lets them meet something afterwards.
func (f *fake) thenMeets(after func(ctx context.Context, call effect.Call) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.after = after
}

// atOnce is how many calls there were at once.
func (f *fake) atOnce() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.most
}

// lastCall is what came last.
func (f *fake) lastCall() effect.Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

// reopen lets a closed one be used by another node.
func (f *fake) reopen() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = false
}

func (f *fake) isClosed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closed
}

// rig is a broker and a board with workers on them.
type rig struct {
	*testing.T
	broker *memstream.Broker
	log    *memstream.Log
	board  board.Board
	bans   *ban.Bans
	cache  *ban.Cache
	fake   *fake
	cfg    effect.Config
	stop   context.CancelFunc
	wg     sync.WaitGroup
}

// bubble runs a test in virtual time.
func bubble(t *testing.T, test func(*rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		r := &rig{T: t, broker: memstream.New(), board: b, bans: ban.New(b), cache: ban.NewCache(b, nil), fake: newFake()}
		r.log = r.broker.Log()
		r.cfg = effect.Config{Tenant: tenants, Bans: r.cache}
		ctx, stop := context.WithCancel(context.Background())
		r.stop = stop
		r.wg.Go(func() { _ = r.cache.Run(ctx) })
		defer r.wg.Wait()
		defer r.halt()
		test(r)
	})
}

// halt ends all that runs.
func (r *rig) halt() {
	r.stop()
	r.wg.Wait()
}

// tenants are the contexts 1, 7 ("acme") and 8.
func tenants(_ context.Context, name string) (domain.TenantID, error) {
	switch name {
	case "", "1":
		return 1, nil
	case "7", "acme":
		return 7, nil
	case "8":
		return 8, nil
	}
	return 0, domain.NotFoundf("no context %s", name)
}

// set is one effect, "pay", of the fake kind.
func (r *rig) set(change ...func(*effect.Definition)) *effect.Set {
	r.Helper()
	d := effect.Definition{Name: "pay", Kind: "fake"}
	for _, c := range change {
		c(&d)
	}
	return r.open(r.fake, d)
}

func (r *rig) open(p effect.Provider, list ...effect.Definition) *effect.Set {
	r.Helper()
	open := func(effect.Definition, effect.Host) (effect.Provider, error) { return p, nil }
	kinds := map[domain.EffectKind]effect.Open{"fake": open, domain.EffectJob: open}
	s, err := effect.OpenSet(list, kinds, effect.Host{})
	if err != nil {
		r.Fatal(err)
	}
	return s
}

// start runs a worker until the end of the test, or until it is stopped.
func (r *rig) start(s *effect.Set) (w *effect.Worker, stop func()) {
	w = effect.NewWorker(r.log, r.board, s, r.cfg)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	r.wg.Go(func() {
		defer close(done)
		if err := w.Run(ctx); err != nil {
			r.Errorf("run: %v", err)
		}
	})
	before := r.stop
	r.stop = func() { cancel(); before() }
	return w, func() { cancel(); <-done }
}

// command is one of context 7.
func command(id string) domain.EffectCommand {
	return domain.EffectCommand{TenantID: "7", CommandID: id, EffectName: "pay", Payload: json.RawMessage(`{"amount":12}`),
		Metadata: map[string]string{"correlation_id": "order-1", "saga": "order", "step": "pay", "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736"}}
}

// message is a command as it goes into the stream.
func message(c domain.EffectCommand) stream.Message {
	data, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	subject := "effect." + c.EffectName + "." + c.CommandID
	if c.TenantID != "" {
		subject = "tenant." + c.TenantID + "." + subject
	}
	return stream.Message{Stream: domain.WorkflowCommands, Subject: subject, Data: data}
}

func (r *rig) publish(messages ...stream.Message) {
	r.Helper()
	if err := r.log.Publish(r.Context(), messages...); err != nil {
		r.Fatal(err)
	}
}

func (r *rig) ask(ids ...string) {
	r.Helper()
	for _, id := range ids {
		r.publish(message(command(id)))
	}
}

// results are those published so far.
func (r *rig) results() (list []domain.EffectResult) {
	r.Helper()
	found, err := r.log.Scan(r.Context(), domain.WorkflowEvents, nil, 1, 1000)
	if err != nil {
		r.Fatal(err)
	}
	for _, m := range found {
		var res domain.EffectResult
		if err := json.Unmarshal(m.Data, &res); err != nil {
			r.Fatalf("result %q: %v", m.Data, err)
		}
		if !strings.HasSuffix(m.Subject, "effect_result."+res.EffectName+"."+res.CommandID) {
			r.Errorf("result of %s has the subject %s", res.CommandID, m.Subject)
		}
		list = append(list, res)
	}
	return list
}

// one is the only result there is.
func (r *rig) one() domain.EffectResult {
	r.Helper()
	list := r.results()
	if len(list) != 1 {
		r.Fatalf("got %d results, want 1: %v", len(list), list)
	}
	return list[0]
}

// mark is what the board knows of a command of context 7.
func (r *rig) mark(id string) effect.Mark {
	r.Helper()
	m, err := effect.CommandMark(r.Context(), r.board, 7, "7", id)
	if err != nil {
		r.Fatal(err)
	}
	return m
}

// dead are the dead letters in a space under a context's name.
func (r *rig) dead(space board.Space, tenant string) (list []domain.DeadLetter) {
	r.Helper()
	keys, _, err := r.board.Keys(r.Context(), space, layout.SagaKeys{Tenant: tenant}.Deads(domain.DeadEffect), "", 1000)
	if err != nil {
		r.Fatal(err)
	}
	recs, err := r.board.Get(r.Context(), space, keys...)
	if err != nil {
		r.Fatal(err)
	}
	for _, rec := range recs {
		var d domain.DeadLetter
		if err := json.Unmarshal([]byte(rec.Get(layout.DeadText)), &d); err != nil {
			r.Fatal(err)
		}
		list = append(list, d)
	}
	return list
}

// drained says that the stream has nothing left for workers.
func (r *rig) drained() {
	r.Helper()
	q, err := r.log.Work(r.Context(), stream.Shared{Durable: effect.Durable("pay"), Stream: domain.WorkflowCommands, Subjects: effect.Subjects("pay")})
	if err != nil {
		r.Fatal(err)
	}
	defer q.Close()
	pending, hand, err := q.Pending(r.Context())
	if err != nil || pending != 0 || hand != 0 {
		r.Errorf("got %d pending and %d in hands, %v, want none", pending, hand, err)
	}
}

// after lets time pass until all is quiet.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func boardSpace(n uint32) board.Space { return board.Space(n) }

// faults are those of a broker that is away, or well.
func faults(away bool) memstream.Faults { return memstream.Faults{Away: away} }
