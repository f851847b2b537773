package sqleffect

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/ramet-run/ramet/effect"
)

// database is one of the three, with what differs in how they are spoken to.
type database struct {
	db *sql.DB
	dialect
	begin []string // the statements that begin a transaction
	// create makes the dedupe table where there is none, %s is its name.
	create string
	// mark writes into it that a command is done, unless that stands there, and
	// reports whether it does.
	mark string
	// marked reports whether an error of mark says that it stands there; nil:
	// then no row is changed.
	marked func(error) bool
	// answer and done read and write the answer of a command.
	answer, done string
	// fault reads an error of the database itself; nil: it is not one.
	fault func(error) *fault
}

// fault is what a database says of a statement or a connection.
type fault struct {
	code    string // SQLSTATE, or what the database has in its place
	message string
	// retry is whether the same may go well another time.
	retry bool
}

func (f *fault) Error() string { return fmt.Sprintf("%s: %s", f.code, f.message) }

// refusal is what a saga gets of it.
func (f *fault) refusal(where string) error {
	return &effect.Refused{Cause: "sql: " + where + f.Error(), Answer: asJSON(map[string]string{"code": f.code, "message": f.message})}
}

const (
	// idle is how many connections wait for calls, and idleTime for how long.
	idle     = 4
	idleTime = 5 * time.Minute
	// oldest is how long a connection is used: servers and passwords change.
	oldest = 30 * time.Minute
)

func pool(db *sql.DB, most int) *sql.DB {
	db.SetMaxOpenConns(most)
	db.SetMaxIdleConns(min(most, idle))
	db.SetConnMaxIdleTime(idleTime)
	db.SetConnMaxLifetime(oldest)
	return db
}

// dial connects to the server of the options, whatever address a library
// found out for itself.
func (o *Options) dial(ctx context.Context, d *effect.Dialer) (net.Conn, error) {
	if path, ok := strings.CutPrefix(o.Address, "unix:"); ok {
		return d.DialContext(ctx, "unix", path)
	}
	return d.DialContext(ctx, "tcp", o.Address)
}

// plainText is a text of a database in one line, and not too long.
func plainText(s string) string {
	const most = 500 // bytes
	s = strings.ToValidUTF8(strings.Join(strings.Fields(s), " "), "?")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}

// asFault finds an error of a library in the chain.
func asFault[T error](err error, read func(T) *fault) *fault {
	var own T
	if !errors.As(err, &own) {
		return nil
	}
	f := read(own)
	f.message = plainText(f.message)
	return f
}

// readPassword reads it for one connection.
func (o *Options) readPassword(ctx context.Context, lent effect.Host) (string, error) {
	if o.Password.IsZero() {
		return "", nil
	}
	password, err := o.Password.Read(ctx, lent.Secrets)
	lent.Secrets.Hide(password)
	return password, err
}
