package pebbleboard

import "github.com/ramet-run/ramet/board"

// This file reads and changes the fields of records.

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
