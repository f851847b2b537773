package syntax

import (
	"fmt"
)

// This file parses closures.

// closure parses |params| body; bare leaves the parameters out.
func (p *parser) closure(c ctx, bare bool) Node {
	n := &Closure{Fn: &Func{Pos: c.pos}, Pos: c.pos}
	outer := p.scope
	p.peek()
	begin := p.tok.off
	p.scope = outer.inner(true)
	ok := bare || p.closureParams(n.Fn)
	if ok {
		ok = p.closureBody(c, n)
	}
	inner := p.scope
	p.scope = outer
	if !ok {
		return nil
	}
	n.Fn.UsesEval = inner.usesEval
	n.Captures = inner.captures
	for _, x := range n.Captures {
		known := p.access(x.Name, x.Pos)
		if c.flags&(strict|inClosure) == strict && !known {
			if _, ok := p.o.Vars[x.Name]; !ok {
				p.fail(undefinedVariable(x.Name), x.Pos)
				return nil
			}
		}
	}
	n.Fn.Name = closureName(p.src[begin:p.off], n.Pos)
	p.define(signature{name: n.Fn.Name, params: len(n.Captures) + len(n.Fn.Params)})
	return n
}

func (p *parser) closureParams(f *Func) bool {
	if p.next() == tOr || p.match(tPipe) {
		return true
	}
	return p.paramList(f, tPipe, "to close the parameters list of anonymous function or closure",
		"to separate the parameters of anonymous function")
}

// closureBody parses the one statement that a closure is.
func (p *parser) closureBody(c ctx, n *Closure) bool {
	c.flags = inFn | inClosure | p.flags&^strict | c.flags&(quotedKeys|exprBlocks)
	if !p.up(&c) {
		return false
	}
	body := p.stmt(c)
	switch body := body.(type) {
	case nil:
		return false
	case *Block:
		n.Fn.Body = body
	case *Noop:
		n.Fn.Body = &Block{Pos: body.Pos, End: body.Pos}
	default:
		n.Fn.Body = &Block{Body: []Node{body}, Pos: position(body), End: p.last()}
	}
	return true
}

// closureName is the same for the same text at the same place.
func closureName(text string, pos Pos) string {
	const offset, prime = 14695981039346656037, 1099511628211 // FNV-1a
	h := uint64(offset)
	for i := 0; i < len(text); i++ {
		h = (h ^ uint64(text[i])) * prime
	}
	h = (h ^ uint64(uint32(pos.Line))) * prime
	h = (h ^ uint64(uint32(pos.Col))) * prime
	return fmt.Sprintf("anon$%016x", h)
}
