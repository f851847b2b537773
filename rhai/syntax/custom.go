package syntax

import (
	"errors"
	"strings"
)

// This file parses the syntaxes of the host.

// syntax gives the custom syntax that the token at hand begins, if any.
func (p *parser) syntax() *Syntax {
	if len(p.o.Syntaxes) == 0 {
		return nil
	}
	switch p.tok.kind {
	case tIdent, tReserved, tCustom:
		return p.o.Syntaxes[p.tok.str]
	}
	return nil
}

// customExpr parses what follows the key at c.pos, as the host asks for it.
func (p *parser) customExpr(c ctx, key string, s *Syntax) Node {
	if !p.up(&c) {
		return nil
	}
	n := &Custom{Key: key, Tokens: []string{key}, Pos: c.pos}
	if s.ScopeChanged {
		p.scope.declare(barrier, true)
	}
	met := []string{key}
	want := key
	for {
		ahead, pos := "", c.pos
		if !s.NoLookAhead {
			p.peek()
			ahead, pos = p.tok.text(), p.tok.pos
		}
		piece := c
		if !p.up(&piece) {
			return nil
		}
		seg, err := s.Next(met, ahead, &n.State)
		if err != nil {
			p.hostError(err, pos)
			return nil
		}
		if seg == "" {
			break
		}
		if len(seg) > 2 && strings.HasPrefix(seg, "$$") {
			n.Inputs = append(n.Inputs, &Literal{Kind: StringLit, Str: seg, Pos: c.pos})
			break
		}
		if seg == "$raw$" && !s.NoLookAhead {
			seg = "$token$"
		}
		want = seg
		text, token, ok := p.piece(piece, n, seg, key)
		if !ok {
			return nil
		}
		if token == "" {
			break // the text ended
		}
		met = append(met, text)
		if token != "$raw$" || n.Tokens[len(n.Tokens)-1] != token {
			n.Tokens = append(n.Tokens, token)
		}
	}
	n.closed = want == "$block$" || want == "$func$" || want == ";" || want == "}"
	return n
}

// hostError reports what the host's parse function found.
func (p *parser) hostError(err error, pos Pos) {
	var e *Error
	if errors.As(err, &e) {
		p.fail(problem{e.Kind, e.Text}, pos)
		return
	}
	p.fail(problem{"BadInput/Runtime", err.Error()}, pos)
}

// piece parses one part of a custom syntax. It gives its text for the host and
// the token that is counted.
func (p *parser) piece(c ctx, n *Custom, want, key string) (text, token string, ok bool) {
	var x Node
	switch want {
	case "$raw$":
		p.raw = true
		if p.next() == tEOF {
			return "", "", true
		}
		return string(rune(p.tok.num)), want, true
	case "$expr$":
		x, text = p.expr(c), want
	case "$block$":
		x, text = asNode(p.block(c)), want
	case "$inner$":
		x, text = asNode(p.blockBody(c, c.pos)), want
	case "$func$":
		x, text = p.customFunc(c), want
	case "$ident$":
		id, ok := p.name()
		if !ok {
			return "", "", false
		}
		x, text = &Name{Name: id.Name, Pos: id.Pos}, id.Name
	case "$symbol$", "$token$", "$string$", "$int$", "$float$", "$bool$":
		x, text = p.customToken(want)
	default:
		return want, want, p.customWord(want, key)
	}
	if x == nil {
		return "", "", false
	}
	n.Inputs = append(n.Inputs, x)
	return text, want, true
}

// customFunc parses a closure, or a block that becomes one.
func (p *parser) customFunc(c ctx) Node {
	switch p.peek() {
	case tOr, tPipe:
		return p.closure(c, false)
	case tLeftBrace:
		return p.closure(c, true)
	}
	p.fail(problem{"MissingSymbol", "Expecting '{' or '|'"}, p.tok.pos)
	return nil
}

// customToken takes one token of the wanted sort.
func (p *parser) customToken(want string) (Node, string) {
	k := p.next()
	t := &p.tok
	text := t.text()
	lacks := func(what string) (Node, string) {
		p.fail(problem{"MissingSymbol", what}, t.pos)
		return nil, ""
	}
	switch want {
	case "$symbol$", "$token$":
		if k == tError {
			p.fail(t.problem, t.pos)
			return nil, ""
		}
		if want == "$symbol$" && !standardSymbol(k) && !(k == tReserved && !validName(t.str)) {
			return lacks("Expecting a symbol")
		}
		return &Literal{Kind: StringLit, Str: text, Pos: t.pos}, text
	case "$string$":
		if k != tString {
			return lacks("Expecting a string")
		}
		text = t.str
	case "$int$":
		if k != tInt {
			return lacks("Expecting an integer number")
		}
	case "$float$":
		if k != tFloat {
			return lacks("Expecting a floating-point number")
		}
	case "$bool$":
		if k != tTrue && k != tFalse {
			return lacks("Expecting 'true' or 'false'")
		}
	}
	return p.literal(k), text
}

// customWord takes the word or symbol that the syntax spells out.
func (p *parser) customWord(want, key string) bool {
	switch k := p.next(); {
	case k == tError:
		return p.fail(p.tok.problem, p.tok.pos)
	case k == tIdent || k == tReserved || k == tCustom || k >= tLeftBrace:
		if p.tok.text() == want {
			return true
		}
	}
	return p.fail(missing(want, "for '"+key+"' expression"), p.tok.pos)
}
