package trial

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/document"
	"github.com/ramet-run/ramet/domain"
)

// file is a file of tests.
type file struct {
	Blueprint string            `json:"blueprint"`
	Params    map[string]string `json:"params"`
	Cases     []testCase        `json:"cases"`

	path string // of the blueprint
	plan *domain.Blueprint
}

type testCase struct {
	Name   string            `json:"name"`
	Params map[string]string `json:"params"`
	Skip   []string          `json:"skip"`
	Given  []given           `json:"given"`
	Expect expect            `json:"expect"`

	line int
}

type given struct {
	Step   string            `json:"step"`
	Index  *int64            `json:"index"`
	Round  *int              `json:"round"`
	Item   json.RawMessage   `json:"item"`
	End    string            `json:"end"`
	Error  string            `json:"error"`
	Result map[string]string `json:"result"`
}

type expect struct {
	End    *string           `json:"end"`
	Error  *string           `json:"error"`
	States map[string]string `json:"states"`
	Order  []string          `json:"order"`
	Counts map[string]string `json:"counts"`
	Jobs   []wantJob         `json:"jobs"`
	Result map[string]string `json:"result"`
	Hook   *wantHook         `json:"hook"`
}

type wantHook struct {
	On      *string           `json:"on"`
	Params  map[string]string `json:"params"`
	Payload json.RawMessage   `json:"payload"`
}

type wantJob struct {
	Step    string            `json:"step"`
	Index   *int64            `json:"index"`
	Range   *string           `json:"range"`
	Item    json.RawMessage   `json:"item"`
	Params  map[string]string `json:"params"`
	Payload json.RawMessage   `json:"payload"`
}

// read reads a file of tests, and the blueprint that it is for.
//
// Errors: *[document.Error], of either; those of [domain.FileErrorf].
func read(path string) (*file, error) {
	in, err := document.Open(path, "test", maxBytes)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	r, f := parse(in.Text)
	if f.Blueprint == "" {
		folder, name := filepath.Split(path)
		ext := filepath.Ext(name)
		if stem, ok := strings.CutSuffix(strings.TrimSuffix(name, ext), "_test"); ok && stem != "" {
			f.path = folder + stem + ext
		} else {
			r.Add(domain.Fault{Path: "blueprint", Text: "it is missing; want the file of the blueprint, or a file of tests that is called <name>_test.yaml"})
		}
	} else if !filepath.IsLocal(f.Blueprint) {
		r.Add(domain.Fault{Path: "blueprint", Text: "want a path within the folder of this file"})
	} else {
		f.path = filepath.Join(filepath.Dir(path), f.Blueprint)
	}
	if faults := r.Faults(); len(faults) > 0 {
		return nil, document.NewError(path, faults)
	}
	if f.plan, err = blueprint.ParseFile(f.path); err != nil {
		return nil, err
	}
	f.names(r)
	if faults := r.Faults(); len(faults) > 0 {
		return nil, document.NewError(path, faults)
	}
	return f, nil
}

// parse reads the text of a file of tests.
func parse(text []byte) (*document.Reader, *file) {
	r, values := document.Read(text, aTest, document.Options{
		What: "a test, with `cases:`", Hint: "make two files of it", MaxBytes: maxBytes,
	})
	f := &file{}
	if len(r.Faults()) > 0 {
		return r, f
	}
	text, err := json.Marshal(values)
	if err != nil {
		panic("BUG: what was read cannot be written: " + err.Error())
	}
	if err := json.Unmarshal(text, f); err != nil {
		panic("BUG: what was read does not fit: " + err.Error())
	}
	if len(f.Cases) == 0 {
		r.Add(domain.Fault{Path: "cases", Text: "there are none: want at least one"})
	}
	for i := range f.Cases {
		at := fmt.Sprintf("cases[%d]", i)
		f.Cases[i].line = r.Line(at)
		if f.Cases[i].Name == "" {
			r.Add(domain.Fault{Path: at, Text: "it has no name"})
		}
	}
	return r, f
}

// names looks whether there is what the cases name.
func (f *file) names(r *document.Reader) {
	var steps []string
	kinds, listed := map[string]domain.StepKind{}, map[string]bool{}
	for i := range f.plan.Steps {
		s := &f.plan.Steps[i]
		steps = append(steps, s.Name)
		kinds[s.Name], listed[s.Name] = s.KindOr(), s.Listed()
	}
	step := func(path, name string) bool {
		if kinds[name] != "" {
			return true
		}
		text := fmt.Sprintf("the blueprint has no step %q", name)
		if near := domain.Nearest(name, steps); near != "" {
			text += fmt.Sprintf("; did you mean %q?", near)
		}
		r.Add(domain.Fault{Path: path, Text: text})
		return false
	}
	for i := range f.Cases {
		c, at := &f.Cases[i], fmt.Sprintf("cases[%d]", i)
		for k := range c.Given {
			g, path := &c.Given[k], fmt.Sprintf("%s.given[%d]", at, k)
			if !step(path+".step", g.Step) {
				continue
			}
			decided := g.End == Approved || g.End == Rejected || g.End == Waits
			if approval := kinds[g.Step] == domain.StepApproval; approval != decided && (approval || g.End != "") {
				want := "succeeded, failed or errored"
				if approval {
					want = "approved, rejected or waits"
				}
				r.Add(domain.Fault{Path: path + ".end", Text: fmt.Sprintf("step %s is of kind %s: want %s", g.Step, kinds[g.Step], want)})
			}
			if s := f.plan.Steps; g.Round != nil && !slices.ContainsFunc(s, func(s domain.Step) bool { return s.Name == g.Step && s.Repeat != nil }) {
				r.Add(domain.Fault{Path: path + ".round", Text: fmt.Sprintf("step %s is not repeated", g.Step)})
			}
			if g.Item != nil && !listed[g.Step] {
				r.Add(domain.Fault{Path: path + ".item", Text: fmt.Sprintf("step %s is of kind %s, which has no elements", g.Step, kinds[g.Step])})
			}
		}
		for name := range c.Expect.States {
			step(at+".expect.states", name)
		}
		for name := range c.Expect.Counts {
			step(at+".expect.counts", name)
		}
		for k, name := range c.Expect.Order {
			step(fmt.Sprintf("%s.expect.order[%d]", at, k), name)
		}
		for k := range c.Expect.Jobs {
			step(fmt.Sprintf("%s.expect.jobs[%d].step", at, k), c.Expect.Jobs[k].Step)
		}
	}
}

// one reports whether it is about one job of its step.
func (g *given) one() bool { return g.Index != nil || g.Round != nil || g.Item != nil }

// fits reports whether it is about a job.
func (g *given) fits(j *Job) bool {
	return g.Step == j.Step && (g.Index == nil || *g.Index == j.Index) && (g.Round == nil || *g.Round == j.Round) && (g.Item == nil || sameJSON(g.Item, j.Item))
}

// end is how a job ends in a case.
func (c *testCase) end(j Job) End {
	best := -1
	for i := range c.Given {
		if g := &c.Given[i]; g.fits(&j) && (best < 0 || g.one() && !c.Given[best].one()) {
			best = i
		}
	}
	switch {
	case best >= 0:
		g := &c.Given[best]
		end := End{End: g.End, Text: g.Error, Result: g.Result}
		if end.End == "" {
			end.End = Succeeded
		}
		return end
	case j.Approval:
		return End{End: Waits}
	}
	return End{End: Succeeded}
}

// sameJSON reports whether two JSON texts have the same value.
func sameJSON(a, b json.RawMessage) bool {
	return slices.Equal(compactJSON(a), compactJSON(b))
}

// compactJSON is a JSON text in one spelling.
func compactJSON(text json.RawMessage) []byte {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return text
	}
	out, err := json.Marshal(v)
	if err != nil {
		return text
	}
	return out
}
