package blueprint

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

const (
	// applyTries bounds how often somebody else may be faster.
	applyTries = 20
	// setPage is how many members of a set are read at once.
	setPage = 500
	// MaxList bounds what List and Versions give at once.
	MaxList = 200
	// deletesAtOnce keeps a commit of two operations for each version within
	// [board.MaxOps].
	deletesAtOnce = 400
)

// Board is what the store needs of a board.
type Board interface {
	Commit(ctx context.Context, batch board.Batch) error
	Get(ctx context.Context, space board.Space, keys ...string) ([]board.Record, error)
	GetFields(ctx context.Context, space board.Space, fields []string, keys ...string) ([]board.Record, error)
	Members(ctx context.Context, space board.Space, set, after string, limit int) ([]string, error)
}

// Store keeps the blueprints of all contexts on a board, each in the space of
// its context, with all versions. Versions do not change. It is safe for
// concurrent use.
type Store struct{ board Board }

// NewStore returns the store on a board.
func NewStore(b Board) *Store { return &Store{b} }

// Entry is what there is to say of a version, without its content.
type Entry struct {
	Name      string         `json:"name"`
	Version   int            `json:"version"`
	Hash      string         `json:"hash"`
	Summary   string         `json:"summary,omitzero"`
	UpdatedMs int64          `json:"updated_ms"`
	By        domain.ActorID `json:"by"`
}

// Stored is a version.
type Stored struct {
	Entry
	Blueprint domain.Blueprint `json:"blueprint"`
}

// Apply stores a blueprint as the newest of its name. Where the newest has the
// same content, nothing is done and that one is returned. Version 0 asks for
// the next.
//
// Errors: *[Error]; [domain.ErrConflict] for a version that is not greater
// than the newest.
func (s *Store) Apply(ctx context.Context, tenant domain.TenantID, actor domain.ActorID, b *domain.Blueprint) (_ Stored, existing bool, err error) {
	if err := Validate(b); err != nil {
		return Stored{}, false, err
	}
	rec := layout.StoredBlueprint{Hash: Hash(b), Text: string(Canonical(b)), Summary: b.Summary, By: actor}
	for range applyTries {
		newest, err := s.newest(ctx, tenant, b.Name)
		switch {
		case err != nil && !errors.Is(err, domain.ErrNotFound):
			return Stored{}, false, err
		case newest.Hash == rec.Hash:
			return stored(newest, b), true, nil
		case newest.Version >= domain.MaxVersion:
			return Stored{}, false, domain.Exhaustedf("blueprint %q has version %d, the last there can be", b.Name, newest.Version)
		case b.Version != 0 && b.Version <= newest.Version:
			return Stored{}, false, domain.Conflictf("blueprint %q is at version %d already, with other content; want version %d or more, or none for the next",
				b.Name, newest.Version, newest.Version+1)
		}
		if rec.Version = b.Version; rec.Version == 0 {
			rec.Version = newest.Version + 1
		}
		rec.UpdatedMs = time.Now().UnixMilli()
		err = s.board.Commit(ctx, applied(tenant, b.Name, newest.Version, rec))
		if err == nil {
			return stored(entry(b.Name, rec), b), false, nil
		}
		if !errors.Is(err, domain.ErrConflict) {
			return Stored{}, false, err
		}
	}
	return Stored{}, false, domain.Conflictf("blueprint %q: others apply it all the time; try again", b.Name)
}

// applied is the commit of a new version behind the newest one.
func applied(tenant domain.TenantID, name string, newest int, rec layout.StoredBlueprint) board.Batch {
	b := board.Batch{Space: layout.SpaceOf(tenant)}
	head := rec
	head.Text = ""
	b.Equal(layout.Blueprint(name), layout.BlueprintVersion, versionText(newest)).
		Set(layout.Blueprint(name), layout.EncodeBlueprint(head)...).
		Set(layout.BlueprintAt(name, rec.Version), layout.EncodeBlueprint(rec)...).
		Include(layout.Blueprints, name).
		Include(layout.BlueprintVersions(name), layout.BlueprintMember(rec.Version))
	return b
}

// versionText is a version as its field has it; that of none is not there.
func versionText(version int) string {
	if version == 0 {
		return ""
	}
	return strconv.Itoa(version)
}

func entry(name string, r layout.StoredBlueprint) Entry {
	return Entry{Name: name, Version: r.Version, Hash: r.Hash, Summary: r.Summary, UpdatedMs: r.UpdatedMs, By: r.By}
}

func stored(e Entry, b *domain.Blueprint) Stored {
	s := Stored{Entry: e, Blueprint: *b}
	s.Blueprint.Version = e.Version
	return s
}

// newest reads which version is the newest; the zero Entry with
// [domain.ErrNotFound] where there is none.
func (s *Store) newest(ctx context.Context, tenant domain.TenantID, name string) (Entry, error) {
	if err := domain.ValidateName("blueprint", name); err != nil {
		return Entry{}, err
	}
	key := layout.Blueprint(name)
	recs, err := s.board.Get(ctx, layout.SpaceOf(tenant), key)
	if err != nil {
		return Entry{}, err
	}
	if recs[0] == nil {
		return Entry{}, domain.NotFoundf("blueprint %q does not exist in context %d", name, tenant)
	}
	r, err := layout.DecodeBlueprint(key, recs[0])
	return entry(name, r), err
}

// Get reads a version of a blueprint; 0 is the newest.
//
// Errors: [domain.ErrNotFound], [domain.ErrInvalid] for what is no name.
func (s *Store) Get(ctx context.Context, tenant domain.TenantID, name string, version int) (Stored, error) {
	newest, err := s.newest(ctx, tenant, name)
	if err != nil {
		return Stored{}, err
	}
	if version == 0 {
		version = newest.Version
	}
	key := layout.BlueprintAt(name, version)
	recs, err := s.board.Get(ctx, layout.SpaceOf(tenant), key)
	if err != nil {
		return Stored{}, err
	}
	if recs[0] == nil {
		return Stored{}, domain.NotFoundf("blueprint %q has no version %d; the newest is %d", name, version, newest.Version)
	}
	rec, err := layout.DecodeBlueprint(key, recs[0])
	if err != nil {
		return Stored{}, err
	}
	b, err := decode([]byte(rec.Text))
	if err != nil {
		return Stored{}, fmt.Errorf("read %s: %w", key, err)
	}
	return stored(entry(name, rec), b), nil
}

// List gives the newest versions of up to limit blueprints whose names come
// after the given one. next is the name to go on after; "" is the end.
func (s *Store) List(ctx context.Context, tenant domain.TenantID, after string, limit int) (list []Entry, next string, err error) {
	limit = within(limit)
	names, err := s.board.Members(ctx, layout.SpaceOf(tenant), layout.Blueprints, after, limit+1)
	if err != nil {
		return nil, "", err
	}
	if len(names) > limit {
		names = names[:limit]
		next = names[limit-1]
	}
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = layout.Blueprint(name)
	}
	list, err = s.entries(ctx, tenant, keys, func(i int) string { return names[i] })
	return list, next, err
}

// Versions gives up to limit versions of a blueprint, newest first, that are
// below the given one; 0 is no bound. next is the one to go on below; 0 is the
// end.
//
// Errors: [domain.ErrNotFound].
func (s *Store) Versions(ctx context.Context, tenant domain.TenantID, name string, below, limit int) (list []Entry, next int, err error) {
	if _, err := s.newest(ctx, tenant, name); err != nil {
		return nil, 0, err
	}
	all, err := s.versions(ctx, tenant, name)
	if err != nil {
		return nil, 0, err
	}
	slices.Reverse(all)
	if below > 0 {
		all = slices.DeleteFunc(all, func(v int) bool { return v >= below })
	}
	if limit = within(limit); len(all) > limit {
		all = all[:limit]
		next = all[limit-1]
	}
	keys := make([]string, len(all))
	for i, v := range all {
		keys[i] = layout.BlueprintAt(name, v)
	}
	list, err = s.entries(ctx, tenant, keys, func(int) string { return name })
	return list, next, err
}

func within(limit int) int {
	if limit < 1 || limit > MaxList {
		return MaxList
	}
	return limit
}

// versions are all of a blueprint, ascending.
func (s *Store) versions(ctx context.Context, tenant domain.TenantID, name string) ([]int, error) {
	var all []int
	after := ""
	for {
		page, err := s.board.Members(ctx, layout.SpaceOf(tenant), layout.BlueprintVersions(name), after, setPage)
		if err != nil {
			return nil, err
		}
		for _, m := range page {
			v, err := layout.ParseBlueprintMember(m)
			if err != nil {
				return nil, err
			}
			all = append(all, v)
		}
		if len(page) < setPage {
			return all, nil
		}
		after = page[len(page)-1]
	}
}

// entries reads records without their texts. One that was deleted meanwhile is
// left out.
func (s *Store) entries(ctx context.Context, tenant domain.TenantID, keys []string, name func(i int) string) ([]Entry, error) {
	list := make([]Entry, 0, len(keys))
	if len(keys) == 0 {
		return list, nil
	}
	recs, err := s.board.GetFields(ctx, layout.SpaceOf(tenant), layout.BlueprintHead, keys...)
	if err != nil {
		return nil, err
	}
	for i, r := range recs {
		if r == nil {
			continue
		}
		head, err := layout.DecodeBlueprint(keys[i], r)
		if err != nil {
			return nil, err
		}
		list = append(list, entry(name(i), head))
	}
	return list, nil
}

// Delete removes a blueprint with all versions, and says how many there were.
// Flows that were made from it have a copy. Where it is cut off, the newest
// version is still there: delete it again.
//
// Errors: [domain.ErrNotFound], [domain.ErrConflict] when somebody applies it
// meanwhile.
func (s *Store) Delete(ctx context.Context, tenant domain.TenantID, name string) (versions int, err error) {
	newest, err := s.newest(ctx, tenant, name)
	if err != nil {
		return 0, err
	}
	all, err := s.versions(ctx, tenant, name)
	if err != nil {
		return 0, err
	}
	versions = len(all)
	for rest := all; ; {
		part := rest[:min(len(rest), deletesAtOnce)]
		rest = rest[len(part):]
		b := board.Batch{Space: layout.SpaceOf(tenant)}
		b.Equal(layout.Blueprint(name), layout.BlueprintVersion, versionText(newest.Version))
		members := make([]string, len(part))
		for i, v := range part {
			b.Delete(layout.BlueprintAt(name, v))
			members[i] = layout.BlueprintMember(v)
		}
		if len(rest) > 0 {
			b.Exclude(layout.BlueprintVersions(name), members...)
		} else {
			b.Delete(layout.BlueprintVersions(name)).Delete(layout.Blueprint(name)).Exclude(layout.Blueprints, name)
		}
		err := s.board.Commit(ctx, b)
		if errors.Is(err, domain.ErrConflict) {
			return 0, domain.Conflictf("blueprint %q was applied or deleted meanwhile; look at it again", name)
		}
		if err != nil || len(rest) == 0 {
			return versions, err
		}
	}
}
