package machine_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/saga/definition"
	"github.com/ramet-run/ramet/saga/machine"
)

var update = flag.Bool("update", false, "write testdata/history.golden anew")

// parcel compiles a definition of testdata. Its name and hash are in what comes
// out, so the graph has those of the script.
func parcel(t testing.TB, file string) *machine.Machine {
	t.Helper()
	def, err := definition.ParseFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	def.Version = 1
	m, err := machine.Compile(def)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// history lets an instance have some forty events, of which some lead to
// errors, and writes down all that comes of them.
func history(t testing.TB, m *machine.Machine, correlation string) []byte {
	r := &rig{t: t, m: m, in: m.New("acme", correlation, "h"), now: start}
	var out bytes.Buffer
	send := func(ev *domain.Event) {
		tr, err := m.Advance(r.in, ev)
		if err != nil {
			// Where it stands in the program depends on the kind of that.
			var program *machine.ProgramError
			if !errors.As(err, &program) {
				t.Error(err)
			}
			tr = m.Fail(r.in, ev, errors.New("failed"))
		}
		r.take(tr)
		out.WriteString(mustJSON(struct {
			Event string
			machine.Transition
		}{ev.Type, tr}) + "\n")
	}
	replay := func(ev *domain.Event) {
		tr, err := m.Replay(r.in, ev, r.now)
		if err != nil {
			t.Error(err)
		}
		r.take(tr)
		out.WriteString(mustJSON(tr) + "\n")
	}
	item := func(sku, count, price string) *domain.Event {
		return r.event("ItemAdded", `{"sku":"`+sku+`","count":`+count+`,"price":`+price+`}`)
	}
	weighed := func(i int, grams string) *domain.Event {
		ev := r.result("weigh", domain.ResultSucceeded, `{"grams":`+grams+`}`)
		ev.CommandID = r.in.Steps[i].CommandID
		return ev
	}
	send(r.event("Nag", ""))
	send(item("tea", "2", "3.35"))
	send(item("cup", "1", "12.1"))
	send(r.event("Noted", `{"z":1,"a":{"y":[1,2.0,null],"b":true}}`))
	send(item(`ä\"<&>\n`, "3", "0.333333"))
	send(r.event("Noted", `{"m":"text","z":1e21}`))
	send(r.timer("Nag"))
	bad := r.event("ItemAdded", `{"sku":"x"}`)
	send(bad)
	send(item("pot", "1", "30.0"))
	send(r.event("Noted", `{}`))
	bad.Payload = raw(`{"sku":"x","count":7,"price":0.07}`)
	replay(bad)
	bad.Payload = raw(`{"sku":"x","count":"seven","price":0.07}`)
	send(bad)
	r.take(m.Drop(r.in, bad, r.now))
	send(r.event("CheckedOut", ""))
	send(item("late", "1", "1.0"))
	send(r.event("Noted", `{"n":9007199254740993}`))
	send(r.event("Cancelled", ""))
	send(weighed(2, "250"))
	send(weighed(2, "250"))
	send(weighed(0, "100"))
	r.take(m.Pause(r.in, r.now))
	send(weighed(1, "50"))
	send(r.event("Noted", `{"paused":true}`))
	send(r.timer("TooSlow"))
	r.take(m.Resume(r.in, r.now))
	send(r.event("Noted", `{"more":[]}`))
	for i := 3; i < len(r.in.Steps); i++ {
		if r.in.Steps[i].State == domain.StepAsked {
			ev := weighed(i, "7")
			if r.in.Steps[i].Name == "pay" {
				ev = r.result("pay", domain.ResultSucceeded, `{"ref":"p-1"}`)
			}
			send(ev)
		}
	}
	for range 12 {
		if r.in.Status != domain.SagaCompensating {
			break
		}
		for i := range r.in.Steps {
			if s := r.in.Steps[i]; s.State == domain.StepUndoing {
				ev := r.result(s.Name, domain.ResultSucceeded, "")
				if s.Undos == 1 && i%2 == 1 {
					ev.Type = domain.ResultEvent(ev.Effect, domain.ResultFailed)
				}
				send(ev)
				break
			}
		}
	}
	send(r.event("Noted", `{}`))
	// And one that goes well.
	r.in, r.work = m.New("acme", correlation+"-2", "h"), nil
	send(item("tea", "2", "3.35"))
	send(item("cup", "1", "1e-7"))
	send(r.event("CheckedOut", ""))
	send(item("late", "1", "1.0"))
	send(weighed(1, "1"))
	send(weighed(0, "2"))
	send(r.result("pay", domain.ResultSucceeded, `{"ref":"p-2"}`))
	send(r.event("Noted", `{"at":"the end"}`))
	send(r.result("print", domain.ResultFailed, ""))
	send(r.timer("Closed"))
	return out.Bytes()
}

// TestTheSameHistoryGivesTheSameBytes: on every run, with both kinds of
// program, and whatever else runs beside it.
func TestTheSameHistoryGivesTheSameBytes(t *testing.T) {
	const golden = "testdata/history.golden"
	first := history(t, parcel(t, "parcel.yaml"), "17")
	if *update {
		if err := os.WriteFile(golden, first, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if lines := bytes.Count(want, []byte("\n")); lines < 40 {
		t.Fatalf("the history has %d lines", lines)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(first), "\n")); diff != "" {
		t.Fatalf("go test ./saga/machine -update writes it anew (-want +got):\n%s", diff)
	}
	for _, file := range []string{"parcel.yaml", "parcel-graph.yaml"} {
		shared := parcel(t, file)
		for round := range 50 {
			m := shared
			if round%10 == 0 {
				m = parcel(t, file) // compiled anew
			}
			if got := history(t, m, "17"); !bytes.Equal(got, want) {
				t.Fatalf("%s, round %d: (-want +got):\n%s", file, round, cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")))
			}
		}
		for _, procs := range []int{1, 2, 8} {
			before := runtime.GOMAXPROCS(procs)
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					for range 3 {
						if got := history(t, shared, "17"); !bytes.Equal(got, want) {
							t.Errorf("%s, %d processors: other bytes", file, procs)
						}
					}
				})
			}
			wg.Wait()
			runtime.GOMAXPROCS(before)
		}
	}
}
