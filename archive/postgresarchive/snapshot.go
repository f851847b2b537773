package postgresarchive

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/archive/internal/rows"
)

// snapshot is a transaction that reads what there was when it began.
type snapshot struct{ tx pgx.Tx }

// Snapshot implements [archive.Archive].
func (a *Archive) Snapshot(ctx context.Context) (archive.Snapshot, error) {
	if err := a.prepare(ctx); err != nil {
		return nil, translate(ctx, "read", err)
	}
	tx, err := a.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return nil, translate(ctx, "read", err)
	}
	if _, err := tx.Exec(ctx, "SELECT 1 FROM marks LIMIT 1"); err != nil { // what it sees is settled by its first look
		_ = tx.Rollback(context.WithoutCancel(ctx))
		return nil, translate(ctx, "read", err)
	}
	return snapshot{tx}, nil
}

func (s snapshot) Records(ctx context.Context, f func(archive.Record) error) error {
	return s.each(ctx, rows.Everything, func(found pgx.Rows) error { return rows.EachRecord(found.Next, found.Scan, f) })
}

func (s snapshot) Names(ctx context.Context, f func(archive.Claimed) error) error {
	return s.each(ctx, rows.Names, func(found pgx.Rows) error { return rows.EachName(found.Next, found.Scan, f) })
}

func (s snapshot) each(ctx context.Context, query string, each func(pgx.Rows) error) error {
	found, err := s.tx.Query(ctx, query)
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
	if err := s.tx.Rollback(context.Background()); err != nil && !errors.Is(err, pgx.ErrTxClosed) {
		return translate(context.Background(), "read", err)
	}
	return nil
}
