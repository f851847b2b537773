// Package escape finds the escape sequences of terminals in what programs have written.
package escape

import "strings"

const (
	// maxSequence bounds a control sequence, and maxString a string of an escape sequence, such as a title or the address
	// of a link, in bytes: what is longer is text.
	maxSequence = 64
	maxString   = 2048
)

// Sequence is how many bytes of a line are an escape sequence at its beginning, 0 where there is none, and of one
// that selects how text looks its parameters.
//
// Source: ECMA-48, sections 5.3 to 5.6, and SGR in 8.3.117.
func Sequence(line string) (n int, params string, colours bool) {
	if len(line) < 2 || line[0] != '\x1b' {
		return 0, "", false
	}
	switch kind := line[1]; {
	case kind == '[':
		for i := 2; i < min(len(line), maxSequence); i++ {
			if b := line[i]; b >= 0x40 && b <= 0x7e {
				params = line[2:i]
				return i + 1, params, b == 'm' && strings.Trim(params, "0123456789;:") == ""
			} else if b < 0x20 || b > 0x3f {
				break
			}
		}
	case strings.IndexByte("]PX^_", kind) >= 0: // a string, which a bell or a string terminator ends
		for i := 2; i < min(len(line), maxString); i++ {
			if line[i] == '\a' {
				return i + 1, "", false
			} else if strings.HasPrefix(line[i:], "\x1b\\") {
				return i + 2, "", false
			} else if line[i] < 0x20 {
				break
			}
		}
	default: // of one character, which others may stand before
		for i := 1; i < min(len(line), maxSequence); i++ {
			if b := line[i]; b >= 0x30 && b <= 0x7e {
				return i + 1, "", false
			} else if b < 0x20 || b > 0x2f {
				break
			}
		}
	}
	return 0, "", false
}
