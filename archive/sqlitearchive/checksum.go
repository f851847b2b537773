package sqlitearchive

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"sync"
	"time"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/archive/internal/rows"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pause"
)

// This file tells records that are not what was put. SQLite has checksums in its log and none
// in its file: a byte that changed there is another record, where it breaks no structure.
//
// Each row has a checksum: of what its head has in the upper half, of body and logs in the
// lower one. Rows of before that have none, as have those of an earlier program. The
// column has no number of the schema, for earlier programs pass it over.

// checksumColumn is the name of the column, NULL where a row has none.
const checksumColumn = "checksum"

// selectWhole reads whole records as [checked] wants them.
const selectWhole = "SELECT " + rows.Whole + ", " + checksumColumn + " FROM records"

// addChecksum adds the column to a file that lacks it.
func addChecksum(ctx context.Context, db *sql.DB) error {
	const there = "SELECT count(*) FROM pragma_table_info('records') WHERE name = '" + checksumColumn + "'"
	var n int
	if err := db.QueryRowContext(ctx, there).Scan(&n); err != nil || n > 0 {
		return err
	}
	_, err := db.ExecContext(ctx, "ALTER TABLE records ADD COLUMN "+checksumColumn+" INTEGER")
	if err != nil && db.QueryRowContext(ctx, there).Scan(&n) == nil && n > 0 {
		return nil // another process was first
	}
	return err
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// heads is how many columns a head has, in the order of [rows.Head].
const heads = 11

// checksum is that of a row: its head's values, each an int64 or a text, and the rest.
func checksum(head []any, body, logs []byte) int64 {
	var room [512]byte
	b := room[:0]
	for _, v := range head {
		switch v := v.(type) {
		case int64:
			b = binary.LittleEndian.AppendUint64(b, uint64(v))
		case string:
			b = binary.LittleEndian.AppendUint32(b, uint32(len(v)))
			b = append(b, v...)
		}
	}
	upper, lower := crc32.Checksum(b, castagnoli), crc32.Update(crc32.Checksum(body, castagnoli), castagnoli, logs)
	return int64(uint64(upper)<<32 | uint64(lower))
}

// checked reads rows whose last column is the checksum, and knows what they should be.
type checked struct {
	a    *Archive
	plan *archive.Plan // of a query; nil: any record
	// asked is of which context the rows are, where the row itself does not say it.
	asked domain.TenantID
	row   func(dest ...any) error
	met   bool // the row that was read last is damaged
	// keeps has a damaged record keep its body and logs where these are what was put, and of its head what can
	// be put again: a backup is to lose no more than is lost.
	keeps bool
}

// errIndex is an index that leads to a record which it does not say.
var errIndex = errors.New("an index of the archive's file is damaged, for it leads to another record than it says: " +
	"stop the node and have `sqlite3 <file> REINDEX` make all anew, or put back a backup")

// scan reads a row as the scan of [rows.Scan] does. What is damaged has a state that says so,
// and the error as its body.
func (c *checked) scan(dest ...any) error {
	values, refs := make([]any, len(dest)+1), make([]any, len(dest)+1)
	for i := range values {
		refs[i] = &values[i]
	}
	if err := c.row(refs...); err != nil {
		return err
	}
	sum, known := values[len(dest)].(int64)
	err := fill(dest, values)
	if c.met = err != nil || known && !sound(sum, values[:len(dest)]) || *dest[5].(*string) == archive.Damaged; c.met {
		kept := c.keeps && known && len(dest) > heads && soundRest(sum, values)
		c.standIn(dest, values, kept)
		return nil
	}
	if c.plan != nil && !fits(c.plan, dest) {
		return errIndex
	}
	return nil
}

// sound compares a row with its checksum, as far as it was read.
func sound(sum int64, values []any) bool {
	var body, logs []byte
	whole := len(values) > heads
	if whole {
		body, whole = values[heads].([]byte)
		logs, _ = values[heads+1].([]byte)
	}
	is := checksum(values[:heads], body, logs)
	return is>>32 == sum>>32 && (!whole || is == sum)
}

// soundRest compares body and logs of a row with its checksum, whatever its head is.
func soundRest(sum int64, values []any) bool {
	body, is := values[heads].([]byte)
	logs, _ := values[heads+1].([]byte)
	return is && json.Valid(body) && uint32(sum) == uint32(checksum(nil, body, logs))
}

// fill gives values to what wants them.
func fill(dest, values []any) error {
	for i, d := range dest {
		ok := false
		switch d := d.(type) {
		case *int64:
			*d, ok = values[i].(int64)
		case *string:
			*d, ok = values[i].(string)
		case *[]byte:
			*d, ok = values[i].([]byte)
			ok = ok || values[i] == nil // too large to be read
		}
		if !ok {
			return errors.New("it has a value of another kind")
		}
	}
	return nil
}

// standIn has a damaged record say so, under its key as it is now. kept says that its body and logs stay.
func (c *checked) standIn(dest, values []any, kept bool) {
	tenant, key, endMs := int64(c.asked), "?", int64(1)
	if t, ok := values[0].(int64); ok && c.asked == 0 {
		tenant = t
	}
	if k, ok := values[2].(string); ok && archive.CheckKey(k) == nil {
		key = k
	}
	if ms, ok := values[3].(int64); ok {
		endMs = max(ms, 1)
	}
	text := damage(domain.TenantID(tenant), key, endMs)
	c.a.note(text)
	body, _ := json.Marshal(map[string]string{"error": text})
	for i, d := range dest {
		switch d := d.(type) {
		case *int64:
			*d = map[int]int64{0: tenant, 3: endMs, 4: endMs}[i]
		case *string:
			was, _ := values[i].(string)
			*d = map[int]string{1: string(domain.ArchiveJob), 2: key, 5: archive.Damaged}[i]
			switch kind := domain.ArchiveKind(was); {
			case kept && i == 1 && kind.Known(), kept && (i == 8 || i == 9) && archive.FitsHead(was): // kind, blueprint and trigger
				*d = was
			}
		case *[]byte:
			switch was, _ := values[i].([]byte); {
			case kept:
				*d = was
			case i == heads:
				*d = body
			default:
				*d = nil
			}
		}
	}
}

// damage names a damaged record.
func damage(tenant domain.TenantID, key string, endMs int64) string {
	return fmt.Sprintf("the record %q of context %d, ended %s, is damaged in the file of the archive: it is not what was put there, as its checksum says, "+
		"or came so with a restore; a backup from before that has it as it was, and the disk should be looked at",
		domain.PlainText(key, archive.MaxHead), tenant, time.UnixMilli(endMs).UTC().Format(time.RFC3339))
}

// fits reports whether a head is one that a query asks for: an index may lead elsewhere.
func fits(p *archive.Plan, dest []any) bool {
	text := func(i int, want string) bool { return want == "" || *dest[i].(*string) == want }
	end := *dest[3].(*int64)
	return *dest[0].(*int64) == int64(p.Context) && text(1, string(p.Kind)) && text(5, p.Status) && text(6, p.Reason) && text(7, string(p.ScriptType)) &&
		text(8, p.Blueprint) && text(9, p.Trigger) && (p.Caller == 0 || *dest[10].(*int64) == int64(p.Caller)) &&
		end >= p.FromMs && (p.ToMs == 0 || end < p.ToMs)
}

// damages are sentences about what is damaged of a file, as far as somebody came upon it.
type damages struct {
	mu   sync.Mutex
	list []string
	more int
}

// damagesTold is how many are kept.
const damagesTold = 5

// note keeps what is damaged, and logs it once.
func (a *Archive) note(text string) {
	d := &a.damages
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case slices.Contains(d.list, text):
		return
	case len(d.list) == damagesTold:
		d.more++
		return
	}
	d.list = append(d.list, text)
	if a.log != nil {
		a.log.Error("the file of the archive is damaged", "damage", text)
	}
}

// Settings are sentences about what is damaged of the file: `ramet doctor` says them.
func (a *Archive) Settings(context.Context) ([]string, error) {
	d := &a.damages
	d.mu.Lock()
	defer d.mu.Unlock()
	list := slices.Clone(d.list)
	if d.more > 0 {
		list = append(list, "more of the archive's file is damaged: put back a backup of it")
	}
	return list, nil
}

const (
	checkRows = 200 // that are read at once
	// integrityMost is up to how many bytes the structure of a file is looked at: that is one
	// call, which reads all of it.
	integrityMost = 1 << 30
)

// Check looks at all records, and at the structure of the file. What is damaged is told by
// Settings. After each piece it rests for so many times as long as that took.
//
// Errors: [domain.ErrUnavailable].
func (a *Archive) Check(ctx context.Context, rest int) error {
	const page = "SELECT seq, " + rows.Whole + ", " + checksumColumn + " FROM records WHERE seq > ? ORDER BY seq LIMIT ?"
	for last := int64(0); ; {
		begun := time.Now()
		n, err := a.checkSome(ctx, page, &last)
		switch {
		case err != nil && ctx.Err() == nil && isCorrupt(err):
			a.note(translate(ctx, "check", err).Error())
			return nil
		case err != nil:
			return translate(ctx, "check", err)
		}
		if n < checkRows {
			break
		}
		if rest > 0 && pause.For(ctx, time.Since(begun)*time.Duration(rest)) != nil {
			return ctx.Err()
		}
	}
	size, err := a.Size(ctx)
	if err != nil || size.Bytes > integrityMost {
		return err
	}
	found, err := a.read.QueryContext(ctx, "PRAGMA integrity_check(3)")
	if err != nil {
		return translate(ctx, "check", err)
	}
	defer found.Close()
	for found.Next() {
		var text string
		if err := found.Scan(&text); err != nil {
			return translate(ctx, "check", err)
		}
		if text != "ok" {
			a.note("the file of the archive is damaged: " + domain.PlainText(text, 300) +
				"; put back a backup; where only an index is, `sqlite3 <file> REINDEX` makes it anew")
		}
	}
	return translate(ctx, "check", found.Err())
}

// checkSome reads some records behind a number.
func (a *Archive) checkSome(ctx context.Context, query string, last *int64) (n int, err error) {
	found, err := a.read.QueryContext(ctx, query, *last, checkRows)
	if err != nil {
		return 0, err
	}
	defer found.Close()
	c := &checked{a: a, row: func(dest ...any) error { return found.Scan(append([]any{last}, dest...)...) }}
	for ; found.Next(); n++ {
		if _, err := rows.Scan(c.scan, true); err != nil && !c.met {
			return n, err
		}
	}
	return n, found.Err()
}

// The pauses of KeepChecked.
const (
	checkAfter = time.Minute
	checkEvery = 24 * time.Hour
	checkRest  = 20 // times as long as a piece took: a twentieth of a processor
)

// KeepChecked looks at the file each day until ctx ends.
func (a *Archive) KeepChecked(ctx context.Context) error {
	for wait := checkAfter; pause.For(ctx, wait) == nil; wait = checkEvery {
		if err := a.Check(ctx, checkRest); err != nil && ctx.Err() == nil && a.log != nil {
			a.log.Warn("the file of the archive could not be checked; it is tried again in a day", "err", err)
		}
	}
	return nil
}
