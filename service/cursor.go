package service

import (
	"context"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/listing"
)

// How many records one call of a list looks at: enough for a page where little
// matches, and so few that it is answered soon. Of a condition each costs ten times as
// much. What is further on is for the next call, with the cursor.
const (
	lookMost  = 10_000
	whereMost = 2_000
)

// cursor is where a list goes on: on a page of the engine's, behind one of its things
// where a caller wanted fewer than the page has.
type cursor struct {
	page  string // the engine's own cursor
	after string // a key, or ""
}

// cursorCut parts the two; no key has it.
const cursorCut = "~"

func (c cursor) String() string {
	if c == (cursor{}) {
		return ""
	}
	return c.after + cursorCut + c.page
}

// parseCursor reads what String wrote; isKey says whether a key is one of the list's.
//
// Errors: [domain.ErrInvalid].
func parseCursor(s string, isKey func(string) bool) (cursor, error) {
	if s == "" {
		return cursor{}, nil
	}
	after, page, found := strings.Cut(s, cursorCut)
	if !found || after != "" && !isKey(after) {
		return cursor{}, domain.Invalidf("cursor %q: want the next of the page before", s)
	}
	return cursor{page: page, after: after}, nil
}

// wanted is a list that is asked for.
type wanted[T any] struct {
	tenant domain.TenantID
	cursor string
	// limit is how many at the most. 0: as many as the engine gives at once.
	limit int
	// where is a condition over one thing, by the name it has there; "": all.
	where, name string
	// page is a page of the engine's.
	page func(cursor string) ([]T, listing.At, error)
	// key is that of a thing, isKey whether a text is one.
	key   func(T) string
	isKey func(string) bool
}

// found is what of such a list one call has found.
type found[T any] struct {
	list   []T
	next   string
	looked int // records
}

// find looks through pages until there are enough, the end has come, or the call has
// looked at as many records as one may.
func find[T any](ctx context.Context, c Caller, w wanted[T]) (f found[T], err error) {
	if w.limit < 0 {
		return f, domain.Invalidf("limit %d: want 1 or more, or 0 for the board's own", w.limit)
	}
	at, err := parseCursor(w.cursor, w.isKey)
	if err != nil {
		return f, err
	}
	most := lookMost
	if w.where != "" {
		most = whereMost
	}
	enough := w.limit
	if enough == 0 {
		enough = listing.Look
	}
	// Pages count as well as records: one may have nothing that is worth a look.
	for pages := 0; pages*listing.Look < most; pages++ {
		list, here, err := w.page(at.page)
		if err != nil {
			return f, err
		}
		f.looked += here.Looked
		list, err = where(ctx, c, w.tenant, w.where, w.name, rest(list, at.after, w.key))
		if err != nil {
			return f, err
		}
		if room := w.limit - len(f.list); w.limit > 0 && len(list) > room {
			f.list = append(f.list, list[:room]...)
			f.next = cursor{page: here.Here, after: w.key(list[room-1])}.String()
			return f, nil
		}
		f.list = append(f.list, list...)
		at = cursor{page: here.Next}
		if here.Next == "" || len(f.list) >= enough {
			break
		}
	}
	f.next = at.String()
	return f, nil
}

// rest is what of a page comes behind a key; all of it where that is gone meanwhile:
// better twice than never.
func rest[T any](list []T, after string, key func(T) string) []T {
	if after == "" {
		return list
	}
	i := slices.IndexFunc(list, func(x T) bool { return key(x) == after })
	return list[i+1:]
}
