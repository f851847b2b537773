package sqleffect

import (
	"cmp"
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
)

// lockWait is how long a statement waits for other processes that use the
// file, in milliseconds. It is short: what waits longer comes again.
const lockWait = "2000"

func openSQLite(o *Options, _ effect.Definition, lent effect.Host) (*database, error) {
	file, err := within(o.File, lent.Folders)
	if err != nil {
		return nil, err
	}
	q := url.Values{"mode": {"rw"}, "_defensive": {"1"}, "_busy_timeout": {cmp.Or(o.Session["busy_timeout"], lockWait)}}
	for name, value := range o.Session {
		q.Add("_pragma", name+"("+value+")")
	}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: file}).EscapedPath()+"?"+q.Encode())
	if err != nil {
		return nil, err
	}
	// One connection: a file has one writer, and who waits for it here waits no
	// longer than its context.
	return &database{
		begin:   []string{"BEGIN IMMEDIATE"},
		dialect: dialects[o.Driver],
		db:      pool(db, 1),
		create: `CREATE TABLE IF NOT EXISTS %s (tenant INTEGER NOT NULL, effect TEXT NOT NULL, command_id TEXT NOT NULL, answer TEXT,
			done_at TEXT NOT NULL DEFAULT (strftime('%%Y-%%m-%%dT%%H:%%M:%%fZ', 'now')), PRIMARY KEY (tenant, effect, command_id))`,
		mark:   "INSERT INTO %s (tenant, effect, command_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
		answer: "SELECT answer FROM %s WHERE tenant = ? AND effect = ? AND command_id = ?",
		done:   "UPDATE %s SET answer = ? WHERE tenant = ? AND effect = ? AND command_id = ?",
		fault:  sqliteFault,
	}, nil
}

// within is the file itself, where it is in one of the folders, whatever links
// lead to it.
func within(file string, folders []string) (string, error) {
	if len(folders) == 0 {
		return "", domain.Invalidf("is %q, but the node has no folder for such files", file)
	}
	real, err := filepath.Abs(file)
	if err == nil {
		real, err = filepath.EvalSymlinks(real)
	}
	if err != nil {
		return "", domain.FileErrorf(err, "%v", err)
	}
	if info, err := os.Stat(real); err != nil || !info.Mode().IsRegular() {
		return "", domain.Invalidf("is %q, which is no file", file)
	}
	for _, folder := range folders {
		dir, err := filepath.Abs(folder)
		if err == nil {
			dir, err = filepath.EvalSymlinks(dir)
		}
		if err == nil && strings.HasPrefix(real, strings.TrimSuffix(dir, "/")+"/") {
			return real, nil
		}
	}
	return "", domain.Invalidf("is %q, which is in none of the folders for such files: %s", file, strings.Join(folders, ", "))
}

func sqliteFault(err error) *fault {
	return asFault(err, func(e *sqlite.Error) *fault {
		f := &fault{code: cmp.Or(sqlite.ErrorCodeString[e.Code()], sqlite.ErrorCodeString[e.Code()&0xff]), message: e.Error()}
		// Such as "A table in the database is locked (SQLITE_LOCKED)".
		f.code = strings.TrimSuffix(f.code[strings.LastIndexByte(f.code, '(')+1:], ")")
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_IOERR,
			sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_SCHEMA, sqlite3.SQLITE_CORRUPT,
			sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_INTERNAL:
			f.retry = true
		}
		return f
	})
}
