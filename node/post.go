package node

import (
	"context"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/bus"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/post"
)

// PostConfig says how a node sends messages.
type PostConfig struct {
	// Keys are those it may sign with; none: the node sends no messages.
	Keys *identity.Keyring
	// Registry and Access know actors, contexts and rights. Required with Keys.
	Registry *identity.Registry
	Access   *identity.Access
	// Buses carry parcels to other sites; they stay the caller's to close.
	Buses []bus.Bus
	// Refused is told of what is not taken. Default: nobody.
	Refused func(post.Refusal)
}

// openPost makes the engine of messages, if the node is to have one.
func (n *Node) openPost() {
	c := n.cfg.Post
	if c.Keys == nil {
		return
	}
	n.Post = post.New(n.board, post.Config{Keys: c.Keys, Registry: c.Registry, Access: c.Access, Buses: c.Buses, Refused: c.Refused,
		Work: n.Work, Flows: n.Flows, Lease: n.cfg.Lease, Retention: n.cfg.Retention, Observer: n.Metrics, Tracer: n.cfg.Tracer, Logger: n.cfg.Logger,
		Room: n.cfg.Disk.Intake})
}

// checkPlace is what jobs with a place elsewhere are asked by.
func (n *Node) checkPlace() func(ctx context.Context, tenant domain.TenantID, caller domain.ActorID, at string) error {
	if n.cfg.Post.Keys == nil {
		return nil
	}
	return func(ctx context.Context, tenant domain.TenantID, caller domain.ActorID, at string) error {
		return n.Post.CheckPlace(ctx, tenant, caller, at)
	}
}

// supervise sends and receives messages until ctx ends.
func (n *Node) supervise(ctx context.Context) {
	if _, err := n.cfg.Post.Registry.EnsureNode(ctx, n.Post.Node(), domain.NodeAddress(n.Post.Node())); err != nil && ctx.Err() == nil {
		n.cfg.Logger.Warn("this node is no actor yet: it cannot answer messages", "err", err)
	}
	n.Post.Supervise(n.owner).Run(ctx)
}

// handlePostAlarm handles the alarms of messages.
func (n *Node) handlePostAlarm(ctx context.Context, a board.Alarm) (bool, error) {
	if n.Post == nil {
		return false, nil
	}
	return n.Post.HandleAlarm(ctx, a)
}

// auditors look for what is stuck beside jobs.
func (n *Node) auditors() clockwork.Auditors {
	list := clockwork.Auditors{n.Flows, n.Circles, n.Schedules}
	if n.Post != nil {
		list = append(list, n.Post)
	}
	if n.Sagas != nil {
		list = append(list, n.Sagas, n.Listeners)
	}
	return list
}

// postFields say on the node's record who it is to other sites.
func (n *Node) postFields() []board.Field {
	if n.Post == nil {
		return nil
	}
	return layout.NodeFields(n.Post.Node(), n.Post.Addresses())
}
