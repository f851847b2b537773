package cli

import (
	"fmt"
	"io"
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
// terminal it keeps a line for each job that has not ended below them.
type screen struct {
	logs, notes io.Writer
	fd          int // of the terminal; -1: none

	mu    sync.Mutex
	drawn int // lines of status that stand below the cursor's column 0
}

// newScreen writes logs and notes; status lines are drawn where notes go to a
// terminal.
func newScreen(logs, notes io.Writer) *screen {
	s := &screen{logs: logs, notes: notes, fd: -1}
	if fd, ok := terminal(notes); ok {
		s.fd = fd
	}
	return s
}

// terminal tells whether a stream is one.
func terminal(w any) (fd int, ok bool) {
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

func (s *screen) write(w io.Writer, line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	fmt.Fprintln(w, line)
}

// draw replaces the status lines.
func (s *screen) draw(lines []string) {
	if !s.live() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	width, height, err := term.GetSize(s.fd)
	if err != nil || width < 10 || height < 4 {
		width, height = defaultWidth, defaultHeight
	}
	io.WriteString(s.notes, statusBlock(lines, width, height))
	s.drawn = min(len(lines), height-2)
}

// erase takes the status lines away; the cursor is where they began.
func (s *screen) erase() {
	if s.drawn > 0 {
		fmt.Fprintf(s.notes, "\x1b[%dA\r\x1b[J", s.drawn)
		s.drawn = 0
	}
}

// statusBlock fits lines into a terminal: a line that wrapped would be erased
// only in part.
func statusBlock(lines []string, width, height int) string {
	if room := height - 2; len(lines) > room {
		more := len(lines) - room + 1
		lines = append(append([]string(nil), lines[:room-1]...), fmt.Sprintf("and %d more", more))
	}
	var b strings.Builder
	for _, l := range lines {
		l = visible(l)
		if r := []rune(l); len(r) >= width {
			l = string(r[:width-2]) + "…"
		}
		b.WriteString(l + "\n")
	}
	return b.String()
}
