package console

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ramet-run/ramet/domain"
)

// ansi cuts a line at the escape sequences by which terminals change colours, and keeps
// the colours. Other sequences are left out, and what else would act is a question mark.
//
// Source: ECMA-48, section 5.4, and SGR in 8.3.117.
func ansi(line string) (spans []styled) {
	class := ""
	var text strings.Builder
	flush := func() {
		if text.Len() > 0 {
			spans = append(spans, styled{class, text.String()})
			text.Reset()
		}
	}
	for len(line) > 0 {
		if rest, params, final, ok := cutSequence(line); ok {
			line = rest
			if final == 'm' {
				flush()
				class = sgr(class, params)
			}
			continue
		}
		r, size := utf8.DecodeRuneInString(line)
		line = line[size:]
		switch {
		case r == '\t':
			text.WriteRune(r)
		case r == utf8.RuneError && size == 1, domain.Acts(r):
			text.WriteRune('?')
		default:
			text.WriteRune(r)
		}
	}
	flush()
	return spans
}

// maxSequence bounds an escape sequence, in bytes: what is longer is text.
const maxSequence = 64

// cutSequence takes a control sequence from the beginning of a line.
func cutSequence(line string) (rest, params string, final byte, ok bool) {
	if !strings.HasPrefix(line, "\x1b[") {
		return line, "", 0, false
	}
	for i := 2; i < len(line) && i < maxSequence; i++ {
		if b := line[i]; b >= 0x40 && b <= 0x7e {
			return line[i+1:], line[2:i], b, true
		} else if b < 0x20 || b > 0x3f {
			break
		}
	}
	return line, "", 0, false
}

// sgr is the class of a text after a sequence that selects how it looks: one colour, and
// whether it is bold. Other looks are passed over.
func sgr(class, params string) string {
	bold, colour := strings.Contains(class, "bold"), ""
	for word := range strings.FieldsSeq(class) {
		if strings.HasPrefix(word, "ansi-") {
			colour = word
		}
	}
	codes := strings.Split(params, ";")
	for i := 0; i < len(codes); i++ {
		n, err := strconv.Atoi(codes[i])
		if err != nil {
			n = 0 // none is 0
		}
		switch {
		case n == 0:
			bold, colour = false, ""
		case n == 1:
			bold = true
		case n == 22:
			bold = false
		case n >= 30 && n <= 37:
			colour = "ansi-" + strconv.Itoa(n-30)
		case n >= 90 && n <= 97:
			colour = "ansi-" + strconv.Itoa(n-90)
		case n == 39:
			colour = ""
		case n == 38, n == 48: // of 256 or of all colours: its numbers are not ours
			i = len(codes)
		}
	}
	if bold {
		return strings.TrimSpace(colour + " bold")
	}
	return colour
}
