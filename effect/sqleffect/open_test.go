package sqleffect_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
	"github.com/ramet-run/ramet/effect/effecttest"
	"github.com/ramet-run/ramet/effect/sqleffect"
	"github.com/ramet-run/ramet/egress"
	"github.com/ramet-run/ramet/internal/mariadbtest"
	"github.com/ramet-run/ramet/internal/postgrestest"
	"github.com/ramet-run/ramet/internal/testcert"
)

func TestOptions(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.db")
	outside := filepath.Join(t.TempDir(), "b.db")
	for _, f := range []string{file, outside} {
		if err := os.WriteFile(f, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link.db")); err != nil {
		t.Fatal(err)
	}
	server := func(others map[string]any) map[string]any {
		o := map[string]any{"driver": "postgres", "address": "db.test", "database": "shop", "user": "ramet", "statements": []any{"SELECT :a"}}
		for k, v := range others {
			o[k] = v
		}
		return o
	}
	sqlite := func(file string) map[string]any {
		return map[string]any{"driver": "sqlite", "file": file, "statements": []any{"SELECT :a"}}
	}
	for _, tc := range []struct {
		name    string
		options map[string]any
		want    string // in the error; "": none
	}{
		{"a server", server(nil), ""},
		{"no driver", server(map[string]any{"driver": "oracle"}), `driver is "oracle": want postgres, mysql or sqlite`},
		{"no address", server(map[string]any{"address": ""}), "address is missing"},
		{"an address with a database", server(map[string]any{"address": "db.test/shop"}), "want host or host:port"},
		{"an address with a password", server(map[string]any{"address": "u:p@db.test"}), "want host or host:port"},
		{"no user", server(map[string]any{"user": ""}), "user is missing"},
		{"no database", server(map[string]any{"database": ""}), "database is missing"},
		{"a secret that there is not", server(map[string]any{"password": "${secret:SECRETS}"}), "did you mean SECRET?"},
		{"a private socket", server(map[string]any{"address": "unix:/run/x", "security": "tls"}), "want tls or none"},
		{"a socket", server(map[string]any{"address": "unix:/run/x"}), ""},
		{"no statement", server(map[string]any{"statements": []any{}}), "statements has 0"},
		{"a statement that cannot be read", server(map[string]any{"statements": []any{"SELECT 1", "SELECT 'a"}}), "statements no. 2: "},
		{"a name of ours that there is not", server(map[string]any{"statements": []any{"SELECT :_command"}}), "there is no :_command; there are _command_id"},
		{"a type of what is not used", server(map[string]any{"types": map[string]string{"b": "int"}}), "types has b: int"},
		{"a type that there is not", server(map[string]any{"types": map[string]string{"a": "date"}}), "text, int, float, bool, json or bytes"},
		{"optional what is not used", server(map[string]any{"optional": []string{"b"}}), `optional has "b"`},
		{"a table with SQL in its name", server(map[string]any{"dedupe_table": "x; DROP TABLE y"}), "want the name of a table"},
		{"a setting with SQL in it", server(map[string]any{"session": map[string]string{"search_path": "x'; DROP TABLE y"}}), "want a setting such as"},
		{"an isolation that there is not", server(map[string]any{"isolation": "total"}), "read committed, repeatable read or serializable"},
		{"too many rows", server(map[string]any{"max_rows": 1_000_000}), "want 1 to 10000"},
		{"to make no table", server(map[string]any{"create_dedupe_table": true}), "wants dedupe_table"},
		{"a misspelt option", server(map[string]any{"adress": "x"}), "did you mean address?"},
		{"a misspelt field of a statement", server(map[string]any{"statements": []any{map[string]any{"sql": "SELECT 1", "expects": 1}}}), "expects"},
		{"a CA that is not there", server(map[string]any{"tls": map[string]string{"ca": "/nowhere/ca.pem"}}), "no such file"},
		{"a file", sqlite(file), ""},
		{"a file elsewhere", sqlite(outside), "in none of the folders"},
		{"a way out of the folder", sqlite(filepath.Join(dir, "..", filepath.Base(filepath.Dir(outside)), "b.db")), "in none of the folders"},
		{"a link out of the folder", sqlite(filepath.Join(dir, "link.db")), "in none of the folders"},
		{"a file that is not there", sqlite(filepath.Join(dir, "c.db")), "no such file"},
		{"a folder", sqlite(dir), "which is no file"},
		{"a file with parameters", sqlite(file + "?mode=memory"), "no such file"},
		{"a memory", sqlite(":memory:"), "no such file"},
		{"a file with a user", func() map[string]any { o := sqlite(file); o["user"] = "x"; return o }(), "user is not for sqlite"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			host := effecttest.Host(t)
			host.Folders = []string{dir}
			p, err := sqleffect.Open(effecttest.Definition(t, domain.EffectSQL, tc.options), host)
			if tc.want == "" && err == nil {
				p.Close()
				return
			}
			if tc.want == "" || err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q in it", err, tc.want)
			}
		})
	}
	host := effecttest.Host(t)
	if _, err := sqleffect.Open(effecttest.Definition(t, domain.EffectSQL, sqlite(file)), host); err == nil || !strings.Contains(err.Error(), "no folder") {
		t.Errorf("got %v on a node without folders", err)
	}
	p, err := sqleffect.Open(effecttest.Definition(t, domain.EffectSQL, server(nil)), host)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := p.Target(), "postgres://db.test:5432/shop"; got != want {
		t.Errorf("got the target %s, want %s", got, want)
	}
}

// TestPrivate is about servers that want private connections and a password.
func TestPrivate(t *testing.T) {
	cert := testcert.New(t)
	for driver, start := range map[string]func(t *testing.T) *place{
		"postgres": func(t *testing.T) *place {
			s := postgrestest.StartTLS(t, cert.Cert, cert.Key, "fsync = off")
			p := &place{driver: "postgres", db: connect(t, "pgx", s.URL())}
			p.exec(t, "CREATE USER effects PASSWORD '"+effecttest.Secret+"'")
			p.options = map[string]any{"driver": "postgres", "address": s.Addr(), "database": "postgres"}
			return p
		},
		"mysql": func(t *testing.T) *place {
			s := mariadbtest.StartTLS(t, cert.Cert, cert.Key)
			p := &place{driver: "mysql", db: connect(t, "mysql", mariadbtest.User+":"+mariadbtest.Password+"@tcp("+s.Addr()+")/"+mariadbtest.Database)}
			p.exec(t, "CREATE USER effects IDENTIFIED BY '"+effecttest.Secret+"' REQUIRE SSL", "GRANT ALL ON ramet.* TO effects")
			p.options = map[string]any{"driver": "mysql", "address": s.Addr(), "database": mariadbtest.Database}
			return p
		},
	} {
		t.Run(driver, func(t *testing.T) {
			p := start(t)
			try := func(options map[string]any) error {
				o := map[string]any{"user": "effects", "password": "${secret:SECRET}", "tls": map[string]any{"ca": cert.CA}, "statements": []any{"SELECT 1 AS one"}}
				for k, v := range options {
					o[k] = v
				}
				answer, err := do(t, p.open(t, o), "p-1", "")
				if err == nil {
					same(t, answer, `{"affected":[1],"rows":[{"one":1}]}`)
				}
				if strings.Contains(fmt.Sprint(err), effecttest.Secret) {
					t.Errorf("the secret is in %v", err)
				}
				return err
			}
			if err := try(nil); err != nil {
				t.Error(err)
			}
			again(t, try(map[string]any{"tls": nil}), "certificate")
			again(t, try(map[string]any{"tls": map[string]any{"ca": cert.CA, "server_name": "other.test"}}), "other.test")
			if err := try(map[string]any{"tls": map[string]any{"insecure": true}}); err != nil {
				t.Error(err)
			}
			again(t, try(map[string]any{"security": "none", "tls": nil}), "sql: ")
			again(t, try(map[string]any{"password": "wrong-${secret:SECRET}"}), "28")
			if err := try(map[string]any{"address": "localhost:1"}); err == nil {
				t.Error("got an answer of nobody")
			}
		})
	}
}

func TestAClosedAddressIsRefused(t *testing.T) {
	rules, err := egress.Parse([]string{"public"})
	if err != nil {
		t.Fatal(err)
	}
	host := effecttest.Host(t)
	host.Dialer = effect.NewDialer(rules)
	for _, address := range []string{"127.0.0.1:9", "localhost:9", "unix:/run/postgresql/.s.PGSQL.5432"} {
		for _, driver := range []string{"postgres", "mysql"} {
			p, err := sqleffect.Open(effecttest.Definition(t, domain.EffectSQL, map[string]any{
				"driver": driver, "address": address, "database": "x", "user": "x", "password": "${secret:SECRET}", "security": "none",
				"statements": []any{"SELECT 1"}}), host)
			if err != nil {
				t.Fatal(err)
			}
			_, err = do(t, p, "c-1", "")
			if no := refusal(t, err); !strings.Contains(no.Cause, "egress") {
				t.Errorf("%s %s: got %q", driver, address, no.Cause)
			}
			p.Close()
		}
	}
}
