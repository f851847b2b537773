package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"

	"go.yaml.in/yaml/v3"
	"golang.org/x/term"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/intake"
)

// The formats of -o.
const (
	outTable = "table"
	outJSON  = "json"
	outYAML  = "yaml"
	outWide  = "wide" // a table whose cells are whole
	outName  = "name" // of a list the names alone, a line each
)

// maxCell bounds a cell of a table, so that a row stays one.
const maxCell = 60 // characters

// print writes v, a shape of the API, as -o says; rows writes it as a table.
func (a *app) print(v any, rows func(t *table)) error {
	if a.names {
		return a.printNames(v)
	}
	if a.fields != "" {
		return a.printFields(v)
	}
	switch a.output {
	case outJSON:
		return writeJSON(bare(a.std.Out), v)
	case outYAML:
		return writeYAML(bare(a.std.Out), v)
	}
	t := a.newTable()
	rows(t)
	return t.flush()
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// writeYAML writes v with the keys, and their order, that its JSON has.
func writeYAML(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	n, err := intake.JSONNode(text)
	if err != nil {
		return err
	}
	e := yaml.NewEncoder(w)
	e.SetIndent(2)
	if err := e.Encode(n); err != nil {
		return err
	}
	return e.Close()
}

// table writes columns.
type table struct {
	to io.Writer
	// width is that of the terminal; 0: it goes elsewhere, and lines may be long.
	width int
	// keep is how many columns are not cut to make a row fit: those by which things are
	// called.
	keep  int
	whole bool // no cell is cut
	lines []line
}

// line is one of a table; no cell of a fixed one is cut.
type line struct {
	cells []string
	fixed bool
}

// under reports whether a line is a row below names of columns, and not something that is
// said between rows.
func (l line) under(names line) bool { return !l.fixed || len(l.cells) == len(names.cells) }

func newTable(w io.Writer) *table { return &table{to: w, keep: 1} }

// newTable is a table for the terminal that people look at, if it is one.
func (a *app) newTable() *table {
	t := newTable(a.std.Out)
	if t.whole = a.whole; t.whole {
		return t
	}
	if fd, ok := terminal(a.std.Out); ok {
		t.width, _, _ = term.GetSize(fd)
	}
	if a.width > 0 {
		t.width = a.width
	}
	return t
}

// row writes cells, each cut to what a row can hold; wide leaves them whole.
func (t *table) row(cells ...any) {
	fit := cell
	if t.whole {
		fit = visible
	}
	t.write(fit, false, cells)
}

func (t *table) wide(cells ...any) { t.write(visible, true, cells) }

func (t *table) write(fit func(string) string, fixed bool, cells []any) {
	l := line{fixed: fixed}
	for _, c := range cells {
		l.cells = append(l.cells, fit(fmt.Sprint(c)))
	}
	t.lines = append(t.lines, l)
}

// field is a row of a name and a value, left out where there is none.
func (t *table) field(name string, value any) {
	if text := fmt.Sprint(value); text != "" && text != "0" && text != "[]" {
		t.lines = append(t.lines, line{[]string{name, visible(text)}, true})
	}
}

// paragraph is a field whose text has lines, each below the other; it is never left out.
func (t *table) paragraph(name, text string) {
	for part := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		t.lines = append(t.lines, line{[]string{name, visible(part)}, true})
		name = ""
	}
}

// flush writes the lines. On a terminal that is too narrow for them cells become shorter,
// but for those by which things are called; where that is not enough each row becomes
// a block of lines, so that nothing breaks in the middle of a column.
func (t *table) flush() error {
	lines := t.lines
	t.lines = nil // more may follow
	if t.width > 0 && len(lines) > 0 && !lines[0].fixed && !t.narrow(lines) {
		return t.blocks(lines)
	}
	w := tabwriter.NewWriter(t.to, 0, 8, 2, ' ', 0)
	for _, l := range lines {
		fmt.Fprintln(w, strings.Join(l.cells, "\t"))
	}
	return w.Flush()
}

// leastCell is how short a cell is made.
const leastCell = 12

// narrow makes columns shorter until the table fits, and reports whether it does.
func (t *table) narrow(lines []line) bool {
	var widths []int
	for _, l := range lines {
		if l.fixed {
			if l.under(lines[0]) && len([]rune(strings.Join(l.cells, "  "))) > t.width {
				return false
			}
			continue
		}
		for i, c := range l.cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], len([]rune(c)))
		}
	}
	total := 2 * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	for total > t.width {
		widest := 0
		for i, w := range widths {
			if i >= t.keep && (widest == 0 || w > widths[widest]) {
				widest = i
			}
		}
		if widest == 0 || widths[widest] <= leastCell {
			return false
		}
		widths[widest]--
		total--
	}
	for _, l := range lines {
		for i, c := range l.cells {
			if l.fixed {
				break
			}
			if r := []rune(c); len(r) > widths[i] {
				l.cells[i] = string(r[:widths[i]-1]) + "…"
			}
		}
	}
	return true
}

// blocks writes each row as lines of a name and a value; the first line has the names.
func (t *table) blocks(lines []line) error {
	var b strings.Builder
	names, longest := lines[0].cells, 0
	for _, n := range names {
		longest = max(longest, len([]rune(n)))
	}
	for i, l := range lines[1:] {
		if !l.under(lines[0]) {
			b.WriteString(strings.TrimSpace(strings.Join(l.cells, "  ")) + "\n")
			continue
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		for j, c := range l.cells {
			switch {
			case c == "":
			case j >= len(names):
				fmt.Fprintln(&b, c)
			default:
				fmt.Fprintf(&b, "%-*s  %s\n", longest, names[j], c)
			}
		}
	}
	_, err := io.WriteString(t.to, b.String())
	return err
}

// cell cuts a text to one short line.
func cell(s string) string {
	s = visible(s)
	if r := []rune(s); len(r) > maxCell {
		s = string(r[:maxCell-1]) + "…"
	}
	return s
}

// visible makes a text one line that does nothing to a terminal: scripts write
// results, and people read them here.
func visible(s string) string { return strings.ReplaceAll(oneLine(s), "\t", " ") }

// oneLine is visible for lines of a log, whose columns stay.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && domain.Acts(r) {
			return ' '
		}
		return r
	}, strings.TrimRight(s, "\n"))
}

// page is a stream that people read. Whatever is written to it, and whoever
// wrote that in the first place, it does nothing to a terminal but end lines and
// columns. That is so for files and pipes, too: sooner or later somebody looks
// at them. Programs are given -o json and yaml, which do not go by here.
type page struct {
	to    io.Writer
	ascii bool // signs of ours that are not ASCII are replaced
}

func (p page) Write(b []byte) (int, error) {
	clean := bytes.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && domain.Acts(r) {
			return ' '
		}
		if p.ascii {
			return asASCII(r)
		}
		return r
	}, b)
	if _, err := p.to.Write(clean); err != nil {
		return 0, err
	}
	return len(b), nil
}

// written is standard output. It keeps the first write that failed: many commands write
// line by line and ask of none whether it went well, and a list of which half is on a full
// disk is no list.
type written struct {
	to io.Writer

	mu  sync.Mutex
	err error
}

func (w *written) Write(b []byte) (int, error) {
	n, err := w.to.Write(b)
	if err == nil || errors.Is(err, syscall.EPIPE) { // a reader who has seen enough is no fault
		return n, err
	}
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
		err = failed.Err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = &unwrittenError{domain.Unavailablef("standard output cannot be written: %v; what is there is not all", err)}
	}
	return n, w.err
}

// unwrittenError is the first write to standard output that failed.
type unwrittenError struct{ error }

func (e *unwrittenError) Unwrap() error { return e.error }

// printEnd prints how something ended for which a command has waited. Where that cannot be written, the command goes
// on to what its exit code says of it; see [written.instead].
func (a *app) printEnd(v any, rows func(*table)) error {
	err := a.print(v, rows)
	if lost := (*unwrittenError)(nil); errors.As(err, &lost) {
		return nil
	}
	return err
}

// instead is what a command ends with: what it says itself, unless not all that it wrote
// arrived. Other faults come of that; how a script ended is still told.
func (w *written) instead(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	own := (*exitError)(nil)
	switch {
	case w.err == nil:
		return err
	case errors.As(err, &own) && own.code != 0:
		text := w.err.Error()
		if own.text != "" {
			text = own.text + "\nramet: " + text // each is a word of its own
		}
		return &exitError{own.code, text}
	}
	return w.err
}

// plainSigns are for the signs of ours that a terminal without Unicode would show as dirt,
// one for one, so that columns stay. What others wrote stays as it is.
var plainSigns = map[rune]rune{'…': '*', '│': '|', '█': '#', '░': '.', '▒': '=', '—': '-', '→': '>', '↻': '*', '·': '-', '×': 'x'}

func asASCII(r rune) rune {
	if plain, ok := plainSigns[r]; ok {
		return plain
	}
	return r
}

// onlyASCII reports whether the locale says that the terminal knows no Unicode: as in
// setlocale(3) the first of three variables that is set counts. Where none is, as in many
// containers, that says nothing of the terminal.
func onlyASCII(variable func(string) string) bool {
	locale := strings.ToLower(cmp.Or(variable("LC_ALL"), variable("LC_CTYPE"), variable("LANG")))
	return locale != "" && !strings.Contains(locale, "utf-8") && !strings.Contains(locale, "utf8")
}

// bare is the stream behind a page: for what draws on a terminal itself, and
// documents for programs.
func bare(w io.Writer) io.Writer {
	if p, ok := w.(page); ok {
		return p.to
	}
	return w
}

// beneath is the stream of the process itself.
func beneath(w io.Writer) io.Writer {
	if out, ok := bare(w).(*written); ok {
		return out.to
	}
	return bare(w)
}

// clock shows a time in Unix milliseconds, with its zone, as RFC 3339 but for the space; 0
// is none.
func clock(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).Local().Format("2006-01-02 15:04:05Z07:00")
}

// span shows how long something took.
func span(d time.Duration) string {
	switch {
	case d < 0:
		return ""
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// size shows a number of bytes.
func size(n uint64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	x := float64(n)
	for len(units) > 1 && x >= 1024 {
		x, units = x/1024, units[1:]
	}
	if x == float64(uint64(x)) {
		return fmt.Sprintf("%.0f %s", x, units[0])
	}
	return fmt.Sprintf("%.1f %s", x, units[0])
}
