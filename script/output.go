package script

import (
	"bytes"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/ramet-run/ramet/internal/hide"
)

// Tail is a writer that keeps the last max bytes written to it. It is not safe
// for concurrent use.
type Tail struct {
	max   int
	bytes []byte
	lost  bool
}

// NewTail returns a Tail of max bytes.
func NewTail(max int) *Tail { return &Tail{max: max} }

// Write keeps the end of p. It never fails.
func (t *Tail) Write(p []byte) (int, error) {
	n := len(p)
	if n >= t.max {
		t.lost = t.lost || n > t.max || len(t.bytes) > 0
		t.bytes = append(t.bytes[:0], p[n-t.max:]...)
		return n, nil
	}
	// Twice the room before moving anything, so that a flood of small writes
	// does not copy the whole tail each time.
	if len(t.bytes)+n > 2*t.max {
		keep := copy(t.bytes, t.bytes[len(t.bytes)-t.max:])
		t.bytes, t.lost = t.bytes[:keep], true
	}
	t.bytes = append(t.bytes, p...)
	return n, nil
}

// String returns the tail as valid UTF-8 of at most max bytes; a character
// cut at its beginning is left out, other invalid bytes become U+FFFD.
func (t *Tail) String() string {
	tail, cut := t.bytes, t.lost
	if len(tail) > t.max {
		tail, cut = tail[len(tail)-t.max:], true
	}
	for i := 0; cut && i < utf8.UTFMax && len(tail) > 0 && !utf8.RuneStart(tail[0]); i++ {
		tail = tail[1:]
	}
	text := strings.ToValidUTF8(string(tail), string(utf8.RuneError))
	for len(text) > t.max { // U+FFFD is three bytes where there was one
		_, size := utf8.DecodeRuneInString(text)
		text = text[size:]
	}
	return text
}

// Lines is a writer that cuts what is written to it into lines and passes
// each on without its line end. A line longer than [MaxLineBytes] is cut into
// several, between characters; invalid UTF-8 becomes U+FFFD. It is not safe
// for concurrent use.
type Lines struct {
	emit func(line []byte)
	rest []byte
}

// NewLines returns a Lines that passes lines to emit, which must not keep them.
func NewLines(emit func(line []byte)) *Lines { return &Lines{emit: emit} }

// Write passes on the lines that p completes. It never fails.
func (l *Lines) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		if end >= 0 && len(l.rest) == 0 && end <= MaxLineBytes {
			l.pass(p[:end]) // the usual case copies nothing
			p = p[end+1:]
			continue
		}
		part := p
		if end >= 0 {
			part = p[:end]
		}
		room := MaxLineBytes - len(l.rest)
		if len(part) > room {
			l.rest = append(l.rest, part[:room]...)
			p = p[room:]
			l.cut()
			continue
		}
		l.rest = append(l.rest, part...)
		p = p[len(part):]
		if end >= 0 {
			l.pass(l.rest)
			l.rest, p = l.rest[:0], p[1:]
		}
	}
	return n, nil
}

// Flush passes on a last line that had no line end.
func (l *Lines) Flush() {
	if len(l.rest) > 0 {
		l.pass(l.rest)
		l.rest = l.rest[:0]
	}
}

// cut passes on a full buffer, keeping back a character that is not complete.
func (l *Lines) cut() {
	end := len(l.rest)
	for back := 1; back < utf8.UTFMax && back < end; back++ {
		if start := end - back; utf8.RuneStart(l.rest[start]) {
			if !utf8.FullRune(l.rest[start:]) {
				end = start
			}
			break
		}
	}
	l.pass(l.rest[:end])
	l.rest = l.rest[:copy(l.rest, l.rest[end:])]
}

func (l *Lines) pass(line []byte) {
	line = bytes.TrimSuffix(line, []byte("\r"))
	if !utf8.Valid(line) {
		line = bytes.ToValidUTF8(line, []byte(string(utf8.RuneError)))
	}
	l.emit(line)
}

// Capture is what a driver connects a process's output to: lines go to the
// host, tails are kept for the result. Each stream may be written by its own
// goroutine.
type Capture struct {
	Stdout, Stderr *Stream
}

// NewCapture returns a Capture whose lines go to host, without what the task hides.
func NewCapture(task Task, host Host) *Capture {
	return &Capture{Stdout: newStream(task, host, KeyStdout), Stderr: newStream(task, host, KeyStderr)}
}

// Flush passes on last lines that had no line end.
func (c *Capture) Flush() {
	c.Stdout.flush()
	c.Stderr.flush()
}

// Stream is one of the two outputs of a process.
type Stream struct {
	mu    sync.Mutex // guards what follows: a reader may outlive its process for an instant
	tail  *Tail
	lines *Lines
	// hide comes first: a line may be cut, and a tail begin, in the middle of a secret.
	hide *hide.Stream
}

func newStream(task Task, host Host, name string) *Stream {
	return &Stream{tail: NewTail(TailBytes), lines: NewLines(func(line []byte) { host.Log(name, line) }), hide: task.Hide.Stream()}
}

// Write takes output as it comes. It never fails.
func (s *Stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pass(s.hide.Pass(p))
	return len(p), nil
}

func (s *Stream) pass(p []byte) {
	_, _ = s.tail.Write(p)
	_, _ = s.lines.Write(p)
}

// Tail returns the end of what was written.
func (s *Stream) Tail() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tail.String()
}

func (s *Stream) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pass(s.hide.Flush())
	s.lines.Flush()
}
