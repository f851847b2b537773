package sqleffect

import (
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// dialect is what differs in how databases read SQL.
type dialect struct {
	// numbered is whether parameters are written $1, $2 ...; else each is a ?.
	numbered bool
	// backslash is whether it keeps a quote from ending a text.
	backslash bool
	// dollar is whether $tag$ ... $tag$ is a text, and E'...' one with
	// backslashes; hash whether # begins a comment, and -- only with a space
	// after it; backtick and bracket whether they quote names; nested whether
	// comments hold comments.
	dollar, hash, backtick, bracket, nested bool
}

var dialects = map[string]dialect{
	driverPostgres: {numbered: true, dollar: true, nested: true},
	driverMySQL:    {backslash: true, hash: true, backtick: true},
	driverSQLite:   {backtick: true, bracket: true},
}

// statement is one statement with its parameters taken out.
type statement struct {
	text string
	// params are the names in the order in which values are bound; where
	// parameters are numbered each stands there once.
	params []string
	// rows is whether it is asked for rows.
	rows bool
}

// readStatement takes the parameters, :name or :name.within, out of a
// statement. What is in quotes and comments stays as it is, as do ::casts.
//
// Errors: [domain.ErrInvalid].
func readStatement(text string, d dialect) (statement, error) {
	s := scanner{in: text, d: d}
	if err := s.run(); err != nil {
		return statement{}, err
	}
	if len(s.words) == 0 {
		return statement{}, domain.Invalidf("it is empty")
	}
	return statement{s.out.String(), s.params, asksForRows(s.words)}, nil
}

// asksForRows judges by the words outside of quotes.
func asksForRows(words []string) bool {
	has := map[string]bool{}
	for _, w := range words {
		has[w] = true
	}
	switch words[0] {
	case "SELECT", "VALUES", "TABLE", "SHOW", "EXPLAIN", "PRAGMA", "CALL", "DESCRIBE":
		return true
	case "WITH":
		return has["RETURNING"] || !(has["INSERT"] || has["UPDATE"] && !has["FOR"] || has["DELETE"] || has["MERGE"])
	}
	return has["RETURNING"]
}

// scanner goes through a statement once.
type scanner struct {
	in     string
	at     int
	d      dialect
	out    strings.Builder
	params []string
	words  []string
}

func (s *scanner) run() error {
	for s.at < len(s.in) {
		size, err := s.quoted()
		if err != nil {
			return err
		}
		if size > 0 {
			s.copy(size)
			continue
		}
		c := s.in[s.at]
		switch {
		case c == 0:
			return domain.Invalidf("it has a zero byte")
		case c == '?' && !s.d.numbered:
			return domain.Invalidf("it has a ?; parameters are written :name")
		case c == ':' && s.peek(1) == ':':
			s.copy(2)
		case c == ':' && isNameStart(s.peek(1)):
			s.param()
		case isNameStart(c):
			s.word()
		case c >= '0' && c <= '9' || c == '$':
			if s.d.numbered && c == '$' && s.peek(1) >= '0' && s.peek(1) <= '9' {
				return domain.Invalidf("it has $%c; parameters are written :name", s.peek(1))
			}
			s.copy(1 + nameLength(s.in[s.at+1:]))
		default:
			s.copy(1)
		}
	}
	return nil
}

func (s *scanner) copy(n int) {
	s.out.WriteString(s.in[s.at : s.at+n])
	s.at += n
}

// peek is the byte n further, or 0.
func (s *scanner) peek(n int) byte {
	if s.at+n < len(s.in) {
		return s.in[s.at+n]
	}
	return 0
}

func (s *scanner) word() {
	n := nameLength(s.in[s.at:])
	for s.peek(n) == '$' { // may stand in a name, but does not begin one
		n += 1 + nameLength(s.in[s.at+n+1:])
	}
	s.words = append(s.words, strings.ToUpper(s.in[s.at:s.at+n]))
	s.copy(n)
}

func (s *scanner) param() {
	s.at++
	n := nameLength(s.in[s.at:])
	for n+1 < len(s.in[s.at:]) && s.in[s.at+n] == '.' && isNameStart(s.in[s.at+n+1]) {
		n += 1 + nameLength(s.in[s.at+n+1:])
	}
	name := s.in[s.at : s.at+n]
	s.at += n
	if !s.d.numbered {
		s.params = append(s.params, name)
		s.out.WriteByte('?')
		return
	}
	number := 0
	for i, p := range s.params {
		if p == name {
			number = i + 1
		}
	}
	if number == 0 {
		s.params = append(s.params, name)
		number = len(s.params)
	}
	s.out.WriteString("$" + strconv.Itoa(number))
}

// quoted is the length of the text, quoted name or comment that begins here; 0
// where none does.
func (s *scanner) quoted() (int, error) {
	rest := s.in[s.at:]
	switch c := rest[0]; {
	case c == '\'', c == '"':
		return s.until(1, c, s.d.backslash)
	case (c == 'E' || c == 'e') && s.d.dollar && s.peek(1) == '\'':
		return s.until(2, '\'', true)
	case c == '`' && s.d.backtick:
		return s.until(1, '`', false)
	case c == '[' && s.d.bracket:
		return s.until(1, ']', false)
	case c == '$' && s.d.dollar:
		return s.dollarQuoted()
	case strings.HasPrefix(rest, "--") && (!s.d.hash || s.peek(2) <= ' '), c == '#' && s.d.hash:
		if end := strings.IndexByte(rest, '\n'); end >= 0 {
			return end + 1, nil
		}
		return len(rest), nil
	case strings.HasPrefix(rest, "/*"):
		return s.comment()
	}
	return 0, nil
}

// until is the length up to the closing byte, which doubled stands for itself.
func (s *scanner) until(from int, end byte, backslash bool) (int, error) {
	rest := s.in[s.at:]
	for i := from; i < len(rest); i++ {
		switch {
		case backslash && rest[i] == '\\':
			i++
		case rest[i] == end && i+1 < len(rest) && rest[i+1] == end:
			i++
		case rest[i] == end:
			return i + 1, nil
		}
	}
	return 0, domain.Invalidf("a text or name that begins with %s is not ended", rest[:from])
}

func (s *scanner) dollarQuoted() (int, error) {
	rest := s.in[s.at:]
	n := 1
	if n < len(rest) && isNameStart(rest[n]) {
		n += nameLength(rest[n:])
	}
	if n >= len(rest) || rest[n] != '$' {
		return 0, nil
	}
	tag := rest[:n+1]
	end := strings.Index(rest[len(tag):], tag)
	if end < 0 {
		return 0, domain.Invalidf("a text that begins with %s is not ended", tag)
	}
	return end + 2*len(tag), nil
}

func (s *scanner) comment() (int, error) {
	rest, depth := s.in[s.at:], 0
	for i := 0; i+1 < len(rest); i++ {
		switch {
		case rest[i] == '/' && rest[i+1] == '*' && (depth == 0 || s.d.nested):
			depth++
			i++
		case rest[i] == '*' && rest[i+1] == '/':
			if depth--; depth == 0 {
				return i + 2, nil
			}
			i++
		}
	}
	return 0, domain.Invalidf("a comment is not ended")
}

// Bytes beyond ASCII are parts of names.
func isNameStart(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}

func nameLength(s string) int {
	n := 0
	for n < len(s) && (isNameStart(s[n]) || s[n] >= '0' && s[n] <= '9') {
		n++
	}
	return n
}
