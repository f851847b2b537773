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

// Routine is something that exactly one node does at a time.
type Routine struct {
	// Name is unique on the board.
	Name string
	// Every is the pause before each round. Zero: Round waits by itself.
	Every time.Duration
	// Round does one round. It must end soon after ctx ends.
	Round func(ctx context.Context) error
	// Wanted reports whether there is something that this very node can do in it
	// now; while there is not, it leaves the routine to others. Default: always.
	Wanted func() bool
}

// Config says how routines are shared between nodes.
type Config struct {
	// Owner is this life of this node; see work.RunnerConfig.Owner.
	Owner string
	// Bans are asked before a routine is occupied and before each round.
	// Default: none.
	Bans *ban.Cache
	// May reports whether the node may occupy routines, and returns a channel
	// that is closed when that changes. Default: always.
	May func() (may bool, changed <-chan struct{})
	// Yield reports whether the node would rather leave its routines to others, as
	// there are contexts that it cannot read: it lets go of a routine after a
	// while, and takes it again if nobody else has. Default: never.
	Yield func() bool
	// Lease is for how long a routine is occupied unless renewed. A dead
	// node's routine goes on elsewhere after that. Default: 5s.
	Lease time.Duration
	// Logger takes what went wrong. Default: none.
	Logger *slog.Logger
}

// yieldAfter is for how long a node holds a routine that it would rather leave
// to another.
const yieldAfter = 30 * time.Second

// Run does the routines whenever this node can occupy them, until ctx ends.
func Run(ctx context.Context, b board.Board, cfg Config, routines []Routine) error {
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
	for _, r := range routines {
		k := keeper{board: b, cfg: cfg, routine: r, held: held}
		g.Go(func() error { k.run(ctx); return nil })
	}
	return g.Wait()
}

// keeper does one routine on this node.
type keeper struct {
	board   board.Board
	cfg     Config
	routine Routine
	held    *lease.Renewer[*holding] // routines that this node has
}

// holding is a routine that this node has.
type holding struct{ lease.Item }

// errLost is why its rounds end where another node has it, or may have.
var errLost = errors.New("the routine's lease is lost")

// run occupies the routine whenever it is free, and does it.
func (k keeper) run(ctx context.Context) {
	for k.allowed(ctx) {
		if !k.wanted() {
			pause.For(ctx, k.routine.Every)
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
			k.cfg.Logger.Warn("routine not occupied", "routine", k.routine.Name, "err", err)
		}
		pause.For(ctx, k.cfg.Lease/2)
	}
}

// allowed waits until the routine may be occupied; false is that ctx has ended.
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

// may reports whether the routine may be occupied now. A routine that waits by
// itself has one round only, so that to ban its rounds is to ban it.
func (k keeper) may() (bool, changes) {
	c := changes{k.cfg.Bans.Changed()} // before they are asked: no change is missed
	may := true
	if k.cfg.May != nil {
		may, c[1] = k.cfg.May()
	}
	level := domain.BanOccupy
	if k.routine.Every == 0 {
		level = domain.BanExec
	}
	_, banned := k.cfg.Bans.Routine(level, 0, k.routine.Name)
	return may && !banned, c
}

func (k keeper) occupy(ctx context.Context) (int64, error) {
	return k.board.Occupy(ctx, 0, layout.Routine(k.routine.Name), k.cfg.Owner, k.cfg.Lease)
}

// hold does rounds while the routine stays occupied by us, and frees it at the
// end so that another node need not wait for the lease to run out.
func (k keeper) hold(ctx context.Context, token int64, since time.Time) {
	h := new(holding)
	k.held.Begin(ctx, h, board.Claimed{Item: layout.Routine(k.routine.Name), Token: token}, since)
	k.held.Add(h)
	k.sign(ctx, token)
	var watch sync.WaitGroup
	watch.Go(func() { k.watch(h) })
	k.rounds(h.Ctx)
	k.held.Remove(h)
	watch.Wait()
	k.free(context.WithoutCancel(ctx), token)
}

// watch ends the rounds when the node may not have the routine any more.
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

func (k keeper) wanted() bool { return k.routine.Wanted == nil || k.routine.Wanted() }

// yields reports whether the node would rather leave the routine to another. Of
// a routine that says where it is wanted, each node knows it exactly.
func (k keeper) yields() bool {
	return k.routine.Wanted == nil && k.cfg.Yield != nil && k.cfg.Yield()
}

// holdAWhile is hold of a node that would rather leave the routine to another.
func (k keeper) holdAWhile(ctx context.Context, token int64, since time.Time) {
	turn, cancel := context.WithTimeout(ctx, yieldAfter)
	defer cancel()
	k.hold(turn, token, since)
}

func (k keeper) rounds(ctx context.Context) {
	for pause.For(ctx, k.routine.Every); ctx.Err() == nil && k.wanted(); pause.For(ctx, k.routine.Every) {
		changed := k.cfg.Bans.Changed() // first: no change after this is missed
		if _, banned := k.cfg.Bans.Routine(domain.BanExec, 0, k.routine.Name); banned {
			changes{changed}.wait(ctx)
			continue
		}
		if err := k.routine.Round(ctx); err != nil && ctx.Err() == nil {
			k.cfg.Logger.Warn("routine round failed", "routine", k.routine.Name, "err", err)
			pause.For(ctx, time.Second)
		}
	}
}

// sign writes since when the routine is held, for people.
func (k keeper) sign(ctx context.Context, token int64) {
	item := layout.Routine(k.routine.Name)
	var b board.Batch
	b.Held(item, k.cfg.Owner, token)
	b.Set(item, board.Field{Name: layout.RoutineSinceMs, Value: strconv.FormatInt(time.Now().UnixMilli(), 10)},
		board.Field{Name: layout.RoutineEveryMs, Value: strconv.FormatInt(k.routine.Every.Milliseconds(), 10)})
	// Whatever goes wrong here, the routine is done all the same.
	_ = k.board.Commit(ctx, b)
}

// free lets go of the routine, if it is still ours.
func (k keeper) free(ctx context.Context, token int64) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	item := layout.Routine(k.routine.Name)
	var b board.Batch
	b.Held(item, k.cfg.Owner, token).Release(item)
	// Whatever goes wrong here, the lease runs out by itself.
	_ = k.board.Commit(ctx, b)
}
