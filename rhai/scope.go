package rhai

import (
	"fmt"

	"github.com/ramet-run/ramet/rhai/value"
)

// Scope holds the variables that a host gives to a script, and those that the
// script leaves: top-level variables of a run are added to it.
type Scope struct {
	vars []variable
}

type variable struct {
	name     string
	v        *Value
	readonly bool
}

// NewScope makes an empty scope.
func NewScope() *Scope { return &Scope{} }

// ScopeOf makes a scope of a variable for each key of x, a map with string keys,
// or for each field of x, a struct, by its json tag. Values are converted as
// [Engine.FromGo] does.
//
// Errors: as [Engine.FromGo]; for other data than these.
func (e *Engine) ScopeOf(x any) (*Scope, error) {
	v, err := e.FromGo(x)
	if err != nil {
		return nil, err
	}
	if !v.Is(value.MapKind) {
		return nil, fmt.Errorf("variables of %T: neither a map with string keys nor a struct", x)
	}
	s := NewScope()
	for _, entry := range v.AsMap().Entries() {
		s.Set(entry.Key, entry.Value)
	}
	return s, nil
}

// Set adds a variable, hiding an older one of the same name.
func (s *Scope) Set(name string, v Value) *Scope { return s.push(name, v, false) }

// SetConst adds a constant.
func (s *Scope) SetConst(name string, v Value) *Scope { return s.push(name, v, true) }

func (s *Scope) push(name string, v Value, readonly bool) *Scope {
	if v.IsNone() {
		v = value.Unit
	}
	v.Keep() // the host may hold it too
	s.vars = append(s.vars, variable{name, &v, readonly})
	return s
}

// Get gives the newest variable of that name, None when there is none.
func (s *Scope) Get(name string) Value {
	if v := s.find(name); v != nil {
		return v.v.Flatten().Keep()
	}
	return Value{}
}

// Len is the number of variables, hidden ones included.
func (s *Scope) Len() int { return len(s.vars) }

// At gives variable i: 0 is the oldest.
func (s *Scope) At(i int) (name string, v Value, isConst bool) {
	x := s.vars[i]
	return x.name, x.v.Flatten().Keep(), x.readonly
}

// Truncate drops all variables but the oldest n.
func (s *Scope) Truncate(n int) {
	clear(s.vars[n:])
	s.vars = s.vars[:n]
}

func (s *Scope) find(name string) *variable {
	if s == nil {
		return nil
	}
	for i := len(s.vars) - 1; i >= 0; i-- {
		if s.vars[i].name == name {
			return &s.vars[i]
		}
	}
	return nil
}
