package work

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
)

const (
	// retireEvery is how often a context's types are looked through that nobody may use any
	// more: it is done when it has as many as it may have.
	retireEvery = time.Minute
	// retireAtOnce is of how many types the queues are counted at once.
	retireAtOnce = 50
)

// typeSet is one of the two sets of a context's script types.
type typeSet struct {
	space board.Space
	key   string // layout.WorkerTypes or layout.RegisteredTypes
}

// retire takes back those of a set of a context's script types, which is full, that no worker
// serves and no job waits for in a queue, and returns how many these were. So whoever may claim
// cannot use the names up for longer than its workers are kept; one that is asked for again is
// known again.
func (e *Engine) retire(ctx context.Context, set typeSet, all []string) (int, error) {
	now, space := time.Now(), set.space
	if last, tried := e.retired.Load(set); tried && now.Sub(last.(time.Time)) < retireEvery {
		return 0, nil
	}
	e.retired.Store(set, now)
	runners, err := e.served(ctx, space)
	if err != nil {
		return 0, err
	}
	used := map[string]bool{}
	for _, r := range runners {
		for _, s := range r.Serves {
			used[string(s.ScriptType)] = true
		}
	}
	idle := slices.DeleteFunc(slices.Clone(all), func(t string) bool { return used[t] })
	gone := 0
	for some := range slices.Chunk(idle, retireAtOnce) {
		var lists []string
		for _, t := range some {
			lists = append(lists, queue.ByPriority(queue.OfType(domain.ScriptType(t)))...)
		}
		lengths, err := e.board.Len(ctx, space, lists...)
		if err != nil {
			return gone, err
		}
		each, b := len(lists)/len(some), board.Batch{Space: space}
		for i, t := range some {
			if slices.Max(lengths[i*each:(i+1)*each]) == 0 {
				b.Exclude(set.key, t)
				e.types.Delete(contextType{space, domain.ScriptType(t)})
				gone++
			}
		}
		if err := e.board.Commit(ctx, b); err != nil {
			return gone, err
		}
	}
	return gone, nil
}

// contextType is a script type of a context's workers.
type contextType struct {
	space board.Space
	typ   domain.ScriptType
}

// RegisterTypes has jobs of a context be of these types, though no node serves them. No claims
// of workers take them back. Who asks may submit there.
//
// Errors: [domain.ErrInvalid], [domain.ErrLimit], [domain.ErrUnavailable].
func (e *Engine) RegisterTypes(ctx context.Context, tenant domain.TenantID, types []domain.ScriptType) error {
	return e.makeKnown(ctx, typeSet{layout.SpaceOf(tenant), layout.RegisteredTypes}, types)
}

// makeKnown puts those types into a set that are not known yet; into that of registered types also
// those that are known by claims alone.
func (e *Engine) makeKnown(ctx context.Context, set typeSet, types []domain.ScriptType) error {
	for _, t := range types {
		if err := t.Validate(); err != nil {
			return err
		}
		known, registered, err := e.knows(ctx, set.space, t)
		if err != nil {
			return err
		}
		if registered || known && set.key == layout.WorkerTypes {
			continue
		}
		all, err := e.board.Members(ctx, set.space, set.key, "", domain.MaxContextTypes)
		if err != nil {
			return err
		}
		if len(all) >= domain.MaxContextTypes {
			gone, err := e.retire(ctx, set, all)
			if err != nil {
				return err
			}
			if gone == 0 {
				return domain.Limitf("the workers of context %d have %d script types, which is the limit; use one of these, or try again when workers of "+
					"some have been gone for %v", set.space, len(all), workerKept)
			}
		}
		b := board.Batch{Space: set.space}
		if err := e.board.Commit(ctx, *b.Include(set.key, string(t))); err != nil {
			return err
		}
		e.types.Store(contextType{set.space, t}, set.key == layout.RegisteredTypes)
	}
	return nil
}

// WorkerTypes are the script types that only workers serve, as far as this engine has met
// them, at most so many.
func (e *Engine) WorkerTypes(most int) []domain.ScriptType {
	seen := map[domain.ScriptType]bool{}
	e.types.Range(func(k, _ any) bool {
		seen[k.(contextType).typ] = true
		return len(seen) < most
	})
	return slices.Sorted(maps.Keys(seen))
}

// knows reports whether jobs of a context may be of a type: nodes serve it, it is registered
// there, or workers of the context have asked for it. What nodes serve is as good as registered.
func (e *Engine) knows(ctx context.Context, space board.Space, t domain.ScriptType) (known, registered bool, err error) {
	if e.cfg.Served == nil || e.cfg.Served(t) {
		return true, true, nil
	}
	if registered, known := e.types.Load(contextType{space, t}); known {
		return true, registered.(bool), nil
	}
	for _, set := range []string{layout.RegisteredTypes, layout.WorkerTypes} {
		all, err := e.board.Members(ctx, space, set, "", domain.MaxContextTypes)
		if err != nil {
			return false, false, err
		}
		if slices.Contains(all, string(t)) {
			registered = set == layout.RegisteredTypes
			e.types.Store(contextType{space, t}, registered)
			return true, registered, nil
		}
	}
	return false, false, nil
}
