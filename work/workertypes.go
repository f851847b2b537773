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
				gone++
			}
		}
		err = e.board.Commit(ctx, b)
		e.types.Delete(space)
		if err != nil {
			return gone, err
		}
	}
	return gone, nil
}

// typesKept is for how long it is gone by what was read of a context's types: another node may take
// some of them back meanwhile.
const typesKept = 5 * time.Second

// contextTypes are the script types of a context's workers, as they were read.
type contextTypes struct {
	at  time.Time
	all map[domain.ScriptType]bool // whether it is registered
}

// typesOf reads the types of a context's workers, unless it has lately, and knows all that are wanted.
func (e *Engine) typesOf(ctx context.Context, space board.Space, wanted ...domain.ScriptType) (map[domain.ScriptType]bool, error) {
	now := time.Now()
	if v, known := e.types.Load(space); known {
		last := v.(contextTypes)
		unknown := func(t domain.ScriptType) bool { _, there := last.all[t]; return !there }
		if now.Sub(last.at) < typesKept && !slices.ContainsFunc(wanted, unknown) {
			return last.all, nil
		}
	}
	read := contextTypes{now, map[domain.ScriptType]bool{}}
	for _, set := range []string{layout.WorkerTypes, layout.RegisteredTypes} {
		all, err := e.board.Members(ctx, space, set, "", domain.MaxContextTypes)
		if err != nil {
			return nil, err
		}
		for _, t := range all {
			read.all[domain.ScriptType(t)] = set == layout.RegisteredTypes
		}
	}
	e.types.Store(space, read)
	return read.all, nil
}

// RegisterTypes has jobs of a context be of these types, though no node serves them. No claims
// of workers take them back, and no [Engine.NameTypes]. Who asks is an admin there.
//
// Errors: [domain.ErrInvalid], [domain.ErrLimit], [domain.ErrUnavailable].
func (e *Engine) RegisterTypes(ctx context.Context, tenant domain.TenantID, types []domain.ScriptType) error {
	return e.makeKnown(ctx, typeSet{layout.SpaceOf(tenant), layout.RegisteredTypes}, types)
}

// NameTypes has jobs of a context be of these types as a claim of a worker does: they are taken back
// where others want the room, and nobody has a use for them. So whoever may no more than execute and submit takes
// nothing away from what the context's admins have registered.
//
// Errors: those of RegisterTypes.
func (e *Engine) NameTypes(ctx context.Context, tenant domain.TenantID, types []domain.ScriptType) error {
	return e.makeKnown(ctx, typeSet{layout.SpaceOf(tenant), layout.WorkerTypes}, types)
}

// makeKnown puts those types into a set that are not known yet; into that of registered types also
// those that are known by claims alone.
func (e *Engine) makeKnown(ctx context.Context, set typeSet, types []domain.ScriptType) error {
	var ours []domain.ScriptType
	for _, t := range types {
		if err := t.Validate(); err != nil {
			return err
		}
		if !e.servedByNodes(t) {
			ours = append(ours, t)
		}
	}
	if len(ours) == 0 {
		return nil
	}
	known, err := e.typesOf(ctx, set.space, ours...)
	if err != nil {
		return err
	}
	for _, t := range ours {
		if registered, there := known[t]; registered || there && set.key == layout.WorkerTypes {
			continue
		}
		all, err := e.board.Members(ctx, set.space, set.key, "", domain.MaxContextTypes)
		if err != nil {
			return err
		}
		if len(all) >= domain.MaxContextTypes && !slices.Contains(all, string(t)) {
			gone, err := e.retire(ctx, set, all)
			if err != nil {
				return err
			}
			if gone == 0 {
				return domain.Limitf("the workers of context %d have %d script types, which is the limit; use one of these, or try again when workers of "+
					"some have been gone for %v", set.space, len(all), workerKept)
			}
			if known, err = e.typesOf(ctx, set.space, ours...); err != nil { // some of ours may be gone
				return err
			}
		}
		b := board.Batch{Space: set.space}
		if err := e.board.Commit(ctx, *b.Include(set.key, string(t))); err != nil {
			return err
		}
		e.types.Delete(set.space)
	}
	return nil
}

// WorkerTypes are the script types that only workers serve, in the contexts in which this engine
// has met such, at most so many.
func (e *Engine) WorkerTypes(most int) []domain.ScriptType {
	seen := map[domain.ScriptType]bool{}
	e.types.Range(func(_, v any) bool {
		for t := range v.(contextTypes).all {
			if len(seen) < most {
				seen[t] = true
			}
		}
		return len(seen) < most
	})
	return slices.Sorted(maps.Keys(seen))
}

// servedByNodes reports whether nodes serve a type: that is as good as registered.
func (e *Engine) servedByNodes(t domain.ScriptType) bool {
	return e.cfg.Served == nil || e.cfg.Served(t)
}

// knows reports whether jobs of a context may be of a type: nodes serve it, it is registered
// there, or workers of the context have asked for it.
func (e *Engine) knows(ctx context.Context, space board.Space, t domain.ScriptType) (bool, error) {
	if e.servedByNodes(t) {
		return true, nil
	}
	all, err := e.typesOf(ctx, space, t)
	_, known := all[t]
	return known, err
}
