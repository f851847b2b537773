package natslink

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"time"
)

// ServerLog takes what the embedded server has to say. Most of it is for us;
// what the node does about it, it says itself.
type ServerLog struct {
	Log *slog.Logger
	// Seldom may be shared with others that speak of the same.
	Seldom *Seldom
	// Warned, if there is one, gets a message when the server warns of something,
	// where it has room.
	Warned chan<- struct{}

	lately Lately

	mu   sync.Mutex
	last string // the worst that was said last
}

func (l *ServerLog) Noticef(format string, v ...any) { l.say(slog.LevelDebug, format, v) }
func (l *ServerLog) Debugf(format string, v ...any)  { l.say(slog.LevelDebug, format, v) }
func (l *ServerLog) Tracef(format string, v ...any)  {}
func (l *ServerLog) Warnf(format string, v ...any)   { l.say(slog.LevelWarn, format, v) }
func (l *ServerLog) Errorf(format string, v ...any)  { l.say(slog.LevelWarn, format, v) }
func (l *ServerLog) Fatalf(format string, v ...any)  { l.say(slog.LevelError, format, v) }

// expected are things that the server warns of and that happen to everybody, in
// our words: while the other site is away, or has not added our card yet.
var expected = []struct {
	has, text string
	level     slog.Level
}{
	{"authentication error", "NATS log-in refused", slog.LevelDebug}, // the gate has said why
	{"Authorization Violation", "NATS link not let in: the other site does not know the link key of this node; give it the card (`ramet peer card`)",
		slog.LevelInfo},
	{"Error trying to connect as leafnode", "NATS link is not up: the other site does not answer", slog.LevelInfo},
}

func (l *ServerLog) say(level slog.Level, format string, v []any) {
	text, message := fmt.Sprintf(format, v...), "NATS server"
	for _, e := range expected {
		if strings.Contains(text, e.has) {
			level, message = e.level, e.text
		}
	}
	if level >= slog.LevelError {
		l.mu.Lock()
		l.last = text
		l.mu.Unlock()
	}
	if level >= slog.LevelWarn {
		select {
		case l.Warned <- struct{}{}: // never, without one
		default:
		}
	}
	switch {
	case level >= slog.LevelError:
	case l.lately.Said(text, time.Now()):
		level = slog.LevelDebug
	case level == slog.LevelWarn: // only what nobody expects takes its turn
		level = l.Seldom.Level()
	}
	l.Log.Log(context.Background(), level, message, "text", text)
}

const (
	// quietFor is how long what was said is not said again: a link is tried
	// twice a second.
	quietFor = 10 * time.Minute
	maxSaid  = 1000
)

// Lately remembers what was said a short while ago.
type Lately struct {
	mu   sync.Mutex
	when map[string]time.Time
}

// numbers differ from try to try: ports, and those of connections.
var numbers = regexp.MustCompile(`\b[0-9]+\b`)

// Said reports whether the same was said lately, and notes that it is said now.
func (l *Lately) Said(text string, now time.Time) bool {
	text = numbers.ReplaceAllString(text, "0")
	l.mu.Lock()
	defer l.mu.Unlock()
	if at, found := l.when[text]; found && now.Sub(at) < quietFor {
		return true
	}
	if len(l.when) >= maxSaid {
		l.when = nil
	}
	if l.when == nil {
		l.when = map[string]time.Time{}
	}
	l.when[text] = now
	return false
}

// Worst is why it did not start.
func (l *ServerLog) Worst() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// Seldom keeps others from filling our log: what comes more often than once a
// second is for debugging only.
type Seldom struct {
	mu   sync.Mutex
	next time.Time
}

func (s *Seldom) Level() slog.Level {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if now.Before(s.next) {
		return slog.LevelDebug
	}
	s.next = now.Add(time.Second)
	return slog.LevelWarn
}
