package sqlitearchive

import (
	"context"
	"database/sql"
	"encoding/json"
	"strings"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/archive/internal/rows"
)

// fewMatches is up to how many records with the words of a query are looked at one by
// one, where the newest records are not enough. Where there are more, the records are
// gone through in their order instead, until a page is full.
const fewMatches = 2000

// selection is what a query selects: behind SELECT columns.
type selection struct {
	from string
	args []any
}

func (s *selection) arg(v any) string {
	s.args = append(s.args, v)
	return "?"
}

// selects writes the plan's tables and conditions.
func (a *Archive) selects(ctx context.Context, p *archive.Plan) (*selection, error) {
	s := &selection{}
	if len(p.Words) == 0 {
		s.from = " FROM records WHERE " + rows.Where(p, s.arg)
		return s, nil
	}
	// Quoted: a word may be one of FTS5's own, such as "or".
	match := `"` + strings.Join(p.Words, `"* "`) + `"*`
	few, err := a.matches(ctx, match)
	if err != nil {
		return nil, err
	}
	if len(few) > fewMatches {
		s.from = " FROM records WHERE seq IN (SELECT rowid FROM words WHERE words MATCH " + s.arg(match) + ") AND " + rows.Where(p, s.arg)
		return s, nil
	}
	list, err := json.Marshal(few)
	if err != nil {
		return nil, err
	}
	// CROSS JOIN makes SQLite begin with the few.
	s.from = " FROM (SELECT value AS few FROM json_each(" + s.arg(string(list)) + ")) CROSS JOIN records ON seq = few WHERE " + rows.Where(p, s.arg)
	return s, nil
}

// matches are the numbers of records that have the words, up to one more than few.
func (a *Archive) matches(ctx context.Context, match string) ([]int64, error) {
	found, err := a.read.QueryContext(ctx, "SELECT rowid FROM words WHERE words MATCH ? LIMIT ?", match, fewMatches+1)
	if err != nil {
		return nil, err
	}
	return numbers(found)
}

// numbers reads rows of one number, and closes them.
func numbers(found *sql.Rows) ([]int64, error) {
	defer found.Close()
	list := []int64{} // JSON null is no list
	for found.Next() {
		var n int64
		if err := found.Scan(&n); err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, found.Err()
}

// Search returns a page.
func (a *Archive) Search(ctx context.Context, q archive.Query) (archive.Page, error) {
	p, err := q.Plan()
	if err != nil {
		return archive.Page{}, err
	}
	page, err := a.search(ctx, &p)
	if err != nil {
		return archive.Page{}, translate(ctx, "search", err)
	}
	return page, nil
}

func (a *Archive) search(ctx context.Context, p *archive.Plan) (page archive.Page, err error) {
	if len(p.Words) > 0 {
		if page, done, err := a.look(ctx, p); err != nil || done {
			return page, err
		}
	}
	s, err := a.selects(ctx, p)
	if err != nil {
		return page, err
	}
	rest := rows.After(p, s.arg) + rows.Order(p)
	found, err := a.read.QueryContext(ctx, "SELECT "+rows.Columns(p.Whole)+", "+checksumColumn+s.from+rest, s.args...)
	if err != nil {
		return page, err
	}
	defer found.Close()
	if page, err = rows.Collect(p, found.Next, a.checks(p, found)); err == nil {
		err = found.Err()
	}
	return page, err
}

// checks reads rows of a plan.
func (a *Archive) checks(p *archive.Plan, found *sql.Rows) func(dest ...any) error {
	return (&checked{a: a, plan: p, asked: p.Context, row: found.Scan}).scan
}

// look looks for the words of a query in the newest records; see rows.Look.
func (a *Archive) look(ctx context.Context, p *archive.Plan) (page archive.Page, done bool, err error) {
	var s selection
	s.from = " FROM records WHERE " + rows.Where(p, s.arg) + rows.After(p, s.arg) + rows.LookOrder
	found, err := a.read.QueryContext(ctx, "SELECT "+rows.LookColumns+", "+checksumColumn+s.from, s.args...)
	if err != nil {
		return page, false, err
	}
	defer found.Close()
	if page, done, err = rows.Look(p, found.Next, a.checks(p, found)); err != nil || !done {
		return page, false, err
	}
	return page, true, found.Err()
}

// Count counts what the query finds.
func (a *Archive) Count(ctx context.Context, q archive.Query) (n int64, err error) {
	p, err := q.Plan()
	if err != nil {
		return 0, err
	}
	s, err := a.selects(ctx, &p)
	if err == nil {
		err = a.read.QueryRowContext(ctx, "SELECT count(*)"+s.from, s.args...).Scan(&n)
	}
	return n, translate(ctx, "search", err)
}
