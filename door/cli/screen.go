package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

const (
	// drawEvery is how often the lines of a terminal are drawn anew.
	drawEvery = 250 * time.Millisecond
	// defaultWidth and defaultHeight are for terminals that do not say theirs.
	defaultWidth, defaultHeight = 80, 24
)

// screen writes what happens to several jobs, in lines that scroll; on a
// terminal it keeps lines below them that say how those stand which have not
// ended.
type screen struct {
	logs, notes io.Writer
	ascii       bool // as of a page
	fd          int  // of the terminal; -1: none

	mu sync.Mutex
	// block are the lines of status as they stand there, drawn how many: the
	// cursor is in column 0 below them.
	block string
	drawn int
}

// newScreen writes logs and notes; status lines are drawn where notes go to a
// terminal.
func newScreen(logs, notes io.Writer) *screen {
	s := &screen{logs: bare(logs), notes: bare(notes), fd: -1}
	if p, ok := notes.(page); ok {
		s.ascii = p.ascii
	}
	if fd, ok := terminal(s.notes); ok && os.Getenv("TERM") != "dumb" { // that knows no lines that are drawn anew
		s.fd = fd
	}
	return s
}

// terminal tells whether a stream is one.
func terminal(w any) (fd int, ok bool) {
	if stream, ok := w.(io.Writer); ok {
		w = beneath(stream)
	}
	f, ok := w.(interface{ Fd() uintptr })
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return -1, false
	}
	return int(f.Fd()), true
}

// live reports whether status lines are drawn.
func (s *screen) live() bool { return s.fd >= 0 }

// log writes a line of a script; note one of ours.
func (s *screen) log(line string)  { s.write(s.logs, line) }
func (s *screen) note(line string) { s.write(s.notes, line) }

// write writes a line above the status. The status is taken away and put back
// at once: one that was missing until it is drawn anew would flicker.
func (s *screen) write(w io.Writer, line string) {
	line = s.plain(oneLine(line)) // the streams are bare: the screen draws
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.drawn == 0 {
		fmt.Fprintln(w, line)
		return
	}
	if _, shown := terminal(w); w != s.notes && !shown {
		fmt.Fprintln(w, line) // it goes elsewhere
		return
	}
	up := fmt.Sprintf("\x1b[%dA\r\x1b[J", s.drawn)
	if w == s.notes {
		io.WriteString(w, up+line+"\n"+s.block)
		return
	}
	io.WriteString(s.notes, up)
	fmt.Fprintln(w, line)
	io.WriteString(s.notes, s.block)
}

// plain is a text as the terminal can show it.
func (s *screen) plain(text string) string {
	if !s.ascii {
		return text
	}
	return strings.Map(asASCII, text)
}

// draw replaces the status lines, in one write and line over line.
func (s *screen) draw(lines []string) {
	if !s.live() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	width, height := s.size()
	block := s.plain(statusBlock(lines, width, height))
	if block == s.block {
		return
	}
	up := ""
	if s.drawn > 0 {
		up = fmt.Sprintf("\x1b[%dA\r", s.drawn)
	}
	s.block, s.drawn = block, strings.Count(block, "\n")
	io.WriteString(s.notes, up+block+"\x1b[J")
}

// size is that of the terminal, in characters.
func (s *screen) size() (width, height int) {
	width, height, err := term.GetSize(s.fd)
	if err != nil || width < 10 || height < 4 {
		return defaultWidth, defaultHeight
	}
	return width, height
}

const (
	// keepLines and wrapLines: what is too wide for the terminal is cut off,
	// or goes on in the next line.
	keepLines, wrapLines = "\x1b[?7l", "\x1b[?7h"
	// clearRest clears the line from the cursor on.
	clearRest = "\x1b[K"
)

// statusBlock fits lines into a terminal. A line that wrapped would be two of
// the terminal's: characters that are wider than one are left to the terminal
// to cut.
func statusBlock(lines []string, width, height int) string {
	if len(lines) == 0 {
		return ""
	}
	if room := height - 2; len(lines) > room {
		more := len(lines) - room + 1
		lines = append(append([]string(nil), lines[:room-1]...), fmt.Sprintf("and %d more", more))
	}
	var b strings.Builder
	b.WriteString(keepLines)
	for _, l := range lines {
		l = visible(l)
		if r := []rune(l); len(r) >= width {
			l = string(r[:width-2]) + "…"
		}
		b.WriteString(l + clearRest + "\n")
	}
	b.WriteString(wrapLines)
	return b.String()
}
