package layout

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/escape"
)

// EncodeLog writes one line of a job's log as a list item; see [LogText].
func EncodeLog(l domain.Log) string {
	l.Line = LogText(l.Line)
	return mustJSON(l)
}

// DecodeLog reads one line of a job's log. What a foreign program has pushed
// there as plain text is taken as a line without a time. It is one line, whoever wrote it.
func DecodeLog(item string) domain.Log {
	var l domain.Log
	if err := json.Unmarshal([]byte(item), &l); err != nil || l.Stream == "" {
		l = domain.Log{Stream: "stdout", Line: item}
	}
	l.Stream, l.Line = LogText(l.Stream), LogText(l.Line)
	return l
}

// LogText is one line of a log, whoever said it: no character in it ends a line, moves what
// shows it, or begins an escape sequence but one that chooses colours, as many programs write:
// others, such as one that sets a terminal's title, are left out with what they carry. A space
// stands for each other control character but a tab; what is no UTF-8 is U+FFFD.
func LogText(line string) string {
	if !slices.ContainsFunc([]byte(line), func(b byte) bool { return b < ' ' || b >= 0x7f }) {
		return line // most lines by far
	}
	var text strings.Builder
	for len(line) > 0 {
		if n, _, colours := escape.Sequence(line); n > 0 {
			if colours {
				text.WriteString(line[:n])
			}
			line = line[n:]
			continue
		}
		r, size := utf8.DecodeRuneInString(line)
		line = line[size:]
		if r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r)) {
			r = ' '
		}
		text.WriteRune(r)
	}
	return text.String()
}
