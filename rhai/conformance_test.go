package rhai_test

import (
	"bufio"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/internal/watched"
	"github.com/ramet-run/ramet/rhai/cases"
)

// recorded is a case with what the reference answered.
type recorded struct {
	cases.Case
	Expect     *cases.Value           `json:"expect"`
	Error      string                 `json:"error"`
	ParseError string                 `json:"parse_error"`
	Message    string                 `json:"message"`
	Pos        string                 `json:"pos"`
	Print      []string               `json:"print"`
	Debug      []cases.DebugLine      `json:"debug"`
	ScopeAfter map[string]cases.Value `json:"scope_after"`
	Tags       []string               `json:"tags"`
	// What a reference with other settings answers: good as well.
	NoOptimizer *cases.Answer `json:"alt_no_optimizer"`
	NoMetadata  *cases.Answer `json:"alt_no_metadata"`
}

func (r *recorded) answer() cases.Answer {
	return cases.Answer{ID: r.ID, Print: r.Print, Debug: r.Debug, Expect: r.Expect, ScopeAfter: r.ScopeAfter,
		Error: r.Error, ParseError: r.ParseError, Message: r.Message, Pos: r.Pos}
}

// caseFiles are the recorded cases: those that came with the language's specification, and those of differences
// found since, with the answers of the reference that tools/rhai-reference builds.
var caseFiles = []string{"testdata/cases.jsonl", "testdata/more.jsonl"}

func readCases(t testing.TB) []recorded {
	var all []recorded
	for _, name := range caseFiles {
		all = append(all, readCaseFile(t, name)...)
	}
	return all
}

func readCaseFile(t testing.TB, name string) []recorded {
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []recorded
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var r recorded
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// same compares an answer with a recorded one; a recorded answer that says
// nothing of prints does not ask for them.
func same(got, want cases.Answer) bool {
	if len(want.Print) == 0 && len(want.Debug) == 0 {
		got.Print, got.Debug = nil, nil
	}
	got.ID, want.ID = "", ""
	return reflect.DeepEqual(got, want)
}

// text shows an answer on one line.
func text(a cases.Answer) string {
	b, _ := json.Marshal(a)
	return string(b)
}

// better are cases whose recorded answer is a fault of the reference.
var better = map[string]string{
	"x_trycatch/45": "exit() in a callback ends the script, as everywhere else",
}

func TestConformance(t *testing.T) {
	watched.Alone(t)
	for _, r := range readCases(t) {
		t.Run(strings.ReplaceAll(r.ID, "/", "."), func(t *testing.T) {
			if slices.Contains(r.Tags, "ref_limitation") {
				t.Skip("the reference fails where a script may well succeed; see docs/rhai.md")
			}
			if why := better[r.ID]; why != "" {
				t.Skip(why)
			}
			got := cases.Run(t.Context(), r.Case)
			if slices.Contains(r.Tags, "opcount") && got.Error == r.Error {
				// Where a run is stopped depends on how operations are counted.
				got.Message, got.Pos = r.Message, r.Pos
			}
			want := []cases.Answer{r.answer()}
			for _, alt := range []*cases.Answer{r.NoOptimizer, r.NoMetadata} {
				if alt != nil {
					want = append(want, *alt)
				}
			}
			if !slices.ContainsFunc(want, func(w cases.Answer) bool { return same(got, w) }) {
				t.Errorf("script: %s\n got: %s\nwant: %s", r.Src, text(got), text(want[0]))
			}
		})
	}
}
