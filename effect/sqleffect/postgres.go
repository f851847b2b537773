//go:build !no_postgres

package sqleffect

import (
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/ramet-run/ramet/effect"
)

func openPostgres(o *Options, def effect.Definition, lent effect.Host) (*database, error) {
	// The library wants to read a text first, and reads the environment with it:
	// all that matters is set below.
	cfg, err := pgx.ParseConfig("host=localhost sslmode=disable")
	if err != nil {
		return nil, err
	}
	host, port, _ := net.SplitHostPort(o.Address)
	n, _ := strconv.ParseUint(port, 10, 16)
	if cfg.Host = host; host == "" {
		cfg.Host = "localhost" // of a socket
	}
	cfg.Port, cfg.Database, cfg.User, cfg.Password = uint16(n), o.Database, o.User, ""
	cfg.Fallbacks, cfg.ValidateConnect, cfg.ConnectTimeout = nil, nil, 0
	cfg.RuntimeParams = map[string]string{"application_name": "ramet"}
	for name, value := range o.Session {
		cfg.RuntimeParams[name] = value
	}
	if cfg.TLSConfig = nil; o.Security == securityTLS {
		if cfg.TLSConfig, err = o.TLS.Config(host); err != nil {
			return nil, err
		}
	}
	cfg.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil } // the dialer does that
	cfg.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) { return o.dial(ctx, lent.Dialer) }
	cfg.BuildFrontend = func(r io.Reader, w io.Writer) *pgproto3.Frontend {
		f := pgproto3.NewFrontend(r, w)
		f.SetMaxBodyLen(maxMessage)
		return f
	}
	db := stdlib.OpenDB(*cfg, stdlib.OptionBeforeConnect(func(ctx context.Context, c *pgx.ConnConfig) (err error) {
		c.Password, err = o.readPassword(ctx, lent)
		return err
	}))
	d := &database{
		begin:   []string{strings.TrimSpace("BEGIN " + isolation(o))},
		dialect: dialects[o.Driver],
		db:      pool(db, def.MaxInFlight),
		create: `CREATE TABLE IF NOT EXISTS %s (tenant bigint NOT NULL, effect text NOT NULL, command_id text NOT NULL,
			answer text, done_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (tenant, effect, command_id))`,
		mark:   "INSERT INTO %s (tenant, effect, command_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
		answer: "SELECT answer FROM %s WHERE tenant = $1 AND effect = $2 AND command_id = $3",
		done:   "UPDATE %s SET answer = $4 WHERE tenant = $1 AND effect = $2 AND command_id = $3",
		fault:  postgresFault,
	}
	if o.StatementTimeout > 0 {
		// So that the server ends it too, and not only we do.
		d.begin = append(d.begin, "SET LOCAL statement_timeout = "+strconv.FormatInt(max(1, o.StatementTimeout.Milliseconds()), 10))
	}
	return d, nil
}

// postgresRetry are the classes and codes of errors after which the same may go
// well.
//
// Source: PostgreSQL's manual, appendix A.
var postgresRetry = []string{
	"08",    // the connection
	"25006", // the server may not write: another is the first by now
	"26000", // a prepared statement is gone: a pool stands between
	"28",    // who we are: a password may be changing
	"3D000", // there is no such database: yet, or any more
	"40",    // the transaction met another
	"53",    // out of room
	"55006", // in use
	"55P03", // a lock was not to be had
	"57",    // an operator stepped in, or a time limit
	"58",    // the system
	"XX",    // a defect
}

func postgresFault(err error) *fault {
	return asFault(err, func(e *pgconn.PgError) *fault {
		f := &fault{code: e.Code, message: e.Message} // Detail has values of rows
		// A table changed since the statement was prepared; now it is forgotten.
		f.retry = e.Routine == "RevalidateCachedQuery"
		for _, prefix := range postgresRetry {
			f.retry = f.retry || strings.HasPrefix(e.Code, prefix)
		}
		return f
	})
}

// postgresTooLarge reports whether a server sent more than maxMessage at once.
func postgresTooLarge(err error) bool {
	var large *pgproto3.ExceededMaxBodyLenErr
	return errors.As(err, &large)
}

// postgresConnecting reports whether a server was not reached at all.
func postgresConnecting(err error) bool {
	var connecting *pgconn.ConnectError
	return errors.As(err, &connecting)
}
