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
func Parse(name string, text []byte) (*domain.SagaDefinition, error) {
	d, _, err := parse(name, text, nil)
	return d, err
}

// Lint is Parse, and says also what is not wrong but cannot do anything, or may
// fail when it comes to it.
//
// Errors: as Parse.
func Lint(name string, text []byte) (*domain.SagaDefinition, []domain.Fault, error) {
	return linted(parse(name, text, nil))
}

// ParseFile reads a definition's file. Its script_file is put into it: a path
// relative to the definition's folder and within it, also by its links.
//
// Errors: *[Error] with all that is wrong; those of [domain.FileErrorf] for
// the file itself.
func ParseFile(path string) (*domain.SagaDefinition, error) {
	d, _, err := parseFile(path)
	return d, err
}

// Warnings is what Lint says beside, of a definition that did not come as a text.
func Warnings(d *domain.SagaDefinition) []domain.Fault {
	list := machine.Warnings(d)
	for i := range list {
		list[i].Line, list[i].Column = 0, 0 // there is no text
	}
	return list
}

// LintFile is to ParseFile as Lint is to Parse.
func LintFile(path string) (*domain.SagaDefinition, []domain.Fault, error) {
	return linted(parseFile(path))
}

func linted(d *domain.SagaDefinition, text *text, err error) (*domain.SagaDefinition, []domain.Fault, error) {
	if err != nil {
		return nil, nil, err
	}
	list := machine.Warnings(d)
	for i := range list {
		list[i] = text.Find(text.script(list[i]))
	}
	return d, list, nil
}

// Schema is the JSON Schema (2020-12) of a definition's file. It cannot say all
// that Parse refuses.
func Schema() []byte { return aSaga.Schema() }

// text is a text that was read.
type text struct {
	*document.Reader
	file string // of the script, "" where that is a part of the text
}

// script says of what is wrong with a script where that is.
func (t *text) script(f domain.Fault) domain.Fault {
	switch {
	case f.Path != "script" || t.file == "":
		return f
	case f.Line == 0:
		return domain.Fault{Path: "script_file", Text: t.file + ": " + f.Text}
	}
	return domain.Fault{Path: "script_file", Text: fmt.Sprintf("%s:%d:%d: %s", t.file, f.Line, f.Column, f.Text)}
}

func parseFile(path string) (*domain.SagaDefinition, *text, error) {
	f, err := document.Open(path, "saga", domain.MaxSagaBytes)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	return parse(path, f.Text, f.Script)
}

func parse(name string, in []byte, readScript func(file string) (string, error)) (*domain.SagaDefinition, *text, error) {
	r, values := document.Read(in, aSaga, document.Options{
		What: "a saga, with `name:`, `triggers:` and `states:`", Hint: "put large data into events",
		MaxBytes: domain.MaxSagaBytes, ReadFile: readScript, Owner: owner,
	})
	file, _ := values["script_file"].(string)
	t := &text{r, file}
	d := t.definition(values)
	if faults := r.Faults(); len(faults) > 0 {
		return nil, nil, document.NewError(name, faults)
	}
	return d, t, nil
}

// part is what a path begins with that is about one part of a definition.
var part = regexp.MustCompile(`^(triggers\[\d+\]|(states|events|nodes|compensation\.nodes)[.\[][^.\]]+|compensation|script)`)

// owner is the part that a path is about, "" for the whole.
func owner(path string) string { return part.FindString(path) }

// definition makes one of what was read; the reader's faults say whether it is
// right.
func (t *text) definition(values map[string]any) *domain.SagaDefinition {
	text, err := json.Marshal(values)
	if err != nil {
		panic("BUG: what was read cannot be written: " + err.Error())
	}
	d := new(domain.SagaDefinition)
	if err := json.Unmarshal(text, d); err != nil {
		panic("BUG: what was read does not fit: " + err.Error())
	}
	if values == nil || !t.Whole() {
		return d
	}
	read := len(t.Faults()) == 0
	var faults []domain.Fault
	for _, f := range machine.Check(d) {
		// What follows from another fault is not said.
		follows := t.Broken(f.Path) && !t.Given(f.Path) || !read && (strings.HasPrefix(f.Text, "there is no state") || strings.HasPrefix(f.Text, "it is missing"))
		if !follows {
			faults = append(faults, f)
		}
	}
	for _, f := range faults {
		t.Add(t.script(f))
	}
	return d
}

// inline puts the script's file into the definition.
func inline(r *document.Reader, at document.Position, values map[string]any) {
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
func versions(r *document.Reader, at document.Position, values map[string]any) {
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
