package syntax

// This file cuts texts, wrong ones too, into pieces for highlighting.

// TokenKind is what a piece of source looks like to a reader.
type TokenKind uint8

// The kinds of tokens.
const (
	InvalidToken     TokenKind = iota // what no script may hold
	CommentToken                      // documentation too
	KeywordToken                      // this too
	NameToken                         // of a variable, property or module
	FunctionToken                     // a name that is called or defined
	NumberToken                       //
	StringToken                       // also the text of templates, and chars
	OperatorToken                     //
	PunctuationToken                  // brackets, commas, semicolons
)

var tokenKindNames = [...]string{"invalid", "comment", "keyword", "name", "function",
	"number", "string", "operator", "punctuation"}

// String gives the kind in a word.
func (k TokenKind) String() string { return tokenKindNames[k] }

// Token is the piece text[Start:End].
type Token struct {
	Kind       TokenKind
	Start, End int // byte offsets
}

// Tokens cuts text into tokens, in order and without overlap; blanks belong to
// none. It never fails: what cannot be read is invalid.
func Tokens(text string) []Token {
	h := highlighter{}
	h.start(text, &Options{})
	h.onComment = func(start int) { h.add(CommentToken, start) }
	for {
		h.scan(&h.tok)
		if h.tok.kind == tEOF {
			return h.tokens
		}
		h.next()
	}
}

type highlighter struct {
	scanner
	tok    token
	tokens []Token

	depth     int   // of braces
	templates []int // depths at which a } goes back to the text of a template
}

func (h *highlighter) add(kind TokenKind, start int) {
	if h.off > start {
		h.tokens = append(h.tokens, Token{kind, start, h.off})
	}
}

// next files the token just scanned.
func (h *highlighter) next() {
	start := h.tok.off
	switch h.tok.kind {
	case tComment: // was filed when it was passed
		return
	case tInterpolated:
		h.templates = append(h.templates, h.depth)
	case tLeftBrace, tMapStart:
		h.depth++
	case tRightBrace:
		h.depth--
		if n := len(h.templates); n > 0 && h.templates[n-1] == h.depth {
			h.templates = h.templates[:n-1]
			h.inText = true
		}
	case tLeftParen, tUnit:
		if n := len(h.tokens); n > 0 && h.tokens[n-1].Kind == NameToken {
			h.tokens[n-1].Kind = FunctionToken
		}
	}
	h.add(h.kind(), start)
}

func (h *highlighter) kind() TokenKind {
	switch k := h.tok.kind; {
	case k == tError:
		return InvalidToken
	case k == tIdent:
		return NameToken
	case k == tReserved:
		switch {
		case h.tok.str == "this":
			return KeywordToken
		case reservedWord(h.tok.str)&isCallable != 0:
			return FunctionToken
		}
		return InvalidToken
	case k == tInt, k == tFloat:
		return NumberToken
	case k == tString, k == tInterpolated, k == tChar:
		return StringToken
	case k >= tTrue, k == tIn, k == tNotIn, k == tUnderscore:
		return KeywordToken
	case k >= tPlus, k == tArrow, k == tDoubleColon:
		return OperatorToken
	}
	return PunctuationToken
}
