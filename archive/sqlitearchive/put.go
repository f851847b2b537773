package sqlitearchive

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"sync"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/archive/internal/rows"
)

// insertRows is how many rows one statement inserts: a call of the library costs as
// much as several rows. Its values stay far below SQLite's limit of 32,766.
const insertRows = 64

const (
	// OR IGNORE, as no row can break the statement off then: SQLite would keep the pages
	// that it changes twice.
	insertRecord = "INSERT OR IGNORE INTO records (seq, " + rows.Whole + ", " + checksumColumn + ") VALUES "
	recordValues = "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
	insertName   = "INSERT INTO names (context, blueprint, flow_trigger, key, claimed_ms) VALUES (?,?,?,?,?) ON CONFLICT DO NOTHING"
)

// insert is the statement that inserts n records.
func insert(n int) string {
	return insertRecord + recordValues + strings.Repeat(","+recordValues, n-1)
}

// insertWords is the statement that inserts the words of n records.
func insertWords(n int) string {
	return "INSERT INTO words (rowid, text) VALUES (?,?)" + strings.Repeat(",(?,?)", n-1)
}

// prepared are the statements of full batches: to read their texts anew costs as much as
// a tenth of what they do.
type prepared struct {
	mu             sync.Mutex
	records, words *sql.Stmt // nil until they are needed
}

// of returns the statements, made ready where they are not yet.
func (p *prepared) of(ctx context.Context, db *sql.DB) (records, words *sql.Stmt, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.records == nil {
		if p.records, err = db.PrepareContext(ctx, insert(insertRows)); err != nil {
			return nil, nil, err
		}
	}
	if p.words == nil {
		p.words, err = db.PrepareContext(ctx, insertWords(archive.MaxBatch))
	}
	return p.records, p.words, err
}

// Put keeps records.
func (a *Archive) Put(ctx context.Context, records []archive.Record) error {
	if err := archive.CheckBatch(records); err != nil || len(records) == 0 {
		return err
	}
	var full, words *sql.Stmt
	if len(records) == archive.MaxBatch {
		var err error
		if full, words, err = a.prepared.of(ctx, a.write); err != nil {
			return translate(ctx, "write to", err)
		}
	}
	return a.update(ctx, "write to", func(tx *sql.Tx) error {
		if full != nil {
			full, words = tx.StmtContext(ctx, full), tx.StmtContext(ctx, words)
		}
		// The transaction is the only one that writes, so that the numbers are free.
		var last int64
		if err := tx.QueryRowContext(ctx, "SELECT coalesce(max(seq), 0) FROM records").Scan(&last); err != nil {
			return err
		}
		added, err := putRecords(ctx, tx, full, last+1, records)
		if err != nil {
			return err
		}
		if added == int64(len(records)) {
			return putRest(ctx, tx, words, last+1, records, func(int64) bool { return true })
		}
		found, err := tx.QueryContext(ctx, "SELECT seq FROM records WHERE seq > ? ORDER BY seq", last)
		if err != nil {
			return err
		}
		there, err := numbers(found)
		if err != nil {
			return err
		}
		return putRest(ctx, tx, nil, last+1, records, func(seq int64) bool { _, is := slices.BinarySearch(there, seq); return is })
	})
}

// putRecords inserts records with numbers from first on and returns how many were not
// there already.
func putRecords(ctx context.Context, tx *sql.Tx, full *sql.Stmt, first int64, records []archive.Record) (added int64, err error) {
	if full == nil && len(records) >= insertRows {
		if full, err = tx.PrepareContext(ctx, insert(insertRows)); err != nil {
			return 0, err
		}
		defer full.Close()
	}
	args := make([]any, 0, 15*min(insertRows, len(records)))
	for at := 0; at < len(records); at += insertRows {
		part := records[at:min(at+insertRows, len(records))]
		args = args[:0]
		for i := range part {
			if args, err = appendRow(args, first+int64(at+i), &part[i]); err != nil {
				return 0, err
			}
		}
		var done sql.Result
		if len(part) == insertRows {
			done, err = full.ExecContext(ctx, args...)
		} else {
			done, err = tx.ExecContext(ctx, insert(len(part)), args...)
		}
		if err != nil {
			return 0, err
		}
		n, err := done.RowsAffected()
		if err != nil {
			return 0, err
		}
		added += n
	}
	return added, nil
}

// appendRow adds the values of one row.
func appendRow(args []any, seq int64, r *archive.Record) ([]any, error) {
	logs, err := rows.Logs(r)
	args = append(args, seq, int64(r.Context), string(r.Kind), r.Key, r.EndMs, r.BeginMs, r.Status, r.Reason,
		string(r.ScriptType), r.Blueprint, r.Trigger, int64(r.Caller))
	return append(args, []byte(r.Body), logs, checksum(args[len(args)-heads:], r.Body, logs)), err
}

// putRest writes the names and the words of those records that were added. The words
// are one statement, the last of its transaction: FTS5 writes what it holds in memory
// when a statement begins, a segment of its index each time.
func putRest(ctx context.Context, tx *sql.Tx, full *sql.Stmt, first int64, records []archive.Record, added func(seq int64) bool) error {
	words := make([]any, 0, 2*len(records)) // seq and text in turn
	for i := range records {
		r, seq := &records[i], first+int64(i)
		if !added(seq) {
			continue
		}
		if name, ok := r.Name(); ok {
			if _, err := tx.ExecContext(ctx, insertName, int64(name.Context), name.Blueprint, name.Trigger, r.Key, r.EndMs); err != nil {
				return err
			}
		}
		words = append(words, seq, strings.Join(r.Words(), " "))
	}
	if len(words) == 0 {
		return nil
	}
	if full != nil {
		_, err := full.ExecContext(ctx, words...)
		return err
	}
	_, err := tx.ExecContext(ctx, insertWords(len(words)/2), words...)
	return err
}
