package rhai

import "github.com/ramet-run/ramet/rhai/value"

// environ is what the functions of one script see while it runs: its compiled
// unit, its global constants and the modules it has imported.
type environ struct {
	unit    *unit
	consts  map[string]Value
	imports []imported // at the global level, newest last
	exports []exported
}

// exported is a variable that a script offers to those who import it.
type exported struct{ name, alias string }

type imported struct {
	alias  string
	module *Module
}

// constant records a global constant for global::name.
func (v *environ) constant(name string, x Value) {
	if v.consts == nil {
		v.consts = map[string]Value{}
	}
	v.consts[name] = x
}

func (v *environ) source() string {
	if v == nil || v.unit == nil || v.unit.prog == nil {
		return ""
	}
	return v.unit.prog.Source
}

// module finds an import of the global level.
func (v *environ) module(alias string) *Module {
	for i := len(v.imports) - 1; i >= 0; i-- {
		if v.imports[i].alias == alias {
			return v.imports[i].module
		}
	}
	return nil
}

// globalFunction finds a function of the modules that the host made global.
func (fr *frame) globalFunction(name string, arity int) *moduleFunction {
	for _, m := range fr.run.engine.global {
		if f := m.function(name, arity); f != nil {
			return f
		}
	}
	return nil
}

// around looks in the scripts whose functions led here by calls: what a
// module's function does not find in its own script may be there.
func (fr *frame) around(find func(env *environ) bool) bool {
	r := fr.run
	if r.resolved == nil {
		return false // there is one script only
	}
	for i, seen := r.depth-1, fr.env; i >= r.base; i-- {
		if env := r.frames[i].env; env != seen && env != nil {
			if seen = env; find(env) {
				return true
			}
		}
	}
	return false
}

// functionAround finds a function there; this, when not nil, chooses among typed methods.
func (fr *frame) functionAround(name string, this *Value, arity int) (f *moduleFunction) {
	fr.around(func(env *environ) bool {
		if this != nil {
			if m := env.unit.methods[methodKey{this.TypeName(), name, arity}]; m != nil {
				f = &moduleFunction{fn: m, env: env}
				return true
			}
		}
		if m := env.unit.fns[fnKey{name, arity}]; m != nil {
			f = &moduleFunction{fn: m, env: env}
		}
		return f != nil
	})
	return f
}

// sizes sums what a value holds as the reference does: items of arrays and
// blobs, entries of maps, bytes of strings, nested ones included.
type sizes struct{ arrays, maps, texts int }

func (s *sizes) add(t sizes) {
	s.arrays, s.maps, s.texts = s.arrays+t.arrays, s.maps+t.maps, s.texts+t.texts
}

// fits checks the sizes of a value that has grown.
func (fr *frame) fits(v Value, pos Pos) bool {
	return !fr.run.sizes || fr.within(sizesOf(v), pos)
}

// fitsItem checks what a list that is being made holds with one more item.
func (fr *frame) fitsItem(total *sizes, item Value, pos Pos) bool {
	total.add(sizesOf(item))
	total.arrays++
	return fr.within(*total, pos)
}

// fitsEntry is fitsItem for a map.
func (fr *frame) fitsEntry(total *sizes, item Value, pos Pos) bool {
	total.add(sizesOf(item))
	total.maps++
	return fr.within(*total, pos)
}

func (fr *frame) within(s sizes, pos Pos) bool {
	c := &fr.run.ctx
	c.Pos = pos
	if c.FitsString(s.texts) && c.FitsArray(s.arrays) && c.FitsMap(s.maps) {
		return true
	}
	fr.failed(pos)
	return false
}

// sizesOf measures a value. Deeper than any script nests it looks no further.
func sizesOf(v Value) sizes {
	budget := maxLook
	return sizesWithin(v, 0, &budget)
}

// maxLook bounds how many values are looked at to measure one: lists that hold
// one list many times over, and that again, are as many as there is no time for.
const maxLook = 1 << 24

func sizesWithin(v Value, depth int, budget *int) (s sizes) {
	if depth > 64 {
		return s
	}
	if *budget--; *budget < 0 {
		return sizes{arrays: maxLook, maps: maxLook, texts: maxLook}
	}
	switch v.Kind() {
	case value.ArrayKind:
		for _, x := range v.AsArray().Items {
			s.arrays++
			if x.Is(value.BlobKind) {
				s.arrays++
			}
			if s.add(sizesWithin(x, depth+1, budget)); *budget < 0 {
				return s
			}
		}
	case value.BlobKind:
		s.arrays = len(v.AsBlob().Bytes)
	case value.MapKind:
		for _, e := range v.AsMap().Entries() {
			s.maps++
			if e.Value.Is(value.BlobKind) {
				s.arrays++
			}
			if s.add(sizesWithin(e.Value, depth+1, budget)); *budget < 0 {
				return s
			}
		}
	case value.StringKind:
		s.texts = len(v.AsString())
	case value.CellKind:
		return sizesWithin(v.AsCell().V, depth+1, budget)
	}
	return s
}
