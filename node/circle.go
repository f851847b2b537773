package node

import (
	"context"
	"time"

	"github.com/ramet-run/ramet/board/precondition"
	"github.com/ramet-run/ramet/circle"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
)

// CirclesConfig says which circles a node serves, and how.
type CirclesConfig struct {
	// Served are those it serves. Default: none.
	Served []domain.ServedCircle
	// Runtime runs their scripts: one of type rhai inside the process. Required
	// where there are circles.
	Runtime script.Runtime
	// Slots is how many of their scripts run at once. Default: the runtime's.
	Slots int
	// Timeout and ReplyExpiry: see circle.Config.
	Timeout, ReplyExpiry time.Duration
	// Named: see circle.Config.
	Named bool
}

// openCircles makes the circles of the board, and the worker for those that
// this node serves.
func (n *Node) openCircles() {
	cfg := n.cfg.Circles
	n.Circles = circle.New(precondition.Over(n.board), circle.Config{
		Logger: n.cfg.Logger, MaxLosses: n.cfg.MaxLosses, Timeout: cfg.Timeout, ReplyExpiry: cfg.ReplyExpiry, Retention: n.cfg.Retention,
		Permit: n.cfg.Permit, Named: cfg.Named,
		Refuse: func(t domain.TenantID) error { return n.Bans.Submit(t, "", domain.ScriptRhai) },
	})
	if len(cfg.Served) == 0 {
		return
	}
	n.worker = circle.NewWorker(n.Circles, circle.WorkerConfig{
		Circles: cfg.Served, Runtime: cfg.Runtime, Owner: n.owner, Slots: cfg.Slots, Lease: n.cfg.Lease, Grace: n.cfg.Grace, Limits: n.cfg.Limits,
		May:    func() (bool, <-chan struct{}) { return n.Duties.May(domain.RoleRunner) },
		Banned: n.circlesBanned, Observer: n.Metrics,
	})
}

// circlesBanned reports whether a ban keeps scripts of a context's circles from
// being begun, and what tells of changes.
func (n *Node) circlesBanned(t domain.TenantID) (bool, <-chan struct{}) {
	changed := n.Bans.Changed() // first: no change after this is missed
	_, banned, _ := n.Bans.Pick(&domain.Job{ContextID: t, ScriptType: domain.ScriptRhai}, nil)
	return banned, changed // no error: a task is of no flow, so nothing is looked up
}

// serveCircles runs the worker, if there is one, until ctx ends and it has
// drained.
func (n *Node) serveCircles(ctx context.Context) error {
	if n.worker == nil {
		return nil
	}
	return n.worker.Run(ctx)
}
