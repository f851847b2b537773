package postgresarchive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/archive/internal/rows"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/address"
)

// defaultSchema is where the tables stand.
const defaultSchema = "ramet"

// dialTimeout bounds one connection where the URL does not: a server that is
// silent must not hold up a search for minutes.
const dialTimeout = 5 * time.Second

// lockTime bounds how long a statement waits for a table that somebody has locked, as VACUUM FULL and ALTER TABLE do,
// where the URL does not: who asks would be waited for as long as that takes.
const lockTime = 4 * time.Second

// schemaPattern keeps the schema's name one that needs no quotes in psql.
var schemaPattern = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)

// Archive is an archive in a database.
type Archive struct {
	pool   *pgxpool.Pool
	schema string

	// prepared is what the server keeps, once it was reached and the schema is
	// up to date.
	prepared atomic.Pointer[board.Durability]
}

var _ archive.Archive = (*Archive)(nil)

// Open prepares an archive on the database of a URL such as
// postgres://user:password@host/database; libpq's parameters and environment
// variables count. It connects to nothing yet.
//
// Errors: [domain.ErrInvalid].
func Open(rawURL string) (*Archive, error) {
	u, q, err := address.Parse(rawURL)
	if err != nil {
		return nil, domain.Invalidf("archive: the URL cannot be read: %v; want postgres://user:password@host/database", err)
	}
	schema := defaultSchema
	if q.Has("schema") {
		schema = q.Get("schema")
		q.Del("schema")
		u.RawQuery = q.Encode()
	}
	if !schemaPattern.MatchString(schema) {
		return nil, domain.Invalidf("archive: schema %q: want lower-case letters, digits and _", schema)
	}
	cfg, err := pgxpool.ParseConfig(u.String())
	if err != nil {
		// Its text may hold the password.
		return nil, domain.Invalidf("archive: the URL cannot be read; want postgres://user:password@host/database")
	}
	if cfg.ConnConfig.ConnectTimeout == 0 {
		cfg.ConnConfig.ConnectTimeout = dialTimeout
	}
	cfg.ConnConfig.RuntimeParams["search_path"] = schema
	cfg.ConnConfig.RuntimeParams["application_name"] = "ramet"
	if cfg.ConnConfig.RuntimeParams["lock_timeout"] == "" {
		cfg.ConnConfig.AfterConnect = boundLocks // no parameter: a PgBouncer refuses those that it does not know
	}
	// In the context of the caller there would be none: nothing is dialled here.
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg)
	if err != nil {
		return nil, domain.Invalidf("archive: %v", err)
	}
	return &Archive{pool: pool, schema: schema}, nil
}

func boundLocks(ctx context.Context, c *pgconn.PgConn) error {
	_, err := c.Exec(ctx, fmt.Sprintf("SET lock_timeout = %d", lockTime.Milliseconds())).ReadAll()
	return err
}

// Durability is that of the server, once it was reached.
func (a *Archive) Durability() board.Durability {
	if d := a.prepared.Load(); d != nil {
		return *d
	}
	return board.DurableMemory
}

// readable can be read only while nobody has locked the records. It ends with the server's words before who looks has
// waited long enough to call it silent; both are one transaction, as a text of several statements is.
const readable = "SET LOCAL lock_timeout = 1000; SELECT FROM records LIMIT 1"

// Ping asks the server whether the records can be read.
func (a *Archive) Ping(ctx context.Context) error {
	if s := a.pool.Stat(); s.AcquiredConns() >= s.MaxConns() { // who waits for one of these knows nothing of the server
		return translate(ctx, "reach", a.pingAnew(ctx))
	}
	err := a.prepare(ctx)
	if err == nil {
		_, err = a.pool.Exec(ctx, readable)
	}
	return translate(ctx, "reach", err)
}

// pingAnew asks by a connection of its own.
func (a *Archive) pingAnew(ctx context.Context) error {
	conn, err := pgx.ConnectConfig(ctx, a.pool.Config().ConnConfig)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if a.prepared.Load() == nil {
		return conn.Ping(ctx)
	}
	_, err = conn.Exec(ctx, readable)
	return err
}

// Close closes the connections.
func (a *Archive) Close() error {
	a.pool.Close()
	return nil
}

// prepare brings the schema up to date, once. Calls that come at once all try:
// the advisory lock keeps them apart, and none waits for another's time-out.
func (a *Archive) prepare(ctx context.Context) error {
	if a.prepared.Load() != nil {
		return nil
	}
	var durable board.Durability
	err := pgx.BeginFunc(ctx, a.pool, func(tx pgx.Tx) (err error) {
		if err = migrate(ctx, tx, a.schema); err == nil {
			durable, err = durabilityOf(ctx, tx)
		}
		return err
	})
	if err == nil {
		a.prepared.Store(&durable)
	}
	return err
}

// translate gives an error of the library a kind.
func translate(ctx context.Context, verb string, err error) error {
	var own *pgconn.PgError
	var unmet *pgconn.ConnectError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, domain.ErrConflict), errors.Is(err, domain.ErrInvalid):
		return err
	case errors.As(err, &own) && own.Code == "55P03":
		return domain.Unavailablef("%s the archive: PostgreSQL keeps its tables locked for somebody else, as for VACUUM FULL, ALTER TABLE or a LOCK that was "+
			"not ended (see pg_locks): %s", verb, own.Message)
	case errors.As(err, &own) && (strings.HasPrefix(own.Code, "22") || own.Code == "54000"):
		return domain.Invalidf("%s the archive: %s", verb, own.Message)
	}
	what := "%s the archive: %s"
	if errors.As(err, &unmet) { // which begins with user and database, as the URL has them
		what, err = "%s the archive: PostgreSQL cannot be reached: %s", cmp.Or(errors.Unwrap(unmet), err)
	}
	if pgconn.Timeout(err) {
		return domain.Unavailablef(what, verb, "it gave no answer in time")
	}
	// The library tells of each address that it tried on a line of its own.
	return domain.Unavailablef(what, verb, strings.Join(strings.Fields(err.Error()), " "))
}

// update runs do in a transaction that is durable when it returns.
func (a *Archive) update(ctx context.Context, verb string, do func(tx pgx.Tx) error) error {
	err := a.prepare(ctx)
	if err == nil {
		err = pgx.BeginFunc(ctx, a.pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "SET LOCAL synchronous_commit = on"); err != nil {
				return err
			}
			return do(tx)
		})
	}
	return translate(ctx, verb, err)
}

// insertRecords takes columns as arrays: one statement for a batch.
const insertRecords = "INSERT INTO records (" + rows.Whole + `, words)
	SELECT context, kind, key, end_ms, begin_ms, status, reason, script_type, blueprint, flow_trigger, caller, body, logs,
		array_to_tsvector(string_to_array(words, ' '))
	FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::text[], $9::text[],
		$10::text[], $11::bigint[], $12::bytea[], $13::bytea[], $14::text[])
		AS r(` + rows.Whole + `, words)
	ON CONFLICT DO NOTHING`

const insertName = "INSERT INTO names (context, blueprint, flow_trigger, key, claimed_ms) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING"

// batch is records by column.
type batch struct {
	context, end, begin, caller                                      []int64
	kind, key, status, reason, scriptType, blueprint, trigger, words []string
	body, logs                                                       [][]byte
}

func (b *batch) add(r *archive.Record) error {
	logs, err := rows.Logs(r)
	b.context, b.kind, b.key = append(b.context, int64(r.Context)), append(b.kind, string(r.Kind)), append(b.key, r.Key)
	b.end, b.begin = append(b.end, r.EndMs), append(b.begin, r.BeginMs)
	b.status, b.reason = append(b.status, r.Status), append(b.reason, r.Reason)
	b.scriptType, b.blueprint = append(b.scriptType, string(r.ScriptType)), append(b.blueprint, r.Blueprint)
	b.trigger, b.caller = append(b.trigger, r.Trigger), append(b.caller, int64(r.Caller))
	b.body, b.logs = append(b.body, r.Body), append(b.logs, logs)
	b.words = append(b.words, strings.Join(r.Words(), " "))
	return err
}

// Put keeps records.
func (a *Archive) Put(ctx context.Context, records []archive.Record) error {
	if err := archive.CheckBatch(records); err != nil || len(records) == 0 {
		return err
	}
	var b batch
	for i := range records {
		if err := b.add(&records[i]); err != nil {
			return err
		}
	}
	return a.update(ctx, "write to", func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, insertRecords, b.context, b.kind, b.key, b.end, b.begin, b.status, b.reason, b.scriptType, b.blueprint,
			b.trigger, b.caller, b.body, b.logs, b.words)
		for i := range records {
			if name, ok := records[i].Name(); ok && err == nil {
				_, err = tx.Exec(ctx, insertName, int64(name.Context), name.Blueprint, name.Trigger, records[i].Key, records[i].EndMs)
			}
		}
		return err
	})
}

// Get reads one record.
func (a *Archive) Get(ctx context.Context, tenant domain.TenantID, key string, endMs int64) (r archive.Record, err error) {
	if err := archive.CheckKey(key); err != nil {
		return r, err
	}
	if err = a.prepare(ctx); err == nil {
		row := a.pool.QueryRow(ctx, "SELECT "+rows.Whole+
			" FROM records WHERE context = $1 AND key = $2 AND ($3::bigint = 0 OR end_ms = $3) ORDER BY end_ms DESC LIMIT 1",
			int64(tenant), key, endMs)
		r, err = rows.Scan(row.Scan, true)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return r, archive.Missing(tenant, key, endMs)
	}
	return r, translate(ctx, "read", err)
}

// deleteOldest skips what another node is just removing.
const deleteOldest = `DELETE FROM records WHERE seq IN
	(SELECT seq FROM records WHERE end_ms < $1 ORDER BY end_ms LIMIT $2 FOR UPDATE SKIP LOCKED)`

const deleteNames = `DELETE FROM names WHERE claimed_ms < $1
	AND NOT EXISTS (SELECT 1 FROM records r WHERE r.context = names.context AND r.key = names.key)`

// Delete removes old records.
func (a *Archive) Delete(ctx context.Context, before time.Time, limit int) (removed int, err error) {
	if err := archive.CheckDelete(limit); err != nil {
		return 0, err
	}
	err = a.update(ctx, "clear", func(tx pgx.Tx) error {
		gone, err := tx.Exec(ctx, deleteOldest, before.UnixMilli(), limit)
		if err != nil {
			return err
		}
		removed = int(gone.RowsAffected())
		_, err = tx.Exec(ctx, deleteNames, before.UnixMilli())
		return err
	})
	if err != nil {
		return 0, err
	}
	return removed, nil
}

const cutOldest = deleteOldest + " RETURNING context, blueprint, flow_trigger, key"

const cutNames = `DELETE FROM names USING unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) AS gone (context, blueprint, flow_trigger, key)
	WHERE names.context = gone.context AND names.blueprint = gone.blueprint AND names.flow_trigger = gone.flow_trigger AND names.key = gone.key
	AND NOT EXISTS (SELECT 1 FROM records r WHERE r.context = names.context AND r.key = names.key)`

// Cut removes the oldest records with their names.
func (a *Archive) Cut(ctx context.Context, before time.Time, limit int) (removed int, err error) {
	if err := archive.CheckDelete(limit); err != nil {
		return 0, err
	}
	err = a.update(ctx, "clear", func(tx pgx.Tx) error {
		found, err := tx.Query(ctx, cutOldest, before.UnixMilli(), limit)
		if err != nil {
			return err
		}
		var contexts []int64
		var blueprints, triggers, keys []string
		var tenant int64
		var blueprint, trigger, key string
		removed = 0
		_, err = pgx.ForEachRow(found, []any{&tenant, &blueprint, &trigger, &key}, func() error {
			removed++
			if blueprint != "" {
				contexts, blueprints, triggers, keys = append(contexts, tenant), append(blueprints, blueprint), append(triggers, trigger), append(keys, key)
			}
			return nil
		})
		if err == nil && len(keys) > 0 {
			_, err = tx.Exec(ctx, cutNames, contexts, blueprints, triggers, keys)
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	return removed, nil
}

// sizeOf counts rows where the server's estimate says that there are few, and leaves out
// what dead ones have.
const sizeOf = `SELECT CASE WHEN c.reltuples > 1000000 THEN c.reltuples::bigint ELSE (SELECT count(*) FROM records) END,
	(pg_total_relation_size(c.oid) * (coalesce(s.n_live_tup, 0) + 1.0) / (coalesce(s.n_live_tup, 0) + coalesce(s.n_dead_tup, 0) + 1.0))::bigint
	FROM pg_class c LEFT JOIN pg_stat_user_tables s ON s.relid = c.oid WHERE c.oid = 'records'::regclass`

// Size is about how much there is.
func (a *Archive) Size(ctx context.Context) (s archive.Size, err error) {
	if err = a.prepare(ctx); err == nil {
		err = a.pool.QueryRow(ctx, sizeOf).Scan(&s.Records, &s.Bytes)
	}
	return s, translate(ctx, "read", err)
}

const holderOf = "SELECT key FROM names WHERE context = $1 AND blueprint = $2 AND flow_trigger = $3"

// Claim gives a name to a key.
func (a *Archive) Claim(ctx context.Context, name archive.Name, key string, at time.Time) (holder string, err error) {
	if err := errors.Join(name.Validate(), archive.CheckKey(key)); err != nil {
		return "", err
	}
	// The second statement sees what the first waited for: each reads what is
	// committed when it begins.
	err = a.update(ctx, "write to", func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, insertName, int64(name.Context), name.Blueprint, name.Trigger, key, at.UnixMilli()); err != nil {
			return err
		}
		return tx.QueryRow(ctx, holderOf, int64(name.Context), name.Blueprint, name.Trigger).Scan(&holder)
	})
	return holder, err
}

// Release frees a name.
func (a *Archive) Release(ctx context.Context, name archive.Name, key string) error {
	if err := errors.Join(name.Validate(), archive.CheckKey(key)); err != nil {
		return err
	}
	return a.update(ctx, "write to", func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "DELETE FROM names WHERE context = $1 AND blueprint = $2 AND flow_trigger = $3 AND key = $4",
			int64(name.Context), name.Blueprint, name.Trigger, key)
		return err
	})
}

// Holder finds who has a name.
func (a *Archive) Holder(ctx context.Context, name archive.Name) (key string, err error) {
	if err := name.Validate(); err != nil {
		return "", err
	}
	if err = a.prepare(ctx); err == nil {
		err = a.pool.QueryRow(ctx, holderOf, int64(name.Context), name.Blueprint, name.Trigger).Scan(&key)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return "", name.Missing()
	}
	return key, translate(ctx, "read", err)
}
