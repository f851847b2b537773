package console

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// maxLine bounds what a page shows of one line, in bytes; the download has all of it.
const maxLine = 8 << 10

// logLine is a line of a log.
type logLine struct {
	Number int // from 1 on
	// Of is the job where a page has lines of several: "12-7"; "" on the job's own.
	Of    string
	At    moment
	Class string // out, err, note
	Spans []styled
	More  int // bytes that are not shown
	// Place is where the line stands among its neighbours, where that is another page; "": here.
	Place string
}

// anchor is the line's name within its page.
func (l logLine) anchor() string {
	if l.Of == "" {
		return "L" + strconv.Itoa(l.Number)
	}
	return "J" + l.Of + "-L" + strconv.Itoa(l.Number)
}

// place is where its number leads.
func (l logLine) place() string { return cmp.Or(l.Place, "#"+l.anchor()) }

// text is a line without its colours.
func (l logLine) text() string {
	var b strings.Builder
	for _, s := range l.Spans {
		b.WriteString(s.Text)
	}
	return b.String()
}

// styled is a piece of a line with the colours that its writer gave it.
type styled struct{ Class, Text string }

// marks is the attempt of the line before: says of lines which of them begin another one.
type marks int

// begins is the attempt that begins with a line; 0 where that goes on which is there. The
// first one of all needs no mark.
func (m *marks) begins(attempt int) (begun int) {
	if attempt != 0 && attempt != int(*m) {
		if attempt > 1 {
			begun = attempt
		}
		*m = marks(attempt)
	}
	return begun
}

// lineOf is a line as the page shows it.
func (v *visit) lineOf(number int, l *domain.Log) logLine {
	class := "out"
	switch l.Stream {
	case "stderr":
		class = "err"
	case "ramet":
		class = "note"
	}
	text := l.Line
	more := 0
	if len(text) > maxLine {
		text = domain.CutText(text, maxLine)
		more = len(l.Line) - len(text)
	}
	return logLine{Number: number, At: v.past(l.AtMs), Class: class, Spans: ansi(text), More: more}
}
