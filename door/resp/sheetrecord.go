package resp

import (
	"slices"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/keyspace"
)

// recordLeaf is what a sheet knows of a record.
type recordLeaf struct {
	// read says whether the record lies on the board: 0 unknown, 1 yes, -1 no.
	read int
	// whole says that cells has every field.
	whole bool
	cells []cell
	index map[string]int // by name to place in cells; of no use for few of them
}

// cell is a field.
type cell struct {
	name, text string
	there      bool
	changed    bool
}

// indexFrom is the number of cells from which they get an index; below it,
// looking through them is faster than hashing.
const indexFrom = 12

func (r *recordLeaf) find(name string) *cell {
	if len(r.cells) >= indexFrom {
		if i, known := r.index[name]; known {
			return &r.cells[i]
		}
		return nil
	}
	for i := range r.cells {
		if r.cells[i].name == name {
			return &r.cells[i]
		}
	}
	return nil
}

// add adds a cell that is not there.
func (r *recordLeaf) add(c cell) {
	r.cells = append(r.cells, c)
	switch n := len(r.cells); {
	case n > indexFrom:
		r.index[c.name] = n - 1
	case n == indexFrom:
		if r.index == nil {
			r.index = make(map[string]int, 2*indexFrom)
		}
		for i := range r.cells {
			r.index[r.cells[i].name] = i
		}
	}
}

// forget makes it that of another record, and keeps the room it has.
func (r *recordLeaf) forget() recordLeaf {
	if cap(r.cells) > 4*indexFrom {
		return recordLeaf{}
	}
	clear(r.cells)
	clear(r.index)
	return recordLeaf{cells: r.cells[:0], index: r.index}
}

// complete reports whether nothing more can be learnt from the board.
func (l *leaf) complete() bool { return l.gone || l.record.read < 0 || l.record.whole }

// load reads fields of a record that are not known yet.
func (s *sheet) load(l *leaf, names ...string) error {
	if l.complete() {
		return nil
	}
	missing := s.names[:0]
	for _, name := range names {
		if l.record.find(name) == nil {
			missing = append(missing, name)
		}
	}
	if s.names = missing[:0]; len(missing) == 0 {
		return nil
	}
	s.one[0] = l.key
	recs, err := s.board.GetFields(s.ctx, s.space(), missing, s.one[:]...)
	if err != nil {
		return wrongKind(err)
	}
	s.learn(l, recs[0], missing)
	return s.took(recs[0].Bytes())
}

// learn takes over what the board says of some fields of a record, which were not
// known.
func (s *sheet) learn(l *leaf, rec board.Record, names []string) {
	if rec == nil {
		s.learnAbsent(l)
		return
	}
	s.learnThere(l)
	for i, name := range names {
		if slices.Contains(names[:min(i, indexFrom)], name) || i > indexFrom && l.record.find(name) != nil {
			continue // named twice
		}
		text, there := rec.Lookup(name)
		s.learnField(l, name, text, there)
	}
}

func (s *sheet) learnThere(l *leaf) {
	l.record.read = 1
	if l.kind == "" {
		l.kind = board.KindRecord
	}
}

func (s *sheet) learnField(l *leaf, name, text string, there bool) {
	l.record.add(cell{name: name, text: text, there: there})
	if s.strict {
		s.batch.Equal(l.key, name, text)
	}
}

func (s *sheet) learnAbsent(l *leaf) {
	l.record.read = -1
	if s.strict {
		s.batch.Absent(l.key)
	}
}

// loadAll reads the whole record.
func (s *sheet) loadAll(l *leaf) error {
	if l.complete() {
		return nil
	}
	recs, err := s.board.Get(s.ctx, s.space(), l.key)
	if err != nil {
		return wrongKind(err)
	}
	if recs[0] == nil {
		s.learnAbsent(l)
		return nil
	}
	s.learnThere(l)
	for _, f := range recs[0] {
		if l.record.find(f.Name) == nil {
			s.learnField(l, f.Name, f.Value, true)
		}
	}
	l.record.whole = true
	return s.took(recs[0].Bytes())
}

// field is one field's text, which must have been loaded.
func (l *leaf) field(name string) (text string, there bool) {
	if c := l.record.find(name); c != nil {
		return c.text, c.there
	}
	return "", false
}

// get is a loaded field's text, "" where it is not there.
func (l *leaf) Get(name string) string {
	text, _ := l.field(name)
	return text
}

// recordThere reports whether the record has any field.
func (s *sheet) recordThere(l *leaf) (bool, error) {
	removed := false
	for _, c := range l.record.cells {
		if c.there {
			return true, nil
		}
		removed = removed || c.changed
	}
	if !removed && !l.complete() {
		if l.record.read == 0 {
			err := s.load(l, keyspace.StringField)
			return l.record.read > 0, err
		}
		return true, nil
	}
	if err := s.loadAll(l); err != nil {
		return false, err
	}
	for _, c := range l.record.cells {
		if c.there {
			return true, nil
		}
	}
	return false, nil
}

// put sets fields, and returns how many of them are new, as far as is known.
func (s *sheet) put(l *leaf, fields ...board.Field) (made int) {
	for _, f := range fields {
		s.bytes += len(f.Name) + len(f.Value)
		c := l.record.find(f.Name)
		if c == nil || !c.there {
			made++
		}
		if c == nil {
			l.record.add(cell{f.Name, f.Value, true, true})
			continue
		}
		c.text, c.there, c.changed = f.Value, true, true
	}
	l.kind = board.KindRecord
	s.room()
	s.batch.Set(l.key, fields...)
	return made
}

// cut takes fields away, which must have been loaded.
func (s *sheet) cut(l *leaf, names ...string) {
	for _, name := range names {
		if c := l.record.find(name); c != nil {
			c.text, c.there, c.changed = "", false, true
		}
	}
	s.batch.Unset(l.key, names...)
}

// hash is the leaf of a key that must be a hash or nothing, with these fields
// loaded.
//
// Errors: [errWrongType], also for a string.
func (s *sheet) hash(key string, names ...string) (*leaf, error) {
	l, err := s.as(key, board.KindRecord)
	if err != nil {
		return nil, err
	}
	if err := s.load(l, append(names, keyspace.StringField)...); err != nil {
		return nil, err
	}
	if _, text := l.field(keyspace.StringField); text {
		return nil, errWrongType
	}
	return l, nil
}

// wholeHash is the leaf of a hash with all its fields.
func (s *sheet) wholeHash(key string) (*leaf, error) {
	l, err := s.as(key, board.KindRecord)
	if err != nil {
		return nil, err
	}
	if err := s.loadAll(l); err != nil {
		return nil, err
	}
	if _, text := l.field(keyspace.StringField); text {
		return nil, errWrongType
	}
	return l, nil
}

// text is the leaf of a key that must be a string or nothing.
func (s *sheet) text(key string) (l *leaf, text string, there bool, err error) {
	if l, err = s.as(key, board.KindRecord); err != nil {
		return nil, "", false, err
	}
	if err = s.load(l, keyspace.StringField); err != nil {
		return nil, "", false, err
	}
	if text, there = l.field(keyspace.StringField); there {
		return l, text, true, nil
	}
	other, err := s.recordThere(l)
	if other {
		err = errWrongType
	}
	return l, "", false, err
}

// pin guards that a field is as it was seen.
func (s *sheet) pin(l *leaf, name string) {
	if c := l.record.find(name); c != nil && c.changed || l.gone {
		return // it is what the sheet makes it
	}
	if l.record.read < 0 {
		s.batch.Absent(l.key)
		return
	}
	s.batch.Equal(l.key, name, l.Get(name))
}
