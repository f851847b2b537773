package object

import (
	"context"
	"maps"
	"slices"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// Records are read in growing chunks: small ones first, because objects may be
// large, more while they are not.
const (
	minChunk   = 16
	maxChunk   = 64
	chunkBytes = 512 << 10
)

// Scan calls visit with the objects that match, in the order of their ids,
// until it wants no more. Objects that others write or delete meanwhile may be
// seen or not.
func (s *Store) Scan(ctx context.Context, in domain.Model, q domain.ObjectQuery, visit func(domain.Object) (more bool, err error)) error {
	if err := s.may(ctx, in, domain.VerbRead); err != nil {
		return err
	}
	p, err := s.plan(ctx, in, q)
	if err != nil {
		return err
	}
	chunk := minChunk
	for after := q.After; ; {
		ids, err := p.ids(ctx, after, chunk)
		if err != nil || len(ids) == 0 {
			return err
		}
		objects, bytes, err := s.read(ctx, in, ids)
		if err != nil {
			return err
		}
		for _, o := range objects {
			match, err := p.matches(o)
			if err != nil {
				return err
			}
			if !match {
				continue
			}
			if more, err := visit(o); err != nil || !more {
				return err
			}
		}
		after = ids[len(ids)-1]
		if bytes < chunkBytes {
			chunk = min(2*chunk, maxChunk)
		} else {
			chunk = minChunk
		}
	}
}

// Count counts the objects that match. It reads objects only where the indexes
// do not tell.
func (s *Store) Count(ctx context.Context, in domain.Model, q domain.ObjectQuery) (int64, error) {
	if err := s.may(ctx, in, domain.VerbRead); err != nil {
		return 0, err
	}
	if len(q.Where) == 0 && q.After == 0 {
		m, err := s.model(ctx, in)
		return m.count, err
	}
	p, err := s.plan(ctx, in, q)
	if err != nil {
		return 0, err
	}
	n := int64(0)
	if !p.exact {
		err := s.Scan(ctx, in, q, func(domain.Object) (bool, error) { n++; return true, nil })
		return n, err
	}
	for after := q.After; ; {
		ids, err := p.ids(ctx, after, domain.MaxObjectPage)
		if err != nil || len(ids) == 0 {
			return n, err
		}
		n += int64(len(ids))
		after = ids[len(ids)-1]
	}
}

// read reads those of the objects that are still there.
func (s *Store) read(ctx context.Context, in domain.Model, ids []domain.ObjectID) (objects []domain.Object, bytes int, err error) {
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = layout.Object(in.Name, id)
	}
	recs, err := board.Readable(s.board.Get(ctx, space(in), keys...))
	if err != nil {
		return nil, 0, err
	}
	objects = make([]domain.Object, 0, len(ids))
	for i, r := range recs {
		if r == nil {
			continue
		}
		o, err := layout.DecodeObject(in.Name, ids[i], r)
		if err != nil {
			return nil, 0, err
		}
		bytes += len(o.Data)
		objects = append(objects, o)
	}
	return objects, bytes, nil
}

// source gives up to limit ids above after, in order; none at the end.
type source func(ctx context.Context, after domain.ObjectID, limit int) ([]domain.ObjectID, error)

// plan is how a query is answered.
type plan struct {
	where map[string]string // canonical
	any   bool
	ids   source
	// exact says that ids are just those that match.
	exact bool
}

// plan picks the ids to look at: those of one index where all conditions must
// hold (that which has fewest, as far as a page tells), those of all indexes
// together where one suffices, all ids where there is no index.
func (s *Store) plan(ctx context.Context, in domain.Model, q domain.ObjectQuery) (plan, error) {
	p := plan{where: map[string]string{}, any: q.Any, ids: s.all(in), exact: len(q.Where) == 0}
	for field, raw := range q.Where {
		value, err := canonical([]byte(raw))
		if err != nil {
			return p, err
		}
		p.where[field] = value
	}
	m, err := s.model(ctx, in)
	if err != nil {
		return p, err
	}
	var indexed []source
	for _, field := range slices.Sorted(maps.Keys(p.where)) {
		if m.ready(field) {
			indexed = append(indexed, s.members(in, layout.ModelIndex(in.Name, field, p.where[field])))
		}
	}
	switch all := len(indexed) == len(p.where); {
	case len(indexed) == 0:
		return p, nil
	case !p.any:
		p.ids, err = fewest(ctx, indexed, q.After)
		p.exact = all && len(indexed) == 1
	case all:
		p.ids, p.exact = union(indexed), true
	}
	return p, err
}

func (p plan) matches(o domain.Object) (bool, error) {
	if len(p.where) == 0 {
		return true, nil
	}
	fields, err := o.Fields()
	if err != nil {
		return false, err
	}
	for field, want := range p.where {
		got, err := canonical(fields[field])
		if err != nil {
			return false, err
		}
		if (got == want) == p.any {
			return p.any, nil
		}
	}
	return !p.any, nil
}

// all gives the ids of a model, from page to page.
func (s *Store) all(in domain.Model) source {
	return func(ctx context.Context, after domain.ObjectID, limit int) ([]domain.ObjectID, error) {
		var ids []domain.ObjectID
		for page := layout.PageOf(after); len(ids) < limit; page++ {
			var err error
			if page, err = s.nextPage(ctx, in, page); err != nil || page == noPage {
				return ids, err
			}
			more, err := s.members(in, layout.ModelPage(in.Name, page))(ctx, after, limit-len(ids))
			if err != nil {
				return nil, err
			}
			if whole := after == 0 || page > layout.PageOf(after); whole && len(more) == 0 {
				if err := s.dropPage(ctx, in, page); err != nil {
					return nil, err
				}
			}
			ids = append(ids, more...)
		}
		return ids, nil
	}
}

// noPage is no page: pages are ids divided by their size.
const noPage = ^domain.ObjectID(0)

// nextPage gives the first page of ids from the given one on.
func (s *Store) nextPage(ctx context.Context, in domain.Model, from domain.ObjectID) (domain.ObjectID, error) {
	after := ""
	if from > 0 {
		after = layout.ObjectMember(from - 1)
	}
	pages, err := s.board.Members(ctx, space(in), layout.ModelPages(in.Name), after, 1)
	if err != nil || len(pages) == 0 {
		return noPage, err
	}
	return layout.ParseObjectMember(pages[0])
}

// dropPage forgets a page that has no ids, unless somebody puts one there.
func (s *Store) dropPage(ctx context.Context, in domain.Model, page domain.ObjectID) error {
	b := board.Batch{Space: space(in)}
	b.Absent(layout.ModelPage(in.Name, page))
	b.Exclude(layout.ModelPages(in.Name), layout.ObjectMember(page))
	return unlessLost(s.board.Commit(ctx, b))
}

// members gives the ids of a set.
func (s *Store) members(in domain.Model, set string) source {
	return func(ctx context.Context, after domain.ObjectID, limit int) ([]domain.ObjectID, error) {
		members, err := s.board.Members(ctx, space(in), set, layout.ObjectMember(after), limit)
		if err != nil {
			return nil, err
		}
		ids := make([]domain.ObjectID, len(members))
		for i, member := range members {
			if ids[i], err = layout.ParseObjectMember(member); err != nil {
				return nil, err
			}
		}
		return ids, nil
	}
}

// fewest is the source whose first page is the shortest.
func fewest(ctx context.Context, sources []source, after domain.ObjectID) (source, error) {
	best, least := sources[0], maxChunk+1
	if len(sources) == 1 {
		return best, nil
	}
	for _, src := range sources {
		ids, err := src(ctx, after, maxChunk)
		if err != nil {
			return nil, err
		}
		if len(ids) < least {
			best, least = src, len(ids)
		}
	}
	return best, nil
}

// union gives what any of the sources gives. The first ids of all together are
// among the first of each.
func union(sources []source) source {
	return func(ctx context.Context, after domain.ObjectID, limit int) ([]domain.ObjectID, error) {
		var ids []domain.ObjectID
		for _, src := range sources {
			more, err := src(ctx, after, limit)
			if err != nil {
				return nil, err
			}
			ids = append(ids, more...)
		}
		slices.Sort(ids)
		ids = slices.Compact(ids)
		return ids[:min(limit, len(ids))], nil
	}
}
