package postgresarchive

import (
	"context"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/archive/internal/rows"
)

// fewMatches is up to how many records with the words of a query are looked at one by
// one. Where there are more, PostgreSQL decides.
const fewMatches = 2000

// arguments collects values for the placeholders $1, $2, ...
type arguments []any

func (a *arguments) add(v any) string {
	*a = append(*a, v)
	return "$" + strconv.Itoa(len(*a))
}

// where writes the plan's conditions.
func (a *Archive) where(ctx context.Context, p *archive.Plan, args *arguments) (string, error) {
	cond := rows.Where(p, args.add)
	if len(p.Words) == 0 {
		return cond, nil
	}
	match := "'" + strings.Join(p.Words, "':* & '") + "':*"
	few, err := a.matches(ctx, match)
	if err != nil {
		return "", err
	}
	if len(few) <= fewMatches {
		return cond + " AND seq = ANY(" + args.add(few) + ")", nil
	}
	return cond + " AND words @@ " + args.add(match) + "::text::tsquery", nil
}

// matches are the numbers of records that have the words, up to one more than few. They
// are asked for by themselves: PostgreSQL takes the beginning of an unknown word for
// a frequent one, and would go through all records in their order.
func (a *Archive) matches(ctx context.Context, match string) (seqs []int64, err error) {
	err = pgx.BeginTxFunc(ctx, a.pool, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SET LOCAL enable_seqscan = off"); err != nil {
			return err
		}
		found, err := tx.Query(ctx, "SELECT seq FROM records WHERE words @@ $1::text::tsquery LIMIT $2", match, fewMatches+1)
		if err != nil {
			return err
		}
		seqs, err = pgx.CollectRows(found, pgx.RowTo[int64])
		return err
	})
	return seqs, err
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
	if err := a.prepare(ctx); err != nil {
		return page, err
	}
	if len(p.Words) > 0 {
		if page, done, err := a.look(ctx, p); err != nil || done {
			return page, err
		}
	}
	var args arguments
	cond, err := a.where(ctx, p, &args)
	if err != nil {
		return page, err
	}
	found, err := a.pool.Query(ctx, "SELECT "+rows.Columns(p.Whole)+" FROM records WHERE "+cond+rows.After(p, args.add)+rows.Order(p), args...)
	if err != nil {
		return page, err
	}
	defer found.Close()
	if page, err = rows.Collect(p, found.Next, found.Scan); err != nil {
		return page, err
	}
	found.Close()
	return page, found.Err()
}

// look looks for the words of a query in the newest records; see rows.Look. Where it has
// not counted a table yet, PostgreSQL would sort all records for the newest.
func (a *Archive) look(ctx context.Context, p *archive.Plan) (page archive.Page, done bool, err error) {
	err = pgx.BeginTxFunc(ctx, a.pool, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SET LOCAL enable_sort = off"); err != nil {
			return err
		}
		var args arguments
		cond := rows.Where(p, args.add) + rows.After(p, args.add)
		found, err := tx.Query(ctx, "SELECT "+rows.LookColumns+" FROM records WHERE "+cond+rows.LookOrder, args...)
		if err != nil {
			return err
		}
		defer found.Close()
		if page, done, err = rows.Look(p, found.Next, found.Scan); err != nil {
			return err
		}
		found.Close()
		return found.Err()
	})
	return page, done && err == nil, err
}

// Count counts what the query finds.
func (a *Archive) Count(ctx context.Context, q archive.Query) (n int64, err error) {
	p, err := q.Plan()
	if err != nil {
		return 0, err
	}
	if err = a.prepare(ctx); err == nil {
		n, err = a.count(ctx, &p)
	}
	return n, translate(ctx, "search", err)
}

func (a *Archive) count(ctx context.Context, p *archive.Plan) (n int64, err error) {
	var args arguments
	cond, err := a.where(ctx, p, &args)
	if err != nil {
		return 0, err
	}
	err = a.pool.QueryRow(ctx, "SELECT count(*) FROM records WHERE "+cond, args...).Scan(&n)
	return n, err
}
