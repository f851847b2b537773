package resp

import (
	"math"
	"strconv"
	"strings"
)

// answer is a buffer of answers, in RESP2 or RESP3. What RESP2 has no form for
// is written as Redis writes it there: maps and sets as arrays, null as a bulk
// of no length.
type answer struct {
	b []byte
	// three writes RESP3.
	three bool
}

func (a *answer) head(c byte, n int) {
	a.b = append(a.b, c)
	a.b = strconv.AppendInt(a.b, int64(n), 10)
	a.b = append(a.b, '\r', '\n')
}

func (a *answer) status(s string) {
	a.b = append(a.b, '+')
	a.b = append(a.b, s...)
	a.b = append(a.b, '\r', '\n')
}

func (a *answer) ok() { a.b = append(a.b, "+OK\r\n"...) }

func (a *answer) number(n int) { a.head(':', n) }

func (a *answer) number64(n int64) {
	a.b = append(a.b, ':')
	a.b = strconv.AppendInt(a.b, n, 10)
	a.b = append(a.b, '\r', '\n')
}

// yes answers 1 or 0.
func (a *answer) yes(is bool) {
	if is {
		a.number(1)
		return
	}
	a.number(0)
}

func (a *answer) bulk(s string) {
	a.head('$', len(s))
	a.b = append(a.b, s...)
	a.b = append(a.b, '\r', '\n')
}

// bulkOr is a bulk, or null where there is none.
func (a *answer) bulkOr(s string, there bool) {
	if there {
		a.bulk(s)
		return
	}
	a.null()
}

func (a *answer) null() {
	if a.three {
		a.b = append(a.b, "_\r\n"...)
		return
	}
	a.b = append(a.b, "$-1\r\n"...)
}

// nullArray is null where an array is expected.
func (a *answer) nullArray() {
	if a.three {
		a.b = append(a.b, "_\r\n"...)
		return
	}
	a.b = append(a.b, "*-1\r\n"...)
}

func (a *answer) array(n int) { a.head('*', n) }

func (a *answer) bulks(list []string) {
	a.array(len(list))
	for _, s := range list {
		a.bulk(s)
	}
}

// pairs begins a map of n names and values.
func (a *answer) pairs(n int) {
	if a.three {
		a.head('%', n)
		return
	}
	a.head('*', 2*n)
}

// members begins a set.
func (a *answer) members(n int) {
	if a.three {
		a.head('~', n)
		return
	}
	a.head('*', n)
}

// push begins what comes without being asked for.
func (a *answer) push(n int) {
	if a.three {
		a.head('>', n)
		return
	}
	a.head('*', n)
}

// text is something for people to read.
func (a *answer) text(s string) {
	if a.three {
		a.head('=', len(s)+4)
		a.b = append(a.b, "txt:"...)
		a.b = append(a.b, s...)
		a.b = append(a.b, '\r', '\n')
		return
	}
	a.bulk(s)
}

// maxErrorText bounds what is said of an error: it may quote what was sent.
const maxErrorText = 1000

var oneLine = strings.NewReplacer("\r", " ", "\n", " ")

// fail answers with an error that begins with its code.
func (a *answer) fail(text string) {
	a.b = append(a.b, '-')
	a.b = append(a.b, oneLine.Replace(text[:min(len(text), maxErrorText)])...)
	a.b = append(a.b, '\r', '\n')
}

// real writes a number with a fraction as Redis does.
func realText(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1e17 {
		return strconv.FormatInt(int64(x), 10)
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}
