package archive

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// Query says what to search for in one context. Zero fields do not filter.
type Query struct {
	Context    domain.TenantID // required
	Kind       domain.ArchiveKind
	Status     string
	Reason     string
	ScriptType domain.ScriptType
	Blueprint  string
	Trigger    string
	Caller     domain.ActorID
	// FromMs and ToMs bound the end: FromMs <= end < ToMs, in Unix ms.
	FromMs, ToMs int64
	// Text is words that must all be there: each begins a word of the script,
	// the text of a message, the result, the error or the log. Capitals do not
	// count.
	Text string

	// Cursor is the Next of the page before.
	Cursor string
	// Limit is how many records the page has at the most, 1..MaxPage. Default: 100.
	Limit int
	// Whole asks for bodies and logs too; a page may then end early.
	Whole bool
}

// defaultPage is how many records a page has where the query does not say.
const defaultPage = 100

// Page is a part of what a query finds.
type Page struct {
	Records []Record
	// Next is the cursor of the next page; "" is the end.
	Next string
}

// Plan is a query as drivers need it: checked and taken apart.
type Plan struct {
	Query
	Words []string
	After *Cursor // nil: from the newest on
}

// Plan checks the query.
//
// Errors: [domain.ErrInvalid], saying what would be right.
func (q Query) Plan() (Plan, error) {
	p := Plan{Query: q}
	switch {
	case q.Context == 0:
		return p, domain.Invalidf("context 0 has no archive")
	case q.Kind != "" && !q.Kind.Known():
		return p, domain.Invalidf("kind %q: want job, flow or message", q.Kind)
	case q.Limit < 0 || q.Limit > MaxPage:
		return p, domain.Invalidf("limit %d: want 1 to %d", q.Limit, MaxPage)
	case q.FromMs < 0 || q.ToMs < 0:
		return p, domain.Invalidf("times from %d to %d: want Unix milliseconds", q.FromMs, q.ToMs)
	}
	if p.Limit == 0 {
		p.Limit = defaultPage
	}
	for name, value := range map[string]string{"status": q.Status, "reason": q.Reason, "script type": string(q.ScriptType),
		"blueprint": q.Blueprint, "trigger": q.Trigger} {
		if err := checkHead(name, value, false); err != nil {
			return p, err
		}
	}
	var err error
	if q.Text != "" {
		if p.Words, err = queryWords(q.Text); err != nil {
			return p, err
		}
	}
	if q.Cursor != "" {
		p.After, err = parseCursor(q.Cursor)
	}
	return p, err
}

// MayFit reports whether a text as it is stored, JSON, can hold words that begin with
// all of the query's. It is quick, and may say yes where there are none.
func (p *Plan) MayFit(stored ...[]byte) bool {
	texts := make([][]byte, len(stored))
	for i, s := range stored {
		if bytes.Contains(s, []byte(`\u`)) {
			return true // a letter may be written so
		}
		texts[i] = bytes.ToLower(s)
	}
	for _, w := range p.Words {
		if !slices.ContainsFunc(texts, func(t []byte) bool { return bytes.Contains(t, []byte(w)) }) {
			return false
		}
	}
	return true
}

// Fits reports whether a whole record has words that begin with all of the query's.
func (p *Plan) Fits(r *Record) bool {
	has := r.Words()
	for _, w := range p.Words {
		if !slices.ContainsFunc(has, func(h string) bool { return strings.HasPrefix(h, w) }) {
			return false
		}
	}
	return true
}

// Cursor is a place in the order of records.
type Cursor struct {
	EndMs int64
	Key   string
}

// String is "<end>.<key>".
func (c Cursor) String() string { return strconv.FormatInt(c.EndMs, 10) + "." + c.Key }

func parseCursor(text string) (*Cursor, error) {
	end, key, ok := strings.Cut(text, ".")
	n, err := strconv.ParseInt(end, 10, 64)
	if !ok || err != nil || CheckKey(key) != nil {
		return nil, domain.Invalidf("cursor %q: want the next of the page before", text)
	}
	return &Cursor{n, key}, nil
}

// Cut makes a page of what a driver found, which is one record more than the
// plan's limit where there is more.
func (p *Plan) Cut(found []Record, cutEarly bool) Page {
	more := cutEarly
	if len(found) > p.Limit {
		found, more = found[:p.Limit], true
	}
	page := Page{Records: found}
	if more && len(found) > 0 {
		last := found[len(found)-1]
		page.Next = Cursor{last.EndMs, last.Key}.String()
	}
	return page
}
