package listing

import (
	"context"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// Look is how many records one page looks at unless its reader wants fewer.
const Look = 500

// Records says which records of a space are paged through.
type Records struct {
	Board board.Board
	Space board.Space
	// Prefix begins the keys of all of them.
	Prefix string
	// Fields are what is read of each. Default: nothing but that it is there.
	Fields []string
	// Look is how many records a page looks at. Default and most: [Look].
	Look int
}

// Page is what one look has found: the keys, and a record for each; nil where
// something else lies there, or nothing any more.
type Page struct {
	Keys    []string
	Records []board.Record
	At
}

// At is how far a list has come.
type At struct {
	// Next is the cursor of the next page; "" is the end.
	Next string
	// Here is the cursor of this page: what it has is found there again, also where
	// the page was the first.
	Here string
	// Looked is how many records the page has looked at.
	Looked int
}

// The ways, as cursors begin.
const (
	wayNumbers = 'n' // Newest, by numbers
	wayRest    = 'r' // Newest, what the numbers did not find
	wayLive    = 'l'
	wayLogged  = 'e'
)

// Way says how a cursor goes on; [WayNone] is the beginning of a list.
type Way byte

// The ways of a list.
const (
	WayNone   Way = 0
	WayNewest Way = wayNumbers
	WayLive   Way = wayLive
	WayLogged Way = wayLogged
)

// WayOf is the way that a cursor is of.
//
// Errors: [domain.ErrInvalid] for what is no cursor of a list.
func WayOf(cursor string) (Way, error) {
	switch {
	case cursor == "":
		return WayNone, nil
	case cursor[0] == wayNumbers || cursor[0] == wayRest:
		return WayNewest, nil
	case cursor[0] == wayLive || cursor[0] == wayLogged:
		return Way(cursor[0]), nil
	}
	return WayNone, badCursor(cursor)
}

// Begin is the cursor that begins a list anew, on another way: what the way before
// has missed is to be found by it.
func Begin(w Way) string { return string(rune(w)) }

func badCursor(cursor string) error {
	return domain.Invalidf("cursor %q: want the next of the page before", domain.PlainText(cursor, board.MaxKey))
}

func (r Records) look() int {
	if r.Look < 1 || r.Look > Look {
		return Look
	}
	return r.Look
}

// read reads the records of keys.
func (r Records) read(ctx context.Context, keys []string) ([]board.Record, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	return board.Listed(ctx, r.Board, r.Space, r.Fields, keys)
}

// Live is a page of what has not ended, in the order in which it was marked as
// alive. Of a space that has much else alive a page may be empty while more is to come.
func (r Records) Live(ctx context.Context, cursor string) (p Page, err error) {
	p.Here = cursor
	after := board.LiveItem{}
	if cursor != "" {
		ms, item, found := strings.Cut(cursor[1:], ".")
		at, err := strconv.ParseInt(ms, 10, 64)
		if err != nil || !found || cursor[0] != wayLive {
			return p, badCursor(cursor)
		}
		after = board.LiveItem{At: timeOf(at), Item: item}
	}
	items, err := r.Board.Live(ctx, r.Space, after, r.look())
	if err != nil {
		return p, err
	}
	for _, it := range items {
		if strings.HasPrefix(it.Item, r.Prefix) {
			p.Keys = append(p.Keys, it.Item)
		}
	}
	if p.Looked = len(items); p.Looked == r.look() {
		last := items[p.Looked-1]
		p.Next = string(wayLive) + strconv.FormatInt(last.At.UnixMilli(), 10) + "." + last.Item
	}
	p.Records, err = r.read(ctx, p.Keys)
	return p, err
}

// Logged is a page of what the entries of a list name, which is a log: newest right.
// keyOf is the key that an entry names, and which value of the field its record has
// as long as nothing newer was logged of it; other entries are passed over.
func (r Records) Logged(ctx context.Context, log, field string, keyOf func(entry string) (key, value string, ok bool), cursor string) (p Page, err error) {
	lengths, err := r.Board.Len(ctx, r.Space, log)
	if err != nil {
		return p, err
	}
	end := lengths[0]
	if cursor != "" {
		at, err := strconv.Atoi(cursor[1:])
		if err != nil || at < 1 || cursor[0] != wayLogged {
			return p, badCursor(cursor)
		}
		end = min(end, at) // it was trimmed
	}
	// A log is trimmed at its left, so that what has not been looked at can only move
	// left, too: some entries may come twice, none is missed.
	from := max(0, end-r.look())
	if end == 0 {
		return p, nil
	}
	p.Here = string(wayLogged) + strconv.Itoa(end)
	entries, err := r.Board.List(ctx, r.Space, log, from, end-from)
	if err != nil {
		return p, err
	}
	var values []string
	for i := len(entries) - 1; i >= 0; i-- {
		if key, value, ok := keyOf(entries[i]); ok && strings.HasPrefix(key, r.Prefix) {
			p.Keys, values = append(p.Keys, key), append(values, value)
		}
	}
	if p.Looked = len(entries); from > 0 {
		p.Next = string(wayLogged) + strconv.Itoa(from)
	}
	if p.Records, err = r.read(ctx, p.Keys); err != nil {
		return p, err
	}
	for i, rec := range p.Records {
		if rec.Get(field) != values[i] {
			p.Records[i] = nil
		}
	}
	return p, nil
}
