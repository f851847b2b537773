package console

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/escape"
)

// ansi cuts a line at the escape sequences by which terminals change how text looks, and keeps what a page can show of
// that. Other sequences are left out whole, with what they carry, and what else would act is a question mark.
//
// Source: ECMA-48, sections 5.3 to 5.6, and SGR in 8.3.117.
func ansi(line string) (spans []styled) {
	var look looks
	var text strings.Builder
	flush := func() {
		if text.Len() > 0 {
			spans = append(spans, styled{look.class(), text.String()})
			text.Reset()
		}
	}
	for len(line) > 0 {
		if n, params, colours := escape.Sequence(line); n > 0 {
			line = line[n:]
			if colours {
				flush()
				look.change(params)
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

// looks is how text looks: one colour of eight, and what else is done to it.
type looks struct {
	colour                      string
	bold, under, struck, turned bool
}

func (l looks) class() string {
	var words []string
	for _, w := range []struct {
		is   bool
		name string
	}{{l.colour != "", l.colour}, {l.bold, "bold"}, {l.under, "under"}, {l.struck, "struck"}, {l.turned, "turned"}} {
		if w.is {
			words = append(words, w.name)
		}
	}
	return strings.Join(words, " ")
}

// change takes the parameters of a sequence. What a page does not show, such as grounds, is passed over.
func (l *looks) change(params string) {
	codes := strings.Split(strings.ReplaceAll(params, ":", ";"), ";")
	number := func(i int) int {
		if i >= len(codes) {
			return 0
		}
		n, _ := strconv.Atoi(codes[i]) // none is 0
		return n
	}
	for i := 0; i < len(codes); i++ {
		switch n := number(i); {
		case n == 0:
			*l = looks{}
		case n == 1:
			l.bold = true
		case n == 22:
			l.bold = false
		case n == 4, n == 24:
			l.under = n == 4
		case n == 7, n == 27:
			l.turned = n == 7
		case n == 9, n == 29:
			l.struck = n == 9
		case n >= 30 && n <= 37:
			l.colour = eighth(n - 30)
		case n >= 90 && n <= 97:
			l.colour = eighth(n - 90)
		case n == 39:
			l.colour = ""
		case (n == 38 || n == 48) && number(i+1) == 5:
			if n == 38 {
				l.colour = of256(number(i + 2))
			}
			i += 2
		case (n == 38 || n == 48) && number(i+1) == 2:
			if n == 38 {
				l.colour = nearest(number(i+2), number(i+3), number(i+4))
			}
			i += 4
		}
	}
}

// eighth is one of the eight colours that the page has.
func eighth(n int) string { return "ansi-" + strconv.Itoa(n) }

// of256 is the one of eight that is nearest to one of 256: 16, a cube of 6 by 6 by 6, and 24 greys.
func of256(n int) string {
	switch {
	case n < 16:
		return eighth(max(0, n) % 8)
	case n < 232:
		level := func(n int) int { return n % 6 * 51 }
		return nearest(level((n-16)/36), level((n-16)/6), level(n-16))
	}
	grey := (n - 232) * 11
	return nearest(grey, grey, grey)
}

// nearest is the one of eight that has the same of red, green and blue, each from 0 to 255.
func nearest(red, green, blue int) string {
	n := 0
	for bit, part := range []int{red, green, blue} {
		if part > 100 {
			n |= 1 << bit
		}
	}
	return eighth(n)
}
