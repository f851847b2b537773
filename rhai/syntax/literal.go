package syntax

// This file parses templates, arrays and maps.

// interpolated parses a back-tick text with ${ } parts.
func (p *parser) interpolated(c ctx) Node {
	n := &Interpolated{Pos: c.pos}
	if !p.up(&c) {
		return nil
	}
	for k := p.next(); ; k = p.next() {
		switch {
		case k == tError:
			p.fail(p.tok.problem, p.tok.pos)
			return nil
		case p.tok.str != "":
			n.Parts = append(n.Parts, &Literal{Kind: StringLit, Str: p.tok.str, Pos: p.tok.pos})
		}
		if k == tString {
			return n
		}
		b := p.block(c)
		if b == nil {
			return nil
		}
		n.Parts = append(n.Parts, b)
		p.inText = true
	}
}

// array parses [ a, b ].
func (p *parser) array(c ctx) Node {
	c.pos = p.take()
	n := &ArrayLit{Pos: c.pos}
	const unclosed = "to end this array literal"
	for {
		k := p.peek()
		if limit := p.o.MaxArray; limit > 0 && len(n.Items) >= limit {
			p.fail(tooLarge("Size of array literal", limit), p.tok.pos)
			return nil
		}
		switch k {
		case tRightBracket:
			p.take()
			return n
		case tEOF:
			p.fail(missing("]", unclosed), p.tok.pos)
			return nil
		}
		item := c
		if !p.up(&item) {
			return nil
		}
		x := p.expr(item)
		if x == nil {
			return nil
		}
		n.Items = append(n.Items, x)
		switch p.peek() {
		case tComma:
			p.take()
		case tRightBracket:
		case tEOF:
			p.fail(missing("]", unclosed), p.tok.pos)
			return nil
		default:
			p.wrongToken(missing(",", "to separate the items of this array literal"))
			return nil
		}
	}
}

// mapLit parses #{ a: x, "b": y }.
func (p *parser) mapLit(c ctx) Node {
	c.pos = p.take()
	n := &MapLit{Pos: c.pos}
	keys := keySet{}
	const unclosed = "to end this object map literal"
	for {
		if p.match(tRightBrace) {
			return n
		}
		key, ok := p.mapKey(c, n, &keys, unclosed)
		if !ok {
			return nil
		}
		if p.next() != tColon {
			p.wrongToken(missing(":", "to follow the property '"+key.Name+"' in this object map literal"))
			return nil
		}
		if limit := p.o.MaxMap; limit > 0 && len(n.Keys) >= limit {
			p.peek()
			p.fail(tooLarge("Number of properties in object map literal", limit), p.tok.pos)
			return nil
		}
		item := c
		if !p.up(&item) {
			return nil
		}
		x := p.expr(item)
		if x == nil {
			return nil
		}
		keys.add(key.Name)
		n.Keys = append(n.Keys, key)
		n.Values = append(n.Values, x)
		switch p.peek() {
		case tComma:
			p.take()
		case tRightBrace:
		case tIdent:
			p.fail(missing(",", "to separate the items of this object map literal"), p.tok.pos)
			return nil
		default:
			p.wrongToken(missing("}", unclosed))
			return nil
		}
	}
}

// mapKey takes the key of an entry.
func (p *parser) mapKey(c ctx, n *MapLit, keys *keySet, unclosed string) (Ident, bool) {
	k := p.next()
	pos := p.tok.pos
	switch {
	case k == tIdent && c.flags&quotedKeys != 0:
		return Ident{}, p.fail(propertyExpected, pos)
	case k == tIdent || k == tString:
		name := p.tok.str
		if keys.has(name) {
			return Ident{}, p.fail(problem{"DuplicatedProperty", "Duplicated property for object map literal: " + name}, pos)
		}
		return Ident{name, pos}, true
	case k == tInterpolated:
		return Ident{}, p.fail(propertyExpected, pos)
	case k == tReserved && validName(p.tok.str):
		return Ident{}, p.fail(reserved(p.tok.str), pos)
	case k == tEOF || len(n.Keys) == 0:
		return Ident{}, p.wrongToken(missing("}", unclosed))
	}
	return Ident{}, p.wrongToken(propertyExpected)
}

// keySet finds keys that come twice: small ones by looking, large ones by map.
type keySet struct {
	few  []string
	many map[string]bool
}

func (s *keySet) has(key string) bool {
	if s.many != nil {
		return s.many[key]
	}
	for _, k := range s.few {
		if k == key {
			return true
		}
	}
	return false
}

func (s *keySet) add(key string) {
	if s.few = append(s.few, key); s.many != nil {
		s.many[key] = true
		return
	}
	if len(s.few) > 16 {
		s.many = make(map[string]bool, 64)
		for _, k := range s.few {
			s.many[k] = true
		}
	}
}
