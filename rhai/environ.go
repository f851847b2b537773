package rhai

import "github.com/ramet-run/ramet/rhai/value"

// environ is what the functions of one script see while it runs: its compiled
// unit, its global constants and the modules it has imported.
type environ struct {
	unit    *unit
	consts  map[string]Value
	imports []imported // at the global level, newest last
}

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

// sizes sums what a value holds as the reference does: items of arrays and
// blobs, entries of maps, bytes of strings, nested ones included.
type sizes struct{ arrays, maps, texts int }

func (s *sizes) add(t sizes) {
	s.arrays, s.maps, s.texts = s.arrays+t.arrays, s.maps+t.maps, s.texts+t.texts
}

// fits checks the sizes of a value that has grown.
func (fr *frame) fits(v Value, pos Pos) bool {
	return !fr.run.sizes || fr.within(sizesOf(v, 0), pos)
}

// fitsItem checks what a list that is being made holds with one more item.
func (fr *frame) fitsItem(total *sizes, item Value, pos Pos) bool {
	total.add(sizesOf(item, 0))
	total.arrays++
	return fr.within(*total, pos)
}

// fitsEntry is fitsItem for a map.
func (fr *frame) fitsEntry(total *sizes, item Value, pos Pos) bool {
	total.add(sizesOf(item, 0))
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
func sizesOf(v Value, depth int) (s sizes) {
	if depth > 64 {
		return s
	}
	switch v.Kind() {
	case value.ArrayKind:
		for _, x := range v.AsArray().Items {
			s.arrays++
			if x.Is(value.BlobKind) {
				s.arrays++
			}
			s.add(sizesOf(x, depth+1))
		}
	case value.BlobKind:
		s.arrays = len(v.AsBlob().Bytes)
	case value.MapKind:
		for _, e := range v.AsMap().Entries() {
			s.maps++
			if e.Value.Is(value.BlobKind) {
				s.arrays++
			}
			s.add(sizesOf(e.Value, depth+1))
		}
	case value.StringKind:
		s.texts = len(v.AsString())
	case value.CellKind:
		return sizesOf(v.AsCell().V, depth+1)
	}
	return s
}

// charge counts bytes that have been used; now and then what is alive is measured.
func (fr *frame) charge(bytes int, pos Pos) bool {
	r := fr.run
	if r.measureAt == 0 {
		return true
	}
	r.charged += int64(bytes)
	if r.charged < r.measureAt {
		return true
	}
	return r.measure(pos)
}

// chargeValue counts a value that a native function has given.
func (fr *frame) chargeValue(v Value, pos Pos) bool {
	if fr.run.measureAt == 0 {
		return true
	}
	return fr.charge(int(shallowSize(v)), pos)
}

// measure adds up what the run's values hold and sets when to look again.
func (r *run) measure(pos Pos) bool {
	limit := r.engine.MaxMemory
	seen := map[any]bool{}
	var live int64
	count := func(v Value) { live += deepSize(v, seen, 0) }
	for _, v := range r.stack[:r.top] {
		count(v)
	}
	for _, fr := range r.frames[:min(r.depth+1, len(r.frames))] {
		for _, v := range fr.old {
			count(v)
		}
		for _, x := range fr.extras {
			count(*x.v)
		}
	}
	if r.scope != nil {
		for _, v := range r.scope.vars {
			count(*v.v)
		}
	}
	count(r.ret)
	if live > limit {
		r.ctl, r.err = ctlError, &value.Error{Kind: value.ErrorDataTooLarge, Name: "Memory of the script", Pos: pos}
		return false
	}
	// The garbage between two looks is bounded by what is left of the limit.
	r.charged, r.measureAt = 0, max((limit-live)/2, limit/16, 1)
	return true
}

// shallowSize estimates the bytes of one object without what it leads to.
func shallowSize(v Value) int64 {
	switch v.Kind() {
	case value.StringKind:
		return 64 + int64(len(v.AsString()))
	case value.ArrayKind:
		return 40 + 16*int64(cap(v.AsArray().Items))
	case value.BlobKind:
		return 40 + int64(cap(v.AsBlob().Bytes))
	case value.MapKind:
		return 64 + 64*int64(v.AsMap().Len())
	case value.FnKind:
		return 96 + 16*int64(len(v.AsFn().Curry))
	case value.CellKind, value.RangeKind, value.RangeInclKind, value.TimeKind, value.CustomKind, value.IterKind:
		return 48
	}
	return 0
}

func deepSize(v Value, seen map[any]bool, depth int) int64 {
	size := shallowSize(v)
	if size == 0 || depth > 256 {
		return size
	}
	id := v.Identity()
	if seen[id] {
		return 0
	}
	seen[id] = true
	switch v.Kind() {
	case value.ArrayKind:
		for _, x := range v.AsArray().Items {
			size += deepSize(x, seen, depth+1)
		}
	case value.MapKind:
		for _, e := range v.AsMap().Entries() {
			size += int64(len(e.Key)) + deepSize(e.Value, seen, depth+1)
		}
	case value.FnKind:
		for _, x := range v.AsFn().Curry {
			size += deepSize(x, seen, depth+1)
		}
	case value.CellKind:
		size += deepSize(v.AsCell().V, seen, depth+1)
	}
	return size
}
