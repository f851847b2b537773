package clockwork

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ramet-run/ramet/ban"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/lease"
)

// Maintenance is a maintenance service: what exactly one node at a time does for the whole board.
type Maintenance struct {
	// Name is unique on the board.
	Name string
	// Every is the pause before each round. Zero: Round waits by itself.
	Every time.Duration
	// Round does one round. It must end soon after ctx ends.
	Round func(ctx context.Context) error
	// Wanted reports whether there is something that this very node can do in it
	// now; while there is not, it leaves the service to others. Default: always.
	Wanted func() bool
}

// Config says how services are shared between nodes.
type Config struct {
	// Owner is this life of this node; see work.RunnerConfig.Owner.
	Owner string
	// Bans are asked before a maintenance service is occupied and before each round.
	// Default: none.
	Bans *ban.Cache
	// May reports whether the node may occupy services, and returns a channel
	// that is closed when that changes. Default: always.
	May func() (may bool, changed <-chan struct{})
	// Yield reports whether the node would rather leave its services to others, as
	// there are contexts that it cannot read: it lets go of a maintenance service after a
	// while, and takes it again if nobody else has. Default: never.
	Yield func() bool
	// Lease is for how long a maintenance service is occupied unless renewed. A dead
	// node's routine goes on elsewhere after that. Default: 5s.
	Lease time.Duration
	// Logger takes what went wrong. Default: none.
	Logger *slog.Logger
}

// yieldAfter is for how long a node holds a maintenance service that it would rather leave
// to another.
const yieldAfter = 30 * time.Second

// Run does the services whenever this node can occupy them, until ctx ends.
func Run(ctx context.Context, b board.Board, cfg Config, services []Maintenance) error {
	if cfg.Lease == 0 {
		cfg.Lease = 5 * time.Second
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	held := lease.NewRenewer(lease.Config[*holding]{Board: b, Owner: cfg.Owner, Length: cfg.Lease, Guarded: true, Lost: errLost,
		What: "routines", Log: cfg.Logger})
	var g errgroup.Group
	g.Go(func() error { held.Keep(ctx); return nil })
	for _, r := range services {
		k := keeper{board: b, cfg: cfg, service: r, held: held}
		g.Go(func() error { k.run(ctx); return nil })
	}
	return g.Wait()
}

// keeper does one service on this node.
type keeper struct {
	board   board.Board
	cfg     Config
	service Maintenance
	held    *lease.Renewer[*holding] // services that this node has
}

// holding is a maintenance service that this node has.
type holding struct{ lease.Item }

// errLost is why its rounds end where another node has it, or may have.
var errLost = errors.New("the lease of the maintenance service is lost")

// run occupies the service whenever it is free, and does it.
func (k keeper) run(ctx context.Context) {
	for k.allowed(ctx) {
		if !k.wanted() {
			pause.For(ctx, k.service.Every)
			continue
		}
		asked := time.Now()
		token, err := k.occupy(ctx)
		if err == nil && !k.yields() {
			k.hold(ctx, token, asked)
			continue
		}
		if err == nil {
			k.holdAWhile(ctx, token, asked)
			pause.For(ctx, k.cfg.Lease) // others look twice in that time
			continue
		}
		if !errors.Is(err, domain.ErrConflict) && ctx.Err() == nil {
			k.cfg.Logger.Warn("routine not occupied", "routine", k.service.Name, "err", err)
		}
		pause.For(ctx, k.cfg.Lease/2)
	}
}

// allowed waits until the service may be occupied; false is that ctx has ended.
func (k keeper) allowed(ctx context.Context) bool {
	for ctx.Err() == nil {
		may, changed := k.may()
		if may {
			return true
		}
		changed.wait(ctx)
	}
	return false
}

// changes are what may change the answer to whether something may be done.
type changes [2]<-chan struct{}

// wait waits for one of them, or for the end of ctx.
func (c changes) wait(ctx context.Context) {
	select {
	case <-c[0]:
	case <-c[1]:
	case <-ctx.Done():
	}
}

// may reports whether the service may be occupied now. A maintenance service that waits by
// itself has one round only, so that to ban its rounds is to ban it.
func (k keeper) may() (bool, changes) {
	c := changes{k.cfg.Bans.Changed()} // before they are asked: no change is missed
	may := true
	if k.cfg.May != nil {
		may, c[1] = k.cfg.May()
	}
	level := domain.BanOccupy
	if k.service.Every == 0 {
		level = domain.BanExec
	}
	_, banned := k.cfg.Bans.Routine(level, 0, k.service.Name)
	return may && !banned, c
}

func (k keeper) occupy(ctx context.Context) (int64, error) {
	return k.board.Occupy(ctx, 0, layout.Maintenance(k.service.Name), k.cfg.Owner, k.cfg.Lease)
}

// hold does rounds while the service stays occupied by us, and frees it at the
// end so that another node need not wait for the lease to run out.
func (k keeper) hold(ctx context.Context, token int64, since time.Time) {
	h := new(holding)
	k.held.Begin(ctx, h, board.Claimed{Item: layout.Maintenance(k.service.Name), Token: token}, since)
	k.held.Add(h)
	k.sign(ctx, token)
	var watch sync.WaitGroup
	watch.Go(func() { k.watch(h) })
	k.rounds(h.Ctx)
	k.held.Remove(h)
	watch.Wait()
	k.free(context.WithoutCancel(ctx), token)
}

// watch ends the rounds when the node may not have the service any more.
func (k keeper) watch(h *holding) {
	for h.Ctx.Err() == nil {
		may, changed := k.may()
		if !may {
			h.Stop(nil)
			return
		}
		changed.wait(h.Ctx)
	}
}

func (k keeper) wanted() bool { return k.service.Wanted == nil || k.service.Wanted() }

// yields reports whether the node would rather leave the service to another. Of
// a maintenance service that says where it is wanted, each node knows it exactly.
func (k keeper) yields() bool {
	return k.service.Wanted == nil && k.cfg.Yield != nil && k.cfg.Yield()
}

// holdAWhile is hold of a node that would rather leave the service to another.
func (k keeper) holdAWhile(ctx context.Context, token int64, since time.Time) {
	turn, cancel := context.WithTimeout(ctx, yieldAfter)
	defer cancel()
	k.hold(turn, token, since)
}

func (k keeper) rounds(ctx context.Context) {
	for pause.For(ctx, k.service.Every); ctx.Err() == nil && k.wanted(); pause.For(ctx, k.service.Every) {
		changed := k.cfg.Bans.Changed() // first: no change after this is missed
		if _, banned := k.cfg.Bans.Routine(domain.BanExec, 0, k.service.Name); banned {
			changes{changed}.wait(ctx)
			continue
		}
		if err := k.service.Round(ctx); err != nil && ctx.Err() == nil {
			k.cfg.Logger.Warn("routine round failed", "routine", k.service.Name, "err", err)
			pause.For(ctx, time.Second)
		}
	}
}

// sign writes since when the service is held, for people.
func (k keeper) sign(ctx context.Context, token int64) {
	item := layout.Maintenance(k.service.Name)
	var b board.Batch
	b.Held(item, k.cfg.Owner, token)
	b.Set(item, board.Field{Name: layout.MaintenanceSinceMs, Value: strconv.FormatInt(k.board.Now().UnixMilli(), 10)},
		board.Field{Name: layout.MaintenanceEveryMs, Value: strconv.FormatInt(k.service.Every.Milliseconds(), 10)})
	// Whatever goes wrong here, the service is done all the same.
	_ = k.board.Commit(ctx, b)
}

// free lets go of the service, if it is still ours.
func (k keeper) free(ctx context.Context, token int64) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	item := layout.Maintenance(k.service.Name)
	var b board.Batch
	b.Held(item, k.cfg.Owner, token).Release(item)
	// Whatever goes wrong here, the lease runs out by itself.
	_ = k.board.Commit(ctx, b)
}
