package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/intake"
)

// The formats of -o.
const (
	outTable = "table"
	outJSON  = "json"
	outYAML  = "yaml"
)

// maxCell bounds a cell of a table, so that a row stays one.
const maxCell = 60 // characters

// print writes v, a shape of the API, as -o says; rows writes it as a table.
func (a *app) print(v any, rows func(t *table)) error {
	if a.fields != "" {
		return a.printFields(v)
	}
	switch a.output {
	case outJSON:
		return writeJSON(bare(a.std.Out), v)
	case outYAML:
		return writeYAML(bare(a.std.Out), v)
	}
	t := newTable(a.std.Out)
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
type table struct{ w *tabwriter.Writer }

func newTable(w io.Writer) *table { return &table{tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)} }

// row writes cells, each cut to what a row can hold; wide leaves them whole.
func (t *table) row(cells ...any)  { t.write(cell, cells) }
func (t *table) wide(cells ...any) { t.write(visible, cells) }

func (t *table) write(fit func(string) string, cells []any) {
	for i, c := range cells {
		if i > 0 {
			fmt.Fprint(t.w, "\t")
		}
		fmt.Fprint(t.w, fit(fmt.Sprint(c)))
	}
	fmt.Fprintln(t.w)
}

// field is a row of a name and a value, left out where there is none.
func (t *table) field(name string, value any) {
	if text := fmt.Sprint(value); text != "" && text != "0" && text != "[]" {
		fmt.Fprintf(t.w, "%s\t%s\n", name, visible(text))
	}
}

func (t *table) flush() error { return t.w.Flush() }

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
type page struct{ to io.Writer }

func (p page) Write(b []byte) (int, error) {
	clean := bytes.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && domain.Acts(r) {
			return ' '
		}
		return r
	}, b)
	if _, err := p.to.Write(clean); err != nil {
		return 0, err
	}
	return len(b), nil
}

// bare is the stream behind a page: for what draws on a terminal itself, and
// documents for programs.
func bare(w io.Writer) io.Writer {
	if p, ok := w.(page); ok {
		return p.to
	}
	return w
}

// clock shows a time in Unix milliseconds; 0 is none.
func clock(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).Local().Format("2006-01-02 15:04:05")
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
