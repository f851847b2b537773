package sqlitearchive

import (
	"context"
	"database/sql"
	"errors"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/archive/internal/rows"
)

// Mark gives a mark a value.
func (a *Archive) Mark(ctx context.Context, name, was, value string) (now string, err error) {
	if err := archive.CheckKey(name); err != nil {
		return "", err
	}
	err = a.update(ctx, "write to", func(tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, "SELECT value FROM marks WHERE name = ?", name).Scan(&now)
		if err != nil && !errors.Is(err, sql.ErrNoRows) || now != was {
			return err
		}
		now = value
		_, err = tx.ExecContext(ctx, "INSERT INTO marks (name, value) VALUES (?,?) ON CONFLICT (name) DO UPDATE SET value = excluded.value", name, value)
		return err
	})
	return now, err
}

// Marks returns all marks.
func (a *Archive) Marks(ctx context.Context) (map[string]string, error) {
	found, err := a.read.QueryContext(ctx, rows.Marks)
	if err != nil {
		return nil, translate(ctx, "read", err)
	}
	defer found.Close()
	all, err := rows.ScanMarks(found.Next, found.Scan)
	return all, translate(ctx, "read", errors.Join(err, found.Err()))
}

const highest = `SELECT context, kind, CASE kind WHEN 'flow' THEN 0 ELSE caller END AS by,
		max(CAST(substr(key, length(rtrim(key, '0123456789')) + 1) AS INTEGER))
	FROM records GROUP BY context, kind, by`

// Highest returns the highest ids.
func (a *Archive) Highest(ctx context.Context) ([]archive.Highest, error) {
	found, err := a.read.QueryContext(ctx, highest)
	if err != nil {
		return nil, translate(ctx, "read", err)
	}
	defer found.Close()
	list, err := rows.ScanHighest(found.Next, found.Scan)
	return list, translate(ctx, "read", errors.Join(err, found.Err()))
}
