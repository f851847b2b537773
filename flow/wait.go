package flow

import (
	"cmp"
	"context"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// Wait returns the flow once it has ended; each, if not nil, is called with
// how it stands whenever that may have changed.
//
// Errors: [domain.ErrNotFound]; the context's; what each returns.
func (e *Engine) Wait(ctx context.Context, tenant domain.TenantID, id domain.FlowID, each func(domain.FlowView) error) (domain.FlowView, error) {
	if each == nil {
		if err := e.Await(ctx, tenant, id); err != nil {
			return domain.FlowView{}, err
		}
		return e.Show(ctx, tenant, id)
	}
	var v domain.FlowView
	often := time.NewTicker(watchPoll)
	defer often.Stop()
	err := e.until(ctx, tenant, id, often.C, func() (ended bool, err error) {
		if v, err = e.Show(ctx, tenant, id); err != nil {
			return false, err
		}
		return v.Final(), each(v)
	})
	return v, err
}

// Await returns once the flow has ended. It reads its status alone: many may wait
// for a large one.
//
// Errors: [domain.ErrNotFound]; the context's.
func (e *Engine) Await(ctx context.Context, tenant domain.TenantID, id domain.FlowID) error {
	return e.until(ctx, tenant, id, nil, func() (ended bool, err error) {
		recs, err := e.board.GetFields(ctx, layout.SpaceOf(tenant), []string{layout.FlowStatus}, domain.FlowKey(id))
		if err != nil {
			return false, err
		}
		if recs[0] == nil {
			return false, missing(ref{layout.SpaceOf(tenant), id})
		}
		return domain.FlowStatus(recs[0].Get(layout.FlowStatus)).Final(), nil
	})
}

// until looks at the flow whenever it may have changed, and whenever it ticks, until
// it has ended.
func (e *Engine) until(ctx context.Context, tenant domain.TenantID, id domain.FlowID, tick <-chan time.Time, look func() (ended bool, err error)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events, err := e.board.Watch(ctx, layout.SpaceOf(tenant), domain.FlowKey(id))
	if err != nil {
		return err
	}
	poll := time.NewTicker(waitPoll)
	defer poll.Stop()
	for {
		if ended, err := look(); ended || err != nil {
			return err
		}
		select {
		case _, open := <-events:
			if !open {
				return cmp.Or(context.Cause(ctx), errBoardClosed)
			}
		case <-tick:
		case <-poll.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// errBoardClosed says that a watch ended because the node is stopping.
var errBoardClosed = domain.Unavailablef("the board was closed")

const (
	// waitPoll is how often Wait looks without being told: the net under a watch.
	waitPoll = 15 * time.Second
	// watchPoll is how often somebody who watches is shown how far it is: the
	// jobs of a plain flow do not touch its record.
	watchPoll = 250 * time.Millisecond
)
