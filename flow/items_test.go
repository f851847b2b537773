package flow_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/internal/watched"
)

// each is a step that is done for each element of a list.
func each(list string, window int) func(*domain.Step) {
	return func(s *domain.Step) { s.Each, s.Window = list, window }
}

// numbers is a list of the first n, as JSON.
func numbers(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprint(i)
	}
	return "[" + strings.Join(list, ",") + "]"
}

func TestAStepIsDoneForEachElement(t *testing.T) {
	bubble(t, func(r *rig) {
		p := blueprint(step("a", `set towns ["rome","oslo",{"n":3}]`), step("visit", "item was", each("parse_json(needs.a.result.towns)", 2), needs("a")),
			step("sum", "results visit was", needs("visit")),
			step("few", "item was", each(`needs.visit.results.filter(|r| r.was.contains("oslo"))`, 0), needs("visit")),
			step("last", "", func(s *domain.Step) { s.When = `needs.few.results[0].was.ends_with("@0")` }, needs("few")))
		v := r.want(r.submit(flow.Request{Plan: p}), domain.FlowSucceeded, "a succeeded", "visit succeeded", "sum succeeded", "few succeeded", "last succeeded")
		if got, want := v.Result["sum.got"], `"rome"@0 "oslo"@1 {"n":3}@2`; got != want {
			t.Errorf("the step after it got %s, want %s", got, want)
		}
		if got, want := v.Result["visit.results"], `[{"was":"\"rome\"@0"},{"was":"\"oslo\"@1"},{"was":"{\"n\":3}@2"}]`; got != want {
			t.Errorf("the flow's result has %s, want %s", got, want)
		}
		if r.words.most > 2 {
			t.Errorf("%d of a window of 2 ran at once", r.words.most)
		}
		for _, s := range v.Steps {
			if s.Name == "visit" && (s.Kind != domain.StepEach || s.Total != 3 || s.Done != 3) {
				t.Errorf("the step is shown as %+v", s)
			}
		}
	})
}

func TestListsThatAreNone(t *testing.T) {
	for name, tc := range map[string]struct {
		list   string
		reason domain.FlowReason
		status string
		text   string
	}{
		"empty":   {"[]", domain.FlowSucceeded, "succeeded", "there is nothing to do in its list"},
		"no list": {"params.x", domain.FlowErrored, "errored", "each: it is a text, want a list; parse_json(...) makes one"},
		"too large together": {"parse_json(params.some).map(|x| params.page)", domain.FlowErrored, "errored",
			"each: its elements have more than 16777216 bytes together"},
		"fails":              {"params.y", domain.FlowErrored, "errored", "each: "},
		"an element too big": {`[1, ""` + ` + params.big]`, domain.FlowErrored, "errored", "each: element 1 has 9002 bytes as JSON, the limit is 8192"},
		"too many":           {"parse_json(params.many)", domain.FlowErrored, "errored", "each: the list has 100001 elements, the limit is 100000"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				p := blueprint(step("s", "", each(tc.list, 0)))
				p.Params = map[string]string{"x": "1", "big": strings.Repeat("x", 9000), "page": strings.Repeat("x", 2000),
					"some": "[" + strings.Repeat("1,", 8999) + "1]", "many": "[" + strings.Repeat("1,", 100_000) + "1]"}
				v := r.want(r.submit(flow.Request{Plan: p}), tc.reason, "s "+tc.status)
				if got := v.Steps[0].Text; !strings.HasPrefix(got, tc.text) {
					t.Errorf("it says %q, want %q", got, tc.text)
				}
			})
		})
	}
}

// TestAnEmptyListHasResults: none, so that what adds them up needs no case of its own.
func TestAnEmptyListHasResults(t *testing.T) {
	bubble(t, func(r *rig) {
		p := blueprint(step("s", "item was", each("[]", 0)), step("sum", "results s was", needs("s")),
			step("when", "", func(s *domain.Step) { s.When = "needs.s.results.len() == 0" }, needs("s")),
			step("each", "item was", each("needs.s.results", 0), needs("s")))
		v := r.want(r.submit(flow.Request{Plan: p}), domain.FlowSucceeded, "s succeeded", "sum succeeded", "when succeeded", "each succeeded")
		if got := v.Result["s.results"]; got != "[]" {
			t.Errorf("the flow's result has %q", got)
		}
		if in := r.words.seen[0].Needs["s"]; in.Results == nil {
			t.Errorf("the step after it found %+v", in)
		}
	})
}

// TestAListOfAllElementsThatThereMayBe is written in more than one commit.
func TestAListOfAllElementsThatThereMayBe(t *testing.T) {
	bubble(t, func(r *rig) {
		p := blueprint(step("s", "fail at once", each("parse_json(params.many)", 1)))
		p.Params = map[string]string{"many": "[" + strings.Repeat("1,", domain.MaxEach-1) + "1]"}
		v := r.want(r.submit(flow.Request{Plan: p}), domain.FlowFailed, "s failed")
		if v.Steps[0].Total != domain.MaxEach {
			t.Errorf("the step has %d elements", v.Steps[0].Total)
		}
	})
}

// TestWhatIsLargerThanCanBeHandedOnIsSaid has an element's job leave more than lies beside the
// others, which is whole all the same, and all of them together more than is handed on.
func TestWhatIsLargerThanCanBeHandedOnIsSaid(t *testing.T) {
	watched.Large(t)
	bubble(t, func(r *rig) {
		p := blueprint(step("s", "set long "+strings.Repeat("x", 9000)+"\nitem was", each("[1, 2]", 0)), step("after", "results s long", needs("s")),
			step("when", "", func(s *domain.Step) { s.When = "needs.s.results[1].long.len() == 9000" }, needs("s")))
		v := r.want(r.submit(flow.Request{Plan: p}), domain.FlowSucceeded, "when succeeded")
		if got := strings.Fields(v.Result["after.got"]); len(got) != 2 || len(got[0]) != 9000 || len(got[1]) != 9000 {
			t.Errorf("it was told %d results: %.100q", len(got), got)
		}
		if got := v.Result["s.results"]; len(got) < 18_000 || v.Result["ramet.cut"] != "" {
			t.Errorf("the flow's result has %d bytes of it, and says %q", len(got), v.Result["ramet.cut"])
		}
		p = blueprint(step("s", "set long "+strings.Repeat("x", 100_000), each("parse_json(params.many)", 200)), step("after", "", needs("s")))
		p.Params = map[string]string{"many": numbers(50)}
		v = r.want(r.submit(flow.Request{Plan: p}), domain.FlowErrored, "s succeeded", "after errored")
		if !strings.Contains(v.Error, "more than 4194304 bytes together; hand them on as artifacts") {
			t.Errorf("the flow says %q", v.Error)
		}
		p = blueprint(step("s", "set long "+strings.Repeat("x", 8000), each("parse_json(params.many)", 200)), step("after", "", needs("s")))
		p.Params = map[string]string{"many": numbers(domain.MaxResultsBytes/8000 + 1)}
		v = r.want(r.submit(flow.Request{Plan: p}), domain.FlowErrored, "s succeeded", "after errored")
		if !strings.Contains(v.Error, "more than 4194304 bytes together") {
			t.Errorf("the flow says %q", v.Error)
		}
	})
}

// TestAListThatDoesNotFitLeavesRoom for what other steps left: the flow's result has these.
func TestAListThatDoesNotFitLeavesRoom(t *testing.T) {
	bubble(t, func(r *rig) {
		p := blueprint(step("s", "set long "+strings.Repeat("x", 8000), each("parse_json(params.many)", 200)), step("z", "set small kept"))
		p.Params = map[string]string{"many": numbers(100)}
		v := r.want(r.submit(flow.Request{Plan: p}), domain.FlowSucceeded, "s succeeded", "z succeeded")
		if v.Result["s.results"] != "" || v.Result["ramet.cut"] == "" || v.Result["z.small"] != "kept" {
			t.Errorf("the flow's result has %d bytes of the list, says %q, and of the other step %q", len(v.Result["s.results"]), v.Result["ramet.cut"],
				v.Result["z.small"])
		}
	})
}

// TestALargeResultWhoseJobIsGoneIsAnError, not an empty one.
func TestALargeResultWhoseJobIsGoneIsAnError(t *testing.T) {
	bubble(t, func(r *rig) {
		p := blueprint(step("s", "set long "+strings.Repeat("x", 9000), each("[1]", 0)), step("wait", "gate go", needs("s")),
			step("after", "results s long", needs("s", "wait")))
		id := r.submit(flow.Request{Plan: p})
		time.Sleep(time.Second)
		if err := r.board.Commit(r.ctx, *(&board.Batch{Space: 1}).Delete("job:1:1")); err != nil {
			t.Fatal(err)
		}
		close(r.words.gate("go"))
		v := r.want(id, domain.FlowErrored, "after errored")
		if !strings.Contains(v.Error, "the result of element 0 has more than 8192 bytes and stands on job:1:1, which is gone") {
			t.Errorf("the flow says %q", v.Error)
		}
	})
}

// TestAnElementIsRetried has one that errs: it alone is done again, also when the flow comes
// back from the archive, and what the others left is still there.
func TestAnElementIsRetried(t *testing.T) {
	for _, archived := range []bool{false, true} {
		t.Run(fmt.Sprint("archived ", archived), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newMemArchive()
				r := newRigOn(t, memboard.Open(), flow.Config{Names: s, Records: s})
				defer r.stop()
				p := blueprint(step("visit", "failitem 12\nitem was", each("parse_json(params.list)", 200)), step("sum", "results visit was", needs("visit")))
				p.Params = map[string]string{"list": numbers(150)}
				id := r.submit(flow.Request{Plan: p, Trigger: "t", OnError: domain.OnErrorContinue})
				r.want(id, domain.FlowErrored, "visit errored", "sum skipped_by_error")
				if archived {
					time.Sleep(time.Minute)
					s.putAway(r)
					for _, prefix := range []string{"flow:", "job:", "ramet:flow:"} {
						if keys, _, _ := r.board.Keys(r.ctx, 1, prefix, "", 100); len(keys) > 0 {
							t.Fatalf("left on the board: %v", keys)
						}
					}
				}
				before := len(r.words.seen)
				if archived { // the job that did it is another
					r.words.runs = map[string]int{}
					for i := range 1000 {
						r.words.runs[fmt.Sprint("job:1:", i)] = 1
					}
				}
				r.mustAct(id, flow.Order{Verb: flow.OrderRetry})
				v := r.want(id, domain.FlowSucceeded, "visit succeeded", "sum succeeded")
				var want []string
				for i := range 150 {
					want = append(want, fmt.Sprintf("%d@%d", i, i))
				}
				if got := strings.Fields(v.Result["sum.got"]); !slices.Equal(got, want) {
					t.Errorf("the step after it got %v", got)
				}
				if n := len(r.words.seen) - before; n != 2 {
					for _, in := range r.words.seen[before:] {
						t.Log(in.Job, in.Step, string(in.Item))
					}
					t.Errorf("%d jobs ran for the retry, want the element's and that of the step after it", n)
				}
			})
		})
	}
}

// TestNothingIsLeftOfLists removes a flow with lists of two steps.
func TestNothingIsLeftOfLists(t *testing.T) {
	bubble(t, func(r *rig) {
		list := "parse_json(params.list)"
		p := blueprint(step("a", "item was", each(list, 200)), step("b", "item was", each(list, 200), needs("a")))
		p.Params = map[string]string{"list": numbers(200)}
		id := r.submit(flow.Request{Plan: p})
		r.want(id, domain.FlowSucceeded)
		keys, _, err := r.board.Keys(r.ctx, 1, "ramet:flow:", "", 1000)
		if n := len(slices.DeleteFunc(keys, func(k string) bool { return !strings.HasSuffix(k, ":items") && !strings.HasSuffix(k, ":results") })); err != nil ||
			n != 16 {
			t.Fatalf("%d records of lists, %v: this tests nothing", n, err)
		}
		r.mustAct(id, flow.Order{Verb: flow.OrderDelete, Forget: true})
		if keys, _, _ := r.board.Keys(r.ctx, 1, "ramet:flow:", "", 100); len(keys) > 0 {
			t.Errorf("left on the board: %v", keys)
		}
	})
}
