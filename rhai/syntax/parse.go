package syntax

import (
	"strings"
	"unicode/utf8"
)

// This file holds the parser's state and its entry points. The functions of
// the other files give nil when the text is wrong; the error is in parser.err.

// maxNesting keeps the stack of the host safe where the options set no bound.
// Every level of it costs the parser up to a kilobyte of stack, and those who
// walk the tree somewhat less.
const maxNesting = 10_000

// flag says where a construct stands and what is allowed there.
type flag uint16

const (
	global     flag = 1 << iota // not in a block or function
	inFn                        // this means something
	inClosure                   // names may come from outside
	breakable                   // inside a loop
	exprBlocks                  // a block holds one expression
	quotedKeys                  // of maps, as in JSON
	ifExpr
	switchExpr
	loopExpr
	stmtExpr
	anonFn
	strict
)

// ctx goes down the tree: the place and depth of what is being parsed.
type ctx struct {
	pos   Pos // where too deep nesting is reported
	level int32
	flags flag
}

type parser struct {
	scanner
	tok    token
	peeked bool // tok was not taken yet
	err    *Error
	tokens int64 // met so far

	o         *Options
	flags     flag  // that the options give
	maxLevel  int32 // in the text at hand
	scope     *scope
	functions map[string]bool // names of the functions so far
	defined   map[signature]bool
	fnCount   int // closures count

	// closed tells that the statement just parsed needs no semicolon.
	closed bool

	program *Program
}

type signature struct {
	this, name string
	params     int
}

// Parse reads a whole script. Source names it for messages.
//
// Errors: *Error of the first thing that is wrong.
func Parse(text, source string, o *Options) (*Program, error) {
	p := newParser(text, source, o, notJSON)
	if p.err == nil {
		if p.o.ExprOnly {
			p.program.Body = p.onlyExpression(0)
		} else {
			p.script()
		}
	}
	if p.err != nil {
		return nil, p.err
	}
	return p.finish(), nil
}

// ParseJSON reads JSON with the scanner of the language: an expression in
// which { starts a map, keys are quoted and, with nullOK, null is (). That it
// is a map, the caller has to see.
//
// Errors: *Error of the first thing that is wrong.
func ParseJSON(text string, nullOK bool, o *Options) (Node, error) {
	mode := jsonNoNull
	if nullOK {
		mode = jsonNull
	}
	p := newParser(text, "", o, mode)
	if p.err == nil {
		p.program.Body = p.onlyExpression(quotedKeys)
	}
	if p.err != nil {
		return nil, p.err
	}
	return p.program.Body[0], nil
}

func newParser(text, source string, o *Options, json jsonMode) *parser {
	if o == nil {
		o = &Options{}
	}
	p := &parser{o: o, scope: &scope{}, program: &Program{Source: source, Text: text}}
	p.scanner.start(text, o)
	p.scanner.json = json
	p.maxLevel = depth(o.MaxExprDepth, 64)
	for _, choice := range []struct {
		off  bool
		flag flag
	}{
		{o.NoIfExpr, ifExpr}, {o.NoSwitchExpr, switchExpr}, {o.NoLoopExpr, loopExpr},
		{o.NoStmtExpr, stmtExpr}, {o.NoAnonFn || o.NoFunctions, anonFn}, {!o.Strict, strict},
	} {
		if !choice.off {
			p.flags |= choice.flag
		}
	}
	if !utf8.ValidString(text) {
		p.badEncoding()
	}
	return p
}

func depth(option, standard int) int32 {
	switch {
	case option == 0:
		return int32(standard)
	case option < 0 || option > maxNesting:
		return maxNesting
	}
	return int32(option)
}

// badEncoding reports the first byte that is not UTF-8.
func (p *parser) badEncoding() {
	pos := Pos{1, 1}
	for text := p.src; ; {
		r, n := utf8.DecodeRuneInString(text)
		if r == utf8.RuneError && n == 1 {
			p.fail(problem{"BadInput/UnexpectedInput", "Text is not UTF-8"}, pos)
			return
		}
		pos.Col++
		if r == '\n' {
			pos = Pos{pos.Line + 1, 1}
		}
		text = text[n:]
	}
}

// finish completes the program of a good text.
func (p *parser) finish() *Program {
	g := p.program
	g.Doc = p.moduleDoc.String()
	g.UsesEval = p.scope.usesEval
	g.HasFuncs = p.fnCount > 0
	g.Size = p.size()
	g.End = p.endOfText()
	return g
}

func (p *parser) endOfText() Pos {
	lines := strings.Count(p.src, "\n")
	last := p.src[strings.LastIndexByte(p.src, '\n')+1:]
	return Pos{int32(lines + 1), int32(utf8.RuneCountInString(last) + 1)}
}

// onlyExpression reads one expression and nothing after it.
func (p *parser) onlyExpression(extra flag) []Node {
	c := ctx{pos: Pos{1, 0}, flags: global | exprBlocks | extra | p.flags&^(stmtExpr|loopExpr)}
	x := p.expr(c)
	if x == nil {
		return nil
	}
	if p.peek() != tEOF {
		p.fail(unexpected(p.tok.text()), p.tok.pos)
		return nil
	}
	return []Node{x}
}

// script reads the statements of a whole text.
func (p *parser) script() {
	c := ctx{pos: Pos{1, 0}, flags: global | p.flags}
	for p.peek() != tEOF {
		n := p.stmt(c)
		if n == nil {
			return
		}
		if _, ok := n.(*Noop); ok {
			continue
		}
		p.program.Body = append(p.program.Body, n)
		closed := p.closed
		switch k := p.peek(); {
		case k == tEOF:
			return
		case closed:
		case k == tSemicolon:
			p.take()
		default:
			p.wrongToken(missing(";", "to terminate this statement"))
			return
		}
	}
}

// fail keeps the first error. It is false, for short returns.
func (p *parser) fail(why problem, pos Pos) bool {
	if p.err == nil {
		p.err = &Error{Kind: why.kind, Text: why.text, Pos: pos}
	}
	return false
}

// wrongToken reports the token at hand, with the scanner's reason if it has one.
func (p *parser) wrongToken(why problem) bool {
	if p.tok.kind == tError {
		why = p.tok.problem
	}
	return p.fail(why, p.tok.pos)
}

// up goes one level down the tree.
func (p *parser) up(c *ctx) bool {
	if c.level >= p.maxLevel {
		return p.fail(tooDeep, c.pos)
	}
	c.level++
	return true
}

// peek gives the kind of the next token; p.tok holds the rest.
func (p *parser) peek() kind {
	if !p.peeked {
		p.peeked = true
		p.scan(&p.tok)
		if p.tokens++; p.o.MaxSize > 0 && p.size() > p.o.MaxSize {
			p.fail(tooMuchMemory, p.tok.pos)
			p.tok.kind = tEOF // and nothing after it
		}
	}
	return p.tok.kind
}

// tokenBytes is what a token becomes, in bytes: a part of the tree, and of what
// is compiled of it. Measured, of texts that make the most of each token.
const tokenBytes = 128

// size estimates the memory of what has been read.
func (p *parser) size() int64 { return p.tokens*tokenBytes + int64(len(p.src)) }

// take passes the token that was peeked and gives its place. p.tok keeps it
// until the next peek.
func (p *parser) take() Pos {
	p.peeked = false
	return p.tok.pos
}

// next peeks and takes.
func (p *parser) next() kind {
	k := p.peek()
	p.peeked = false
	return k
}

// match takes the next token if it is of kind k.
func (p *parser) match(k kind) bool {
	if p.peek() != k {
		return false
	}
	p.peeked = false
	return true
}

// name takes the name of a variable or module.
func (p *parser) name() (Ident, bool) {
	switch k := p.next(); {
	case k == tIdent:
		return Ident{p.tok.str, p.tok.pos}, true
	case k == tReserved && validName(p.tok.str):
		return Ident{}, p.fail(reserved(p.tok.str), p.tok.pos)
	}
	return Ident{}, p.wrongToken(variableExpected)
}
