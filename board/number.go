package board

import (
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// Number reads a whole number of 64 bits as boards write it, and as Redis reads
// it: decimal digits, a minus before them where it is negative, and nothing else.
// "+1", "010", "-0" and " 1" are none: what is added to must be the text that
// guards name, and is the same on every board.
func Number(text string) (n int64, ok bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, false
	}
	digits := strings.TrimPrefix(text, "-")
	if digits[0] < '1' && text != "0" { // a plus, a zero in front, minus nothing
		return 0, false
	}
	return n, true
}

// NumberOf is [Number] of what a field of a record holds.
//
// Errors: [domain.ErrInvalid] naming the field.
func NumberOf(key, field, text string) (int64, error) {
	n, ok := Number(text)
	if !ok {
		return 0, domain.Invalidf("field %q of %q is %.40q, want a decimal number of 64 bits", field, key, text)
	}
	return n, nil
}
