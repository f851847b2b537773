package timetable

import (
	"strings"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// stampFields are the letters of a pattern, and how Go writes them.
var stampFields = map[string]string{
	"yyyy": "2006", "MM": "01", "dd": "02", "HH": "15", "mm": "04", "ss": "05", "SSS": ".000",
}

// stamp writes a time by a pattern, which is valid, on the clocks of the
// time's location.
func stamp(pattern string, t time.Time) string {
	text, err := formatTime(pattern, t)
	if err != nil {
		panic("BUG: a pattern was not validated: " + err.Error())
	}
	return text
}

// formatTime writes a time by a pattern.
//
// Errors: [domain.ErrInvalid].
func formatTime(pattern string, t time.Time) (string, error) {
	if pattern == "" || len(pattern) > domain.MaxPatternBytes {
		return "", domain.Invalidf("pattern %q: want 1 to %d bytes, as yyyyMMdd", pattern, domain.MaxPatternBytes)
	}
	var out strings.Builder
	for rest := pattern; rest != ""; {
		c := rest[0]
		switch {
		case c == '\'':
			text, after, closed := cutQuoted(rest)
			if !closed {
				return "", domain.Invalidf("pattern %q: a quote has no end", pattern)
			}
			out.WriteString(text)
			rest = after
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			n := len(rest) - len(strings.TrimLeft(rest, string(c)))
			layout, known := stampFields[rest[:n]]
			if !known {
				return "", domain.Invalidf("pattern %q: %q means nothing; want yyyy, MM, dd, HH, mm, ss, SSS, and letters in 'quotes'", pattern, rest[:n])
			}
			out.WriteString(strings.TrimPrefix(t.Format(layout), "."))
			rest = rest[n:]
		default:
			out.WriteByte(c)
			rest = rest[1:]
		}
	}
	return out.String(), nil
}

// cutQuoted takes a quoted text off the front: 'o”clock' is o'clock, and ”
// alone is a quote.
func cutQuoted(s string) (text, rest string, closed bool) {
	if strings.HasPrefix(s, "''") {
		return "'", s[2:], true
	}
	var b strings.Builder
	for s = s[1:]; s != ""; s = s[1:] {
		if s[0] != '\'' {
			b.WriteByte(s[0])
			continue
		}
		if !strings.HasPrefix(s, "''") {
			return b.String(), s[1:], true
		}
		b.WriteByte('\'')
		s = s[1:]
	}
	return "", "", false
}
