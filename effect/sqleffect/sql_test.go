package sqleffect_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/effect"
)

func TestSQL(t *testing.T) {
	onEach(t, func(t *testing.T, open func(t *testing.T) *place) {
		for _, tc := range []struct {
			name string
			test func(t *testing.T, p *place)
		}{
			{"values come as they were said", testValues},
			{"rows come as JSON", testRows},
			{"SQL in a payload stays a text", testInjection},
			{"a number meets no text", testJuggling},
			{"a payload without a value is refused", testMissing},
			{"all or nothing", testAtomic},
			{"what was done answers the same and does nothing", testDedupe},
			{"two attempts at once are one", testAtOnce},
			{"rows are as many as allowed", testLimit},
			{"a statement that the database refuses is refused", testRefused},
			{"locks are waited for no longer than allowed", testLock},
			{"check finds a statement that is wrong", testCheck},
			{"types", testTypes},
			{"transactions that meet are tried again", testConflicts},
			{"a table may change", testChange},
		} {
			t.Run(tc.name, func(t *testing.T) { tc.test(t, open(t)) })
		}
	})
}

// same compares JSON.
func same(t *testing.T, got json.RawMessage, want string) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal(got, &g); err != nil {
		t.Fatalf("got %q: %v", got, err)
	}
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(w, g); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func testValues(t *testing.T, p *place) {
	p.exec(t, "CREATE TABLE bookings (id VARCHAR(200), tenant BIGINT, guest VARCHAR(200), nights INT, price DECIMAL(30,10), paid BOOLEAN, tags "+
		"VARCHAR(200), note VARCHAR(200))")
	e := p.open(t, map[string]any{
		"statements": []any{"INSERT INTO bookings VALUES (:_command_id, :_tenant, :guest.name, :nights, :price, :paid, :tags, :note)"},
		"optional":   []string{"note"},
	})
	answer, err := do(t, e, "b-1", `{"guest": {"name": "Ada \"Ü\" 'Lovelace' \\"}, "nights": 3.0, "price": 12345678901234567890.0123456789, "paid": `+
		`true, "tags": ["a", {"b": 1.50}]}`)
	if err != nil {
		t.Fatal(err)
	}
	same(t, answer, `{"affected": [1]}`)
	var id, guest, price, tags string
	var tenant, nights int
	var paid bool
	var note *string
	if err := p.db.QueryRow("SELECT * FROM bookings").Scan(&id, &tenant, &guest, &nights, &price, &paid, &tags, &note); err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(id, tenant, guest, nights, paid, tags, note)
	if want := `b-1` + fmt.Sprint(7) + `Ada "Ü" 'Lovelace' \` + fmt.Sprint(3, true) +
		`["a",{"b":1.50}]<nil>`; strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(want, " ", "") {
		t.Errorf("got %s, want %s", got, want)
	}
	if want := "12345678901234567890.0123456789"; p.driver != "sqlite" && price != want { // SQLite has no decimals
		t.Errorf("got the price %s, want %s", price, want)
	}
}

func testRows(t *testing.T, p *place) {
	kinds := map[string]string{"postgres": "bytea", "mysql": "BLOB", "sqlite": "BLOB"}
	p.exec(t, "CREATE TABLE x (a BIGINT, b DOUBLE PRECISION, c DECIMAL(10,2), d VARCHAR(20), e "+kinds[p.driver]+", f TIMESTAMP NULL, g JSON, h INT)")
	binary := map[string]string{"postgres": `'\xff00'`, "mysql": "x'ff00'", "sqlite": "x'ff00'"}[p.driver]
	p.exec(t, "INSERT INTO x VALUES (9007199254740993, 1.5, 12.30, 'Ü <b>', "+binary+", '2026-11-21 12:34:56', '{\"k\": [1, 2.50]}', NULL)")
	e := p.open(t, map[string]any{"statements": []any{"SELECT * FROM x"}})
	answer, err := do(t, e, "r-1", "")
	if err != nil {
		t.Fatal(err)
	}
	price, at, doc := "12.30", `"2026-11-21T12:34:56Z"`, `{"k": [1, 2.50]}`
	switch p.driver {
	case "sqlite":
		price = "12.3"
	case "mysql":
		doc = `"{\"k\": [1, 2.50]}"` // MariaDB's JSON is a text
	}
	want := `{"affected":[1],"rows":[{"a":9007199254740993,"b":1.5,"c":` + price + `,"d":"Ü \u003cb\u003e","e":"/wA=","f":` + at + `,"g":` + doc + `,"h":null}]}`
	same(t, answer, want)
	if !strings.Contains(string(answer), "9007199254740993") || !strings.Contains(string(answer), `"c":`+price) {
		t.Errorf("got %s, want exact numbers", answer)
	}
}

func testInjection(t *testing.T, p *place) {
	p.exec(t, "CREATE TABLE users (name VARCHAR(200), secret VARCHAR(200))", "INSERT INTO users VALUES ('ada', 'x')")
	e := p.open(t, map[string]any{"statements": []any{"SELECT secret FROM users WHERE name = :name"}})
	for _, name := range []string{`' OR '1'='1`, `ada'; DROP TABLE users; --`, `\' OR 1=1 -- `, `" OR ""="`, "x' UNION SELECT 'y", `:name`, `$1`,
		`?`, "%", `ada\`} {
		text, _ := json.Marshal(map[string]string{"name": name})
		answer, err := do(t, e, "i-1", string(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		same(t, answer, `{"affected":[0]}`)
	}
	if n := p.count(t, "SELECT count(*) FROM users"); n != 1 {
		t.Errorf("got %d users, want 1", n)
	}
}

// testJuggling: MySQL takes every text for the number 0 when it compares it
// with one.
func testJuggling(t *testing.T, p *place) {
	p.exec(t, "CREATE TABLE tokens (token VARCHAR(200))", "INSERT INTO tokens VALUES ('secret')")
	e := p.open(t, map[string]any{"statements": []any{"SELECT token FROM tokens WHERE token = :token"}})
	for _, token := range []string{"0", "false", "0.0", "[]", "{}", "0e0", "-0"} {
		answer, err := do(t, e, "j-1", `{"token": `+token+`}`)
		if err != nil {
			t.Errorf("%s: %v", token, err)
		} else if strings.Contains(string(answer), "secret") {
			t.Errorf("%s meets the token: %s", token, answer)
		}
	}
}

func testMissing(t *testing.T, p *place) {
	p.exec(t, "CREATE TABLE x (a INT)")
	e := p.open(t, map[string]any{"statements": []any{"INSERT INTO x VALUES (:a.b)"}})
	for _, payload := range []string{``, `null`, `{}`, `{"a": {}}`, `{"a": 1}`, `{"a": [{"b": 1}]}`, `{"A": {"b": 1}}`, `{"a.b": 1}`} {
		_, err := do(t, e, "m-1", payload)
		if no := refusal(t, err); no.Cause != `sql: the payload has no field "a.b"` {
			t.Errorf("%s: got %q", payload, no.Cause)
		}
	}
	if _, err := do(t, e, "m-2", `{"a": {"b": null}}`); err != nil {
		t.Errorf("null: %v", err)
	}
}

func testAtomic(t *testing.T, p *place) {
	p.exec(t, "CREATE TABLE rooms (kind VARCHAR(20), free INT)", "CREATE TABLE bookings (id VARCHAR(20))", "INSERT INTO rooms VALUES ('double', 1)")
	e := p.open(t, map[string]any{"statements": []any{
		"INSERT INTO bookings VALUES (:_command_id)",
		map[string]any{"sql": "UPDATE rooms SET free = free - 1 WHERE kind = :kind AND free > 0", "expect": 1},
	}})
	if _, err := do(t, e, "a-1", `{"kind": "double"}`); err != nil {
		t.Fatal(err)
	}
	_, err := do(t, e, "a-2", `{"kind": "double"}`)
	no := refusal(t, err)
	if no.Cause != "sql: statement 2: it met 0 rows; 1 are expected" {
		t.Errorf("got %q", no.Cause)
	}
	same(t, no.Answer, `{"affected": [1, 0]}`)
	if n := p.count(t, "SELECT count(*) FROM bookings"); n != 1 {
		t.Errorf("got %d bookings, want 1", n)
	}
	// A row that is as it should be already was met too.
	p.exec(t, "UPDATE rooms SET free = 7")
	same2 := p.open(t, map[string]any{"statements": []any{map[string]any{"sql": "UPDATE rooms SET free = 7", "expect": 1}}})
	if _, err := do(t, same2, "a-3", ""); err != nil {
		t.Error(err)
	}
}

func testDedupe(t *testing.T, p *place) {
	p.exec(t, "CREATE TABLE x (a INT)", "INSERT INTO x VALUES (0)")
	options := map[string]any{"statements": []any{"UPDATE x SET a = a + 1", "SELECT a FROM x"}, "dedupe_table": "effects_done", "create_dedupe_table": true}
	e := p.open(t, options)
	first, err := do(t, e, "d-1", "")
	if err != nil {
		t.Fatal(err)
	}
	same(t, first, `{"affected":[1,1],"rows":[{"a":1}]}`)
	// Another node, after the first was gone.
	second, err := do(t, p.open(t, options), "d-1", "")
	if err != nil {
		t.Fatal(err)
	}
	if string(first) != string(second) {
		t.Errorf("got %s, then %s", first, second)
	}
	for i, call := range []effect.Call{{Tenant: 8, CommandID: "d-1", Effect: "tested"}, {Tenant: 7, CommandID: "d-1", Effect: "other"},
		{Tenant: 7, CommandID: "D-1", Effect: "tested"}} {
		answer, err := e.Do(t.Context(), call)
		if err != nil {
			t.Fatal(err)
		}
		// Not the answer of another context or effect, nor of another id.
		same(t, answer, fmt.Sprintf(`{"affected":[1,1],"rows":[{"a":%d}]}`, i+2))
	}
	// What was refused is not written down.
	p.exec(t, "CREATE TABLE y (a INT PRIMARY KEY)", "INSERT INTO y VALUES (1)")
	options["statements"] = []any{"INSERT INTO y VALUES (1)"}
	refusing := p.open(t, options)
	for range 2 {
		_, err = do(t, refusing, "d-2", "")
		refusal(t, err)
	}
	p.exec(t, "DELETE FROM y")
	if _, err := do(t, refusing, "d-2", ""); err != nil {
		t.Error(err)
	}
}

func testAtOnce(t *testing.T, p *place) {
	p.exec(t, "CREATE TABLE x (a INT)", "INSERT INTO x VALUES (0)")
	options := map[string]any{"statements": []any{"UPDATE x SET a = a + 1", "SELECT a FROM x"}, "dedupe_table": "effects_done", "create_dedupe_table": true}
	var wg sync.WaitGroup
	for range 4 {
		e := p.open(t, options)
		for range 4 {
			wg.Go(func() {
				for {
					answer, err := do(t, e, "o-1", "")
					if err == nil {
						if want := `{"affected":[1,1],"rows":[{"a":1}]}`; string(answer) != want {
							t.Errorf("got %s, want %s", answer, want)
						}
						return
					}
					if again(t, err, "sql: "); t.Failed() {
						return
					}
				}
			})
		}
	}
	wg.Wait()
	if n := p.count(t, "SELECT a FROM x"); n != 1 {
		t.Errorf("got it done %d times, want once", n)
	}
}

func testLimit(t *testing.T, p *place) {
	p.exec(t, "CREATE TABLE x (a INT, b "+map[string]string{"postgres": "TEXT", "mysql": "LONGTEXT", "sqlite": "TEXT"}[p.driver]+")")
	for i := range 5 {
		p.exec(t, fmt.Sprintf("INSERT INTO x VALUES (%d, 'b')", i))
	}
	e := p.open(t, map[string]any{"statements": []any{map[string]any{"sql": "SELECT a FROM x ORDER BY a", "expect": 5}}, "max_rows": 2})
	answer, err := do(t, e, "l-1", "")
	if err != nil {
		t.Fatal(err)
	}
	same(t, answer, `{"affected":[5],"rows":[{"a":0},{"a":1}],"truncated":true}`)

	p.exec(t, "UPDATE x SET b = '"+strings.Repeat(`"`, 100_000)+"'")
	e = p.open(t, map[string]any{"statements": []any{"SELECT b FROM x"}})
	if answer, err = do(t, e, "l-2", ""); err != nil {
		t.Fatal(err)
	}
	if len(answer) > effect.MaxAnswer || !strings.Contains(string(answer), `"truncated":true`) || !json.Valid(answer) {
		t.Errorf("got %d bytes of %.50s", len(answer), answer)
	}
}

func testRefused(t *testing.T, p *place) {
	p.exec(t, "CREATE TABLE x (a INT PRIMARY KEY, b INT NOT NULL)", "INSERT INTO x VALUES (1, 1)")
	codes := func(postgres, mysql, sqlite string) string {
		return map[string]string{"postgres": postgres, "mysql": mysql, "sqlite": sqlite}[p.driver]
	}
	for _, tc := range []struct{ name, sql, code string }{
		{"a key that is there", "INSERT INTO x VALUES (:a, 2)", codes("23505", "23000", "SQLITE_CONSTRAINT")},
		{"a value that has to be there", "INSERT INTO x VALUES (:a + 1, NULL)", codes("23502", "23000", "SQLITE_CONSTRAINT")},
		{"no such table", "INSERT INTO nowhere VALUES (:a)", codes("42P01", "42S02", "SQLITE_ERROR")},
		{"no SQL", "FETCH ME :a", codes("42601", "42000", "SQLITE_ERROR")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := do(t, p.open(t, map[string]any{"statements": []any{tc.sql}}), "f-1", `{"a": 1}`)
			no := refusal(t, err)
			if !strings.HasPrefix(no.Cause, "sql: statement 1: "+tc.code+": ") {
				t.Errorf("got %q, want the code %s", no.Cause, tc.code)
			}
			var answer struct{ Code, Message string }
			if err := json.Unmarshal(no.Answer, &answer); err != nil || answer.Code != tc.code || answer.Message == "" {
				t.Errorf("got the answer %s, want the code %s", no.Answer, tc.code)
			}
		})
	}
	if p.driver == "sqlite" {
		return // SQLite puts every text into every column
	}
	_, err := do(t, p.open(t, map[string]any{"statements": []any{"INSERT INTO x VALUES (:a, 2)"}}), "f-1", `{"a": "one"}`)
	refusal(t, err)
}

func testLock(t *testing.T, p *place) {
	p.exec(t, "CREATE TABLE x (a INT)", "INSERT INTO x VALUES (0)")
	options := map[string]any{"statements": []any{"UPDATE x SET a = a + :by"}, "types": map[string]any{"by": "int"}}
	if p.driver != "sqlite" {
		options["statement_timeout"] = "20ms"
	}
	e := p.open(t, options)
	tx, err := p.db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec("UPDATE x SET a = 5"); err != nil {
		t.Fatal(err)
	}
	_, err = do(t, e, "k-1", `{"by": 2}`)
	again(t, err, "sql: ")
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	// The limit is one of waiting for locks, not of a machine under load.
	for end := time.Now().Add(within); ; {
		if _, err = do(t, e, "k-1", `{"by": 2}`); err == nil || time.Now().After(end) {
			break
		}
	}
	if n := p.count(t, "SELECT a FROM x"); err != nil || n != 2 {
		t.Errorf("got %d, %v, want 2: the first attempt left nothing", n, err)
	}
}

func testCheck(t *testing.T, p *place) {
	p.exec(t, "CREATE TABLE x (a INT)")
	if err := p.open(t, map[string]any{"statements": []any{"INSERT INTO x VALUES (:a)"}}).Check(t.Context(), 7); err != nil {
		t.Error(err)
	}
	err := p.open(t, map[string]any{"statements": []any{"INSERT INTO x VALUES (:a)", "INSERT INTO y VALUES (:a)"}}).Check(t.Context(), 7)
	if err == nil || !strings.Contains(err.Error(), "statement 2") {
		t.Errorf("got %v, want that statement 2 is wrong", err)
	}
	if n := p.count(t, "SELECT count(*) FROM x"); n != 0 {
		t.Errorf("check wrote %d rows", n)
	}
}

func testTypes(t *testing.T, p *place) {
	p.exec(t, "CREATE TABLE x (a INT)", "INSERT INTO x VALUES (1)", "INSERT INTO x VALUES (2)", "INSERT INTO x VALUES (3)")
	e := p.open(t, map[string]any{"statements": []any{"SELECT a FROM x ORDER BY a LIMIT :n"}, "types": map[string]any{"n": "int"}})
	answer, err := do(t, e, "t-1", `{"n": 2}`)
	if err != nil {
		t.Fatal(err)
	}
	same(t, answer, `{"affected":[2],"rows":[{"a":1},{"a":2}]}`)
	for _, n := range []string{`"2"`, `2.5`, `1e30`, `true`, `[2]`} {
		_, err := do(t, e, "t-2", `{"n": `+n+`}`)
		if no := refusal(t, err); no.Cause != `sql: the payload's field "n" is not of the type int` {
			t.Errorf("%s: got %q", n, no.Cause)
		}
	}
	p.exec(t, "CREATE TABLE y (a "+map[string]string{"postgres": "bytea", "mysql": "BLOB", "sqlite": "BLOB"}[p.driver]+", b VARCHAR(20), c "+
		map[string]string{"postgres": "jsonb", "mysql": "JSON", "sqlite": "TEXT"}[p.driver]+", d BOOLEAN, e DOUBLE PRECISION)")
	e = p.open(t, map[string]any{"statements": []any{"INSERT INTO y VALUES (:a, :b, :c, :d, :e)", "SELECT * FROM y"},
		"types": map[string]any{"a": "bytes", "b": "text", "c": "json", "d": "bool", "e": "float"}})
	if answer, err = do(t, e, "t-3", `{"a": "/wA=", "b": 5, "c": "word", "d": false, "e": 1e-3}`); err != nil {
		t.Fatal(err)
	}
	no, word := "false", `"word"`
	if p.driver != "postgres" {
		no, word = "0", `"\"word\""`
	}
	same(t, answer, `{"affected":[1,1],"rows":[{"a":"/wA=","b":"5","c":`+word+`,"d":`+no+`,"e":0.001}]}`)
}

// testConflicts lets transactions lock two rows crosswise.
func testConflicts(t *testing.T, p *place) {
	p.exec(t, "CREATE TABLE x (k INT PRIMARY KEY, n INT)", "INSERT INTO x VALUES (1, 0)", "INSERT INTO x VALUES (2, 0)")
	options := map[string]any{"statements": []any{
		map[string]any{"sql": "UPDATE x SET n = n + 1 WHERE k = :first", "expect": 1},
		map[string]any{"sql": "UPDATE x SET n = n + 1 WHERE k = :second", "expect": 1},
	}, "types": map[string]any{"first": "int", "second": "int"}}
	if p.driver != "sqlite" {
		options["isolation"] = "serializable"
	}
	e := p.open(t, options)
	const each = 8
	var wg sync.WaitGroup
	for i := range each {
		for _, payload := range []string{`{"first": 1, "second": 2}`, `{"first": 2, "second": 1}`} {
			wg.Go(func() {
				for {
					_, err := do(t, e, fmt.Sprintf("c-%d", i), payload)
					if err == nil {
						return
					}
					if again(t, err, "sql: statement"); t.Failed() {
						return
					}
				}
			})
		}
	}
	wg.Wait()
	if n := p.count(t, "SELECT sum(n) FROM x"); n != 4*each {
		t.Errorf("got a sum of %d, want %d", n, 4*each)
	}
}

func testChange(t *testing.T, p *place) {
	p.exec(t, "CREATE TABLE x (a INT)", "INSERT INTO x VALUES (1)")
	e := p.open(t, map[string]any{"statements": []any{"SELECT * FROM x"}})
	for _, want := range []string{`{"affected":[1],"rows":[{"a":1}]}`, `{"affected":[1],"rows":[{"a":1,"b":null}]}`} {
		answer, err := do(t, e, "h-1", "")
		if err != nil {
			again(t, err, "sql: ")
			answer, err = do(t, e, "h-1", "")
		}
		if err != nil {
			t.Fatal(err)
		}
		same(t, answer, want)
		if !strings.Contains(want, `"b"`) {
			p.exec(t, "ALTER TABLE x ADD COLUMN b INT")
		}
	}
}
