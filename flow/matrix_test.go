package flow_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
)

// matrix is a step that is done for each combination of axes: name, JSON, name, JSON...
func matrix(axes ...string) func(*domain.Step) {
	return func(s *domain.Step) {
		s.Matrix = domain.Matrix{}
		for i := 0; i < len(axes); i += 2 {
			s.Matrix[axes[i]] = json.RawMessage(axes[i+1])
		}
	}
}

func key(text string) func(*domain.Step) { return func(s *domain.Step) { s.Key = text } }

func TestAMatrixIsTheProductOfItsAxes(t *testing.T) {
	bubble(t, func(r *rig) {
		p := blueprint(step("list", `set versions ["1.26","1.27"]`),
			step("build", "item was", needs("list"), matrix("os", `["linux","mac"]`, "go", `"parse_json(needs.list.result.versions)"`, "cgo", `[false]`)),
			step("sum", "results build was", needs("build")))
		v := r.want(r.submit(flow.Request{Plan: p}), domain.FlowSucceeded, "build succeeded", "sum succeeded")
		want := `{"cgo":false,"go":"1.26","os":"linux"}@0 {"cgo":false,"go":"1.26","os":"mac"}@1 {"cgo":false,"go":"1.27","os":"linux"}@2 ` +
			`{"cgo":false,"go":"1.27","os":"mac"}@3`
		if got := v.Result["sum.got"]; got != want {
			t.Errorf("the step after it got %s, want %s", got, want)
		}
	})
}

// TestWhatAMatrixIncludesAndExcludes: the second is the example of GitHub's documentation.
func TestWhatAMatrixIncludesAndExcludes(t *testing.T) {
	for name, tc := range map[string]struct {
		axes []string
		want []string
	}{
		"left out are those with all that an object has": {[]string{"go", `[1,2]`, "os", `["a","b"]`, "exclude", `[{"os":"b","go":1.0},{"os":"a","go":2}]`},
			[]string{`{"go":1,"os":"a"}`, `{"go":2,"os":"b"}`}},
		"an example": {[]string{"animal", `["cat","dog"]`, "fruit", `["apple","pear"]`, "include",
			`[{"color":"green"},{"color":"pink","animal":"cat"},{"fruit":"apple","shape":"circle"},{"fruit":"banana"},{"fruit":"banana","animal":"cat"}]`},
			[]string{`{"animal":"cat","color":"pink","fruit":"apple","shape":"circle"}`, `{"animal":"cat","color":"pink","fruit":"pear"}`,
				`{"animal":"dog","color":"green","fruit":"apple","shape":"circle"}`, `{"animal":"dog","color":"green","fruit":"pear"}`,
				`{"fruit":"banana"}`, `{"animal":"cat","fruit":"banana"}`}},
		"what is excluded may be included": {[]string{"os", `["a","b"]`, "exclude", `[{"os":"b"}]`, "include", `[{"os":"b","slow":true}]`},
			[]string{`{"os":"a"}`, `{"os":"b","slow":true}`}},
		"include alone": {[]string{"include", `[{"os":"a"},{"os":"b","go":1}]`}, []string{`{"os":"a"}`, `{"go":1,"os":"b"}`}},
		"expressions":   {[]string{"os", `"[\"a\",\"b\"]"`, "exclude", `"[#{os: params.not}]"`, "include", `"[]"`}, []string{`{"os":"a"}`}},
		"all excluded":  {[]string{"os", `["a"]`, "exclude", `[{"os":"a"}]`}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				p := blueprint(step("s", "item was", matrix(tc.axes...), func(s *domain.Step) { s.Window = 1 }))
				p.Params = map[string]string{"not": "b"}
				r.want(r.submit(flow.Request{Plan: p}), domain.FlowSucceeded)
				var got []string
				for _, in := range r.words.seen {
					got = append(got, string(in.Item))
				}
				if !slices.Equal(got, tc.want) {
					t.Errorf("got %s\nwant %s", got, tc.want)
				}
			})
		})
	}
}

func TestListsWithoutNamesOrProduct(t *testing.T) {
	many := "[" + strings.Repeat("1,", 399) + "1]"
	for name, tc := range map[string]struct {
		change func(*domain.Step)
		reason domain.FlowReason
		text   string
	}{
		"an axis without values":  {matrix("os", `["a"]`, "go", `"[]"`), domain.FlowSucceeded, "there is nothing to do in its list"},
		"an axis that is no list": {matrix("os", `["a"]`, "go", `"params.x"`), domain.FlowErrored, "matrix: go: it is a text, want a list"},
		"an axis that fails":      {matrix("os", `"params.y"`), domain.FlowErrored, "matrix: os: "},
		"too many combinations": {matrix("a", `"parse_json(params.many)"`, "b", `"parse_json(params.many)"`), domain.FlowErrored,
			"matrix: the product of its lists has more than 100000 elements"},
		"an element too big":    {matrix("a", `"[params.big]"`, "b", `"[params.big]"`), domain.FlowErrored, "matrix: element 0 has 12015 bytes"},
		"include of no objects": {matrix("a", `["x"]`, "include", `"[1]"`), domain.FlowErrored, "matrix: include: element 0: want an object"},
		"exclude of no axis": {matrix("os", `["x"]`, "exclude", `"[#{oss: 1}]"`), domain.FlowErrored,
			`matrix: exclude: element 0: the matrix has no list "oss"; did you mean "os"?`},
		"a name twice":        {both(each(`["x","y","x"]`, 0), key("item")), domain.FlowErrored, `key: elements 0 and 2 have the same name, "x"`},
		"a name that is none": {both(each(`[[1],[2]]`, 0), key("item")), domain.FlowErrored, "key: element 0: it is a list, want a text or a number"},
		"an empty name":       {both(each(`["x",""]`, 0), key("item")), domain.FlowErrored, "key: element 1: it is empty"},
		"a long name":         {both(each(`["x", params.big]`, 0), key("item")), domain.FlowErrored, "key: element 1: it has 6000 bytes, the limit is 256"},
		"a name of two lines": {both(each(`["a\nb"]`, 0), key("item")), domain.FlowErrored, "key: element 0: it has a control character"},
		"a name that fails":   {both(each(`["x"]`, 0), key("item.name.first")), domain.FlowErrored, "key: "},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				p := blueprint(step("s", "", tc.change))
				p.Params = map[string]string{"x": "1", "big": strings.Repeat("x", 6000), "many": many}
				v := r.want(r.submit(flow.Request{Plan: p}), tc.reason)
				if got := v.Steps[0].Text; !strings.HasPrefix(got, tc.text) {
					t.Errorf("it says %q, want %q", got, tc.text)
				}
			})
		})
	}
}

func both(a, b func(*domain.Step)) func(*domain.Step) {
	return func(s *domain.Step) { a(s); b(s) }
}

// What a step accepts is not started again, and who asks for it is told so.
func TestAnElementThatIsAcceptedIsNotRetried(t *testing.T) {
	bubble(t, func(r *rig) {
		id := r.submit(flow.Request{Plan: blueprint(step("visit", "fail", each(`["oslo"]`, 0), key("item"), mayFail))})
		r.want(id, domain.FlowSucceeded, "visit failed_accepted")
		err := r.act(id, flow.Order{Verb: flow.OrderRetry, Step: "visit", Key: "oslo"})
		const want = `element "oslo" of step visit ended badly, which the step accepts (it is failed_accepted), so nothing of it is started again`
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	})
}

// An element without a name is called by its place in the list.
func TestAnElementIsRetriedByItsPlace(t *testing.T) {
	bubble(t, func(r *rig) {
		id := r.steps(step("visit", "failitem 8", each(`[7,8]`, 0)))
		r.want(id, domain.FlowErrored, "visit errored")
		if err := r.act(id, flow.Order{Verb: flow.OrderRetry, Step: "visit", Key: "0"}); err == nil || !strings.Contains(err.Error(), "no element") {
			t.Errorf("got %v", err)
		}
		r.mustAct(id, flow.Order{Verb: flow.OrderRetry, Step: "visit", Key: "1"})
		r.want(id, domain.FlowSucceeded, "visit succeeded")
	})
}

// TestOneElementIsRetriedByItsName has two that end badly, and starts one of them again.
func TestOneElementIsRetriedByItsName(t *testing.T) {
	bubble(t, func(r *rig) {
		p := blueprint(step("visit", "failitem {\"town\":\"oslo\"}\nfailitem {\"town\":\"rome\"}\nitem was",
			each(`["oslo","lima","rome"].map(|t| #{town: t})`, 0), key("item.town")),
			step("sum", "results visit was", needs("visit")), step("other", ""))
		p.OnError = domain.OnErrorContinue
		id := r.submit(flow.Request{Plan: p})
		v := r.want(id, domain.FlowErrored, "visit errored")
		slices.SortFunc(v.Steps[0].Units, func(a, b domain.UnitView) int { return int(a.ID - b.ID) })
		if u := v.Steps[0].Units; len(u) != 2 || u[0].Key != "oslo" || u[1].Key != "rome" {
			t.Fatalf("its elements are shown as %+v", u)
		}
		for _, tc := range []struct{ step, key, text string }{
			{"visit", "lima", `step visit has no element "lima" that ended badly; these did: `},
			{"visit", "osloo", `step visit has no element "osloo" that ended badly; did you mean "oslo"?`},
			{"visits", "oslo", `the flow has no step "visits"`},
			{"other", "", `nothing of step other ended badly: it is succeeded`},
		} {
			if err := r.act(id, flow.Order{Verb: flow.OrderRetry, Step: tc.step, Key: tc.key}); err == nil || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("retry of %s %s: %v, want %s", tc.step, tc.key, err, tc.text)
			}
		}
		before := len(r.words.seen)
		r.mustAct(id, flow.Order{Verb: flow.OrderRetry, Step: "visit", Key: "oslo"})
		v = r.want(id, domain.FlowErrored, "visit errored", "sum skipped_by_error")
		if u := v.Steps[0].Units; len(u) != 1 || u[0].Key != "rome" || len(r.words.seen) != before+1 {
			t.Errorf("after the retry of oslo: %+v, %d jobs ran", u, len(r.words.seen)-before)
		}
		r.mustAct(id, flow.Order{Verb: flow.OrderRetry, Step: "visit", Key: "rome"})
		v = r.want(id, domain.FlowSucceeded, "visit succeeded", "sum succeeded")
		if got := v.Result["sum.got"]; got != `{"town":"oslo"}@0 {"town":"lima"}@1 {"town":"rome"}@2` {
			t.Errorf("the step after it got %s", got)
		}
	})
}
