package rhaiscript_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/object"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/script/rhaiscript"
	"github.com/ramet-run/ramet/script/scripttest"
)

func TestOsisSuite(t *testing.T) {
	scripttest.Run(t, scripttest.Config{
		Open:     func(t *testing.T) script.Runtime { return osis(t, memory(t)) },
		Snippets: scripttest.Snippets{Succeed: "let x = 1;", Wait: "loop {}", Spin: "loop {}"},
		Features: scripttest.Features{
			NoProcess: "a Rhai script runs inside the process: it has no exit code, signals, descriptors or files",
			NoFence:   "it cannot open files at all",
			NoDaemons: "it cannot start processes",
		},
	})
}

func memory(t *testing.T) board.Board {
	b := memboard.Open()
	t.Cleanup(func() { b.Close() })
	return b
}

// osis gives a runtime on b. In context 3, actor 12 is an executor and 13 a reader.
func osis(t *testing.T, b board.Board, change ...func(*rhaiscript.Config)) *rhaiscript.Runtime {
	t.Helper()
	c := domain.Tenant{ID: 3, Executors: []domain.ActorID{12}, Readers: []domain.ActorID{13}}
	batch := board.Batch{Space: layout.SpaceOf(c.ID)}
	if err := b.Commit(t.Context(), *batch.Set(c.Key(), layout.EncodeTenant(c)...)); err != nil {
		t.Fatal(err)
	}
	cfg := rhaiscript.Config{Objects: object.New(b, identity.NewAccess(identity.NewRegistry(b), nil))}
	for _, f := range change {
		f(&cfg)
	}
	return rhaiscript.New(cfg)
}

// three makes objects 1 to 3 of the model m.
const three = `
	let m = osis_model("person");
	m.create(#{name: "Ann", age: 40, tags: ["x"]});
	m.create(#{name: "Bob", age: 41});
	m.create(#{name: "Cid", age: 40});
`

func TestModels(t *testing.T) {
	for _, tt := range []struct{ name, source, want string }{
		{"create gives ids from 1", `[m.create(#{}), m.create(#{})]`, "[4,5]"},
		{"an id in what is created is left out", `let o = m.get(2); [m.create(o), m.get(4).name]`, `[4,"Bob"]`},
		{"get gives the object with its id", `m.get(1).to_json()`, `{"age":40,"id":1,"name":"Ann","tags":["x"]}`},
		{"get gives () where there is none", `[m.get(9), m.get(9)?.name]`, "[null,null]"},
		{"values come back as they were", `m.set(1, #{i: 1, f: 1.0, b: true, u: (), s: "é\n", a: [1, [2]], m: #{x: #{y: 1}}}); m.get(1).to_json()`,
			`{"a":[1,[2]],"b":true,"f":1.0,"i":1,"id":1,"m":{"x":{"y":1}},"s":"é\n","u":null}`},
		{"set replaces", `m.set(1, #{age: 1}).to_json()`, `{"age":1,"id":1}`},
		{"update merges", `m.update(1, #{age: 1, more: 2}).to_json()`, `{"age":1,"id":1,"more":2,"name":"Ann","tags":["x"]}`},
		{"update by a function", `m.update(1, |o| { o.age += 1; o }).age`, "41"},
		{"update by a function that removes a field", `m.update(2, |o| { o.remove("age"); o }).to_json()`, `{"id":2,"name":"Bob"}`},
		{"delete says whether there was one", `[m.delete(1), m.delete(1), m.count()]`, "[true,false,2]"},
		{"exists", `[m.exists(1), m.exists(4)]`, "[true,false]"},
		{"list", `m.list().map(|o| o.id)`, "[1,2,3]"},
		{"list with a limit", `m.list(2).map(|o| o.id)`, "[1,2]"},
		{"list with an offset", `m.list(5, 1).map(|o| o.id)`, "[2,3]"},
		{"list with options", `m.list(#{limit: 1, after: 1}).map(|o| o.id)`, "[2]"},
		{"list of none", `[m.list(0), osis_model("other").list()]`, "[[],[]]"},
		{"find by a field", `m.find(#{age: 40}).map(|o| o.id)`, "[1,3]"},
		{"find by all of two", `m.find(#{age: 40, name: "Cid"}).map(|o| o.id)`, "[3]"},
		{"find by any of two", `m.find(#{age: 41, name: "Cid"}, #{matches_all: false}).map(|o| o.id)`, "[2,3]"},
		{"find with options", `m.find(#{age: 40}, #{limit: 1, offset: 1}).map(|o| o.id)`, "[3]"},
		{"find what is not there", `m.find(#{tags: ()}).map(|o| o.id)`, "[2,3]"},
		{"find by a function", `m.find(|o| o.age > 40).map(|o| o.id)`, "[2]"},
		{"find by a function of this", `m.find(|| this.age > 40).map(|o| o.id)`, "[2]"},
		{"find by a function that sees variables", `let least = 41; m.find(|o| o.age >= least).map(|o| o.id)`, "[2]"},
		{"find by a function, with options", `m.find(|o| o.age == 40, #{limit: 1}).map(|o| o.id)`, "[1]"},
		{"what a test changes is a copy", `m.find(|o| { o.age = 0; true }).map(|o| o.age)`, "[40,41,40]"},
		{"index changes nothing but speed", `m.index("age"); m.index("age"); m.find(#{age: 40}).map(|o| o.id)`, "[1,3]"},
		{"count", `[m.count(), m.count(#{age: 40}), m.count(|o| o.age > 40), osis_model("other").count()]`, "[3,2,1,0]"},
		{"osiris.model is the same", `osiris.model("person").count()`, "3"},
		{"a model is a value", `fn f(m) { m.count() } [f(m), type_of(m), m.to_string()]`, `[3,"Model","model person"]`},
		{"read, change, write, and again", `let o = m.get(1); o.age = 1; m.set(1, o); o.age = 2; m.set(1, o); m.update(1, o); m.get(1).age`, "2"},
		{"what set gives can be written too", `let o = m.set(1, #{age: 1}); o.age = 2; m.set(1, o).age`, "2"},
		{"objects of a list can be written", `for o in m.list() { o.age += 1; m.set(o.id, o); } m.list().map(|o| o.age)`, "[41,42,41]"},
		{"a map without id overwrites", `let o = m.get(1); m.update(1, #{age: 5}); o.remove("id"); m.set(1, o).age`, "40"},
		{"the constants are there", `[CALLER_ID, CONTEXT_ID, JOB_ID, params.len()]`, "[12,3,7,0]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, _ := run(t, osis(t, memory(t)), three+tt.source)
			if got := out.Result["value"]; out.Verdict != script.Succeeded || got != tt.want {
				t.Errorf("got %s %s %s, want %s", out.Verdict, got, out.Error, tt.want)
			}
		})
	}
}

// TestModelsRefuse holds the errors that a script can catch.
func TestModelsRefuse(t *testing.T) {
	for _, tt := range []struct{ name, source, want string }{
		{"a name that is none", `osis_model("a:b")`, `model "a:b": want a letter`},
		{"set of nothing", `m.set(9, #{})`, "person.set: person 9 does not exist"},
		{"update of nothing", `m.update(9, |o| o)`, "person.update: person 9 does not exist"},
		{"an id that is none", `m.get(0)`, "ids are numbers from 1"},
		{"an id that is too large", `m.delete(4294967296)`, "ids are numbers from 1"},
		{"a map of another object", `m.set(1, m.get(2))`, "the map has the id 2"},
		{"a function that gives nothing", `m.update(1, |o| { o.age = 1; })`, "it has to give the changed object"},
		{"a function that gives another object", `m.update(1, |o| osis_model("person").get(2))`, "the map has the id 2"},
		{"a function that fails", `m.update(1, |o| throw "no")`, "no"},
		{"a test that fails", `m.find(|o| throw "no")`, "no"},
		{"a test that gives no bool", `m.find(|o| 1)`, "it has to give true or false"},
		{"a function inside an object", `m.create(#{a: #{f: |x| x}})`, "field a.f is of type Fn, which cannot be kept"},
		{"a range", `m.create(#{r: 1..2})`, "field r is of type range"},
		{"no number", `m.create(#{f: 0.0 / 0.0})`, "field f is NaN"},
		{"too large", `let s = "x"; s.pad(300000, 'x'); m.create(#{s: s})`, "the limit is 262144"},
		{"too deep", `let a = 1; for i in 0..101 { a = [a]; } m.create(#{a: a})`, "nested deeper than 100"},
		{"an unknown option", `m.list(#{limt: 1})`, `unknown option "limt"`},
		{"matches_all without fields", `m.find(|o| true, #{matches_all: false})`, `unknown option "matches_all"`},
		{"a limit that is too large", `m.list(1001)`, "want a number from 0 to 1000"},
		{"a negative offset", `m.list(1, -1)`, "option offset is -1"},
		{"an index on what is no name", `m.index("a b")`, `index "a b"`},
		{"what somebody else has changed", `let o = m.get(1); m.update(1, |x| { x.age = 0; x }); let p = m.get(1); p.remove("id");
			let other = osis_model("person"); other.delete(1); m.set(1, o)`, "person 1 does not exist"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := osis(t, memory(t))
			out, _ := run(t, r, three+`let caught = ""; try { `+tt.source+`; } catch (e) { caught = e; } caught`)
			if got := out.Result["value"]; !strings.Contains(got, tt.want) {
				t.Errorf("caught %q (%s), want %q", got, out.Error, tt.want)
			}
			out, _ = run(t, r, three+tt.source)
			if out.Verdict != script.Failed || !strings.Contains(out.Error, tt.want) {
				t.Errorf("uncaught: got %s %q, want %q", out.Verdict, out.Error, tt.want)
			}
		})
	}
}

func TestAReaderOnlyReads(t *testing.T) {
	r := osis(t, memory(t))
	run(t, r, three)
	as := func(caller domain.ActorID) func(*script.Task) {
		return func(task *script.Task) { task.Caller = caller }
	}
	const m = `let m = osis_model("person"); `
	out, _ := run(t, r, m+`[m.count(), m.get(1).name, m.find(#{age: 40}).len()]`, as(13))
	if got, want := out.Result["value"], `[3,"Ann",2]`; got != want {
		t.Errorf("got %s (%s), want %s", got, out.Error, want)
	}
	for _, write := range []string{`m.create(#{})`, `m.set(1, #{})`, `m.update(1, #{})`, `m.update(1, |o| o)`, `m.delete(1)`, `m.index("age")`} {
		out, _ := run(t, r, m+`let caught = ""; try { `+write+`; } catch (e) { caught = e; } caught`, as(13))
		if got := out.Result["value"]; !strings.Contains(got, "actor 13 may not write in context 3") {
			t.Errorf("%s: got %q %s", write, got, out.Error)
		}
	}
	out, _ = run(t, r, m+`m.count()`, as(99))
	if out.Verdict != script.Failed || !strings.Contains(out.Error, "actor 99 may not read in context 3") {
		t.Errorf("a stranger: got %s %s", out.Verdict, out.Error)
	}
	out, _ = run(t, r, m+`m.count()`, func(task *script.Task) { task.Context = 4 })
	if out.Verdict != script.Failed || !strings.Contains(out.Error, "or there is no such context") {
		t.Errorf("another context: got %s %s", out.Verdict, out.Error)
	}
}

// TestTwoSessionsLoseNothing runs read-change-write jobs against each other:
// those by function always come through, those by set never write over what
// they have not seen.
func TestTwoSessionsLoseNothing(t *testing.T) {
	b := memory(t)
	one, two := osis(t, b), osis(t, b)
	run(t, one, `osis_model("c").create(#{n: 0, kept: 0})`)
	const source = `
		let m = osiris.model("c");
		for i in 0..50 {
			m.update(1, |o| { o.n += 1; o });
			let done = false;
			while !done {
				let o = m.get(1);
				o.kept += 1;
				try { m.set(1, o); done = true; } catch (e) { if !e.contains("changed by somebody else") { throw e; } }
			}
		}`
	var all sync.WaitGroup
	for _, r := range []*rhaiscript.Runtime{one, two} {
		for range 2 {
			all.Go(func() {
				if out, _ := run(t, r, source); out.Verdict != script.Succeeded {
					t.Error(out.Error)
				}
			})
		}
	}
	all.Wait()
	out, _ := run(t, one, `osis_model("c").get(1)`)
	if diff := cmp.Diff(map[string]string{"id": "1", "n": "200", "kept": "200", "exit_code": "0"}, out.Result); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestAStaleMapIsRefused lets a second session act while the first is between
// two calls.
func TestAStaleMapIsRefused(t *testing.T) {
	b := memory(t)
	wait, on := make(chan struct{}), make(chan struct{})
	mine := osis(t, pausing{b, func(batch board.Batch) {
		for _, op := range batch.Ops {
			if len(op.Fields) > 0 && op.Fields[0].Value == `{"wait":true}` {
				close(wait)
				<-on
			}
		}
	}})
	theirs := osis(t, b)
	run(t, theirs, three)
	done := make(chan script.Outcome)
	go func() {
		out, _ := run(t, mine, `
			let m = osis_model("person");
			let o = m.get(1);
			o.age = 1;
			m.set(1, o);
			m.create(#{wait: true});
			let caught = [];
			try { m.set(1, o) } catch (e) { caught += e; }
			try { m.update(1, o) } catch (e) { caught += e; }
			m.update(1, #{city: "x"});
			caught += m.get(1);
			caught`)
		done <- out
	}()
	<-wait
	run(t, theirs, `osis_model("person").update(1, #{name: "new"})`)
	close(on)
	out := <-done
	const refusal = "person 1 was changed by somebody else since it was read: read it again, or use update(id, |o| ...)"
	want := `["person.set: ` + refusal + `","person.update: ` + refusal + `",{"age":1,"city":"x","id":1,"name":"new","tags":["x"]}]`
	if got := out.Result["value"]; got != want {
		t.Errorf("got %s %s\nwant %s", got, out.Error, want)
	}
}

// pausing calls before each commit.
type pausing struct {
	board.Board
	before func(board.Batch)
}

func (p pausing) Commit(ctx context.Context, b board.Batch) error {
	p.before(b)
	return p.Board.Commit(ctx, b)
}

func TestStoreCallsHaveLimits(t *testing.T) {
	b := memory(t)
	run(t, osis(t, b), three)
	out, _ := run(t, osis(t, b, func(c *rhaiscript.Config) { c.MaxOperations = 100_000 }), `let m = osis_model("person"); loop { try { m.exists(1) } catch {} }`)
	if out.Verdict != script.Errored || !strings.Contains(out.Error, "Too many operations") {
		t.Errorf("operations: got %s %s", out.Verdict, out.Error)
	}
	out, _ = run(t, osis(t, b, func(c *rhaiscript.Config) { c.MaxMemory = 1 << 20 }), `
		let m = osis_model("big"); let s = "x"; s.pad(100000, 'x');
		for i in 0..20 { m.create(#{s: s}); }
		m.list()`)
	if out.Verdict != script.Errored || !strings.Contains(out.Error, "too large") {
		t.Errorf("memory: got %s %s", out.Verdict, out.Error)
	}
	out, _ = run(t, osis(t, b), `
		let m = osis_model("many"); for i in 0..1001 { m.create(#{}); }
		let all = []; let last = 0;
		loop { let page = m.list(#{limit: 300, after: last}); if page.is_empty() { break; } all += page; last = page[-1].id; }
		set_result("all", all.len());
		m.list()`)
	if out.Verdict != script.Failed || out.Result["all"] != "1001" || !strings.Contains(out.Error, "more than 1000 objects: ask for a page") {
		t.Errorf("a page: got %s %s, %s by pages", out.Verdict, out.Error, out.Result["all"])
	}
}

func TestAStoreCallEndsWithTheJob(t *testing.T) {
	f := faultboard.New(memory(t), faultboard.Config{})
	r := osis(t, f)
	ctx, cancel := context.WithCancelCause(t.Context())
	held := make(chan struct{})
	f.Board = pausing{f.Board, func(board.Batch) { close(held); <-ctx.Done() }}
	go func() { <-held; cancel(script.ErrCancelled) }()
	out, err := r.Run(ctx, script.Task{Name: "job:12:7", Caller: 12, Context: 3,
		Script: `try { osis_model("x").create(#{}) } catch { } loop { }`}, scripttest.NewHost())
	if err != nil || out.Verdict != script.Stopped {
		t.Errorf("got %s %s, %v", out.Verdict, out.Error, err)
	}
}

// TestABoardThatIsAway is no fault of the script.
func TestABoardThatIsAway(t *testing.T) {
	f := faultboard.New(memory(t), faultboard.Config{})
	r := osis(t, f)
	run(t, r, three)
	f.Cut()
	out, _ := run(t, r, `osis_model("person").count()`)
	if out.Verdict != script.Errored || !strings.Contains(out.Error, "person.count: ") {
		t.Errorf("got %s %s", out.Verdict, out.Error)
	}
}

func TestPureScriptsHaveNoObjects(t *testing.T) {
	for source, want := range map[string]string{`osis_model("x")`: "Function not found: osis_model", `osiris.model("x")`: "Variable not found: osiris"} {
		if out, _ := run(t, rhaiscript.New(rhaiscript.Config{}), source); !strings.Contains(out.Error, want) {
			t.Errorf("%s: got %s %q", source, out.Verdict, out.Error)
		}
	}
	if got := rhaiscript.New(rhaiscript.Config{}).Type(); got != domain.ScriptRhai {
		t.Errorf("got type %s", got)
	}
	if got := osis(t, memory(t)).Type(); got != domain.ScriptOSIS {
		t.Errorf("got type %s", got)
	}
}
