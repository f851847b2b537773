package resp

import (
	"strconv"
	"strings"
)

// pattern is one of Redis, ready to be matched: * any text, ? any byte, [a-c]
// [^a] one of some, \x the byte x. It is read once, as the hostile ones are those
// that take long to read: a set of a thousand bytes is looked into at once.
//
// Source: stringmatchlen of Redis.
type pattern struct {
	pieces []piece
	sets   []byteSet
}

// piece is what fits one byte: that byte itself, any, or one of a set, by its
// number; or any text.
type piece uint16

const (
	pieceAny piece = 256 + iota
	pieceText
	pieceSets // and all above
)

// byteSet has a bit for each byte.
type byteSet [4]uint64

func (s *byteSet) add(lo, hi byte) {
	for c := int(lo); c <= int(hi); c++ {
		s[c/64] |= 1 << (c % 64)
	}
}

func (s *byteSet) has(c byte) bool { return s[c/64]&(1<<(c%64)) != 0 }

// match is a pattern that a command looks for, in many texts. What all of them
// take together is bounded: who asks keeps a processor busy meanwhile.
type match struct {
	pattern
	left int // steps
}

// match reads the pattern of a command.
func (d *Door) match(text string) (*match, error) {
	if len(text) > maxPattern {
		return nil, failure("ERR a pattern has " + strconv.Itoa(len(text)) + " bytes, the limit is " + strconv.Itoa(maxPattern))
	}
	return &match{readPattern(text), d.steps}, nil
}

// of reports whether s fits.
func (m *match) of(s string) (bool, error) {
	yes, steps := m.fits(s, m.left)
	if m.left -= steps; m.left < 0 {
		return false, errPattern
	}
	return yes, nil
}

// readPattern reads a pattern, of maxPattern bytes at the most. Any text is one.
func readPattern(text string) (p pattern) {
	for len(text) > 0 {
		n, one := 1, piece(text[0])
		switch text[0] {
		case '*':
			n, one = len(text)-len(strings.TrimLeft(text, "*")), pieceText
		case '?':
			one = pieceAny
		case '[':
			var s byteSet
			s, n = readSet(text)
			one = pieceSets + piece(len(p.sets))
			p.sets = append(p.sets, s)
		case '\\':
			if len(text) > 1 {
				n, one = 2, piece(text[1])
			}
		}
		p.pieces = append(p.pieces, one)
		text = text[n:]
	}
	return p
}

// readSet reads the set in brackets that text begins with, and says how long
// that is. One that is not closed goes to the end.
func readSet(text string) (s byteSet, n int) {
	i := 1
	not := i < len(text) && text[i] == '^'
	if not {
		i++
	}
	for ; i < len(text) && text[i] != ']'; i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text):
			i++
			s.add(text[i], text[i])
		case i+2 < len(text) && text[i+1] == '-' && text[i+2] != ']':
			s.add(min(text[i], text[i+2]), max(text[i], text[i+2]))
			i += 2
		default:
			s.add(text[i], text[i])
		}
	}
	if not {
		for k := range s {
			s[k] = ^s[k]
		}
	}
	return s, min(i+1, len(text))
}

// fits reports whether s fits, and in how many steps that was found: at most the
// square of len(s), however long the pattern is. After most it is given up.
func (p *pattern) fits(s string, most int) (yes bool, steps int) {
	at, i := 0, 0
	star, mark := -1, 0 // where to go on when what follows the last * does not fit
	for ; i < len(s); steps++ {
		switch {
		case steps > most:
			return false, steps
		case at < len(p.pieces) && p.pieces[at] == pieceText:
			star, mark = at, i
			at++
		case at < len(p.pieces) && p.one(p.pieces[at], s[i]):
			at++
			i++
		case star < 0:
			return false, steps
		default:
			mark++
			at, i = star+1, mark
		}
	}
	rest := p.pieces[at:]
	return len(rest) == 0 || len(rest) == 1 && rest[0] == pieceText, steps
}

func (p *pattern) one(what piece, c byte) bool {
	switch {
	case what < pieceAny:
		return byte(what) == c
	case what == pieceAny:
		return true
	}
	return p.sets[what-pieceSets].has(c)
}

// literal is what every text begins with that fits the pattern.
func literal(pattern string) string {
	if i := strings.IndexAny(pattern, `*?[\`); i >= 0 {
		return pattern[:i]
	}
	return pattern
}
