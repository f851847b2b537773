package pebbleboard

import (
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// ident names a key, an alarm or a counter of a space.
type ident struct {
	space board.Space
	name  string
}

// object is what the committer knows of one key. It is in memory while a
// group works on it, while it is leased, and for some time after.
type object struct {
	id ident
	state
	fields []board.Field  // of a record, while open
	index  map[string]int // name to place in fields, for a large record
	open   bool           // fields are decoded; they are newer than body

	disk     header // as it is in the store, with the groups in flight
	onDisk   bool
	overlaid bool // the lease's claim is only in a claim log yet, not in body

	seen  uint64 // group that touched it last
	dirty uint64 // group that must write it
	saved uint64 // batch that kept its earlier state
	cool  uint64 // group in which its lease ended: it is not needed soon
	line  bool   // it stands in the line of the cache
	used  bool   // it was touched since it stands there
	cost  int    // bytes it was entered with
}

// state is the part of an object that a failed batch takes back.
type state struct {
	kind    kind
	body    []byte // encoded fields; never changed in place
	size    int    // bytes of names and values together, while open
	expires int64  // Unix ms, 0: never
	live    bool
	liveAt  int64
	lease   *lease
	list    *list
	set     *set
	changed bool // for those who watch
}

// exists reports whether there is something under the key. A live mark alone
// is not.
func (o *object) exists() bool { return o.kind != kindNone }

func (o *object) gone(now int64) bool { return o.expires != 0 && o.expires <= now }

// check refuses an object of another kind; nothing is of every kind.
func (o *object) check(want kind) error {
	if o.kind != want && o.kind != kindNone {
		return domain.Invalidf("%q is a %s, not a %s", o.id.name, o.kind, want)
	}
	return nil
}

// object returns what is under a key, from memory or from the store.
func (c *committer) object(space board.Space, name string) (*object, error) {
	if o := c.last; o != nil && o.id.space == space && o.id.name == name {
		return o, nil
	}
	id := ident{space, name}
	o := c.objects[id]
	if o == nil {
		var err error
		if o, err = c.read(id); err != nil {
			return nil, err
		}
		c.objects[id] = o
	}
	c.touch(o)
	if o.gone(c.now) {
		c.remove(o)
	}
	c.last = o
	return o, nil
}

func (c *committer) touch(o *object) {
	if o.seen != c.no {
		o.seen, o.used = c.no, true
		c.touched = append(c.touched, o)
	}
}

// read loads an object from the store.
func (c *committer) read(id ident) (*object, error) {
	c.keyBuf = appendKey(c.keyBuf[:0], id)
	v, closer, err := c.b.db.Get(c.keyBuf)
	if err == pebble.ErrNotFound {
		return c.newObject(id), nil
	}
	if err != nil {
		return nil, c.b.readError(err)
	}
	defer closer.Close()
	o := c.newObject(id)
	return o, c.b.readError(c.decode(o, c.keep(v)))
}

func (c *committer) newObject(id ident) *object {
	if n := len(c.spare); n > 0 {
		o := c.spare[n-1]
		c.spare = c.spare[:n-1]
		*o = object{id: id}
		return o
	}
	return &object{id: id}
}

// decode fills an object from its value, which must never change.
func (c *committer) decode(o *object, v []byte) error {
	body, err := o.disk.decode(v)
	if err != nil {
		return err
	}
	h := &o.disk
	o.onDisk = true
	o.kind, o.expires, o.live, o.liveAt = h.kind, h.expires, h.live, h.liveAt
	switch h.kind {
	case kindRecord:
		o.body = body
	case kindList:
		o.list = &list{}
		return o.list.decode(body)
	case kindSet:
		o.set = &set{}
		return o.set.decode(body)
	}
	if h.leased {
		return c.revive(o)
	}
	return nil
}

// save keeps the object's state so that the batch can be taken back.
func (c *committer) save(o *object) {
	if o.saved == c.batchNo {
		return
	}
	o.saved = c.batchNo
	s := saved{o: o, state: o.state}
	if o.list != nil {
		s.list = len(c.listSaves)
		c.listSaves = append(c.listSaves, *o.list)
	}
	c.saves = append(c.saves, s)
}

// change is save for what watchers and the store must hear of.
func (c *committer) change(o *object) {
	c.save(o)
	o.changed = true
	c.mark(o)
}

// mark has the object written at the end of the group.
func (c *committer) mark(o *object) {
	if o.dirty != c.no {
		o.dirty = c.no
		c.dirty = append(c.dirty, o)
	}
}

// saved is an object's state before a batch.
type saved struct {
	o     *object
	state state
	list  int // place in committer.listSaves, if it is a list
}

// step is one change of a record's fields, to be taken back in reverse order.
type step struct {
	o    *object
	what stepKind
	i    int
	old  board.Field
	all  []board.Field // for stepCleared
}

type stepKind uint8

const (
	stepSet stepKind = iota
	stepAdded
	stepRemoved
	stepCleared
)

// undo takes the batch in progress back.
func (c *committer) undo() {
	for i := len(c.steps) - 1; i >= 0; i-- {
		c.steps[i].undo()
	}
	for i := len(c.saves) - 1; i >= 0; i-- {
		s := &c.saves[i]
		s.o.state = s.state
		if l := s.state.list; l != nil {
			*l = c.listSaves[s.list]
		}
	}
	c.gone = c.gone[:c.goneMark]
	c.undoAlarms()
	c.forget()
}

// forget drops what undo would have needed.
func (c *committer) forget() {
	clear(c.steps)
	clear(c.saves)
	clear(c.listSaves)
	c.steps, c.saves, c.listSaves, c.alarmSaves = c.steps[:0], c.saves[:0], c.listSaves[:0], c.alarmSaves[:0]
}

func (s *step) undo() {
	o := s.o
	o.index = nil
	switch s.what {
	case stepSet:
		o.fields[s.i] = s.old
	case stepAdded:
		o.fields = o.fields[:len(o.fields)-1]
	case stepRemoved:
		o.fields = append(o.fields, board.Field{})
		last := len(o.fields) - 1
		o.fields[last] = o.fields[s.i]
		o.fields[s.i] = s.old
	case stepCleared:
		o.fields, o.open = s.all, s.all != nil
	}
}

// indexFrom is the number of fields from which a record gets an index.
const indexFrom = 48

// openFields decodes a record's fields, so that they can be read and changed.
func (c *committer) openFields(o *object) error {
	if o.open || o.kind != kindRecord {
		return nil
	}
	fields, err := decodeFields(c.fieldBuf(), o.body)
	if err != nil {
		return c.b.readError(err)
	}
	o.fields, o.open = fields, true
	if o.overlaid {
		o.fields = o.lease.overlay(o.fields)
	}
	o.measure()
	return nil
}

func (o *object) measure() {
	o.size = 0
	for i := range o.fields {
		o.size += len(o.fields[i].Name) + len(o.fields[i].Value)
	}
}

// setAll replaces the fields of an open record.
func (o *object) setAll(fields []board.Field) {
	o.fields, o.index = append(o.fields[:0], fields...), nil
	o.measure()
}

// fieldBuf returns room for fields that outlives the group only by mistake.
func (c *committer) fieldBuf() []board.Field {
	if n := len(c.fieldBufs); n > 0 {
		buf := c.fieldBufs[n-1]
		c.fieldBufs = c.fieldBufs[:n-1]
		return buf
	}
	return make([]board.Field, 0, 32)
}

// closeFields gives the room back at the end of a group. Large records stay
// open: whoever changes one field of a thousand does so again.
func (c *committer) closeFields(o *object) {
	if !o.open || len(o.fields) >= indexFrom {
		return
	}
	if cap(o.fields) > 0 && len(c.fieldBufs) < 1024 {
		clear(o.fields)
		c.fieldBufs = append(c.fieldBufs, o.fields[:0])
	}
	o.fields, o.index, o.open = nil, nil, false
}

func (o *object) find(name string) int {
	if len(o.fields) < indexFrom {
		for i := range o.fields {
			if o.fields[i].Name == name {
				return i
			}
		}
		return -1
	}
	if o.index == nil {
		o.index = make(map[string]int, 2*len(o.fields))
		for i := range o.fields {
			o.index[o.fields[i].Name] = i
		}
	}
	if i, ok := o.index[name]; ok {
		return i
	}
	return -1
}

// field returns a field's value, "" when it is not there.
func (c *committer) field(o *object, name string) (string, error) {
	if err := c.openFields(o); err != nil {
		return "", err
	}
	if i := o.find(name); i >= 0 {
		return o.fields[i].Value, nil
	}
	return "", nil
}

// setField sets a field of an open record.
func (c *committer) setField(o *object, f board.Field) {
	if i := o.find(f.Name); i >= 0 {
		c.steps = append(c.steps, step{o: o, what: stepSet, i: i, old: o.fields[i]})
		o.size += len(f.Value) - len(o.fields[i].Value)
		o.fields[i].Value = f.Value
		return
	}
	c.steps = append(c.steps, step{o: o, what: stepAdded})
	o.fields = append(o.fields, f)
	o.size += len(f.Name) + len(f.Value)
	if o.index != nil {
		o.index[f.Name] = len(o.fields) - 1
	}
}

// unsetField takes a field from an open record.
func (c *committer) unsetField(o *object, name string) bool {
	i := o.find(name)
	if i < 0 {
		return false
	}
	old, last := o.fields[i], len(o.fields)-1
	c.steps = append(c.steps, step{o: o, what: stepRemoved, i: i, old: old})
	o.fields[i] = o.fields[last]
	o.fields[last] = board.Field{}
	o.fields = o.fields[:last]
	o.size -= len(old.Name) + len(old.Value)
	if o.index != nil {
		delete(o.index, name)
		if i < last {
			o.index[o.fields[i].Name] = i
		}
	}
	return true
}

// makeRecord turns nothing into an empty open record, or opens one.
func (c *committer) makeRecord(o *object) error {
	if err := o.check(kindRecord); err != nil {
		return err
	}
	if o.kind == kindNone {
		c.change(o)
		c.steps = append(c.steps, step{o: o, what: stepCleared, all: o.fields})
		o.kind, o.size = kindRecord, 0
		o.fields, o.index, o.open = c.fieldBuf(), nil, true
		return nil
	}
	return c.openFields(o)
}

// remove takes a key away, with its lease and live mark.
func (c *committer) remove(o *object) {
	c.save(o)
	c.mark(o)
	o.live = false
	c.vanish(o)
}

// vanish takes away what is under a key, and its lease.
func (c *committer) vanish(o *object) {
	if o.kind == kindNone {
		return
	}
	c.change(o)
	switch o.kind {
	case kindRecord:
		c.steps = append(c.steps, step{o: o, what: stepCleared, all: o.fields})
		o.fields, o.index, o.open, o.body = nil, nil, false, nil
	case kindList:
		c.gone = append(c.gone, o.list.leave())
		o.list = nil
	case kindSet:
		c.gone = append(c.gone, garbage{ns: nsMember, id: o.set.id, all: true})
		o.set = nil
	}
	o.kind, o.expires, o.lease = kindNone, 0, nil
}

// text copies a string that would keep a larger one in memory.
func text(s string) string { return strings.Clone(s) }
