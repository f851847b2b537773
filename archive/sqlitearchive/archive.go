package sqlitearchive

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/archive/internal/rows"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// readers is how many searches read the file at once.
const readers = 4

// Archive is an archive in one file.
type Archive struct {
	write *sql.DB // one connection
	read  *sql.DB
	log   *slog.Logger // nil: none

	damages  damages
	prepared prepared
}

var _ archive.Archive = (*Archive)(nil)

// Config of an archive. The zero Config is ready to use.
type Config struct {
	// AcceptLoss opens a file whose log is damaged without what lies behind the
	// damage, which was acknowledged. The log is kept aside. Default: Open refuses.
	AcceptLoss bool
	// Logger hears what a person should know. Default: none.
	Logger *slog.Logger
}

// Open opens the archive in a file, making it if it is not there. The file's
// folder must exist.
//
// Errors: [domain.ErrConflict] for a file of a newer program;
// [domain.ErrUnavailable], also when its log is damaged.
func Open(ctx context.Context, file string, cfg Config) (*Archive, error) {
	a := &Archive{log: cfg.Logger}
	err := cfg.check(file + "-wal")
	if err == nil {
		err = private(file)
	}
	if err == nil {
		a.write, err = connect(file, 1, "immediate")
	}
	if err == nil {
		a.read, err = connect(file, readers, "deferred")
	}
	if err == nil {
		err = migrate(ctx, a.write)
	}
	if err == nil {
		err = addChecksum(ctx, a.write)
	}
	if err != nil {
		a.Close()
		if errors.Is(err, domain.ErrConflict) {
			return nil, domain.Conflictf("archive %s: %v", file, err)
		}
		return nil, domain.Unavailablef("archive %s: %v", file, err)
	}
	return a, nil
}

// check refuses a log that is damaged, or gives up what is lost with it.
func (c Config) check(log string) error {
	err := checkWAL(log)
	if !errors.Is(err, errDamaged) {
		return err
	}
	if !c.AcceptLoss {
		return fmt.Errorf("%w; restore a backup, or start with --accept-loss to go on without it", err)
	}
	aside, failed := setAside(log)
	if failed == nil && c.Logger != nil {
		c.Logger.Error("what the archive had behind the damage is lost, as --accept-loss says", "damage", err, "the log as it was", aside)
	}
	return failed
}

// private makes the file where it is missing, for its user alone; SQLite gives
// its side files the same modes. Those that are there are closed to others, if
// they are this user's. It opens none that is there: to close it again would
// take the locks from other connections of this process.
func private(file string) error {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		return f.Close()
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	for _, name := range []string{file, file + "-wal", file + "-shm"} {
		if info, err := os.Stat(name); err == nil && info.Mode().Perm()&0o077 != 0 {
			_ = os.Chmod(name, info.Mode().Perm()&^0o077) // another user's file is that user's to close
		}
	}
	return nil
}

// connect prepares up to n connections that begin transactions as lock says.
func connect(file string, n int, lock string) (*sql.DB, error) {
	// A file that is gone is not made anew: connections are opened again at any time.
	q := url.Values{"mode": {"rw"}, "_txlock": {lock}, "_pragma": {
		"busy_timeout(10000)",      // another process: a backup, sqlite3 by hand
		"auto_vacuum(incremental)", // of a new file, before anything is written to it; see shrink
		"journal_mode(wal)",        // readers do not stop the writer
		"synchronous(full)",        // a commit is on the disk when it returns
		"journal_size_limit(67108864)",
		"wal_autocheckpoint(16384)", // pages: what is written often goes to the file once
		"temp_store(memory)",        // else a statement that changes many pages keeps them in a file until it is done
		"cache_size(-8192)",         // KiB: the ends of all indexes
	}}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: file}).EscapedPath()+"?"+q.Encode())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return db, nil
}

// Durability is that of a synced file.
func (a *Archive) Durability() board.Durability { return board.DurableDisk }

// Ping asks the file.
func (a *Archive) Ping(ctx context.Context) error {
	return translate(ctx, "reach", a.read.PingContext(ctx))
}

// GiveBack closes connections that nobody uses, with the pages of the file that they
// keep in memory. Whoever comes next opens one again.
func (a *Archive) GiveBack() {
	a.read.SetMaxIdleConns(0)
	a.read.SetMaxIdleConns(readers)
	a.write.SetMaxIdleConns(0)
	a.write.SetMaxIdleConns(1)
}

// Close closes the file.
func (a *Archive) Close() error {
	var errs []error
	for _, db := range []*sql.DB{a.read, a.write} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// translate gives an error of the library a kind.
func translate(ctx context.Context, verb string, err error) error {
	var own *sqlite.Error
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &own) && own.Code()&0xff == sqlite3.SQLITE_TOOBIG:
		return domain.Invalidf("%s the archive: %v", verb, err)
	}
	if isCorrupt(err) {
		return domain.Unavailablef("%s the archive: its file is damaged: put back a backup, or have `sqlite3 <file> .recover` read what is left: %v", verb, err)
	}
	return domain.Unavailablef("%s the archive: %v", verb, err)
}

// isCorrupt reports whether SQLite has found the structure of the file broken.
func isCorrupt(err error) bool {
	var own *sqlite.Error
	return errors.As(err, &own) && (own.Code()&0xff == sqlite3.SQLITE_CORRUPT || own.Code()&0xff == sqlite3.SQLITE_NOTADB)
}

// update runs do in a transaction.
func (a *Archive) update(ctx context.Context, verb string, do func(tx *sql.Tx) error) error {
	err := func() error {
		tx, err := a.write.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if err := do(tx); err != nil {
			return err
		}
		return tx.Commit()
	}()
	return translate(ctx, verb, err)
}

// Get reads one record.
func (a *Archive) Get(ctx context.Context, tenant domain.TenantID, key string, endMs int64) (archive.Record, error) {
	if err := archive.CheckKey(key); err != nil {
		return archive.Record{}, err
	}
	row := a.read.QueryRowContext(ctx, selectWhole+" WHERE context = ? AND key = ? AND (? = 0 OR end_ms = ?) ORDER BY end_ms DESC LIMIT 1",
		int64(tenant), key, endMs, endMs)
	c := &checked{a: a, asked: tenant, row: row.Scan}
	r, err := rows.Scan(c.scan, true)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return r, archive.Missing(tenant, key, endMs)
	case c.met:
		return archive.Record{}, domain.Unavailablef("%s", damage(tenant, key, max(r.EndMs, endMs)))
	case err == nil && (r.Context != tenant || r.Key != key || endMs != 0 && r.EndMs != endMs):
		err = errIndex
	}
	if err != nil {
		return archive.Record{}, translate(ctx, "read", err)
	}
	return r, nil
}

// Delete removes old records.
func (a *Archive) Delete(ctx context.Context, before time.Time, limit int) (removed int, err error) {
	return a.remove(ctx, before, limit, func(tx *sql.Tx, seqs string) error {
		if err := removeRecords(ctx, tx, seqs); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM names WHERE claimed_ms < ?
			AND NOT EXISTS (SELECT 1 FROM records r WHERE r.context = names.context AND r.key = names.key)`, before.UnixMilli())
		return err
	})
}

// Cut removes the oldest records with their names.
func (a *Archive) Cut(ctx context.Context, before time.Time, limit int) (removed int, err error) {
	return a.remove(ctx, before, limit, func(tx *sql.Tx, seqs string) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM names WHERE (context, blueprint, flow_trigger, key) IN
			(SELECT context, blueprint, flow_trigger, key FROM records WHERE seq IN (SELECT value FROM json_each(?1)) AND blueprint <> '')
			AND NOT EXISTS (SELECT 1 FROM records r WHERE r.context = names.context AND r.key = names.key AND r.seq NOT IN (SELECT value FROM json_each(?1)))`, seqs)
		if err != nil {
			return err
		}
		return removeRecords(ctx, tx, seqs)
	})
}

// remove removes the oldest records in one transaction, as do says of their numbers, which
// are a list as JSON; then the file may get smaller.
func (a *Archive) remove(ctx context.Context, before time.Time, limit int, do func(tx *sql.Tx, seqs string) error) (removed int, err error) {
	if err := archive.CheckDelete(limit); err != nil {
		return 0, err
	}
	err = a.update(ctx, "clear", func(tx *sql.Tx) error {
		seqs, err := oldest(ctx, tx, before, limit)
		if err != nil {
			return err
		}
		list, err := json.Marshal(seqs)
		if err != nil {
			return err
		}
		removed = len(seqs)
		return do(tx, string(list))
	})
	if err != nil {
		return 0, err
	}
	if err := a.shrink(ctx, removed < limit); err != nil && a.log != nil && ctx.Err() == nil {
		a.log.Warn("the file of the archive does not get smaller; tried again when more is removed", "err", err)
	}
	return removed, nil
}

// removeRecords removes records and the words that they are found by.
func removeRecords(ctx context.Context, tx *sql.Tx, seqs string) error {
	for table, id := range map[string]string{"records": "seq", "words": "rowid"} {
		if _, err := tx.ExecContext(ctx, "DELETE FROM "+table+" WHERE "+id+" IN (SELECT value FROM json_each(?))", seqs); err != nil {
			return err
		}
	}
	return nil
}

// Size is about how much there is: numbers of records that are gone count, where they are
// between others.
func (a *Archive) Size(ctx context.Context) (s archive.Size, err error) {
	var pages, free, page int64
	for name, value := range map[string]*int64{"page_count": &pages, "freelist_count": &free, "page_size": &page} {
		if err := a.read.QueryRowContext(ctx, "PRAGMA "+name).Scan(value); err != nil {
			return s, translate(ctx, "read", err)
		}
	}
	s.Bytes = (pages - free) * page
	err = a.read.QueryRowContext(ctx, "SELECT coalesce((SELECT max(seq) FROM records) - (SELECT min(seq) FROM records) + 1, 0)").Scan(&s.Records)
	return s, translate(ctx, "read", err)
}

func oldest(ctx context.Context, tx *sql.Tx, before time.Time, limit int) (seqs []int64, err error) {
	found, err := tx.QueryContext(ctx, "SELECT seq FROM records WHERE end_ms < ? ORDER BY end_ms LIMIT ?", before.UnixMilli(), limit)
	if err != nil {
		return nil, err
	}
	return numbers(found)
}

// Claim gives a name to a key.
func (a *Archive) Claim(ctx context.Context, name archive.Name, key string, at time.Time) (holder string, err error) {
	if err := errors.Join(name.Validate(), archive.CheckKey(key)); err != nil {
		return "", err
	}
	err = a.update(ctx, "write to", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, insertName, int64(name.Context), name.Blueprint, name.Trigger, key, at.UnixMilli()); err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, holderOf, int64(name.Context), name.Blueprint, name.Trigger).Scan(&holder)
	})
	return holder, err
}

// Release frees a name.
func (a *Archive) Release(ctx context.Context, name archive.Name, key string) error {
	if err := errors.Join(name.Validate(), archive.CheckKey(key)); err != nil {
		return err
	}
	return a.update(ctx, "write to", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM names WHERE context = ? AND blueprint = ? AND flow_trigger = ? AND key = ?",
			int64(name.Context), name.Blueprint, name.Trigger, key)
		return err
	})
}

const holderOf = "SELECT key FROM names WHERE context = ? AND blueprint = ? AND flow_trigger = ?"

// Holder finds who has a name.
func (a *Archive) Holder(ctx context.Context, name archive.Name) (key string, err error) {
	if err := name.Validate(); err != nil {
		return "", err
	}
	err = a.read.QueryRowContext(ctx, holderOf, int64(name.Context), name.Blueprint, name.Trigger).Scan(&key)
	if errors.Is(err, sql.ErrNoRows) {
		return "", name.Missing()
	}
	return key, translate(ctx, "read", err)
}
