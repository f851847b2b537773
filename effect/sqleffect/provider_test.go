package sqleffect_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
	"github.com/ramet-run/ramet/effect/effecttest"
	"github.com/ramet-run/ramet/effect/sqleffect"
	"github.com/ramet-run/ramet/internal/mariadbtest"
	"github.com/ramet-run/ramet/internal/postgrestest"
)

// place is a database of a test, and how tests speak to it themselves.
type place struct {
	driver  string
	options map[string]any // by which a provider finds it
	db      *sql.DB        // of the test
	folders []string
	proxy   *proxy // nil: SQLite
}

// exec runs statements as the test itself.
func (p *place) exec(t testing.TB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := p.db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// count is the number that a query gives.
func (p *place) count(t testing.TB, query string) int {
	t.Helper()
	var n int
	if err := p.db.QueryRow(query).Scan(&n); err != nil {
		t.Errorf("%s: %v", query, err)
	}
	return n
}

// open opens a provider with these options beside those of the place.
func (p *place) open(t testing.TB, options map[string]any) effect.Provider {
	t.Helper()
	e, err := p.tryOpen(t, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func (p *place) tryOpen(t testing.TB, options map[string]any) (effect.Provider, error) {
	all := map[string]any{}
	for _, o := range []map[string]any{p.options, options} {
		for k, v := range o {
			if all[k] = v; v == nil {
				delete(all, k)
			}
		}
	}
	host := effecttest.Host(t)
	host.Folders = p.folders
	return sqleffect.Open(effecttest.Definition(t, domain.EffectSQL, all), host)
}

// servers are started once for all tests of a driver, and are databases for
// each of them.
type servers struct {
	postgres *postgrestest.Server
	mariadb  *mariadbtest.Server
	next     atomic.Int64
}

func connect(t testing.TB, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(8) // servers of tests have few
	return db
}

// postgres makes an empty schema.
func (s *servers) newPostgres(t testing.TB) *place {
	t.Helper()
	name := fmt.Sprintf("s%d", s.next.Add(1))
	p := &place{driver: "postgres", db: connect(t, "pgx", s.postgres.URL()+"&search_path="+name), proxy: newProxy(t, "unix", s.postgres.Socket())}
	p.exec(t, "CREATE SCHEMA "+name)
	p.options = map[string]any{"driver": "postgres", "address": p.proxy.addr, "database": "postgres", "user": "ramet", "password": "${secret:SECRET}",
		"security": "none", "session": map[string]any{"search_path": name}}
	return p
}

// newMariaDB makes an empty database.
func (s *servers) newMariaDB(t testing.TB) *place {
	t.Helper()
	name := fmt.Sprintf("s%d", s.next.Add(1))
	dsn := mariadbtest.User + ":" + mariadbtest.Password + "@tcp(" + s.mariadb.Addr() + ")/"
	connect(t, "mysql", dsn).Exec("CREATE DATABASE " + name)
	p := &place{driver: "mysql", db: connect(t, "mysql", dsn+name+"?parseTime=true"), proxy: newProxy(t, "tcp", s.mariadb.Addr())}
	p.options = map[string]any{"driver": "mysql", "address": p.proxy.addr, "database": name, "user": "effects", "password": "${secret:SECRET}", "security": "none"}
	p.exec(t, "CREATE USER IF NOT EXISTS effects IDENTIFIED BY '"+effecttest.Secret+"'", "GRANT ALL ON *.* TO effects")
	return p
}

// newSQLite makes an empty file.
func newSQLite(t testing.TB) *place {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "shop ü?.db")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	p := &place{driver: "sqlite", db: connect(t, "sqlite", link+"?_pragma=busy_timeout(20000)"), folders: []string{dir}}
	p.db.SetMaxOpenConns(1)
	p.options = map[string]any{"driver": "sqlite", "file": file, "session": map[string]any{"busy_timeout": "20"}}
	return p
}

// onEach runs a test on each database; those that are not installed are
// skipped.
func onEach(t *testing.T, test func(t *testing.T, open func(t *testing.T) *place)) {
	t.Run("postgres", func(t *testing.T) {
		s := &servers{postgres: postgrestest.Start(t, "fsync = off", "deadlock_timeout = 10ms")}
		test(t, func(t *testing.T) *place { return s.newPostgres(t) })
	})
	t.Run("mariadb", func(t *testing.T) {
		s := &servers{mariadb: mariadbtest.Start(t)}
		test(t, func(t *testing.T) *place { return s.newMariaDB(t) })
	})
	t.Run("sqlite", func(t *testing.T) {
		test(t, func(t *testing.T) *place { return newSQLite(t) })
	})
}

const within = 30 * time.Second

// do is the n-th attempt of a command.
func do(t testing.TB, p effect.Provider, id, payload string) (json.RawMessage, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	return p.Do(ctx, effect.Call{Tenant: 7, TenantName: "7", CommandID: id, Effect: "tested", Payload: json.RawMessage(payload), Attempt: 1})
}

// refusal is the refusal that an error is.
func refusal(t testing.TB, err error) *effect.Refused {
	t.Helper()
	var no *effect.Refused
	if !errors.As(err, &no) {
		t.Fatalf("got %v, want a refusal", err)
	}
	return no
}

// again looks whether an error may be tried again.
func again(t testing.TB, err error, want string) {
	t.Helper()
	var no *effect.Refused
	if err == nil || errors.As(err, &no) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want an error after which it is tried again, with %q", err, want)
	}
}

// target is a table into which effects write.
type target struct {
	*place
	t testing.TB

	mu    sync.Mutex // SQLite only
	asked map[string]int
	fail  int
}

// failing lets inserts fail, so often as is said: a sequence is not rolled
// back, so that what failed counts.
var failing = map[string][]string{
	"postgres": {
		"CREATE TABLE failing (least bigint, state text)", "INSERT INTO failing VALUES (0, '40001')", "CREATE SEQUENCE failed",
		`CREATE FUNCTION fail() RETURNS trigger AS $$ DECLARE f failing; BEGIN
			SELECT * INTO f FROM failing; IF nextval('failed') <= f.least THEN RAISE EXCEPTION 'as you wish' USING ERRCODE = f.state; END IF; RETURN NEW;
		END $$ LANGUAGE plpgsql`,
		"CREATE TRIGGER fails BEFORE INSERT ON applied FOR EACH ROW EXECUTE FUNCTION fail()",
	},
	"mysql": {
		"CREATE TABLE failing (least BIGINT, state TEXT)", "INSERT INTO failing VALUES (0, '40001')", "CREATE SEQUENCE failed",
		`CREATE TRIGGER fails BEFORE INSERT ON applied FOR EACH ROW BEGIN
			IF NEXTVAL(failed) <= (SELECT least FROM failing) THEN
				IF (SELECT state FROM failing) = '40001' THEN SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'as you wish';
				ELSE SIGNAL SQLSTATE '22000' SET MESSAGE_TEXT = 'as you wish'; END IF;
			END IF;
		END`,
	},
	"sqlite": {
		"CREATE TABLE failing (state TEXT)", "INSERT INTO failing VALUES ('')",
		`CREATE TRIGGER fails BEFORE INSERT ON applied WHEN (SELECT state FROM failing) <> '' BEGIN SELECT RAISE(ABORT, 'as you wish'); END`,
	},
}

func newTarget(t testing.TB, p *place) *target {
	t.Helper()
	x := &target{place: p, t: t, asked: map[string]int{}}
	p.exec(t, "CREATE TABLE applied (id VARCHAR(200), name TEXT)", "CREATE TABLE said (text "+
		map[string]string{"mysql": "LONGTEXT"}[p.driver]+map[string]string{"postgres": "TEXT", "sqlite": "TEXT"}[p.driver]+")",
		"INSERT INTO said VALUES ('')")
	p.exec(t, failing[p.driver]...)
	return x
}

func (x *target) Asked(key string) int {
	if x.proxy != nil {
		return x.proxy.Asked(key)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if key != "" {
		return x.asked[key]
	}
	n := 0
	for _, m := range x.asked {
		n += m
	}
	return n
}

func (x *target) Applied(key string) int {
	return x.count(x.t, "SELECT count(*) FROM applied WHERE id = '"+key+"'")
}

func (x *target) Fail(n int, refused bool) {
	state := map[bool]string{false: "40001", true: "22000"}[refused]
	switch {
	case x.driver == "postgres":
		x.exec(x.t, fmt.Sprintf("UPDATE failing SET state = '%s', least = nextval('failed') + %d", state, n))
	case x.driver == "mysql":
		x.exec(x.t, "DO NEXTVAL(failed)", fmt.Sprintf("UPDATE failing SET state = '%s', least = LASTVAL(failed) + %d", state, n))
	case refused:
		x.exec(x.t, "UPDATE failing SET state = '22000'")
	default:
		x.mu.Lock()
		defer x.mu.Unlock()
		x.fail = n
	}
}

func (x *target) Hang(applied bool) (<-chan struct{}, func()) { return x.proxy.Hang(applied) }
func (x *target) Away() func()                                { return x.proxy.Away() }

func (x *target) Answer(n int) {
	x.exec(x.t, "UPDATE said SET text = '"+strings.Repeat("x", n)+"'")
}

// watched is a provider of a file, in which nobody stands between: it counts
// calls, and holds the file's lock while some should fail.
type watched struct {
	effect.Provider
	x *target
}

func (w watched) Do(ctx context.Context, call effect.Call) (json.RawMessage, error) {
	w.x.mu.Lock()
	w.x.asked[call.CommandID]++
	fail := w.x.fail > 0
	if fail {
		w.x.fail--
	}
	w.x.mu.Unlock()
	if fail {
		tx, err := w.x.db.Begin()
		if err != nil {
			return nil, err
		}
		defer tx.Rollback()
		if _, err := tx.Exec("UPDATE failing SET state = ''"); err != nil {
			return nil, err
		}
	}
	answer, err := w.Provider.Do(ctx, call)
	if err != nil && !fail {
		w.x.exec(w.x.t, "UPDATE failing SET state = ''") // refused once
	}
	return answer, err
}

func TestProvider(t *testing.T) {
	onEach(t, func(t *testing.T, open func(t *testing.T) *place) {
		cfg := effecttest.Config{
			Open: func(t *testing.T) (effect.Provider, effecttest.Target) {
				p := open(t)
				x := newTarget(t, p)
				e := p.open(t, map[string]any{"dedupe_table": "effects_done", "create_dedupe_table": true,
					"statements": []any{"INSERT INTO applied (id, name) VALUES (:_command_id, :name)", "SELECT text FROM said"}})
				if p.proxy == nil {
					return watched{e, x}, x
				}
				return e, x
			},
			Payload: json.RawMessage(`{"name": "Ada"}`),
		}
		if strings.HasSuffix(t.Name(), "sqlite") {
			cfg.Features.NoHang = "a file gives an answer, or is locked"
			cfg.Features.NoAway = "a file is where it is"
		}
		effecttest.Run(t, cfg)
	})
}
