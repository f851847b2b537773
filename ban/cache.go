package ban

import (
	"cmp"
	"context"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/layout"
)

const (
	// cachePage is how many bans are read at once.
	cachePage = 500
	// cacheEvery is the pause between whole looks at the records, the net below
	// the watch.
	cacheEvery = 30 * time.Second
	// cacheAgain is the pause after the board could not be asked.
	cacheAgain = time.Second
)

// Cache is all bans in memory. Asking it costs no call of the board, and next
// to nothing where there is no ban. A nil Cache has none. It is safe for
// concurrent use.
type Cache struct {
	board board.Board
	log   *slog.Logger
	count atomic.Int64 // of bans: none is the usual case

	mu      sync.RWMutex
	bans    map[string]domain.Ban // by the scope's text
	changed chan struct{}         // closed when bans change
}

// NewCache returns a cache without bans; Load and Run fill it.
func NewCache(b board.Board, log *slog.Logger) *Cache {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Cache{board: b, log: log, bans: map[string]domain.Ban{}, changed: make(chan struct{})}
}

// Load reads all bans: a node does it before it begins anything.
func (c *Cache) Load(ctx context.Context) error {
	bans := map[string]domain.Ban{}
	for cursor := ""; ; {
		keys, next, err := c.board.Keys(ctx, 0, layout.BanPrefix, cursor, cachePage)
		if err != nil {
			return err
		}
		recs, bad, err := board.PerKey(c.board.Get(ctx, 0, keys...))
		if err != nil {
			return err
		}
		for i, rec := range recs {
			if b, ok := c.decode(keys[i], rec, bad[i]); ok {
				bans[b.String()] = b
			}
		}
		if cursor = next; next == "" {
			break
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bans = bans
	c.tell()
	return nil
}

// decode reads a ban that is in force; bad says that its key is no record.
func (c *Cache) decode(key string, rec board.Record, bad error) (domain.Ban, bool) {
	if rec == nil && bad == nil {
		return domain.Ban{}, false
	}
	b, err := layout.DecodeBan(key, rec)
	if err = cmp.Or(bad, err); err == nil {
		err = b.BanScope.Validate()
	}
	if err != nil || layout.Ban(b.BanScope) != key {
		c.log.Error("ban cannot be read and does not hold; lift it and set it again", "key", key, "err", err)
		return b, false
	}
	return b, b.InForce(c.board.Now())
}

// tell wakes those who wait for a change. The caller holds the mutex.
func (c *Cache) tell() {
	c.count.Store(int64(len(c.bans)))
	close(c.changed)
	c.changed = make(chan struct{})
}

// Run follows the bans until ctx ends.
func (c *Cache) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := c.follow(ctx); err != nil && ctx.Err() == nil {
			c.log.Warn("bans not read; those known before hold on", "err", err)
			pause.For(ctx, cacheAgain)
		}
	}
	return nil
}

// follow watches until the watch ends or the board cannot be asked.
func (c *Cache) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events, err := c.board.Watch(ctx, 0, layout.BanPrefix)
	if err != nil {
		return err
	}
	if err := c.Load(ctx); err != nil {
		return err
	}
	look := time.NewTicker(cacheEvery)
	defer look.Stop()
	for {
		over := time.NewTimer(c.nextEnd(c.board.Now()))
		select {
		case ev, open := <-events:
			if !open {
				over.Stop()
				return nil
			}
			err = c.see(ctx, ev.Key)
		case <-look.C:
			err = c.Load(ctx)
		case <-over.C:
			c.expire(c.board.Now())
		}
		over.Stop()
		if err != nil {
			return err
		}
	}
}

// see reads one changed record, or all where it is not known which changed.
func (c *Cache) see(ctx context.Context, key string) error {
	if key == "" {
		return c.Load(ctx)
	}
	recs, bad, err := board.PerKey(c.board.Get(ctx, 0, key))
	if err != nil {
		return err
	}
	b, ok := c.decode(key, recs[0], bad[0])
	c.mu.Lock()
	defer c.mu.Unlock()
	if ok {
		c.bans[b.String()] = b
	} else {
		delete(c.bans, key[len(layout.BanPrefix):])
	}
	c.tell()
	return nil
}

// nextEnd is how long it is until the first ban is over.
func (c *Cache) nextEnd(now time.Time) time.Duration {
	c.mu.RLock()
	defer c.mu.RUnlock()
	next := cacheEvery
	for _, b := range c.bans {
		if b.UntilMs != 0 {
			next = min(next, max(0, time.UnixMilli(b.UntilMs).Sub(now)))
		}
	}
	return next
}

// expire forgets the bans that are over.
func (c *Cache) expire(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := len(c.bans)
	for scope, b := range c.bans {
		if !b.InForce(now) {
			delete(c.bans, scope)
		}
	}
	if len(c.bans) != before {
		c.tell()
	}
}

// Changed is closed when bans change after this call.
func (c *Cache) Changed() <-chan struct{} {
	if c == nil {
		return nil
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.changed
}

// first is the first ban of level on one of the scopes.
func (c *Cache) first(level domain.BanLevel, scopes ...domain.BanScope) (domain.Ban, bool) {
	if c == nil || c.count.Load() == 0 {
		return domain.Ban{}, false
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	now := c.board.Now()
	for _, s := range scopes {
		if b, ok := c.bans[s.String()]; ok && b.Level.Covers(level) && b.InForce(now) {
			return b, true
		}
	}
	return domain.Ban{}, false
}

// Claims returns the ban for which a runner may claim nothing of a type, from
// no context.
func (c *Cache) Claims(t domain.ScriptType) (domain.Ban, bool) {
	return c.first(domain.BanPick, everything, domain.BanScope{Kind: domain.BanType, Name: string(t)})
}

var everything = domain.BanScope{Kind: domain.BanAll}

// Pick returns the ban for which a job may not be run. blueprint is asked for
// the name of the blueprint that the job's flow is of, where there is a ban on
// one in that context.
func (c *Cache) Pick(j *domain.Job, blueprint func() (string, error)) (domain.Ban, bool, error) {
	if c == nil || c.count.Load() == 0 {
		return domain.Ban{}, false, nil
	}
	if b, ok := c.first(domain.BanPick, jobScopes(j)...); ok || j.FlowID == 0 || !c.blueprints(j.ContextID) {
		return b, ok, nil
	}
	name, err := blueprint()
	if err != nil || name == "" {
		return domain.Ban{}, false, err
	}
	b, ok := c.first(domain.BanPick, domain.BanScope{Kind: domain.BanBlueprint, Context: j.ContextID, Name: name})
	return b, ok, nil
}

// jobScopes are those that a job is in by itself.
func jobScopes(j *domain.Job) []domain.BanScope {
	scopes := append(make([]domain.BanScope, 0, 5), everything, domain.BanScope{Kind: domain.BanContext, Context: j.ContextID},
		domain.BanScope{Kind: domain.BanType, Name: string(j.ScriptType)},
		domain.BanScope{Kind: domain.BanType, Context: j.ContextID, Name: string(j.ScriptType)})
	if j.FlowID != 0 {
		scopes = append(scopes, flowScope(j.ContextID, j.FlowID))
	}
	return scopes
}

func flowScope(t domain.TenantID, f domain.FlowID) domain.BanScope {
	return domain.BanScope{Kind: domain.BanFlow, Context: t, Name: strconv.FormatUint(uint64(f), 10)}
}

// blueprints reports whether a blueprint of the context is banned.
func (c *Cache) blueprints(t domain.TenantID) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, b := range c.bans {
		if b.Kind == domain.BanBlueprint && b.Context == t {
			return true
		}
	}
	return false
}

// Create returns an error where no jobs of a flow may be made. blueprint is ""
// and flow 0 where there is none.
//
// Errors: [domain.ErrConflict].
func (c *Cache) Create(t domain.TenantID, blueprint string, flow domain.FlowID) error {
	return c.work(domain.BanCreate, t, blueprint, flow, "")
}

// Submit returns an error where nothing of that kind may be submitted:
// blueprint is "" for what is of none, typ for what is no single job.
//
// Errors: [domain.ErrConflict].
func (c *Cache) Submit(t domain.TenantID, blueprint string, typ domain.ScriptType) error {
	return c.work(domain.BanSubmit, t, blueprint, 0, typ)
}

// CreateOf returns an error where no job of that type may be made in the
// context.
//
// Errors: [domain.ErrConflict].
func (c *Cache) CreateOf(t domain.TenantID, typ domain.ScriptType) error {
	return c.work(domain.BanCreate, t, "", 0, typ)
}

func (c *Cache) work(level domain.BanLevel, t domain.TenantID, blueprint string, flow domain.FlowID, typ domain.ScriptType) error {
	if c == nil || c.count.Load() == 0 {
		return nil
	}
	scopes := append(make([]domain.BanScope, 0, 6), everything, domain.BanScope{Kind: domain.BanContext, Context: t})
	if blueprint != "" {
		scopes = append(scopes, domain.BanScope{Kind: domain.BanBlueprint, Context: t, Name: blueprint})
	}
	if flow != 0 {
		scopes = append(scopes, flowScope(t, flow))
	}
	if typ != "" {
		scopes = append(scopes, domain.BanScope{Kind: domain.BanType, Name: string(typ)},
			domain.BanScope{Kind: domain.BanType, Context: t, Name: string(typ)})
	}
	if b, ok := c.first(level, scopes...); ok {
		return b.Refusal()
	}
	return nil
}

// Routine returns the ban on occupying or doing a routine, or in context 0 a maintenance
// service of the nodes. names are the routine's and that of one of its instances.
func (c *Cache) Routine(level domain.BanLevel, t domain.TenantID, names ...string) (domain.Ban, bool) {
	if c == nil || c.count.Load() == 0 {
		return domain.Ban{}, false
	}
	scopes := make([]domain.BanScope, len(names))
	for i, n := range names {
		scopes[i] = domain.BanScope{Kind: domain.BanRoutine, Context: t, Name: n}
	}
	return c.first(level, scopes...)
}

// Effect returns the ban for which an effect may not be tried in a context.
// names are the effect's and its target's.
func (c *Cache) Effect(t domain.TenantID, names ...string) (domain.Ban, bool) {
	return c.hold(domain.BanEffect, t, names...)
}

// Saga returns the ban for which a saga of a context may take no events.
func (c *Cache) Saga(t domain.TenantID, name string) (domain.Ban, bool) {
	return c.hold(domain.BanSaga, t, name)
}

// hold is the ban on picking what has one of these names, in the context or
// everywhere.
func (c *Cache) hold(kind domain.BanKind, t domain.TenantID, names ...string) (domain.Ban, bool) {
	if c == nil || c.count.Load() == 0 {
		return domain.Ban{}, false
	}
	scopes := append(make([]domain.BanScope, 0, 2+2*len(names)), everything, domain.BanScope{Kind: domain.BanContext, Context: t})
	for _, n := range names {
		scopes = append(scopes, domain.BanScope{Kind: kind, Name: n}, domain.BanScope{Kind: kind, Context: t, Name: n})
	}
	return c.first(domain.BanPick, scopes...)
}
