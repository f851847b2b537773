package postgresarchive

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/archive/internal/rows"
)

// Mark gives a mark a value.
func (a *Archive) Mark(ctx context.Context, name, was, value string) (now string, err error) {
	if err := archive.CheckKey(name); err != nil {
		return "", err
	}
	err = a.update(ctx, "write to", func(tx pgx.Tx) error {
		// The row is there first: who waits for another's lock on it reads what that wrote.
		if _, err := tx.Exec(ctx, "INSERT INTO marks (name, value) VALUES ($1, '') ON CONFLICT DO NOTHING", name); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, "SELECT value FROM marks WHERE name = $1 FOR UPDATE", name).Scan(&now); err != nil || now != was {
			return err
		}
		now = value
		_, err := tx.Exec(ctx, "UPDATE marks SET value = $2 WHERE name = $1", name, value)
		return err
	})
	return now, err
}

// Marks returns all marks.
func (a *Archive) Marks(ctx context.Context) (all map[string]string, err error) {
	if err = a.prepare(ctx); err == nil {
		var found pgx.Rows
		if found, err = a.pool.Query(ctx, rows.Marks); err == nil {
			defer found.Close()
			all, err = rows.ScanMarks(found.Next, found.Scan)
			err = errors.Join(err, found.Err())
		}
	}
	return all, translate(ctx, "read", err)
}

const highest = `SELECT context, kind, CASE kind WHEN 'flow' THEN 0 ELSE caller END AS by,
		max(coalesce(substring(key from '[0-9]+$'), '0')::bigint)
	FROM records GROUP BY context, kind, by`

// Highest returns the highest ids.
func (a *Archive) Highest(ctx context.Context) (list []archive.Highest, err error) {
	if err = a.prepare(ctx); err == nil {
		var found pgx.Rows
		if found, err = a.pool.Query(ctx, highest); err == nil {
			defer found.Close()
			list, err = rows.ScanHighest(found.Next, found.Scan)
			err = errors.Join(err, found.Err())
		}
	}
	return list, translate(ctx, "read", err)
}
