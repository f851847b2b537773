package sqleffect

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStatementsAreRead(t *testing.T) {
	for _, tc := range []struct {
		name, driver, in, out string
		params                string // separated by spaces
		rows                  bool
		err                   string
	}{
		{name: "parameters get numbers, the same name one", driver: "postgres", in: "INSERT INTO t VALUES (:a, :b, :a)",
			out: "INSERT INTO t VALUES ($1, $2, $1)", params: "a b"},
		{name: "or question marks, each its own", driver: "mysql", in: "INSERT INTO t VALUES (:a, :b, :a)", out: "INSERT INTO t VALUES (?, ?, ?)", params: "a b a"},
		{name: "names lead into objects", driver: "sqlite", in: "SELECT :a.b.c, :d.", out: "SELECT ?, ?.", params: "a.b.c d", rows: true},
		{name: "a cast is no parameter", driver: "postgres", in: "SELECT :a::int, x::text", out: "SELECT $1::int, x::text", params: "a", rows: true},
		{name: "what is in quotes stays", driver: "postgres", in: `SELECT ':a', ":b", 'it''s :c', $$ :d $$, $q$ $$ :e $q$, E'\':f', :g`,
			out: `SELECT ':a', ":b", 'it''s :c', $$ :d $$, $q$ $$ :e $q$, E'\':f', $1`, params: "g", rows: true},
		{name: "PostgreSQL's plain texts know no backslash", driver: "postgres", in: `SELECT '\', :a`, out: `SELECT '\', $1`, params: "a", rows: true},
		{name: "MySQL's do", driver: "mysql", in: `SELECT '\':a', "\":b", :c`, out: `SELECT '\':a', "\":b", ?`, params: "c", rows: true},
		{name: "names in quotes stay", driver: "mysql", in: "SELECT `:a`, :b", out: "SELECT `:a`, ?", params: "b", rows: true},
		{name: "also in brackets", driver: "sqlite", in: "SELECT [:a], :b", out: "SELECT [:a], ?", params: "b", rows: true},
		{name: "comments stay", driver: "postgres", in: "SELECT 1 -- :a\n, :b /* :c /* :d */ :e */", out: "SELECT 1 -- :a\n, $1 /* :c /* :d */ :e */",
			params: "b", rows: true},
		{name: "MySQL's comments hold none", driver: "mysql", in: "SELECT 1 # :a\n, 5--:b /* :c /* :d */ + :e",
			out: "SELECT 1 # :a\n, 5--? /* :c /* :d */ + ?", params: "b e", rows: true},
		{name: "an assignment is no parameter", driver: "mysql", in: "SET @x := :a", out: "SET @x := ?", params: "a"},
		{name: "a slice by numbers neither", driver: "postgres", in: "SELECT x[1:2]", out: "SELECT x[1:2]", rows: true},
		{name: "dollars stand in names", driver: "postgres", in: "SELECT a$1, b$c$d FROM t WHERE x = :y", out: "SELECT a$1, b$c$d FROM t WHERE x = $1",
			params: "y", rows: true},
		{name: "operators with a question mark", driver: "postgres", in: "SELECT x ? :a", out: "SELECT x ? $1", params: "a", rows: true},
		{name: "what returns rows", driver: "postgres", in: "INSERT INTO t VALUES (:a) RETURNING id", out: "INSERT INTO t VALUES ($1) RETURNING id",
			params: "a", rows: true},
		{name: "a word in quotes is none", driver: "sqlite", in: "UPDATE t SET a = 'RETURNING'", out: "UPDATE t SET a = 'RETURNING'"},
		{name: "WITH before a change", driver: "postgres", in: "WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x",
			out: "WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x"},
		{name: "WITH before a query", driver: "postgres", in: "with x AS (SELECT 1) SELECT * FROM x FOR UPDATE",
			out: "with x AS (SELECT 1) SELECT * FROM x FOR UPDATE", rows: true},
		{name: "a text without an end", driver: "postgres", in: "SELECT 'a :b", err: "not ended"},
		{name: "a comment without an end", driver: "postgres", in: "SELECT /* a", err: "not ended"},
		{name: "a dollar text without an end", driver: "postgres", in: "SELECT $a$ :b $$", err: "not ended"},
		{name: "a number as parameter", driver: "postgres", in: "SELECT $1", err: "parameters are written :name"},
		{name: "a question mark as parameter", driver: "mysql", in: "SELECT ?", err: "parameters are written :name"},
		{name: "nothing", driver: "postgres", in: " -- nothing", err: "empty"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := readStatement(tc.in, dialects[tc.driver])
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("got %v, want %q in it", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.text != tc.out || got.rows != tc.rows {
				t.Errorf("got %q, rows %v\nwant %q, %v", got.text, got.rows, tc.out, tc.rows)
			}
			if diff := cmp.Diff(strings.Fields(tc.params), append([]string{}, got.params...)); diff != "" {
				t.Errorf("parameters (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzStatement(f *testing.F) {
	for _, s := range []string{"SELECT :a::int", "SELECT E'\\' $$ /* -- ' :b", "WITH x AS (SELECT `:a` # ? [:b]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, d := range dialects {
			s, err := readStatement(text, d)
			if err == nil && len(s.params) == 0 && s.text != text {
				t.Errorf("%q became %q without a parameter", text, s.text)
			}
		}
	})
}
