package migrate

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/clockwork/timetable"
	"github.com/ramet-run/ramet/document"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pattern"
)

// MaxBytes bounds a text.
const MaxBytes = domain.MaxBlueprintBytes

// maxImported bounds the blueprints that come out of one file.
const maxImported = 1_000

// Imported is what came of a text.
type Imported struct {
	Blueprints []*domain.Blueprint `json:"blueprints"`
	Schedules  []domain.Schedule   `json:"schedules,omitzero"`
	// Notes say what was not understood, and what means something else here.
	Notes []Note `json:"notes,omitzero"`

	unread error // what cannot be read at all
}

// Note is about a line of the text, from 1 on; 0 is the text as a whole.
type Note struct {
	Line int    `json:"line,omitzero"`
	Text string `json:"text"`
}

func (in *Imported) note(line int, format string, args ...any) {
	in.Notes = append(in.Notes, Note{line, fmt.Sprintf(format, args...)})
}

// fault refuses the text: what is wrong with it can be no note, as what comes out would be something else.
func (in *Imported) fault(err error) {
	if in.unread == nil {
		in.unread = err
	}
}

// formats are what can be imported; name is the file's, without its folder.
var formats = map[string]func(name string, text []byte) (*Imported, error){
	"crontab":        func(_ string, text []byte) (*Imported, error) { return crontab(text, false) },
	"crontab-system": func(_ string, text []byte) (*Imported, error) { return crontab(text, true) },
	"dagu":           dagu,
	"github-actions": actions,
	"conductor":      conductor,
	"tascreed":       tasCreedDefine,
}

// Formats are the names of what can be imported.
func Formats() []string { return slices.Sorted(maps.Keys(formats)) }

// Import reads a text of a format; path is its file's.
//
// Errors: [domain.ErrInvalid] for a format that there is not, and for a text that is none of it.
func Import(format, path string, text []byte) (*Imported, error) {
	read, known := formats[format]
	if !known {
		hint := ""
		if near := domain.Nearest(format, Formats()); near != "" {
			hint = fmt.Sprintf("; did you mean %s?", near)
		}
		return nil, domain.Invalidf("format %q: want %s%s", format, strings.Join(Formats(), ", "), hint)
	}
	if len(text) > MaxBytes {
		return nil, domain.Invalidf("%s has more than %d bytes", path, MaxBytes)
	}
	base := filepath.Base(path)
	in, err := read(strings.TrimSuffix(base, filepath.Ext(base)), text)
	if err == nil {
		err = in.unread
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(in.Blueprints) == 0 {
		return nil, domain.Invalidf("%s: there is nothing in it that could be imported as %s", path, format)
	}
	if len(in.Blueprints) > maxImported {
		return nil, domain.Invalidf("%s: %d blueprints would come out of it, the limit is %d", path, len(in.Blueprints), maxImported)
	}
	for _, b := range in.Blueprints {
		if err := blueprint.Validate(b); err != nil {
			return nil, fmt.Errorf("%s: what comes out is no valid blueprint: %w", path, err)
		}
	}
	for i := range in.Schedules {
		if err := times(&in.Schedules[i]); err != nil {
			return nil, fmt.Errorf("%s: what comes out is no valid schedule: %w", path, err)
		}
	}
	if format == "dagu" || format == "github-actions" { // of a crontab each line has its note
		in.places(text, format == "dagu") // a job of Actions ends what it has left running, too
	}
	slices.SortStableFunc(in.Notes, func(a, b Note) int { return cmp.Compare(a.Line, b.Line) })
	return in, nil
}

// places notes once for a text that scripts in it name folders which each job has of its own, and once
// that they name some which they do not see, or leave processes behind.
func (in *Imported) places(text []byte, behind bool) {
	own, far := false, false
	line := 0
	for one := range strings.Lines(string(text)) {
		if line++; strings.HasPrefix(strings.TrimSpace(one), "#") {
			continue
		}
		own = own || in.ownPlaces(line, one)
		far = far || in.farPlaces(line, one)
		behind = behind && !in.leavesBehind(line, one)
	}
}

// tasCreedDefine is a job define of TasCreed.
func tasCreedDefine(name string, text []byte) (*Imported, error) {
	b, notes, err := tasCreed(name, text)
	if err != nil {
		return nil, err
	}
	in := &Imported{Blueprints: []*domain.Blueprint{b}}
	lines := linesOf(text)
	for _, n := range notes {
		path, _, _ := strings.Cut(n, ": ")
		in.note(lines[path], "%s", n)
	}
	return in, nil
}

// times checks a schedule, and whether its times can be read.
func times(s *domain.Schedule) error {
	if err := timetable.Check(s); err != nil {
		return err
	}
	_, err := timetable.New(s)
	return err
}

// namer gives names that are allowed, and none twice.
type namer map[string]bool

var noName = pattern.Late(`[^A-Za-z0-9_-]+`)

// name is a name for what others call text; def where nothing is left of it.
func (n namer) name(text, def string) string {
	text = strings.Trim(noName().ReplaceAllString(text, "_"), "_-")
	if text == "" {
		text = def
	}
	if c := text[0]; c >= '0' && c <= '9' {
		text = "_" + text
	}
	text = text[:min(len(text), 56)]
	name := text
	for i := 2; n[name]; i++ {
		name = fmt.Sprintf("%s_%d", text, i)
	}
	n[name] = true
	return name
}

// commented is a text as the lines of a comment.
func commented(text string) string {
	return "# " + strings.ReplaceAll(document.Clip(strings.TrimSpace(text), 200), "\n", "\n# ")
}
