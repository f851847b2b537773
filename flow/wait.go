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
func (e *Engine) Wait(ctx context.Context, tenant domain.TenantID, id domain.FlowID, each func(View) error) (View, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	space := layout.SpaceOf(tenant)
	key := domain.FlowKey(id)
	events, err := e.board.Watch(ctx, space, key)
	if err != nil {
		return View{}, err
	}
	poll := time.NewTicker(waitPoll)
	defer poll.Stop()
	var tick <-chan time.Time
	if each != nil {
		often := time.NewTicker(watchPoll)
		defer often.Stop()
		tick = often.C
	}
	for {
		v, err := e.waitLook(ctx, tenant, id, each)
		if err != nil || v.Final() {
			return v, err
		}
		select {
		case _, open := <-events:
			if !open {
				return v, cmp.Or(context.Cause(ctx), errBoardClosed)
			}
		case <-tick:
		case <-poll.C:
		case <-ctx.Done():
			return v, ctx.Err()
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

// waitLook reads the flow: all of it for each, its record alone otherwise.
func (e *Engine) waitLook(ctx context.Context, tenant domain.TenantID, id domain.FlowID, each func(View) error) (View, error) {
	if each == nil {
		key := domain.FlowKey(id)
		recs, err := e.board.GetFields(ctx, layout.SpaceOf(tenant), []string{layout.FlowStatus}, key)
		if err != nil {
			return View{}, err
		}
		if recs[0] == nil {
			return View{}, missing(place{layout.SpaceOf(tenant), id})
		}
		if !domain.FlowStatus(recs[0].Get(layout.FlowStatus)).Final() {
			return View{}, nil
		}
	}
	v, err := e.Show(ctx, tenant, id)
	if err == nil && each != nil {
		err = each(v)
	}
	return v, err
}
