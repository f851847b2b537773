package domain

import (
	"strconv"
	"strings"
	"time"
)

// Span is a length of time, in whole seconds; written as "90", "90s", "1h30m" or "2d".
type Span uint32

// Time is the span as Go has it.
func (s Span) Time() time.Duration { return time.Duration(s) * time.Second }

// ParseSpan reads a span.
//
// Errors: [ErrInvalid].
func ParseSpan(text string) (Span, error) {
	if n, err := strconv.ParseUint(text, 10, 32); err == nil {
		return Span(n), nil
	}
	// A day is 24 hours here, as nobody says in whose time zone it would be another.
	days, rest, written := strings.Cut(text, "d")
	n, err := strconv.ParseUint(days, 10, 16)
	if !written || err != nil {
		n, rest = 0, text
	} else if rest == "" {
		rest = "0"
	}
	d, err := time.ParseDuration(rest)
	if d += time.Duration(n) * 24 * time.Hour; err != nil || strings.HasPrefix(rest, "-") || d < 0 || d.Seconds() > 1<<32-1 || d%time.Second != 0 {
		return 0, Invalidf("%q is no span of time; want whole seconds, as 90, \"90s\", \"1h30m\" or \"2d\"", text)
	}
	return Span(d / time.Second), nil
}

// UnmarshalJSON takes a number or a text.
func (s *Span) UnmarshalJSON(text []byte) (err error) {
	*s, err = ParseSpan(strings.Trim(string(text), `"`))
	return err
}

// Instant is a point in time, in Unix milliseconds; written so, or as RFC 3339.
type Instant int64

// ParseInstant reads an instant.
//
// Errors: [ErrInvalid].
func ParseInstant(text string) (Instant, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 && n <= MaxNotBefore {
		return Instant(n), nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || t.UnixMilli() < 0 || t.UnixMilli() > MaxNotBefore {
		return 0, Invalidf("%q is no instant: want RFC 3339, as 2026-01-31T02:00:00Z, or Unix milliseconds", text)
	}
	return Instant(t.UnixMilli()), nil
}

// UnmarshalJSON takes a number or a text.
func (i *Instant) UnmarshalJSON(text []byte) (err error) {
	*i, err = ParseInstant(strings.Trim(string(text), `"`))
	return err
}
