package syntax

// This file scans operators and signs.

// scanSymbol reads what starts with c and is neither word nor number nor text.
// The longest symbol wins.
func (s *scanner) scanSymbol(t *token, c byte) {
	d := s.peekAt(1)
	one := func(k kind) { t.kind = k; s.off++ }
	two := func(k kind) { t.kind = k; s.off += 2 }
	three := func(k kind) { t.kind = k; s.off += 3 }
	odd := func(n int) {
		t.kind, t.str = tReserved, s.src[s.off:s.off+n]
		s.off += n
	}
	switch c {
	case '{':
		one(tLeftBrace)
	case '}':
		one(tRightBrace)
	case '(':
		switch d {
		case ')':
			two(tUnit)
		case '*':
			odd(2)
		default:
			one(tLeftParen)
		}
	case ')':
		one(tRightParen)
	case '[':
		one(tLeftBracket)
	case ']':
		one(tRightBracket)
	case ';':
		one(tSemicolon)
	case ',':
		one(tComma)
	case '#':
		switch {
		case d == '{':
			two(tMapStart)
		case d == '!':
			t.kind, t.str = tReserved, "#!"
			s.off++
		case d == ' ' && s.peekAt(2) == '{':
			odd(3)
		case d == ' ':
			t.kind, t.str = tReserved, "#"
			s.off += 2
		default:
			odd(1)
		}
	case '+':
		switch {
		case d == '=':
			two(tPlusAssign)
		case d == '+':
			odd(2)
		case s.signed:
			one(tUnaryPlus)
		default:
			one(tPlus)
		}
	case '-':
		switch {
		case isDigit(d): // signed ones are numbers
			one(tMinus)
		case d == '=':
			two(tMinusAssign)
		case d == '>' || d == '-':
			odd(2)
		case s.signed:
			one(tUnaryMinus)
		default:
			one(tMinus)
		}
	case '*':
		switch {
		case d == ')':
			odd(2)
		case d == '=':
			two(tMultiplyAssign)
		case d == '*' && s.peekAt(2) == '=':
			three(tPowerAssign)
		case d == '*':
			two(tPower)
		default:
			one(tMultiply)
		}
	case '/':
		if d == '=' {
			two(tDivideAssign)
		} else {
			one(tDivide)
		}
	case '%':
		if d == '=' {
			two(tModuloAssign)
		} else {
			one(tModulo)
		}
	case '.':
		switch {
		case d != '.':
			one(tPeriod)
		case s.peekAt(2) == '.':
			odd(3)
		case s.peekAt(2) == '=':
			three(tRangeInclusive)
		default:
			two(tRange)
		}
	case '=':
		switch {
		case d == '=' && s.peekAt(2) == '=':
			odd(3)
		case d == '=':
			two(tEqual)
		case d == '>':
			two(tArrow)
		default:
			one(tAssign)
		}
	case ':':
		switch {
		case d == ':' && s.peekAt(2) == '<':
			odd(3)
		case d == ':':
			two(tDoubleColon)
		case d == '=' || d == ';':
			odd(2)
		default:
			one(tColon)
		}
	case '<':
		switch {
		case d == '=':
			two(tLessEqual)
		case d == '-' || d == '|':
			odd(2)
		case d == '<' && s.peekAt(2) == '=':
			three(tShiftLeftAssign)
		case d == '<':
			two(tShiftLeft)
		default:
			one(tLess)
		}
	case '>':
		switch {
		case d == '=':
			two(tGreaterEqual)
		case d == '>' && s.peekAt(2) == '=':
			three(tShiftRightAssign)
		case d == '>':
			two(tShiftRight)
		default:
			one(tGreater)
		}
	case '!':
		switch {
		case d == 'i' && s.peekAt(2) == 'n' && !isWordByte(s.peekAt(3)):
			three(tNotIn)
		case d == '=' && s.peekAt(2) == '=':
			odd(3)
		case d == '=':
			two(tNotEqual)
		case d == '.':
			odd(2)
		default:
			one(tBang)
		}
	case '|':
		switch d {
		case '|':
			two(tOr)
		case '=':
			two(tOrAssign)
		case '>':
			odd(2)
		default:
			one(tPipe)
		}
	case '&':
		switch d {
		case '&':
			two(tAnd)
		case '=':
			two(tAndAssign)
		default:
			one(tAmpersand)
		}
	case '^':
		if d == '=' {
			two(tXorAssign)
		} else {
			one(tXor)
		}
	case '?':
		switch d {
		case '.':
			two(tElvis)
		case '?':
			two(tCoalesce)
		case '[':
			two(tQuestionBracket)
		default:
			odd(1)
		}
	case '~', '@', '$':
		odd(1)
	default:
		s.fail(t, unexpected(string(s.rune())), t.pos)
	}
}
