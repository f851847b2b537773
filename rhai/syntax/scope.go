package syntax

// This file knows which names a function's text has declared so far.

type variable struct {
	name     string
	constant bool
}

// barrier hides the variables before a custom syntax that may declare some.
const barrier = "$ BARRIER $"

// scope is what is known inside one function, closure or script.
type scope struct {
	vars    []variable
	frame   int // where the innermost block begins in vars
	closure bool

	// captures are the names a closure takes from outside, in order of use.
	captures []Ident
	// property says that the next name is a property, not a variable.
	property bool

	imports []string // of this text so far
	outer   []string // of the texts around it

	noPipe   bool // | ends an expression: in the values of a switch case
	usesEval bool
}

func (s *scope) declare(name string, constant bool) {
	s.vars = append(s.vars, variable{name, constant})
}

// find gives the newest variable of that name. It looks behind a barrier, but
// tells that it did.
func (s *scope) find(name string) (v *variable, behind bool) {
	for i := len(s.vars) - 1; i >= 0; i-- {
		switch s.vars[i].name {
		case name:
			return &s.vars[i], behind
		case barrier:
			behind = true
		}
	}
	return nil, behind
}

func (s *scope) imported(name string) bool {
	for _, m := range s.imports {
		if m == name {
			return true
		}
	}
	for _, m := range s.outer {
		if m == name {
			return true
		}
	}
	return false
}

// inner is the scope of a function or closure inside s: it sees the modules
// of s, but not its variables.
func (s *scope) inner(closure bool) *scope {
	outer := s.outer
	if len(s.imports) > 0 {
		outer = append(append([]string(nil), outer...), s.imports...)
	}
	return &scope{outer: outer, closure: closure}
}

// access notes that name is read at pos. It tells whether the name is known
// here, as a variable or as a function defined above.
func (p *parser) access(name string, pos Pos) bool {
	s := p.scope
	if !s.closure && !p.o.Strict {
		s.property = false
		return true
	}
	v, behind := s.find(name)
	function := p.functions[name]
	if s.property {
		s.property = false
	} else if s.closure && !function && v == nil {
		s.capture(name, pos)
	}
	return function || (v != nil && !behind)
}

func (s *scope) capture(name string, pos Pos) {
	for _, c := range s.captures {
		if c.Name == name {
			return
		}
	}
	s.captures = append(s.captures, Ident{name, pos})
}

// checkModule reports a module that is not known, where that matters.
func (p *parser) checkModule(c ctx, root Ident) bool {
	if c.flags&strict == 0 || root.Name == "global" || p.scope.imported(root.Name) || p.o.Modules[root.Name] {
		return true
	}
	return p.fail(problem{"ModuleUndefined", "Undefined module: " + root.Name}, root.Pos)
}
