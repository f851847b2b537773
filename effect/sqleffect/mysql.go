package sqleffect

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ramet-run/ramet/effect"
)

func openMySQL(o *Options, def effect.Definition, lent effect.Host) (*database, error) {
	cfg := mysql.NewConfig()
	cfg.Net, cfg.Addr, cfg.DBName, cfg.User = "tcp", o.Address, o.Database, o.User
	cfg.ParseTime = true
	cfg.ClientFoundRows = true // rows that were met count, as everywhere else
	cfg.Logger = &mysql.NopLogger{}
	cfg.Params = o.Session
	// Some of what the library waits for has no context.
	cfg.ReadTimeout = def.Timeout + 10*time.Second
	cfg.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) { return o.dial(ctx, lent.Dialer) }
	if o.Security == securityTLS {
		host, _, _ := net.SplitHostPort(o.Address)
		var err error
		if cfg.TLS, err = o.TLS.Config(host); err != nil {
			return nil, err
		}
	}
	err := cfg.Apply(mysql.BeforeConnect(func(ctx context.Context, c *mysql.Config) (err error) {
		c.Passwd, err = o.readPassword(ctx, lent)
		return err
	}))
	if err != nil {
		return nil, err
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	begin := []string{"START TRANSACTION"}
	if o.Isolation != "" {
		begin = []string{"SET TRANSACTION " + isolation(o), "START TRANSACTION"}
	}
	return &database{
		begin:   begin,
		dialect: dialects[o.Driver],
		db:      pool(sql.OpenDB(connector), def.MaxInFlight),
		// ascii_bin: else other ids would be the same but for their case.
		create: `CREATE TABLE IF NOT EXISTS %s (tenant BIGINT NOT NULL, effect VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
			command_id VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, answer LONGTEXT,
			done_at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3), PRIMARY KEY (tenant, effect, command_id)) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4`,
		// Neither INSERT IGNORE, which would go over all errors, nor ON
		// DUPLICATE KEY, which counts as a change where matches count.
		mark:   "INSERT INTO %s (tenant, effect, command_id) VALUES (?, ?, ?)",
		marked: func(err error) bool { f := mysqlError(err); return f != nil && f.Number == 1062 },
		answer: "SELECT answer FROM %s WHERE tenant = ? AND effect = ? AND command_id = ?",
		done:   "UPDATE %s SET answer = ? WHERE tenant = ? AND effect = ? AND command_id = ?",
		fault:  mysqlFault,
	}, nil
}

func mysqlError(err error) *mysql.MySQLError {
	var own *mysql.MySQLError
	errors.As(err, &own)
	return own
}

// mysqlRetry are the numbers of errors after which the same may go well, beside
// those whose SQLSTATE says so.
//
// Source: the error references of MySQL and MariaDB.
var mysqlRetry = []uint16{
	1020,                   // a row changed meanwhile
	1021, 1037, 1038, 1041, // out of room
	1040, 1203, 1226, // too many connections
	1044, 1045, 1049, 1698, // who we are: a password may be changing; or no such database
	1053, 1077, 1079, // the server ends
	1129, 1130, 1152, 1158, 1159, 1160, 1161, 1184, 1927, // the connection
	1205, 3572, // a lock was not to be had
	1213,             // the transaction met another
	1290, 1792, 1836, // the server may not write: another is the first by now
	1317, 1969, 3024, // a time limit
}

func mysqlFault(err error) *fault {
	if errors.Is(err, mysql.ErrInvalidConn) {
		return nil
	}
	return asFault(err, func(e *mysql.MySQLError) *fault {
		state := string(e.SQLState[:])
		f := &fault{code: state, message: e.Message, retry: slices.Contains(mysqlRetry, e.Number) || strings.HasPrefix(state, "08") ||
			strings.HasPrefix(state, "40")}
		if strings.Trim(state, "\x00") == "" || state == "HY000" {
			f.code = strconv.Itoa(int(e.Number))
		}
		return f
	})
}
