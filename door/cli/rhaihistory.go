package cli

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/ramet-run/ramet/internal/whole"
)

// maxHistory is how many lines are remembered.
const maxHistory = 1000

// history is the lines that were typed, kept in a file. What cannot be kept
// there is remembered for this conversation alone.
type history struct {
	path  string
	lines []string // newest last
}

// openHistory reads the lines of earlier conversations; "" keeps none.
func openHistory(path string) *history {
	h := &history{path: path}
	if text, err := os.ReadFile(path); path != "" && err == nil {
		h.lines = strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	}
	if over := len(h.lines) - maxHistory; over > 0 {
		h.lines = h.lines[over:]
		_ = whole.Write(path, []byte(strings.Join(h.lines, "\n")+"\n"), 0o600)
	}
	return h
}

// Add keeps a line, unless it is blank or that of before.
func (h *history) Add(line string) {
	if strings.TrimSpace(line) == "" || len(h.lines) > 0 && h.lines[len(h.lines)-1] == line {
		return
	}
	h.lines = append(h.lines, line)
	if h.path == "" {
		return
	}
	if err := os.MkdirAll(filepath.Dir(h.path), 0o700); err != nil {
		return
	}
	if f, err := os.OpenFile(h.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err == nil {
		f.WriteString(line + "\n")
		f.Close()
	}
}

// Len is the number of lines.
func (h *history) Len() int { return len(h.lines) }

// At gives a line, 0 being the newest.
func (h *history) At(i int) string { return h.lines[len(h.lines)-1-i] }
