package sqlitearchive

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/ramet-run/ramet/domain"
)

// steps bring a file from the version that is their index to the next. What
// has been released is never changed, only added to.
var steps = []string{
	// 0 -> 1. Times are Unix milliseconds. The words of a record have its seq
	// as their rowid.
	`
	CREATE TABLE records (
		seq          INTEGER PRIMARY KEY,
		context      INTEGER NOT NULL,
		kind         TEXT NOT NULL,
		key          TEXT NOT NULL,
		end_ms       INTEGER NOT NULL,
		begin_ms     INTEGER NOT NULL,
		status       TEXT NOT NULL,
		reason       TEXT NOT NULL,
		script_type  TEXT NOT NULL,
		blueprint    TEXT NOT NULL,
		flow_trigger TEXT NOT NULL,
		caller       INTEGER NOT NULL,
		body         BLOB NOT NULL,
		logs         BLOB NOT NULL
	);
	CREATE UNIQUE INDEX records_identity ON records (context, key, end_ms);
	CREATE INDEX records_order ON records (context, end_ms, key);
	CREATE INDEX records_status ON records (context, status, end_ms, key);
	CREATE INDEX records_blueprint ON records (context, blueprint, end_ms, key) WHERE blueprint <> '';
	CREATE INDEX records_end ON records (end_ms);
	CREATE VIRTUAL TABLE words USING fts5(text, content='', contentless_delete=1, tokenize='ascii', detail=none);
	CREATE TABLE names (
		context      INTEGER NOT NULL,
		blueprint    TEXT NOT NULL,
		flow_trigger TEXT NOT NULL,
		key          TEXT NOT NULL,
		claimed_ms   INTEGER NOT NULL,
		PRIMARY KEY (context, blueprint, flow_trigger)
	) WITHOUT ROWID;
	CREATE INDEX names_claimed ON names (claimed_ms);
	`,
	// 1 -> 2
	`CREATE TABLE marks (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;`,
	// 2 -> 3. What few records have is indexed of those only: see rows.Where.
	`
	CREATE INDEX records_type ON records (context, script_type, end_ms, key);
	CREATE INDEX records_caller ON records (context, caller, end_ms, key);
	CREATE INDEX records_kind ON records (context, kind, end_ms, key) WHERE kind <> 'job';
	CREATE INDEX records_reason ON records (context, reason, end_ms, key) WHERE reason <> '';
	CREATE INDEX records_trigger ON records (context, flow_trigger, end_ms, key) WHERE flow_trigger <> '';
	`,
}

// migrate brings the file up to date.
//
// Errors: [domain.ErrConflict] for a file of a newer program.
func migrate(ctx context.Context, db *sql.DB) error {
	var version int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	if version > len(steps) {
		return domain.Conflictf("it has schema %d, this program knows up to %d: it was written by a newer Ramet", version, len(steps))
	}
	for ; version < len(steps); version++ {
		if err := step(ctx, db, version); err != nil {
			return fmt.Errorf("bring schema %d up to date: %w", version, err)
		}
	}
	return nil
}

func step(ctx context.Context, db *sql.DB, version int) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	// Another process may have been first: the transaction is the only one now.
	var now int
	if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&now); err != nil || now != version {
		return err
	}
	if _, err := tx.ExecContext(ctx, steps[version]); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", version+1)); err != nil {
		return err
	}
	return tx.Commit()
}
