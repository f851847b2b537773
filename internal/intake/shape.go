package intake

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"unicode"
)

// shape is which names a Go type has in JSON.
type shape struct {
	fields map[string]*shape // nil for what has none of its own
	folded map[string]string // the names without their case, to the names
	items  *shape            // of a list or map
}

var (
	shapesMu sync.Mutex
	shapes   = map[reflect.Type]*shape{}
	// made has the shapes of what was asked for, whole: each request asks.
	made sync.Map // reflect.Type -> *shape
)

var (
	readsJSON = reflect.TypeFor[json.Unmarshaler]()
	readsText = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// shapeOf is the shape of a type; nil for what has no names.
func shapeOf(t reflect.Type) *shape {
	if t == nil {
		return nil
	}
	if s, there := made.Load(t); there {
		return s.(*shape)
	}
	shapesMu.Lock()
	defer shapesMu.Unlock()
	s := makeShape(t)
	made.Store(t, s)
	return s
}

func makeShape(t reflect.Type) *shape {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if reflect.PointerTo(t).Implements(readsJSON) || reflect.PointerTo(t).Implements(readsText) {
		return nil
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map, reflect.Struct:
	default:
		return nil
	}
	s := shapes[t]
	if s == nil {
		s = &shape{}
		shapes[t] = s // before its fields: a type may have itself in it
		s.fill(t)
	}
	return s
}

func (s *shape) fill(t reflect.Type) {
	if t.Kind() != reflect.Struct {
		s.items = makeShape(t.Elem())
		return
	}
	fields, folded := map[string]*shape{}, map[string]string{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() || f.Anonymous && name == "" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		fields[name], folded[fold(name)] = makeShape(f.Type), name
	}
	s.fields, s.folded = fields, folded
}

// field is the shape of a field; meant is how the name is written that
// encoding/json would take for one of another case.
func (s *shape) field(name []byte) (of *shape, meant string) {
	if s.fields == nil {
		return s.items, ""
	}
	if of, known := s.fields[string(name)]; known {
		return of, ""
	}
	return nil, s.folded[fold(string(name))]
}

// fold takes a name's case away as encoding/json does.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, name)
}
