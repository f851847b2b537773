package domain

import (
	"regexp"
	"strings"
	"time"
)

// Limits of a variable.
const (
	MaxVariableBytes = 4 << 10 // of a constant
	MaxPatternBytes  = 128
)

// Variable is what ${name} in the params of a schedule stands for: one of its
// fields.
//
// Source: seed 004, "variables".
type Variable struct {
	Const *string    `json:"const,omitzero"`
	Count *Counter   `json:"count,omitzero"`
	Time  *TimeStamp `json:"time,omitzero"`
}

// Counter is a number that grows by one with each flow.
type Counter struct {
	// Next is its value for the next flow.
	Next int64 `json:"next"`
}

// TimeStamp is the time of a flow, as text.
type TimeStamp struct {
	// Pattern is made of yyyy MM dd HH mm ss SSS; other letters stand within
	// single quotes, and '' is one.
	Pattern string `json:"pattern"`
	// Zone is by whose clocks, an IANA name. Default: UTC.
	Zone string `json:"zone,omitzero"`
	// Offset is added to the time: -24h is the day before.
	Offset Offset `json:"offset,omitzero"`
}

func (v Variable) validate() error {
	kinds := 0
	for _, given := range []bool{v.Const != nil, v.Count != nil, v.Time != nil} {
		if given {
			kinds++
		}
	}
	switch {
	case kinds != 1:
		return Invalidf("it has %d of const, count and time: want one of them", kinds)
	case v.Const != nil && len(*v.Const) > MaxVariableBytes:
		return Invalidf("const: %d bytes, the limit is %d", len(*v.Const), MaxVariableBytes)
	case v.Time == nil:
		return nil
	case len(v.Time.Zone) > MaxZoneBytes:
		return Invalidf("zone: %d bytes, the limit is %d", len(v.Time.Zone), MaxZoneBytes)
	}
	_, err := formatTime(v.Time.Pattern, time.Time{})
	return err
}

// stampFields are the letters of a pattern, and how Go writes them.
var stampFields = map[string]string{
	"yyyy": "2006", "MM": "01", "dd": "02", "HH": "15", "mm": "04", "ss": "05", "SSS": ".000",
}

// Format writes a time by the pattern, which is valid, on the clocks of the
// time's location.
func (s *TimeStamp) Format(t time.Time) string {
	text, err := formatTime(s.Pattern, t)
	if err != nil {
		panic("BUG: a pattern was not validated: " + err.Error())
	}
	return text
}

// formatTime writes a time by a pattern.
//
// Errors: [ErrInvalid].
func formatTime(pattern string, t time.Time) (string, error) {
	if pattern == "" || len(pattern) > MaxPatternBytes {
		return "", Invalidf("pattern %q: want 1 to %d bytes, as yyyyMMdd", pattern, MaxPatternBytes)
	}
	var out strings.Builder
	for rest := pattern; rest != ""; {
		c := rest[0]
		switch {
		case c == '\'':
			text, after, closed := cutQuoted(rest)
			if !closed {
				return "", Invalidf("pattern %q: a quote has no end", pattern)
			}
			out.WriteString(text)
			rest = after
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			n := len(rest) - len(strings.TrimLeft(rest, string(c)))
			layout, known := stampFields[rest[:n]]
			if !known {
				return "", Invalidf("pattern %q: %q means nothing; want yyyy, MM, dd, HH, mm, ss, SSS, and letters in 'quotes'", pattern, rest[:n])
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

// variablePlace is where a variable stands in a param of a schedule. There $${a} always was a
// dollar before the variable, as of a price, and stays so.
var variablePlace = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_-]*)\}`)

// Fill puts the variables into the params: every ${name} in a value. Names
// that are none stay as they are; what was put in is not looked at again.
//
// Errors: [ErrInvalid] where they become longer than params may be.
func Fill(params, variables map[string]string) (map[string]string, error) {
	filled := make(map[string]string, len(params))
	room := MaxParamBytes
	for name, value := range params {
		text, err := parseTemplate(value, variablePlace).Fill(room, func(name string) (string, bool, error) {
			text, known := variables[name]
			return text, known, nil
		})
		if err != nil {
			return nil, Invalidf("params have more than %d bytes together, with their variables", MaxParamBytes)
		}
		room -= len(text)
		filled[name] = text
	}
	return filled, nil
}
