package sqlitearchive

import (
	"context"
	"database/sql"
	"errors"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/archive/internal/rows"
)

// snapshot is a transaction that reads: SQLite keeps for it the pages that it began with.
type snapshot struct {
	a  *Archive
	tx *sql.Tx
}

// Snapshot implements [archive.Archive].
func (a *Archive) Snapshot(ctx context.Context) (archive.Snapshot, error) {
	tx, err := a.read.BeginTx(context.WithoutCancel(ctx), nil) // it lives until it is closed
	if err != nil {
		return nil, translate(ctx, "read", err)
	}
	var n int
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM marks").Scan(&n); err != nil { // a transaction begins with the first look
		_ = tx.Rollback()
		return nil, translate(ctx, "read", err)
	}
	return snapshot{a, tx}, nil
}

func (s snapshot) Records(ctx context.Context, f func(archive.Record) error) error {
	return s.each(ctx, selectWhole, func(found *sql.Rows) error {
		return rows.EachRecord(found.Next, (&checked{a: s.a, row: found.Scan, keeps: true}).scan, f)
	})
}

func (s snapshot) Names(ctx context.Context, f func(archive.Claimed) error) error {
	return s.each(ctx, rows.Names, func(found *sql.Rows) error { return rows.EachName(found.Next, found.Scan, f) })
}

func (s snapshot) each(ctx context.Context, query string, each func(*sql.Rows) error) error {
	found, err := s.tx.QueryContext(ctx, query)
	if err != nil {
		return translate(ctx, "read", err)
	}
	defer found.Close()
	if err := each(found); err != nil {
		return err
	}
	return translate(ctx, "read", found.Err())
}

func (s snapshot) Close() error {
	if err := s.tx.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
		return translate(context.Background(), "read", err)
	}
	return nil
}
