package memboard

import (
	"slices"

	"github.com/ramet-run/ramet/board"
)

// indexFrom is the number of fields from which a record gets an index; below
// it, looking through them is faster than hashing.
const indexFrom = 24

// record is the fields of one record, each name once, in no order.
type record struct {
	fields []board.Field
	index  map[string]int // name to place in fields; nil for a small record
	bytes  int            // of names and values together
}

func (r *record) find(name string) int {
	if r.index != nil {
		if i, ok := r.index[name]; ok {
			return i
		}
		return -1
	}
	for i := range r.fields {
		// Names of one length often begin alike: the end is looked at first.
		if f := r.fields[i].Name; len(f) == len(name) && (f == "" || f[len(f)-1] == name[len(name)-1]) && f == name {
			return i
		}
	}
	return -1
}

func (r *record) get(name string) string {
	if i := r.find(name); i >= 0 {
		return r.fields[i].Value
	}
	return ""
}

// set sets a field and returns what it was.
func (r *record) set(name, value string) (old string, had bool) {
	if i := r.find(name); i >= 0 {
		old = r.fields[i].Value
		r.fields[i].Value = value
		r.bytes += len(value) - len(old)
		return old, true
	}
	r.fields = append(r.fields, board.Field{Name: name, Value: value})
	r.bytes += len(name) + len(value)
	switch {
	case r.index != nil:
		r.index[name] = len(r.fields) - 1
	case len(r.fields) >= indexFrom:
		r.index = make(map[string]int, 2*indexFrom)
		for i := range r.fields {
			r.index[r.fields[i].Name] = i
		}
	}
	return "", false
}

// unset takes a field away and returns what it was.
func (r *record) unset(name string) (old string, had bool) {
	i := r.find(name)
	if i < 0 {
		return "", false
	}
	old = r.fields[i].Value
	last := len(r.fields) - 1
	r.fields[i] = r.fields[last]
	r.fields[last] = board.Field{}
	r.fields = r.fields[:last]
	r.bytes -= len(name) + len(old)
	if r.index != nil {
		delete(r.index, name)
		if i < last {
			r.index[r.fields[i].Name] = i
		}
	}
	return old, true
}

// number reads a field as a decimal int64; one that is not there is 0.
func (r *record) number(key, name string) (int64, error) {
	i := r.find(name)
	if i < 0 {
		return 0, nil
	}
	return board.NumberOf(key, name, r.fields[i].Value)
}

// some copies those of the named fields that are there.
func (r *record) some(names []string) board.Record {
	out := make(board.Record, 0, len(names))
	for _, name := range names {
		if i := r.find(name); i >= 0 {
			out = append(out, r.fields[i])
		}
	}
	return out
}

func (r *record) copy() board.Record { return slices.Clone(board.Record(r.fields)) }
