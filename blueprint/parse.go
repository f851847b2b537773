package blueprint

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/document"
	"github.com/ramet-run/ramet/domain"
)

// Parse reads a blueprint of YAML or JSON. name is the text's, for errors; it
// may be "". Scripts must stand in the text.
//
// Errors: *[Error] with all that is wrong.
func Parse(name string, text []byte) (*domain.Blueprint, error) {
	return parse(name, text, nil, domain.MaxBlueprintBytes)
}

// ParsePlan is Parse for one that is not stored but comes with a flow: that may be larger.
func ParsePlan(name string, text []byte) (*domain.Blueprint, error) {
	return parse(name, text, nil, domain.MaxPlanBytes)
}

// parse reads scripts by readScript; nil refuses to. It has at most that many bytes, as a
// text and as JSON.
func parse(name string, text []byte, readScript func(file string) (string, error), most int) (*domain.Blueprint, error) {
	r, values := document.Read(text, aBlueprint, document.Options{
		What: "a blueprint, with `name:` and `steps:`", Hint: "put large data into files or params",
		MaxBytes: most, ReadFile: readScript, Owner: owner,
	})
	b := blueprint(r, values, most)
	if faults := r.Faults(); len(faults) > 0 {
		return nil, document.NewError(name, faults)
	}
	return b, nil
}

// parseHooks reads the hooks of a context.
func parseHooks(name string, text []byte, readScript func(file string) (string, error)) (*domain.Hooks, error) {
	r, values := document.Read(text, someHooks, document.Options{What: "hooks, as `failed:` and `late:`", MaxBytes: domain.MaxHooksBytes, ReadFile: readScript,
		Owner: owner})
	hooks := new(domain.Hooks)
	out, err := json.Marshal(values)
	if err == nil {
		err = json.Unmarshal(out, hooks)
	}
	if err != nil {
		panic("BUG: what was read does not fit: " + err.Error())
	}
	if faults := r.Faults(); len(faults) > 0 {
		return nil, document.NewError(name, faults)
	}
	return hooks, ValidateHooks(hooks)
}

// owner is the step that a path is about, or "".
func owner(path string) string {
	if i := strings.IndexByte(path, ']'); i > 0 && strings.HasPrefix(path, "steps[") {
		return path[:i+1]
	}
	return ""
}

// blueprint makes one of what was read; the reader's faults say whether it is
// right.
func blueprint(r *document.Reader, values map[string]any, most int) *domain.Blueprint {
	text, err := json.Marshal(values)
	if err != nil {
		panic("BUG: what was read cannot be written: " + err.Error())
	}
	b, err := decode(text)
	if err != nil {
		panic("BUG: what was read does not fit: " + err.Error())
	}
	if !r.Whole() {
		return b
	}
	nameless := slices.ContainsFunc(b.Steps, func(s domain.Step) bool { return s.Name == "" })
	var faults []domain.Fault
	for _, f := range check(b, most) {
		// What follows from another fault is not said.
		follows := r.Broken(f.Path) && !r.Given(f.Path) || nameless && (strings.Contains(f.Path, ".needs[") || strings.HasPrefix(f.Path, "output."))
		if !follows {
			faults = append(faults, f)
		}
	}
	for _, f := range faults {
		r.Add(f)
	}
	return b
}

// inline puts the script's file into a step.
func inline(r *document.Reader, at document.Position, step map[string]any) {
	file, ok := step["file"].(string)
	if !ok {
		return
	}
	delete(step, "file")
	if step["script"] != nil {
		r.Fault(at, "file", "script and file are both given; want one of them")
		return
	}
	text := r.ReadFile(at, "file", file, "script")
	if text == nil {
		return
	}
	step["script"] = *text
	if step["script_type"] == nil {
		t := domain.GuessScriptType(file, *text)
		if t == "" {
			r.Fault(at, "file", "%s; want script_type, for example shell", domain.Typeless(file, *text))
			return
		}
		step["script_type"] = t
	}
}
