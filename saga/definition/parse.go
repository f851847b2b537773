package definition

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/document"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/saga/machine"
)

// Error is all that is wrong with a definition. It is a [domain.ErrInvalid].
type Error = document.Error

// Parse reads a definition of YAML or JSON. name is the text's, for errors; it
// may be "". The script must stand in the text.
//
// Errors: *[Error] with all that is wrong.
func Parse(name string, text []byte) (*domain.SagaDefinition, error) { return parse(name, text, nil) }

// ParseFile reads a definition's file. Its script_file is put into it: a path
// relative to the definition's folder and within it, also by its links.
//
// Errors: *[Error] with all that is wrong; those of [domain.FileErrorf] for
// the file itself.
func ParseFile(path string) (*domain.SagaDefinition, error) {
	f, err := document.Open(path, "saga", domain.MaxSagaBytes)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return parse(path, f.Text, f.Script)
}

// Schema is the JSON Schema (2020-12) of a definition's file. It cannot say all
// that Parse refuses.
func Schema() []byte { return aSaga.Schema() }

func parse(name string, text []byte, readScript func(file string) (string, error)) (*domain.SagaDefinition, error) {
	r, values := document.Read(text, aSaga, document.Options{
		What: "a saga, with `name:`, `triggers:` and `states:`", Hint: "put large data into events",
		MaxBytes: domain.MaxSagaBytes, ReadFile: readScript, Owner: owner,
	})
	d := definition(r, values)
	if faults := r.Faults(); len(faults) > 0 {
		return nil, document.NewError(name, faults)
	}
	return d, nil
}

// part is what a path begins with that is about one part of a definition.
var part = regexp.MustCompile(`^(triggers\[\d+\]|(states|events|nodes|compensation\.nodes)[.\[][^.\]]+|compensation|script)`)

// owner is the part that a path is about, "" for the whole.
func owner(path string) string { return part.FindString(path) }

// definition makes one of what was read; the reader's faults say whether it is
// right.
func definition(r *document.Reader, values map[string]any) *domain.SagaDefinition {
	text, err := json.Marshal(values)
	if err != nil {
		panic("BUG: what was read cannot be written: " + err.Error())
	}
	d := new(domain.SagaDefinition)
	if err := json.Unmarshal(text, d); err != nil {
		panic("BUG: what was read does not fit: " + err.Error())
	}
	if values == nil || !r.Whole() {
		return d
	}
	read := len(r.Faults()) == 0
	file, _ := values["script_file"].(string)
	for _, f := range machine.Check(d) {
		if f.Path == "script" && file != "" {
			f = domain.Fault{Path: "script_file", Text: inFile(file, f)}
		}
		// What follows from another fault is not said.
		follows := r.Broken(f.Path) || !read && (strings.HasPrefix(f.Text, "there is no state") || strings.HasPrefix(f.Text, "it is missing"))
		if !follows {
			r.Add(f)
		}
	}
	return d
}

// inFile says what is wrong with a script that has a file of its own.
func inFile(file string, f domain.Fault) string {
	if f.Line == 0 {
		return file + ": " + f.Text
	}
	return fmt.Sprintf("%s:%d:%d: %s", file, f.Line, f.Column, f.Text)
}

// inline puts the script's file into the definition.
func inline(r *document.Reader, at document.Place, values map[string]any) {
	file, ok := values["script_file"].(string)
	if !ok {
		return
	}
	if values["script"] != nil {
		r.Fault(at, "script_file", "script and script_file are both given; want one of them")
		return
	}
	if text := r.ReadFile(at, "script_file", file, "script"); text != nil {
		values["script"] = *text
	}
}

// versions reads "1..3" as the ends of that range.
func versions(r *document.Reader, at document.Place, values map[string]any) {
	text, ok := values["versions"].(string)
	if !ok {
		return
	}
	delete(values, "versions")
	if values["min_version"] != nil || values["max_version"] != nil {
		r.Fault(at, "versions", "min_version or max_version is given too; want one of them")
		return
	}
	low, high, isRange := strings.Cut(text, "..")
	if !isRange {
		high = low
	}
	for name, end := range map[string]string{"min_version": low, "max_version": high} {
		if end == "" && low+high != "" {
			continue
		}
		n, err := strconv.ParseInt(end, 10, 32)
		if err != nil || n < 1 {
			r.Fault(at, "versions", "got %q, want versions such as 2, 1..3, 2.. or ..3", text)
			return
		}
		values[name] = n
	}
}
