package postgresarchive

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// steps bring the schema from the version that is their index to the next.
// What has been released is never changed, only added to. Keys are compared
// byte by byte, whatever the database's language is.
var steps = []string{
	// 0 -> 1. Times are Unix milliseconds. A body is text, not jsonb: it comes
	// out as it went in, and may hold what jsonb refuses.
	`
	CREATE TABLE records (
		seq          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
		context      bigint NOT NULL,
		kind         text COLLATE "C" NOT NULL,
		key          text COLLATE "C" NOT NULL,
		end_ms       bigint NOT NULL,
		begin_ms     bigint NOT NULL,
		status       text COLLATE "C" NOT NULL,
		reason       text COLLATE "C" NOT NULL,
		script_type  text COLLATE "C" NOT NULL,
		blueprint    text COLLATE "C" NOT NULL,
		flow_trigger text COLLATE "C" NOT NULL,
		caller       bigint NOT NULL,
		body         bytea NOT NULL,
		logs         bytea NOT NULL,
		words        tsvector NOT NULL
	);
	CREATE UNIQUE INDEX records_identity ON records (context, key, end_ms);
	CREATE INDEX records_order ON records (context, end_ms, key);
	CREATE INDEX records_status ON records (context, status, end_ms, key);
	CREATE INDEX records_blueprint ON records (context, blueprint, end_ms, key) WHERE blueprint <> '';
	CREATE INDEX records_end ON records (end_ms);
	CREATE INDEX records_words ON records USING gin (words);
	CREATE TABLE names (
		context      bigint NOT NULL,
		blueprint    text COLLATE "C" NOT NULL,
		flow_trigger text COLLATE "C" NOT NULL,
		key          text COLLATE "C" NOT NULL,
		claimed_ms   bigint NOT NULL,
		PRIMARY KEY (context, blueprint, flow_trigger)
	);
	CREATE INDEX names_claimed ON names (claimed_ms);
	`,
	// 1 -> 2
	`CREATE TABLE marks (name text COLLATE "C" PRIMARY KEY, value text COLLATE "C" NOT NULL);`,
	// 2 -> 3. What few records have is indexed of those only: see rows.Where.
	`
	CREATE INDEX records_type ON records (context, script_type, end_ms, key);
	CREATE INDEX records_caller ON records (context, caller, end_ms, key);
	CREATE INDEX records_kind ON records (context, kind, end_ms, key) WHERE kind <> 'job';
	CREATE INDEX records_reason ON records (context, reason, end_ms, key) WHERE reason <> '';
	CREATE INDEX records_trigger ON records (context, flow_trigger, end_ms, key) WHERE flow_trigger <> '';
	`,
}

// migrationLock is the advisory lock under which the schema is changed:
// "ramet" in ASCII.
const migrationLock = 0x72616d6574

// migrate brings the schema up to date in one transaction.
//
// Errors: [domain.ErrConflict] for a schema of a newer program,
// [domain.ErrInvalid] for a database that cannot hold every text.
func migrate(ctx context.Context, tx pgx.Tx, schema string) error {
	var encoding string
	if err := tx.QueryRow(ctx, "SHOW server_encoding").Scan(&encoding); err != nil {
		return err
	}
	if encoding != "UTF8" {
		return domain.Invalidf("archive: the database has the encoding %s, want UTF8", encoding)
	}
	if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(migrationLock)); err != nil {
		return err
	}
	// Looked for first: to use a schema takes fewer rights than to make one.
	var there bool
	if err := tx.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", pgx.Identifier{schema, "schema_version"}.Sanitize()).Scan(&there); err != nil {
		return err
	}
	if !there {
		if err := begin(ctx, tx, schema); err != nil {
			return err
		}
	}
	var version int
	if err := tx.QueryRow(ctx, "SELECT version FROM schema_version").Scan(&version); err != nil {
		return err
	}
	if version > len(steps) {
		return domain.Conflictf("the archive has schema %d, this program knows up to %d: it was written by a newer Ramet", version, len(steps))
	}
	if version == len(steps) {
		return nil
	}
	for ; version < len(steps); version++ {
		if _, err := tx.Exec(ctx, steps[version]); err != nil {
			return fmt.Errorf("bring schema %d up to date: %w", version, err)
		}
	}
	_, err := tx.Exec(ctx, "UPDATE schema_version SET version = $1", version)
	return err
}

// durabilityOf reads what an acknowledged commit survives.
func durabilityOf(ctx context.Context, tx pgx.Tx) (board.Durability, error) {
	var fsync, standbys string
	err := tx.QueryRow(ctx, "SELECT current_setting('fsync'), current_setting('synchronous_standby_names')").Scan(&fsync, &standbys)
	switch {
	case err != nil:
		return board.DurableMemory, err
	case standbys != "":
		return board.DurableQuorum, nil
	case fsync != "on":
		return board.DurableProcess, nil
	}
	return board.DurableDisk, nil
}

// begin makes the schema, unless somebody made it for a role that may not, and
// its first table.
func begin(ctx context.Context, tx pgx.Tx, schema string) error {
	var there bool
	name := pgx.Identifier{schema}.Sanitize()
	if err := tx.QueryRow(ctx, "SELECT to_regnamespace($1) IS NOT NULL", name).Scan(&there); err != nil {
		return err
	}
	if !there {
		if _, err := tx.Exec(ctx, "CREATE SCHEMA "+name); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, "CREATE TABLE schema_version (version int NOT NULL); INSERT INTO schema_version VALUES (0)")
	return err
}
