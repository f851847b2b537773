package syntax

import (
	"slices"
	"strings"
)

// This file parses functions and the comments that document them.

// full tells that no more functions are allowed.
func (p *parser) full() bool {
	return p.o.MaxFunctions != 0 && p.fnCount >= max(p.o.MaxFunctions, 0)
}

// function parses fn name(params) { ... }, with private before it. In the
// tree of statements nothing stands for it.
func (p *parser) function(c ctx, doc []string) Node {
	private := p.tok.kind == tPrivate
	first := p.take()
	if private {
		p.next()
	}
	pos := p.tok.pos
	switch {
	case p.tok.kind != tFn:
		p.fail(missing("fn", "following 'private'"), pos)
		return nil
	case c.flags&global == 0:
		p.fail(problem{"WrongFnDefinition", "Function definitions must be at global level and cannot be inside a block or another function"}, first)
		return nil
	case p.full():
		p.fail(tooManyFunctions, pos)
		return nil
	}
	outer, level := p.scope, p.maxLevel
	p.scope, p.maxLevel = outer.inner(false), depth(p.o.MaxFnExprDepth, 32)
	f := p.funcDef(ctx{pos: pos, flags: inFn | p.flags&^strict | c.flags&(strict|quotedKeys)})
	inner := p.scope
	p.scope, p.maxLevel = outer, level
	if f == nil {
		return nil
	}
	f.Private, f.Doc, f.UsesEval = private, doc, inner.usesEval
	key := signature{f.ThisType, f.Name, len(f.Params)}
	if p.defined[key] {
		p.fail(duplicatedFunction(f.Name, len(f.Params)), pos)
		return nil
	}
	p.define(key)
	p.program.Funcs = append(p.program.Funcs, f)
	return &Noop{Pos: pos}
}

func (p *parser) define(key signature) {
	if p.defined == nil {
		p.defined, p.functions = map[signature]bool{}, map[string]bool{}
	}
	p.defined[key] = true
	p.functions[key.name] = true
	p.fnCount++
}

// funcDef parses what follows fn.
func (p *parser) funcDef(c ctx) *Func {
	if !p.up(&c) {
		return nil
	}
	f := &Func{}
	k := p.next()
	name, pos := p.tok.str, p.tok.pos
	if k == tString || k == tIdent {
		switch {
		case p.peek() == tPeriod:
			p.take()
			f.ThisType = typeName(name)
			k = p.next()
			name, pos = p.tok.str, p.tok.pos
		case k == tString:
			p.fail(missing(".", "after the type name for 'this'"), p.tok.pos)
			return nil
		}
	}
	switch {
	case (k == tIdent || k == tCustom) && validFunctionName(name):
	case k == tReserved:
		p.fail(reserved(name), pos)
		return nil
	default:
		p.fail(problem{"FnMissingName", "Expecting function name in function declaration"}, pos)
		return nil
	}
	f.Name, f.Pos = name, pos
	if !p.params(f) {
		return nil
	}
	if p.peek() != tLeftBrace {
		p.fail(problem{"FnMissingBody", "Expecting body statement block for function " + name}, p.tok.pos)
		return nil
	}
	if f.Body = p.block(c); f.Body == nil {
		return nil
	}
	return f
}

// typeName gives the name of a type as type_of has it.
func typeName(s string) string {
	switch s {
	case "int":
		return "i64"
	case "float":
		return "f64"
	}
	return s
}

// params parses (a, b).
func (p *parser) params(f *Func) bool {
	switch p.peek() {
	case tUnit:
		p.take()
		return true
	case tLeftParen:
		p.take()
		if p.match(tRightParen) {
			return true
		}
	default:
		return p.fail(problem{"FnMissingParams", "Expecting parameters for function " + f.Name}, p.tok.pos)
	}
	return p.paramList(f, tRightParen, "to close the parameters list of function '"+f.Name+"'",
		"to separate the parameters of function '"+f.Name+"'")
}

// fewParams can be looked through faster than found in a table.
const fewParams = 16

// paramList parses names up to the token end and declares them.
func (p *parser) paramList(f *Func, end kind, unclosed, unseparated string) bool {
	var named map[string]bool // of many: to look through all for each would take minutes
	for {
		switch k := p.next(); {
		case k == end:
			return true
		case k == tIdent:
			id := Ident{p.tok.str, p.tok.pos}
			switch {
			case len(f.Params) == fewParams:
				named = make(map[string]bool, 2*fewParams)
				for _, q := range f.Params {
					named[q.Name] = true
				}
				fallthrough
			case len(f.Params) > fewParams:
				if named[id.Name] {
					return p.fail(duplicatedParam(f.Name, id.Name), id.Pos)
				}
				named[id.Name] = true
			case slices.ContainsFunc(f.Params, func(q Ident) bool { return q.Name == id.Name }):
				return p.fail(duplicatedParam(f.Name, id.Name), id.Pos)
			}
			p.scope.declare(id.Name, false)
			f.Params = append(f.Params, id)
		case k == tReserved:
			return p.fail(reserved(p.tok.str), p.tok.pos)
		case standardKeyword(k):
			return p.fail(variableExpected, p.tok.pos)
		default:
			return p.wrongToken(missing(spelling[end], unclosed))
		}
		switch p.next() {
		case end:
			return true
		case tComma:
		default:
			return p.wrongToken(missing(",", unseparated))
		}
	}
}

// docComments takes the comments before a function: blocks one by one, lines
// together.
func (p *parser) docComments(c ctx) ([]string, bool) {
	if p.peek() != tComment {
		return nil, true
	}
	first := p.tok.pos
	var doc, lines []string
	flush := func() {
		if len(lines) > 0 {
			doc = append(doc, strings.Join(lines, "\n"))
			lines = nil
		}
	}
	for p.peek() == tComment {
		if c.flags&global == 0 {
			return nil, p.fail(wrongDocComment, first)
		}
		text, pos := p.tok.str, p.take()
		if strings.Contains(text, "\n") {
			flush()
			doc = append(doc, unindent(text, int(pos.Col)-1))
		} else {
			lines = append(lines, text)
		}
		switch p.peek() {
		case tFn, tPrivate, tComment:
		default:
			return nil, p.fail(wrongDocComment, first)
		}
	}
	flush()
	return doc, true
}

// unindent moves the lines of a block comment left, by col at most.
func unindent(text string, col int) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(line, "\r")
		if i > 0 {
			col = min(col, len(line)-len(strings.TrimLeft(line, " ")))
		}
	}
	if col <= 0 {
		return text
	}
	for i := 1; i < len(lines); i++ {
		lines[i] = lines[i][col:]
	}
	return strings.Join(lines, "\n")
}
