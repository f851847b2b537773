package saga

import (
	"context"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

const (
	// followPoll is how often an instance that is followed is looked at anyway,
	// should a change have gone unnoticed.
	followPoll = 10 * time.Second
	// followPage is how many lines of a history are read at first.
	followPage = 64
)

// Follow calls each with the lines of an instance's history that come behind a
// version, those there are and then as they come, until the instance has ended,
// and returns it then. It gets all lines of a version at once. Lines that the
// history has lost by its bound are left out.
//
// Errors: [domain.ErrNotFound]; what each returns; the context's own.
func (e *Engine) Follow(ctx context.Context, tenant domain.TenantID, saga, correlation string, after int64,
	each func([]domain.SagaEntry) error) (*domain.SagaInstance, error) {
	name, err := e.cfg.Names.TenantName(ctx, tenant)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changes, err := e.board.Watch(ctx, layout.SpaceOf(tenant), layout.SagaKeys{Tenant: name}.Instance(saga, correlation))
	if err != nil {
		return nil, err
	}
	poll := time.NewTicker(followPoll)
	defer poll.Stop()
	for {
		// First the instance: of one that has ended, the history is whole.
		in, err := e.Instance(ctx, tenant, saga, correlation)
		if err != nil {
			return nil, err
		}
		if in.Version > after {
			if after, err = e.tail(ctx, tenant, saga, correlation, after, each); err != nil {
				return nil, err
			}
		}
		if in.Status == domain.SagaEnded {
			return in, nil
		}
		select {
		case _, open := <-changes:
			if !open {
				return nil, context.Cause(ctx)
			}
		case <-poll.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// tail calls each with the lines behind a version, and returns the version of
// the last.
func (e *Engine) tail(ctx context.Context, tenant domain.TenantID, saga, correlation string, after int64, each func([]domain.SagaEntry) error) (int64, error) {
	var lines []domain.SagaEntry
	for n := followPage; ; n *= 4 {
		var err error
		if lines, err = e.History(ctx, tenant, saga, correlation, -n, n); err != nil {
			return after, err
		}
		if len(lines) < n || lines[0].Version <= after {
			break
		}
	}
	for len(lines) > 0 {
		version, n := lines[0].Version, 1
		for n < len(lines) && lines[n].Version == version {
			n++
		}
		if version > after {
			if err := each(lines[:n:n]); err != nil {
				return after, err
			}
			after = version
		}
		lines = lines[n:]
	}
	return after, nil
}
