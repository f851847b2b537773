package node

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/precondition"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
	"github.com/ramet-run/ramet/listener"
	"github.com/ramet-run/ramet/saga"
	"github.com/ramet-run/ramet/stream"
)

// SagasConfig says how a node serves sagas and effects.
type SagasConfig struct {
	// Log has the events; none: the node has no sagas, and its effects are for
	// flows only. It stays the caller's to close.
	Log stream.Log
	// AcceptLoss is what may be lost of the streams that sagas have read.
	AcceptLoss saga.Loss
	// Names knows the contexts. Required with Log or Effects.
	Names saga.Names
	// Serve and ServeEffects are whether this node moves sagas, and whether it
	// does effects.
	Serve, ServeEffects bool
	// Placement says which sagas it moves; it is asked again all the time.
	// Default: all.
	Placement func() saga.Placement
	// Gateway is where commands go.
	Gateway saga.GatewayConfig
	// StreamRetention is how long streams keep what everybody has read, and StreamBytes
	// bounds each of them. Default: for ever, and no bound.
	StreamRetention time.Duration
	StreamBytes     int64
	// Lease is the time of a fail-over. Default: 5s.
	Lease time.Duration
	// Effects opens those it does; the node closes them. Default: none.
	Effects func(n *Node) (*effect.Set, error)
}

// openSagas makes the engine of sagas, and the workers that this node is to
// have.
//
// Errors: [domain.ErrConflict] for streams that are not the board's.
func (n *Node) openSagas(ctx context.Context) error {
	c := n.cfg.Sagas
	if c.Log != nil {
		n.Listeners = listener.New(precondition.Over(n.board), c.Log, c.Names, n.cfg.Logger)
		n.Metrics.ExpectEvents(listener.Outcomes...)
		n.listeners = listener.NewWorker(n.Listeners, permittedFlows{n.Flows, n.mayMake, "listener"}, listener.Config{AckWait: n.cfg.Lease,
			Logger: n.cfg.Logger, Observer: n.Metrics,
			May: func() (bool, <-chan struct{}) { return n.Duties.May(domain.RoleSaga) }})
		n.Sagas = saga.New(n.board, c.Log, saga.Config{Names: c.Names, Banned: n.sagaBanned, Retention: n.cfg.Retention,
			Logger: n.cfg.Logger, Observer: n.Metrics, Tracer: n.cfg.Tracer,
			Listen: n.listeners.Again,
			Passed: func(why error) { n.Duties.GiveUp(why.Error(), domain.RoleSaga, domain.RoleEffect) },
			GiveUp: func(ctx context.Context, tenant domain.TenantID, d *domain.DeadLetter) error {
				return effect.GiveUp(ctx, c.Log, n.board, tenant, d)
			}})
		if err := n.Sagas.Recognise(ctx, c.AcceptLoss); err != nil {
			return err
		}
	}
	if c.Log != nil && c.Serve {
		n.sagas = saga.NewWorker(n.Sagas, saga.WorkerConfig{Owner: n.owner, Lease: c.Lease, Grace: n.cfg.Grace, Placement: c.Placement, Gateway: c.Gateway,
			May: func() (bool, <-chan struct{}) { return n.Duties.May(domain.RoleSaga) }})
	}
	if c.Effects == nil {
		return nil
	}
	set, err := c.Effects(n)
	if err == nil {
		n.Effects = effect.NewWorker(c.Log, n.board, set, effect.Config{Tenant: c.Names.TenantByName, Bans: n.Bans, Grace: n.cfg.Grace, AckWait: n.cfg.Lease,
			Logger: n.cfg.Logger, Observer: n.Metrics, Tracer: n.cfg.Tracer, Room: n.cfg.Disk.Effects,
			May: func() (bool, <-chan struct{}) { return n.Duties.May(domain.RoleEffect) }})
	}
	return err
}

// sagaBanned reports whether a ban keeps a saga from taking events, and what
// tells of changes.
func (n *Node) sagaBanned(t domain.TenantID, name string) (bool, <-chan struct{}) {
	changed := n.Bans.Changed() // first: no change after this is missed
	_, banned := n.Bans.Saga(t, name)
	return banned, changed
}

// serveSagas runs the workers until ctx ends and they have drained.
func (n *Node) serveSagas(ctx context.Context) error {
	if n.sagas == nil {
		return nil
	}
	return n.sagas.Run(ctx)
}

// serveListeners has this node start flows for events, where it serves sagas.
func (n *Node) serveListeners(ctx context.Context) error {
	if n.sagas == nil {
		return nil
	}
	return n.listeners.Run(ctx)
}

// ReadsEvents reports whether this node moves sagas and reads events for listeners, or is about to.
func (n *Node) ReadsEvents() bool {
	may, _ := n.Duties.May(domain.RoleSaga)
	return n.sagas != nil && may
}

// serveEffects is the same for effects. Without streams, or without the role,
// only the steps of flows call them.
func (n *Node) serveEffects(ctx context.Context) error {
	switch {
	case n.Effects == nil:
		return nil
	case n.takesEffects():
		return n.Effects.Run(ctx)
	}
	<-ctx.Done()
	return n.Effects.Close()
}

// takesEffects reports whether this node does what sagas ask for.
func (n *Node) takesEffects() bool {
	return n.Effects != nil && n.cfg.Sagas.Log != nil && n.cfg.Sagas.ServeEffects
}

// trimEvery is how often streams are looked at that may be too long.
const trimEvery = 10 * time.Minute

// trimStreams cuts what of the streams nobody needs any more.
func (n *Node) trimStreams(ctx context.Context) error {
	c := n.cfg.Sagas
	return n.Sagas.Trim(ctx, saga.Keep{Others: n.Listeners.Floor,
		For: c.StreamRetention, Bytes: uint64(max(c.StreamBytes, 0)), Durable: effect.Durable, Subjects: effect.Subjects,
		Troubles: effect.TroublesDurable})
}

// handleSagaAlarm handles the timers of sagas.
func (n *Node) handleSagaAlarm(ctx context.Context, a board.Alarm) (bool, error) {
	if n.Sagas == nil {
		return false, nil
	}
	return n.Sagas.HandleAlarm(ctx, a)
}

// Partitions are those of sagas that this node holds, for people.
func (n *Node) Partitions() []string {
	if n.sagas == nil {
		return nil
	}
	return n.sagas.Holds()
}

// ServedEffects are those that this node does.
func (n *Node) ServedEffects() []string {
	if !n.takesEffects() {
		return nil
	}
	return slices.Sorted(maps.Keys(n.Effects.Kinds()))
}

// effectKind is the kind of an effect that this node knows, for itself or for the
// steps of flows; "" for others.
func (n *Node) effectKind(name string) domain.EffectKind {
	if n.Effects == nil {
		return ""
	}
	return n.Effects.Kinds()[name]
}

// Consumers are the durable consumers by which this node reads streams.
func (n *Node) Consumers() []string {
	var list []string
	if n.sagas != nil {
		list = n.sagas.Consumers()
	}
	for _, name := range n.ServedEffects() {
		list = append(list, effect.Durable(name))
	}
	return list
}

// Roles are those that this node plays.
func (n *Node) Roles() []domain.Role {
	list := []domain.Role{domain.RoleKeeper, domain.RoleClockwork, domain.RoleGateway}
	n.serving.Lock()
	runs := len(n.runners) > 0
	n.serving.Unlock()
	for role, plays := range map[domain.Role]bool{domain.RoleRunner: runs || n.worker != nil, domain.RoleSupervisor: n.Post != nil,
		domain.RoleSaga: n.sagas != nil, domain.RoleEffect: n.takesEffects()} {
		if plays {
			list = append(list, role)
		}
	}
	slices.Sort(list)
	return list
}
