package service

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/listing"
)

// How many records one call of a list looks at: enough for a page where little
// matches, and so few that it is answered soon. Of a condition each costs ten times as
// much. What is further on is for the next call, with the cursor. A count has no next
// call, and nothing of what it finds is sent: it looks at ten times as many.
const (
	lookMost  = 10_000
	whereMost = 2_000
	countMore = 10
)

// cursor is where a list goes on: on a page of the engine's, behind one of its things
// where a caller wanted fewer than the page has.
type cursor struct {
	list  string // which list it is of: what [listName] says
	page  string // the engine's own cursor
	after string // a key, or ""
}

// cursorCut parts the three; no key has it, nor any name of a list.
const cursorCut = "~"

func (c cursor) String() string {
	if c.after == "" && c.page == "" {
		return ""
	}
	return c.list + cursorCut + c.after + cursorCut + c.page
}

// parseCursor reads what String wrote for the same list; isKey says whether a key is
// one of the list's.
//
// Errors: [domain.ErrInvalid].
func parseCursor(s, list string, isKey func(string) bool) (cursor, error) {
	if s == "" {
		return cursor{list: list}, nil
	}
	name, rest, _ := strings.Cut(s, cursorCut)
	after, page, found := strings.Cut(rest, cursorCut)
	switch {
	case !found || len(name) != len(list) || after != "" && !isKey(after):
		return cursor{}, domain.Invalidf("cursor %q: want the next of the page before", s)
	case name != list:
		return cursor{}, domain.Invalidf("cursor %q is of a list with other filters, or in another order; begin that list anew, without a cursor", s)
	}
	return cursor{list: list, page: page, after: after}, nil
}

// listName tells lists apart by what they were asked for, so that a cursor cannot go on
// with another list than its own.
func listName(filters ...any) string {
	h := fnv.New32a()
	fmt.Fprintf(h, "%+v", filters)
	return fmt.Sprintf("%08x", h.Sum32())
}

// wanted is a list that is asked for.
type wanted[T any] struct {
	tenant domain.TenantID
	// list tells it from lists with other filters.
	list   string
	cursor string
	// limit is how many at the most. 0: as many as the engine gives at once.
	limit int
	// enough is how many do where limit is 0. 0: a page of the engine's.
	enough int
	// count is set where nothing is listed but the number of them.
	count bool
	// where is a condition over one thing, by the name it has there; "": all.
	where, name string
	narrow      api.Narrowing
	// also is another condition; nil: none.
	also func(T) bool
	// made is when a thing was made, in Unix milliseconds, cut to grain.
	made  func(T) int64
	grain int64
	// page is a page of the engine's.
	page func(cursor string) ([]T, listing.At, error)
	// key is that of a thing, isKey whether a text is one.
	key   func(T) string
	isKey func(string) bool
}

// look is how many records a page of the engine's is to look at: 0, as many as it likes,
// where all that fits is counted.
func (w *wanted[T]) look() int {
	if w.count {
		return 0
	}
	return w.enough
}

// found is what of such a list one call has found.
type found[T any] struct {
	list   []T
	next   string
	looked int          // records
	count  *api.Counted // nil where nobody asked
}

// find looks through pages until there are enough, the end has come, or the call has
// looked at as many records as one may.
func find[T any](ctx context.Context, c Caller, w wanted[T]) (f found[T], err error) {
	if w.limit < 0 {
		return f, domain.Invalidf("limit %d: want 1 or more, or 0 for the board's own", w.limit)
	}
	at, err := parseCursor(w.cursor, w.list, w.isKey)
	if err != nil {
		return f, err
	}
	fits, err := w.fits(ctx, c)
	if err != nil {
		return f, err
	}
	most, enough := lookMost, cmp.Or(w.limit, w.enough, listing.Look)
	if w.where != "" {
		most = whereMost
	}
	if w.count {
		most, f.count = most*countMore, new(api.Counted)
	}
	// Pages count as well as records: one may have nothing that is worth a look.
	for pages := 0; pages*listing.Look < most && f.looked < most; pages++ {
		list, here, err := w.page(at.page)
		if err != nil {
			return f, err
		}
		f.looked += here.Looked
		if list, err = keep(rest(list, at.after, w.key), fits); err != nil {
			return f, err
		}
		at = cursor{list: w.list, page: here.Next}
		switch room := w.limit - len(f.list); {
		case w.count:
			f.count.Matching += len(list)
		case w.limit > 0 && len(list) > room:
			f.list = append(f.list, list[:room]...)
			f.next = cursor{list: w.list, page: here.Here, after: w.key(list[room-1])}.String()
			return f, nil
		default:
			f.list = append(f.list, list...)
		}
		if here.Next == "" || !w.count && len(f.list) >= enough {
			break
		}
	}
	if f.next = at.String(); w.count {
		f.count.More, f.next = f.next != "", ""
	}
	return f, nil
}

// fits is whether a thing is one that the list wants of what the engine has found: the
// cheapest question first.
//
// Errors: [domain.ErrInvalid] for a condition that cannot be read, or times that fit nothing.
func (w *wanted[T]) fits(ctx context.Context, c Caller) (func(T) (bool, error), error) {
	n := w.narrow
	if n.FromMs < 0 || n.ToMs < 0 || n.ToMs > 0 && n.ToMs <= n.FromMs {
		return nil, domain.Invalidf("from_ms %d, to_ms %d: want Unix milliseconds, from_ms before to_ms", n.FromMs, n.ToMs)
	}
	if len(n.Text) > maxText {
		return nil, domain.Invalidf("text has %d bytes, the limit is %d", len(n.Text), maxText)
	}
	holds, err := holding[T](ctx, c, w.tenant, w.where, w.name)
	if err != nil {
		return nil, err
	}
	text := strings.ToLower(n.Text)
	return func(thing T) (bool, error) {
		if w.also != nil && !w.also(thing) {
			return false, nil
		}
		if n.FromMs > 0 || n.ToMs > 0 {
			// What is only known to the second counts where any of its second fits.
			made := w.made(thing)
			if made < n.FromMs-n.FromMs%max(1, w.grain) || n.ToMs > 0 && made >= n.ToMs {
				return false, nil
			}
		}
		if text != "" && !hasText(thing, text) {
			return false, nil
		}
		return holds(thing)
	}, nil
}

// keep leaves of a list what fits.
func keep[T any](list []T, fits func(T) (bool, error)) ([]T, error) {
	kept := list[:0]
	for _, thing := range list {
		fit, err := fits(thing)
		if err != nil {
			return nil, err
		}
		if fit {
			kept = append(kept, thing)
		}
	}
	return kept, nil
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

// A key that may have any character stands in a cursor in base64.
func anyKey(key string) string { return base64.RawURLEncoding.EncodeToString([]byte(key)) }

func isAnyKey(text string) bool {
	_, err := base64.RawURLEncoding.DecodeString(text)
	return err == nil
}

// ways are the orders of lists that have several.
var ways = map[string]listing.Way{"": listing.WayNone, api.SortNewest: listing.WayNewest, api.SortOldest: listing.WayLive, api.SortEnded: listing.WayLogged}

// wayOf is the way by which a list comes in an order, where the filter leaves it that way.
//
// Errors: [domain.ErrInvalid].
func wayOf(sort string, open []listing.Way) (listing.Way, error) {
	way, known := ways[sort]
	switch {
	case !known:
		return way, domain.Invalidf("sort %q: want %s, %s or %s%s", domain.PlainText(sort, 64), api.SortNewest, api.SortOldest, api.SortEnded,
			didYouMean(sort, []string{api.SortNewest, api.SortOldest, api.SortEnded}))
	case way == listing.WayNone || slices.Contains(open, way):
		return way, nil
	case way == listing.WayLive:
		return way, domain.Invalidf("sort %s is the order of what has not ended; give a status that says so", sort)
	}
	return way, domain.Invalidf("sort %s is the order of what ended in error; give status error", sort)
}

// didYouMean is a hint at the known word that comes nearest to one; "" where all are far.
func didYouMean(word string, known []string) string {
	if near := domain.Nearest(word, known); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return ""
}
