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
	if o := c.last; o != nil && o.id.space == space && o.id.name == name && !o.gone(c.now) { // what a batch took back may be gone
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
		c.gone = append(c.gone, o.set.leave())
		o.set = nil
	}
	o.kind, o.expires, o.lease = kindNone, 0, nil
}

// text copies a string that would keep a larger one in memory.
func text(s string) string { return strings.Clone(s) }
