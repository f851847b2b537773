package syntax

import (
	"strings"
	"unicode/utf8"
)

// This file cuts a text into tokens.

// token is one piece of the text. It is reused: what it holds is good until
// the next one is scanned.
type token struct {
	kind    kind
	pos     Pos
	off     int    // of the first byte
	str     string // a name, a text, a comment
	num     int64  // an int or a char
	float   float64
	problem problem // of a tError
}

// text spells a token for messages.
func (t *token) text() string {
	switch t.kind {
	case tEOF:
		return "{EOF}"
	case tError:
		return t.problem.scanText()
	case tInt:
		return formatInt(t.num)
	case tFloat:
		return formatFloat(t.float)
	case tChar, tRaw:
		return string(rune(t.num))
	case tString:
		return `"` + t.str + `"`
	case tInterpolated:
		return "string"
	case tIdent, tReserved, tCustom, tComment:
		return t.str
	}
	return spelling[t.kind]
}

// jsonMode of the scanner turns the tokens of JSON into those of a map.
type jsonMode uint8

const (
	notJSON jsonMode = iota
	jsonNoNull
	jsonNull
)

// scanner reads text from off on. The column of the byte at off is
// off-base+1, so base grows by the continuation bytes of every character
// and starts anew with every line.
type scanner struct {
	src  string
	off  int
	line int32
	base int

	signed  bool // a sign may come that belongs to the operand after it
	inText  bool // go on with a back-tick string
	raw     bool // the next token is one character
	comment bool // a block comment never ended: the text is over
	json    jsonMode
	hosted  bool // the options change words or symbols
	o       *Options

	moduleDoc strings.Builder
	onComment func(start int) // after each comment, when set
}

func (s *scanner) start(src string, o *Options) {
	*s = scanner{src: src, line: 1, signed: true, o: o}
	s.hosted = len(o.Disabled) > 0 || len(o.Operators) > 0 || o.NoEval || o.NoFunctions
}

// here is the place of the next character.
func (s *scanner) here() Pos { return Pos{s.line, int32(s.off - s.base + 1)} }

// last is the place of the character before it.
func (s *scanner) last() Pos { return Pos{s.line, int32(s.off - s.base)} }

func (s *scanner) peekAt(n int) byte {
	if s.off+n < len(s.src) {
		return s.src[s.off+n]
	}
	return 0
}

// newline is called after the end of a line was passed.
func (s *scanner) newline() {
	s.line++
	s.base = s.off
}

// rune passes one character.
func (s *scanner) rune() rune {
	if c := s.src[s.off]; c < utf8.RuneSelf {
		s.off++
		return rune(c)
	}
	r, n := utf8.DecodeRuneInString(s.src[s.off:])
	s.off += n
	s.base += n - 1
	return r
}

// scan reads the next token into t.
func (s *scanner) scan(t *token) {
	if s.raw {
		s.raw = false
		if s.off < len(s.src) {
			s.scanRaw(t)
			return
		}
	}
	s.scanPlain(t)
	s.signed = beforeUnary[t.kind]
	if t.kind == tEOF {
		return
	}
	if t.kind == tReserved || s.hosted {
		s.mapHosted(t)
	}
	if s.json != notJSON {
		s.mapJSON(t)
	}
}

// scanRaw gives one character as it stands. Its place is that of the one before.
func (s *scanner) scanRaw(t *token) {
	t.kind, t.pos, t.off = tRaw, s.last(), s.off
	t.num = int64(s.rune())
	if t.num == '\n' {
		s.newline()
	}
}

func (s *scanner) fail(t *token, why problem, pos Pos) {
	t.kind, t.problem, t.pos = tError, why, pos
}

// scanPlain reads a token as the language without options has it.
func (s *scanner) scanPlain(t *token) {
	if s.inText {
		s.inText = false
		t.off = s.off
		s.scanTemplate(t, true)
		return
	}
	if !s.skipBlank(t) {
		return
	}
	t.pos = s.here()
	t.off = s.off
	if s.off >= len(s.src) {
		t.kind = tEOF
		if s.comment {
			t.pos = s.last()
		}
		return
	}
	c := s.src[s.off]
	switch {
	case isLetter(c) || c == '_':
		s.scanWord(t)
	case isDigit(c):
		s.scanNumber(t, false)
	case c == '"':
		s.scanString(t)
	case c == '\'':
		s.scanChar(t)
	case c == '`':
		s.scanTemplate(t, false)
	case c == '#' && (s.peekAt(1) == '"' || s.peekAt(1) == '#'):
		s.scanRawString(t)
	case c == '-' && s.signed && isDigit(s.peekAt(1)):
		s.scanNumber(t, true)
	default:
		s.scanSymbol(t, c)
	}
}

// skipBlank passes blanks and comments. It is false when it met a
// documentation comment, which t then holds.
func (s *scanner) skipBlank(t *token) bool {
	src := s.src
	for s.off < len(src) {
		switch src[s.off] {
		case '\n':
			s.off++
			s.newline()
		case ' ', '\t', '\r', '\f':
			s.off++
		case '/':
			switch s.peekAt(1) {
			case '/':
				if s.lineComment(t) {
					return false
				}
			case '*':
				if s.blockComment(t) {
					return false
				}
			default:
				return true
			}
		default:
			return true
		}
	}
	return true
}

// lineComment passes a // comment and tells whether it is documentation.
func (s *scanner) lineComment(t *token) bool {
	pos, start := s.here(), s.off
	end := strings.IndexAny(s.src[start:], "\r\n")
	if end < 0 {
		end = len(s.src)
		s.base += continuation(s.src[start:])
	} else {
		end += start
	}
	text := s.src[start:end]
	s.off = end
	if end < len(s.src) {
		s.off++
		if s.src[end] == '\r' && s.peekAt(0) == '\n' {
			s.off++
		}
		s.newline()
	}
	if s.onComment != nil {
		s.onComment(start)
	}
	switch {
	case strings.HasPrefix(text, "//!"):
		if s.moduleDoc.Len() > 0 {
			s.moduleDoc.WriteByte('\n')
		}
		s.moduleDoc.WriteString(text)
	case strings.HasPrefix(text, "///") && !strings.HasPrefix(text, "////"):
		t.kind, t.str, t.pos, t.off = tComment, text, pos, start
		return true
	}
	return false
}

// blockComment passes a /* comment */ with those inside it and tells whether
// it is documentation. As in the reference the second * of /** belongs to the
// opening, so that /**/ is not closed.
func (s *scanner) blockComment(t *token) bool {
	pos, start := s.here(), s.off
	s.off += 2
	doc := false
	if s.peekAt(0) == '*' {
		s.off++
		doc = s.peekAt(0) != '*'
	}
	level := 1
	for level > 0 && s.off < len(s.src) {
		switch c := s.src[s.off]; {
		case c == '/' && s.peekAt(1) == '*':
			s.off += 2
			level++
		case c == '*' && s.peekAt(1) == '/':
			s.off += 2
			level--
		case c == '\n':
			s.off++
			s.newline()
		case c < utf8.RuneSelf:
			s.off++
		default:
			s.rune()
		}
	}
	if s.onComment != nil {
		s.onComment(start)
	}
	if doc {
		s.comment = level > 0
		t.kind, t.str, t.pos, t.off = tComment, s.src[start:s.off], pos, start
	}
	return doc
}

// continuation counts the bytes that do not start a character.
func continuation(text string) int {
	return len(text) - utf8.RuneCountInString(text)
}

// scanWord reads a name or a keyword.
func (s *scanner) scanWord(t *token) {
	src, start := s.src, s.off
	end := start + 1
	for end < len(src) && isWordByte(src[end]) {
		end++
	}
	s.off = end
	word := src[start:end]
	t.str = word
	if t.kind = keyword(word); t.kind != tIdent {
		return
	}
	if reservedWord(word) != 0 {
		t.kind = tReserved
	} else if !validName(word) {
		s.fail(t, problem{"BadInput/MalformedIdentifier", "Variable name is not proper: '" + word + "'"}, t.pos)
	}
}

// mapHosted gives words and symbols the meaning that the host wants.
func (s *scanner) mapHosted(t *token) {
	text := t.str
	switch {
	case t.kind == tReserved:
		if _, ok := s.o.Operators[text]; ok {
			t.kind = tCustom
			return
		}
		if why := wrongSymbol(text); why != "" {
			s.fail(t, improper(text, why), t.pos)
		} else if s.disabled(text) {
			what := "symbol"
			if validName(text) {
				what = "keyword"
			}
			s.fail(t, improper(text, "reserved "+what+" '"+text+"' is disabled"), t.pos)
		}
		return
	case t.kind == tIdent:
	case t.kind >= tLeftBrace:
		text = spelling[t.kind]
	default:
		return
	}
	if _, ok := s.o.Operators[text]; ok {
		t.kind, t.str = tCustom, text
	} else if t.kind != tIdent && s.disabled(text) {
		t.kind, t.str = tReserved, text
	}
}

func (s *scanner) disabled(word string) bool {
	return s.o.Disabled[word] || (s.o.NoEval && word == "eval") ||
		(s.o.NoFunctions && (word == "fn" || word == "private"))
}

// wrongSymbol is what to tell those who come from other languages.
func wrongSymbol(s string) string {
	switch s {
	case "===":
		return "'===' is not a valid operator. This is not JavaScript! Should it be '=='?"
	case "!==":
		return "'!==' is not a valid operator. This is not JavaScript! Should it be '!='?"
	case "->":
		return "'->' is not a valid symbol. This is not C or C++!"
	case "<-":
		return "'<-' is not a valid symbol. This is not Go! Should it be '<='?"
	case ":=":
		return "':=' is not a valid assignment operator. This is not Go or Pascal! Should it be simply '='?"
	case ":;":
		return "':;' is not a valid symbol. Should it be '::'?"
	case "::<":
		return "'::<>' is not a valid symbol. This is not Rust! Should it be '::'?"
	case "(*", "*)":
		return "'(* .. *)' is not a valid comment format. This is not Pascal! Should it be '/* .. */'?"
	case "# {":
		return "'#' is not a valid symbol. Should it be '#{'?"
	}
	return ""
}

// mapJSON turns the tokens of JSON into those of a map literal and refuses
// what JSON does not have.
func (s *scanner) mapJSON(t *token) {
	switch t.kind {
	case tReserved:
		if t.str != "null" {
			return
		}
		if s.json == jsonNull {
			t.kind = tUnit
		} else {
			s.fail(t, improper("null", ""), t.pos)
		}
	case tLeftBrace:
		t.kind = tMapStart
	case tUnit, tMapStart:
		s.fail(t, improper(spelling[t.kind], ""), t.pos)
	case tInterpolated:
		s.fail(t, improper("interpolated string", ""), t.pos)
	}
}
