package saga

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/lease"
)

// WorkerConfig says what a worker does.
type WorkerConfig struct {
	// Owner is written on leases. It must differ for each life of the process.
	Owner string
	// Lease is how long a worker that says nothing still holds its partitions:
	// the time of a fail-over. Default: 5s.
	Lease time.Duration
	// Grace is how long it may take to empty outboxes when it is told to stop.
	// Default: [domain.DefaultGrace].
	Grace time.Duration
	// Placement says what it serves; it is asked again all the time. Default: all.
	Placement func() Placement
	// Gateway is where commands go.
	Gateway GatewayConfig
	// May reports whether the worker may hold partitions, and returns a channel
	// that is closed when that changes. Default: always.
	May func() (may bool, changed <-chan struct{})
}

// Worker serves partitions of sagas.
type Worker struct {
	e         *Engine
	cfg       WorkerConfig
	text      *slog.Logger
	placement func() Placement
	gateways  *gateways
	leases    *lease.Renewer[*shard]
	joined    bool // it is said on the board that it is there
	changed   chan struct{}
	watched   watched

	mu     sync.Mutex
	shards map[shardOf]*held
}

// held is a partition that the worker has, or tries to get.
type held struct {
	entry string // that the index had of its saga when it was taken
	stop  *stop
	ended chan struct{}
}

// stop tells a shard to end, and how long it may try to empty its outbox.
type stop struct {
	once     sync.Once
	told     chan struct{}
	patience time.Duration // once it is told
}

func (s *stop) tell(patience time.Duration) {
	s.once.Do(func() { s.patience = patience; close(s.told) })
}

// NewWorker returns a worker on the engine's board.
func NewWorker(e *Engine, cfg WorkerConfig) *Worker {
	cfg.Lease = cmp.Or(cfg.Lease, 5*time.Second)
	cfg.Grace = cmp.Or(cfg.Grace, domain.DefaultGrace)
	if cfg.Placement == nil {
		cfg.Placement = func() Placement { return Placement{} }
	}
	if cfg.May == nil {
		cfg.May = func() (bool, <-chan struct{}) { return true, nil }
	}
	return &Worker{e: e, cfg: cfg, text: e.text, placement: cfg.Placement, gateways: newGateways(cfg.Gateway, e.board.Now, e.text),
		leases: lease.NewRenewer(lease.Config[*shard]{Board: e.board, Owner: cfg.Owner, Length: cfg.Lease, Guarded: true, Lost: errLost,
			What: "partitions", Log: e.text}),
		changed: make(chan struct{}, 1), shards: map[shardOf]*held{}}
}

// Run serves until ctx ends; then it lets go of what it has, with all that is
// in the outboxes sent if that can be within the grace.
func (w *Worker) Run(ctx context.Context) error {
	w.e.mu.Lock()
	w.e.workers[w] = struct{}{}
	w.e.mu.Unlock()
	defer func() {
		w.e.mu.Lock()
		delete(w.e.workers, w)
		w.e.mu.Unlock()
	}()
	// What the shards do goes on past ctx, for the grace.
	life, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		w.leases.Keep(life)
	}()
	defer func() {
		kill()
		<-renewed
	}()
	w.serve(ctx, life)
	after, cancel := context.WithTimeout(life, w.cfg.Grace)
	defer cancel()
	for _, h := range w.all() {
		h.stop.tell(w.cfg.Grace)
	}
	w.leave(after)
	for _, h := range w.all() {
		select {
		case <-h.ended:
		case <-after.Done():
			kill()
			<-h.ended
		}
	}
	return nil
}

// serve keeps the worker's partitions what they should be.
func (w *Worker) serve(ctx, life context.Context) {
	every := w.cfg.Lease / 3
	index, err := w.e.board.Watch(ctx, 0, indexKey)
	if err != nil {
		index = nil // then the tick finds it
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		may, changed := w.cfg.May()
		if !may {
			w.leave(ctx)
			w.keep(life, nil)
		} else if err := w.assign(ctx, life); err != nil && ctx.Err() == nil {
			w.text.Warn("sagas: who serves what is not known", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-changed:
		case <-w.changed:
		case _, open := <-index:
			if !open {
				index = nil
			}
		}
	}
}

// wake has the worker look at once at what it should serve.
func (w *Worker) wake() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// reread has the partitions of a saga begin anew, with its newest definition.
func (w *Worker) reread(tenant domain.TenantID, saga string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for s, h := range w.shards {
		if s.tenant == tenant && s.saga == saga {
			h.stop.tell(w.cfg.Lease)
		}
	}
	w.wake()
}

// assign finds out what this worker should hold.
func (w *Worker) assign(ctx, life context.Context) error {
	if err := w.join(ctx); err != nil {
		return err
	}
	all, err := w.e.served(ctx)
	if err != nil {
		return err
	}
	members, err := w.e.members(ctx, func(key string, lease board.Lease, held bool) { w.forget(ctx, key, lease, held) })
	if err != nil {
		return err
	}
	mine := map[shardOf]claim{}
	names := map[domain.TenantID]string{}
	for _, c := range all {
		name, known := names[c.tenant]
		if !known {
			name, err = w.e.cfg.Names.TenantName(ctx, c.tenant)
			if errors.Is(err, domain.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			names[c.tenant] = name
		}
		c.name = name
		for p := range c.of {
			c.partition = p
			if best(c.shardOf, name, members) == w.cfg.Owner {
				mine[c.shardOf] = c
			}
		}
	}
	w.keep(life, mine)
	return nil
}

// keep lets go of partitions that are not to be held or have become different,
// and takes those that are.
func (w *Worker) keep(life context.Context, mine map[shardOf]claim) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for s, h := range w.shards {
		if c, keep := mine[s]; !keep || c.entry != h.entry {
			h.stop.tell(w.cfg.Lease)
		}
	}
	for s, c := range mine {
		if w.shards[s] == nil {
			h := &held{entry: c.entry, stop: &stop{told: make(chan struct{})}, ended: make(chan struct{})}
			w.shards[s] = h
			go w.hold(life, s, c.name, h)
		}
	}
}

func (w *Worker) all() []*held {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := make([]*held, 0, len(w.shards))
	for _, h := range w.shards {
		list = append(list, h)
	}
	return list
}

// hold serves a partition until it is told to stop, again and again: after
// every error it begins with what the board has.
func (w *Worker) hold(ctx context.Context, s shardOf, name string, h *held) {
	defer close(h.ended)
	defer func() {
		w.mu.Lock()
		delete(w.shards, s)
		w.mu.Unlock()
		w.wake()
	}()
	for wait := pauseMin; ; wait *= 2 {
		began := time.Now()
		sh, err := w.shard(ctx, s, name)
		if err == nil {
			if err = sh.run(ctx, h.stop); err == nil {
				return
			}
		}
		if ctx.Err() != nil {
			return
		}
		level, most := slog.LevelWarn, pauseMax
		switch {
		case errors.Is(err, errNewer):
			return // it is taken again as it is now
		case errors.Is(err, domain.ErrConflict), errors.Is(err, errLost):
			level, most = slog.LevelDebug, w.cfg.Lease/2 // that happens where there are several
		case errors.Is(err, domain.ErrUnavailable):
			most = w.cfg.Lease / 2
		}
		if time.Since(began) > w.cfg.Lease {
			wait = pauseMin
		}
		wait = min(wait, most)
		w.text.Log(ctx, level, "saga stopped, and begins again", "context", uint32(s.tenant), "saga", s.saga, "partition", s.partition, "err", err)
		select {
		case <-time.After(wait):
		case <-h.stop.told:
			return
		case <-ctx.Done():
			return
		}
	}
}

// shard is a partition as its newest definition wants it to be read.
func (w *Worker) shard(ctx context.Context, s shardOf, name string) (*shard, error) {
	newest, err := w.e.defs.get(ctx, s.tenant, s.saga, 0)
	if err != nil {
		return nil, err
	}
	keys := layout.SagaKeys{Tenant: name}
	return &shard{shardOf: s, e: w.e, name: name, keys: keys, space: layout.SpaceOf(s.tenant), record: shardKey(keys, s.saga, s.partition, s.of),
		owner: w.cfg.Owner, lease: w.cfg.Lease, leases: w.leases, gateways: w.gateways, newest: newest}, nil
}

// Holds are the partitions that the worker has, for people:
// "<context>:<saga>:<partition>/<partitions>".
func (w *Worker) Holds() []string {
	list := []string{}
	for _, s := range w.leases.All() {
		list = append(list, s.String())
	}
	slices.Sort(list)
	return list
}

// Consumers are the durable consumers by which the worker reads streams. A
// partition has no more, but may have fewer, where its saga reads no such events.
func (w *Worker) Consumers() []string {
	var list []string
	for _, s := range w.leases.All() {
		for _, n := range read {
			list = append(list, s.durable(n))
		}
	}
	slices.Sort(list)
	return list
}
