package layout

import (
	"encoding/json"
	"strconv"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// This file is how the record of a noun is written and read by one table of its
// fields. The table says of each field all that there is to say: its name, its place in
// the domain's value, whether it is left out where it is empty, whether encrypted
// contexts hide it, and whether pages of many leave it out. What else needs a list of
// fields takes it from there.

// field is one field of the record of a T.
type field[T any] struct {
	name string
	// opt leaves it out where it is empty: so are fields of ours, which foreign readers
	// need not meet. Those of the seeds are always there.
	opt bool
	// payload is hidden in encrypted contexts; unlisted is not read for a page of many.
	payload, unlisted bool
	// write is its text, and whether that is of an empty value. Nil: it is read only.
	write func(*T) (text string, empty bool)
	// read takes its text in. Nil: it is not read.
	read func(*decoder, *T, board.Field)
}

func (f field[T]) ours() field[T]       { f.opt = true; return f }
func (f field[T]) secret() field[T]     { f.payload = true; return f }
func (f field[T]) notInPages() field[T] { f.unlisted = true; return f }

// then looks at what was read.
func (f field[T]) then(check func(*decoder, *T, board.Field)) field[T] {
	read := f.read
	f.read = func(d *decoder, v *T, b board.Field) {
		read(d, v, b)
		check(d, v, b)
	}
	return f
}

// fromKey is a field whose value is known by the record's key, and is not read.
func (f field[T]) fromKey() field[T] { f.read, f.unlisted = nil, true; return f }

// readOnly is a field that others write: the board itself, or a program of others.
func (f field[T]) readOnly() field[T] { f.write = nil; return f }

// apart are fields of the record that are written and read by themselves.
func apart[T any](name string) field[T] { return field[T]{name: name} }

// within are the fields of a part of a T that has a table of its own.
func within[T, U any](t *table[U], at func(*T) *U) []field[T] {
	all := make([]field[T], len(t.fields))
	for i, f := range t.fields {
		g := field[T]{name: f.name, opt: f.opt, payload: f.payload, unlisted: f.unlisted}
		if f.write != nil {
			g.write = func(v *T) (string, bool) { return f.write(at(v)) }
		}
		if f.read != nil {
			g.read = func(d *decoder, v *T, b board.Field) { f.read(d, at(v), b) }
		}
		all[i] = g
	}
	return all
}

// table is all fields of a record, in the order in which they are written.
type table[T any] struct {
	fields []field[T]
	byName map[string]int
	kept   int // how many are always there
}

func newTable[T any](fields ...field[T]) *table[T] {
	t := &table[T]{fields: fields, byName: make(map[string]int, len(fields))}
	for i, f := range fields {
		if _, twice := t.byName[f.name]; twice {
			panic("BUG: field " + f.name + " is twice in a table")
		}
		t.byName[f.name] = i
		if !f.opt && f.write != nil {
			t.kept++
		}
	}
	return t
}

// encode writes a record.
func (t *table[T]) encode(v *T) []board.Field {
	rec := make([]board.Field, 0, t.kept+8)
	for i := range t.fields {
		f := &t.fields[i]
		if f.write == nil {
			continue
		}
		if text, empty := f.write(v); !empty || !f.opt {
			rec = append(rec, board.Field{Name: f.name, Value: text})
		}
	}
	return rec
}

// decode reads a record into v. Fields it does not know are ignored.
//
// Errors: [domain.ErrInvalid] naming the field; v is filled as far as it could be read.
func (t *table[T]) decode(d decoder, v *T, rec board.Record) error {
	next := 0 // records mostly come as they were written: that spares most look-ups
	for _, f := range rec {
		i, known := next, next < len(t.fields) && t.fields[next].name == f.Name
		if !known {
			if i, known = t.byName[f.Name]; !known {
				continue
			}
		}
		if next = i + 1; t.fields[i].read != nil {
			t.fields[i].read(&d, v, f)
		}
	}
	return d.err
}

// names are those of the fields that are so.
func (t *table[T]) names(so func(*field[T]) bool) (names []string) {
	for i := range t.fields {
		if f := &t.fields[i]; f.name != board.FieldUnreadable && so(f) {
			names = append(names, f.name)
		}
	}
	return names
}

// payload are the fields that encrypted contexts hide, line those that are read for
// pages of many, and optional those that are left out where they are empty.
func (t *table[T]) payload() []string  { return t.names(func(f *field[T]) bool { return f.payload }) }
func (t *table[T]) line() []string     { return t.names(func(f *field[T]) bool { return !f.unlisted }) }
func (t *table[T]) optional() []string { return t.names(func(f *field[T]) bool { return f.opt }) }

// text is a text of any type.
func text[T any, S ~string](name string, at func(*T) *S) field[T] {
	return field[T]{name: name,
		write: func(v *T) (string, bool) { s := *at(v); return string(s), s == "" },
		read:  func(_ *decoder, v *T, f board.Field) { *at(v) = S(f.Value) }}
}

// number is a whole number.
func number[T any, N ~int | ~int64](name string, at func(*T) *N) field[T] {
	return field[T]{name: name,
		write: func(v *T) (string, bool) { n := *at(v); return strconv.FormatInt(int64(n), 10), n == 0 },
		read:  func(d *decoder, v *T, f board.Field) { *at(v) = N(d.int(f)) }}
}

// number32 is a number of 32 bits, from 0: an id, Unix seconds.
func number32[T any, N ~uint32](name string, at func(*T) *N) field[T] {
	return field[T]{name: name,
		write: func(v *T) (string, bool) { n := *at(v); return strconv.FormatUint(uint64(n), 10), n == 0 },
		read:  func(d *decoder, v *T, f board.Field) { *at(v) = N(d.u32(f)) }}
}

// number8 is a number of 8 bits, from 0.
func number8[T any](name string, at func(*T) *uint8) field[T] {
	return field[T]{name: name,
		write: func(v *T) (string, bool) { n := *at(v); return strconv.FormatUint(uint64(n), 10), n == 0 },
		read:  func(d *decoder, v *T, f board.Field) { *at(v) = uint8(d.uint(f, 8)) }}
}

// flag is true or false.
func flag[T any](name string, at func(*T) *bool) field[T] {
	return field[T]{name: name,
		write: func(v *T) (string, bool) { b := *at(v); return strconv.FormatBool(b), !b },
		read:  func(d *decoder, v *T, f board.Field) { *at(v) = d.flag(f) }}
}

// texts is a map of texts.
func texts[T any, M ~map[string]string](name string, at func(*T) *M) field[T] {
	return field[T]{name: name,
		write: func(v *T) (string, bool) { m := *at(v); return encodeMap(m), len(m) == 0 },
		read:  func(d *decoder, v *T, f board.Field) { *at(v) = d.strMap(f) }}
}

// jobIDs is a list of ids of jobs.
func jobIDs[T any](name string, at func(*T) *[]domain.JobID) field[T] {
	return field[T]{name: name,
		write: func(v *T) (string, bool) { ids := *at(v); return encodeIDs(ids), len(ids) == 0 },
		read:  func(d *decoder, v *T, f board.Field) { d.ids(f, at(v)) }}
}

// list is a list of anything; want says for an error what it should have been.
func list[T, E any, L ~[]E](name, want string, at func(*T) *L) field[T] {
	return field[T]{name: name,
		write: func(v *T) (string, bool) { all := *at(v); return encodeList([]E(all)), len(all) == 0 },
		read:  func(d *decoder, v *T, f board.Field) { d.json(f, at(v), want) }}
}

// plain is a list whose texts are written as they are, for payloads that were checked so:
// what only HTML wants escaped is not; want as for [list].
func plain[T, E any](name, want string, at func(*T) *[]E) field[T] {
	f := list(name, want, at)
	f.write = func(v *T) (string, bool) { return encodePlain(*at(v)), len(*at(v)) == 0 }
	return f
}

// raw is JSON as it is.
func raw[T any](name string, at func(*T) *json.RawMessage) field[T] {
	return field[T]{name: name,
		write: func(v *T) (string, bool) { return string(*at(v)), len(*at(v)) == 0 },
		read:  func(_ *decoder, v *T, f board.Field) { *at(v) = json.RawMessage(f.Value) }}
}

// counts is a map of numbers.
func counts[T any](name string, at func(*T) *map[string]int64) field[T] {
	f := object(name, "a JSON object of numbers", at)
	f.write = func(v *T) (string, bool) {
		if len(*at(v)) == 0 {
			return "{}", true
		}
		return mustJSON(*at(v)), false
	}
	return f
}

// object is a map that is no [texts], as JSON, and left out where it is empty; want as for
// [list].
func object[T any, K comparable, E any](name, want string, at func(*T) *map[K]E) field[T] {
	return field[T]{name: name,
		write: func(v *T) (string, bool) { return orNothing(*at(v), len(*at(v)) == 0) },
		read:  func(d *decoder, v *T, f board.Field) { d.json(f, at(v), want) }}
}

// pointer is something that may not be there, as JSON; want as for [list].
func pointer[T, E any](name, want string, at func(*T) **E) field[T] {
	return field[T]{name: name,
		write: func(v *T) (string, bool) { return orNothing(*at(v), *at(v) == nil) },
		read:  func(d *decoder, v *T, f board.Field) { d.json(f, at(v), want) }}
}

// parts is a list of what a message has; want as for [list].
func parts[T, E any, L ~[]E](name, want string, at func(*T) *L) field[T] {
	f := list(name, want, at)
	f.write = func(v *T) (string, bool) { all := *at(v); return partsOf([]E(all)), len(all) == 0 }
	return f
}

// orNothing writes what is always left out where it is empty.
func orNothing(v any, empty bool) (string, bool) {
	if empty {
		return "", true
	}
	return mustJSON(v), false
}

// unreadable tells that values of the record do not open; see [board.FieldUnreadable].
func unreadable[T any]() field[T] {
	return field[T]{name: board.FieldUnreadable, read: func(d *decoder, _ *T, f board.Field) { d.unreadable(f) }}
}
