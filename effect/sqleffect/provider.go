package sqleffect

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
)

// rollbackTime is how long a server may take to forget what was done.
const rollbackTime = 2 * time.Second

// maxMessage bounds what a server may send in one piece: a row, or an error.
const maxMessage = 16 << 20 // bytes

// Provider runs the statements of one definition.
type Provider struct {
	options Options
	program program
	lent    effect.Host
	database
	dedupe *dedupe // nil: none
}

var _ effect.Provider = (*Provider)(nil)

// errNoPostgres is for a program that is built without that driver; see
// postgres_off.go.
var errNoPostgres = errors.New(`"postgres" is not in this ramet, which was built without it, to be small; take a full one, or build one without the ` +
	"tag no_postgres (`make build`)")

// Open makes the provider of a definition. It connects to nothing.
//
// Errors: [domain.ErrInvalid] naming the option.
func Open(def effect.Definition, lent effect.Host) (effect.Provider, error) {
	p := &Provider{lent: lent}
	if err := def.Decode(&p.options); err != nil {
		return nil, err
	}
	o := &p.options
	if field, err := o.fill(lent.Secrets); err != nil {
		return nil, def.Errorf(field, "%v", err)
	}
	var err error
	var field string
	if p.program, field, err = o.read(); err != nil {
		return nil, def.Errorf(field, "%v", err)
	}
	var d *database
	switch o.Driver {
	case driverPostgres:
		d, err = openPostgres(o, def, lent)
	case driverMySQL:
		d, err = openMySQL(o, def, lent)
	case driverSQLite:
		d, err = openSQLite(o, def, lent)
	}
	if err != nil {
		field := "tls"
		switch {
		case errors.Is(err, errNoPostgres):
			field = "driver"
		case o.Driver == driverSQLite:
			field = "file"
		}
		return nil, def.Errorf(field, "%v", err)
	}
	p.database = *d
	if o.DedupeTable != "" {
		p.dedupe = newDedupe(d, o.DedupeTable, o.CreateDedupeTable)
	}
	return p, nil
}

// Do runs the statements in one transaction. The answer is {"affected": [...],
// "rows": [...], "truncated": true}.
func (p *Provider) Do(ctx context.Context, call effect.Call) (json.RawMessage, error) {
	args, err := p.program.bind(call, p.options.Driver)
	if err != nil {
		return nil, err
	}
	if p.dedupe != nil {
		if err := p.dedupe.make(ctx); err != nil {
			return nil, p.translate(ctx, "dedupe_table: ", err)
		}
	}
	return p.transact(ctx, call, args)
}

// transact is one transaction. It does not use those of database/sql: ends of
// theirs have no context, and one that is not answered would be waited for
// forever.
func (p *Provider) transact(ctx context.Context, call effect.Call, args [][]any) (out json.RawMessage, err error) {
	conn, err := p.db.Conn(ctx)
	if err != nil {
		return nil, p.translate(ctx, "", err)
	}
	defer conn.Close()
	for _, statement := range p.begin {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			p.rollback(ctx, conn)
			return nil, p.translate(ctx, "begin: ", err)
		}
	}
	where, committed := "", false
	defer func() {
		if !committed {
			p.rollback(ctx, conn)
		}
		err = p.translate(ctx, where, err)
	}()

	where = "dedupe_table: "
	if p.dedupe != nil {
		if stored, done, err := p.dedupe.begin(ctx, conn, call); err != nil || done {
			return stored, err
		}
	}
	a := answer{Affected: make([]int64, 0, len(args))}
	for i := range p.program.statements {
		where = fmt.Sprintf("statement %d: ", i+1)
		if err := p.run(ctx, conn, &p.program.statements[i], args[i], &a); err != nil {
			return nil, err
		}
	}
	out = asJSON(a)
	where = "dedupe_table: "
	if p.dedupe != nil {
		if err := p.dedupe.end(ctx, conn, call, out); err != nil {
			return nil, err
		}
	}
	// When this fails on the way back, nobody knows: without a dedupe table the
	// next attempt does it again.
	where = "commit: "
	if _, err := conn.ExecContext(ctx, "COMMIT"); err != nil {
		return nil, err
	}
	committed = true
	return out, nil
}

// rollback ends a transaction that shall not have been, and the connection
// where that cannot be done quickly.
func (p *Provider) rollback(ctx context.Context, conn *sql.Conn) {
	if ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(ctx, rollbackTime)
		defer cancel()
		if _, err := conn.ExecContext(ctx, "ROLLBACK"); err == nil {
			return
		}
	}
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
}

// run runs one statement and adds what it did to the answer.
func (p *Provider) run(ctx context.Context, conn *sql.Conn, s *step, args []any, a *answer) error {
	if limit := p.options.StatementTimeout; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	n, err := p.affected(ctx, conn, s, args, a)
	if err != nil {
		return err
	}
	a.Affected = append(a.Affected, n)
	if s.expect != nil && *s.expect != n {
		return &effect.Refused{Cause: fmt.Sprintf("it met %d rows; %d are expected", n, *s.expect), Answer: asJSON(a)}
	}
	return nil
}

func (p *Provider) affected(ctx context.Context, conn *sql.Conn, s *step, args []any, a *answer) (int64, error) {
	if !s.rows {
		result, err := conn.ExecContext(ctx, s.text, args...)
		if err != nil {
			return 0, err
		}
		return result.RowsAffected()
	}
	rows, err := conn.QueryContext(ctx, s.text, args...)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	return a.take(rows, p.options.MaxRows)
}

// translate makes an error of a library one of ours, without its types and
// without secrets. What comes before a statement is about where and who, and
// may be put right: it is tried again.
func (p *Provider) translate(ctx context.Context, where string, err error) error {
	if err == nil {
		return nil
	}
	var no *effect.Refused
	if errors.As(err, &no) {
		return &effect.Refused{Cause: "sql: " + where + strings.TrimPrefix(no.Cause, "sql: "), Answer: no.Answer}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if postgresTooLarge(err) {
		return effect.Refusedf("sql: %sa row of the answer is larger than %d bytes", where, maxMessage)
	}
	f := p.fault(err)
	if f == nil {
		return domain.Unavailablef("sql: %s%s", where, p.lent.Secrets.Redact(plainText(err.Error())))
	}
	f.message = p.lent.Secrets.Redact(f.message)
	if f.retry || postgresConnecting(err) {
		return domain.Unavailablef("sql: %s%s", where, f)
	}
	return f.refusal(where)
}

// Check connects, and lets the database look at the statements.
func (p *Provider) Check(ctx context.Context, _ domain.TenantID) error {
	for i, s := range p.program.statements {
		prepared, err := p.db.PrepareContext(ctx, s.text)
		if err != nil {
			return p.translate(ctx, fmt.Sprintf("statement %d: ", i+1), err)
		}
		prepared.Close()
	}
	return p.translate(ctx, "", p.db.PingContext(ctx))
}

// Target is postgres://host:port/database, mysql://... or sqlite:/path.
func (p *Provider) Target() string {
	if p.options.Driver == driverSQLite {
		return "sqlite:" + p.options.File
	}
	return p.options.Driver + "://" + p.options.Address + "/" + p.options.Database
}

// Close closes the connections.
func (p *Provider) Close() error { return p.db.Close() }
