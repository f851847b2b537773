package document

import (
	"context"
	"errors"
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

// Store keeps the documents of one kind of all contexts on a board, each in
// the space of its context, with all versions. Versions do not change. It is
// safe for concurrent use.
type Store struct {
	board Board
	noun  string
	keys  layout.VersionKeys
}

// NewStore returns the store on a board; noun is what people call such a
// document.
func NewStore(b Board, noun string, keys layout.VersionKeys) *Store { return &Store{b, noun, keys} }

// Draft is a document that is to be stored.
type Draft struct {
	Name string
	// Version is the one wanted; 0 is the next.
	Version int
	// Hash is that of the content: what has the same is the same.
	Hash    string
	Text    string
	Summary string
	// With has more stored with it. Default: nothing.
	With With
}

// With adds to the commit of a version what is to be stored with that or not at all. It is asked
// again where somebody else was faster.
type With func(ctx context.Context, version int, b *board.Batch) error

// Apply stores a document as the newest of its name. Where the newest has the
// same content, nothing is done and that one is returned.
//
// Errors: [domain.ErrConflict] for a version that is not greater than the
// newest; [domain.ErrInvalid] for what is no name; those of the draft's With.
func (s *Store) Apply(ctx context.Context, tenant domain.TenantID, actor domain.ActorID, t Draft) (_ domain.DocumentEntry, existing bool, err error) {
	rec := layout.StoredVersion{Hash: t.Hash, Text: t.Text, Summary: t.Summary, By: actor}
	for range applyTries {
		newest, err := s.newest(ctx, tenant, t.Name)
		switch {
		case err != nil && !errors.Is(err, domain.ErrNotFound):
			return domain.DocumentEntry{}, false, err
		case newest.Hash == rec.Hash:
			return newest, true, nil
		case newest.Version >= domain.MaxVersion:
			return domain.DocumentEntry{}, false, domain.Limitf("%s %q has version %d, the last there can be", s.noun, t.Name, newest.Version)
		case t.Version != 0 && t.Version <= newest.Version:
			return domain.DocumentEntry{}, false, domain.Conflictf("%s %q is at version %d already, with other content; want version %d or more, or none for the next",
				s.noun, t.Name, newest.Version, newest.Version+1)
		}
		if rec.Version = t.Version; rec.Version == 0 {
			rec.Version = newest.Version + 1
		}
		rec.UpdatedMs = time.Now().UnixMilli()
		b := s.applied(tenant, t.Name, newest.Version, rec)
		if t.With != nil {
			if err := t.With(ctx, rec.Version, &b); err != nil {
				return domain.DocumentEntry{}, false, err
			}
		}
		err = s.board.Commit(ctx, b)
		if err == nil {
			return entry(t.Name, rec), false, nil
		}
		if !errors.Is(err, domain.ErrConflict) {
			return domain.DocumentEntry{}, false, err
		}
	}
	return domain.DocumentEntry{}, false, domain.Conflictf("%s %q: others apply it all the time; try again", s.noun, t.Name)
}

// applied is the commit of a new version behind the newest one.
func (s *Store) applied(tenant domain.TenantID, name string, newest int, rec layout.StoredVersion) board.Batch {
	b := board.Batch{Space: layout.SpaceOf(tenant)}
	head := rec
	head.Text = ""
	b.Equal(s.keys.Newest(name), layout.VersionNumber, versionText(newest)).
		Set(s.keys.Newest(name), layout.EncodeVersion(head)...).
		Set(s.keys.At(name, rec.Version), layout.EncodeVersion(rec)...).
		Include(s.keys.Names, name).
		Include(s.keys.Versions(name), layout.VersionMember(rec.Version))
	return b
}

// versionText is a version as its field has it; that of none is not there.
func versionText(version int) string {
	if version == 0 {
		return ""
	}
	return strconv.Itoa(version)
}

func entry(name string, r layout.StoredVersion) domain.DocumentEntry {
	return domain.DocumentEntry{Name: name, Version: r.Version, Hash: r.Hash, Summary: r.Summary, UpdatedMs: r.UpdatedMs, By: r.By}
}

// newest reads which version is the newest; the zero Entry with
// [domain.ErrNotFound] where there is none.
func (s *Store) newest(ctx context.Context, tenant domain.TenantID, name string) (domain.DocumentEntry, error) {
	if err := domain.ValidateName(s.noun, name); err != nil {
		return domain.DocumentEntry{}, err
	}
	key := s.keys.Newest(name)
	recs, err := s.board.Get(ctx, layout.SpaceOf(tenant), key)
	if err != nil {
		return domain.DocumentEntry{}, err
	}
	if recs[0] == nil {
		return domain.DocumentEntry{}, domain.NotFoundf("%s %q does not exist in context %d", s.noun, name, tenant)
	}
	r, err := layout.DecodeVersion(key, recs[0])
	return entry(name, r), err
}

// Get reads a version of a document with its text; 0 is the newest.
//
// Errors: [domain.ErrNotFound], [domain.ErrInvalid] for what is no name.
func (s *Store) Get(ctx context.Context, tenant domain.TenantID, name string, version int) (_ domain.DocumentEntry, text string, err error) {
	newest, err := s.newest(ctx, tenant, name)
	if err != nil {
		return domain.DocumentEntry{}, "", err
	}
	if version == 0 {
		version = newest.Version
	}
	key := s.keys.At(name, version)
	recs, err := s.board.Get(ctx, layout.SpaceOf(tenant), key)
	if err != nil {
		return domain.DocumentEntry{}, "", err
	}
	if recs[0] == nil {
		return domain.DocumentEntry{}, "", domain.NotFoundf("%s %q has no version %d; the newest is %d", s.noun, name, version, newest.Version)
	}
	rec, err := layout.DecodeVersion(key, recs[0])
	return entry(name, rec), rec.Text, err
}

// List gives the newest versions of up to limit documents whose names come
// after the given one. next is the name to go on after; "" is the end.
func (s *Store) List(ctx context.Context, tenant domain.TenantID, after string, limit int) (list []domain.DocumentEntry, next string, err error) {
	limit = within(limit)
	names, err := s.board.Members(ctx, layout.SpaceOf(tenant), s.keys.Names, after, limit+1)
	if err != nil {
		return nil, "", err
	}
	if len(names) > limit {
		names = names[:limit]
		next = names[limit-1]
	}
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = s.keys.Newest(name)
	}
	list, err = s.entries(ctx, tenant, keys, func(i int) string { return names[i] })
	return list, next, err
}

// Versions gives up to limit versions of a document, newest first, that are
// below the given one; 0 is no bound. next is the one to go on below; 0 is the
// end.
//
// Errors: [domain.ErrNotFound].
func (s *Store) Versions(ctx context.Context, tenant domain.TenantID, name string, below, limit int) (list []domain.DocumentEntry, next int, err error) {
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
		keys[i] = s.keys.At(name, v)
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

// versions are all of a document, ascending.
func (s *Store) versions(ctx context.Context, tenant domain.TenantID, name string) ([]int, error) {
	var all []int
	after := ""
	for {
		page, err := s.board.Members(ctx, layout.SpaceOf(tenant), s.keys.Versions(name), after, setPage)
		if err != nil {
			return nil, err
		}
		for _, m := range page {
			v, err := layout.ParseVersionMember(m)
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
func (s *Store) entries(ctx context.Context, tenant domain.TenantID, keys []string, name func(i int) string) ([]domain.DocumentEntry, error) {
	list := make([]domain.DocumentEntry, 0, len(keys))
	if len(keys) == 0 {
		return list, nil
	}
	recs, err := board.Readable(s.board.GetFields(ctx, layout.SpaceOf(tenant), layout.VersionHead, keys...))
	if err != nil {
		return nil, err
	}
	for i, r := range recs {
		if r == nil {
			continue
		}
		head, err := layout.DecodeVersion(keys[i], r)
		if err != nil {
			return nil, err
		}
		list = append(list, entry(name(i), head))
	}
	return list, nil
}

// Delete removes a document with all versions, and says how many there were.
// Where it is cut off, the newest
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
		b.Equal(s.keys.Newest(name), layout.VersionNumber, versionText(newest.Version))
		members := make([]string, len(part))
		for i, v := range part {
			b.Delete(s.keys.At(name, v))
			members[i] = layout.VersionMember(v)
		}
		if len(rest) > 0 {
			b.Exclude(s.keys.Versions(name), members...)
		} else {
			b.Delete(s.keys.Versions(name)).Delete(s.keys.Newest(name)).Exclude(s.keys.Names, name)
		}
		err := s.board.Commit(ctx, b)
		if errors.Is(err, domain.ErrConflict) {
			return 0, domain.Conflictf("%s %q was applied or deleted meanwhile; look at it again", s.noun, name)
		}
		if err != nil || len(rest) == 0 {
			return versions, err
		}
	}
}
