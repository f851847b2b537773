package memboard

import (
	"slices"

	"github.com/ramet-run/ramet/board"
)

// This file has the single steps of a batch. Each changes the space, writes
// into the journal how to take that back, and notes which key has changed.

// open returns the entry under key, making it when it is not there.
func (t *tx) open(key string, k board.Kind) (*entry, error) {
	e, err := t.s.lookup(key, k)
	if e != nil || err != nil {
		return e, err
	}
	e = newEntry(k)
	s := t.s
	s.put(key, e)
	t.journal(func() { s.take(key) })
	return e, nil
}

// remove takes a key away, whatever it holds, with its lease and live mark.
func (t *tx) remove(key string) {
	t.endLease(key)
	t.mark(key, func() { t.s.dropMark(key) })
	if e := t.s.entries[key]; e != nil {
		t.removeEntry(key, e)
	}
}

func (t *tx) removeEntry(key string, e *entry) {
	t.setExpiry(key, e, 0)
	s := t.s
	s.take(key)
	t.journal(func() { s.put(key, e) })
	t.change(key)
}

// sweep removes an entry in which nothing is left.
func (t *tx) sweep(key string, e *entry) {
	if !e.hollow() {
		return
	}
	if e.kind == board.KindRecord {
		t.endLease(key)
	}
	t.removeEntry(key, e)
}

func (t *tx) set(key string, fields []board.Field) error {
	if len(fields) == 0 {
		_, err := t.s.lookup(key, board.KindRecord)
		return err
	}
	e, err := t.open(key, board.KindRecord)
	if err != nil {
		return err
	}
	for _, f := range fields {
		old, had := e.rec.set(f.Name, f.Value)
		t.journalField(e, f.Name, old, had)
	}
	t.change(key)
	return board.CheckRecord(key, e.rec.bytes)
}

func (t *tx) unset(key string, names ...string) error {
	e, err := t.s.lookup(key, board.KindRecord)
	if e == nil {
		return err
	}
	for _, name := range names {
		if old, had := e.rec.unset(name); had {
			t.journalField(e, name, old, had)
			t.change(key)
		}
	}
	t.sweep(key, e)
	return nil
}

func (t *tx) journalField(e *entry, name, old string, had bool) {
	if had {
		t.journal(func() { e.rec.set(name, old) })
		return
	}
	t.journal(func() { e.rec.unset(name) })
}

func (t *tx) pushRight(key string, items []string) error {
	e, err := t.openList(key, items)
	if e == nil || err != nil {
		return err
	}
	for _, it := range items {
		e.list.pushRight(it)
	}
	t.journal(func() {
		for range items {
			e.list.popRight()
		}
	})
	t.change(key)
	return nil
}

func (t *tx) pushLeft(key string, items []string) error {
	e, err := t.openList(key, items)
	if e == nil || err != nil {
		return err
	}
	for _, it := range items {
		e.list.pushLeft(it)
	}
	t.journal(func() {
		for range items {
			e.list.popLeft()
		}
	})
	t.change(key)
	return nil
}

// openList makes a list only when there is something to put into it.
func (t *tx) openList(key string, items []string) (*entry, error) {
	if len(items) == 0 {
		return t.s.lookup(key, board.KindList)
	}
	return t.open(key, board.KindList)
}

func (t *tx) append(key string, most int64, items []string) error {
	if err := t.pushRight(key, items); err != nil {
		return err
	}
	e, err := t.s.lookup(key, board.KindList)
	if e == nil {
		return err
	}
	var cut []string
	for int64(e.list.n) > most {
		cut = append(cut, e.list.popLeft())
	}
	if cut == nil {
		return nil
	}
	t.journal(func() {
		for _, it := range slices.Backward(cut) {
			e.list.pushLeft(it)
		}
	})
	t.change(key)
	t.sweep(key, e)
	return nil
}

func (t *tx) trim(key string, n int64, left bool) error {
	e, err := t.s.lookup(key, board.KindList)
	if e == nil || n <= 0 {
		return err
	}
	t.cut(e, int(min(n, int64(e.list.n))), left)
	t.change(key)
	t.sweep(key, e)
	return nil
}

// cut takes n items off an end of a list, the outermost first.
func (t *tx) cut(e *entry, n int, left bool) []string {
	d := &e.list
	pop, push := d.popRight, d.pushRight
	if left {
		pop, push = d.popLeft, d.pushLeft
	}
	out := make([]string, n)
	for i := range out {
		out[i] = pop()
	}
	t.journal(func() {
		for _, it := range slices.Backward(out) {
			push(it)
		}
	})
	return out
}

// drop implements [board.OpDrop].
func (t *tx) drop(key string, n int64, items []string) error {
	if n == 0 {
		return t.dropAll(key, items)
	}
	for _, it := range items {
		if err := t.dropSome(key, n, it); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) dropAll(key string, items []string) error {
	e, err := t.s.lookup(key, board.KindList)
	if e == nil {
		return err
	}
	gone := make(map[string]struct{}, len(items))
	for _, it := range items {
		gone[it] = struct{}{}
	}
	old, kept := e.list, deque{}
	for i := range old.n {
		if _, drop := gone[old.at(i)]; !drop {
			kept.pushRight(old.at(i))
		}
	}
	if kept.n == old.n {
		return nil
	}
	e.list = kept
	t.journal(func() { e.list = old })
	t.change(key)
	t.sweep(key, e)
	return nil
}

// dropSome drops n occurrences of an item from the left end, or -n from the
// right: it cuts that end off up to the last of them, and puts back the rest.
func (t *tx) dropSome(key string, n int64, item string) error {
	e, err := t.s.lookup(key, board.KindList)
	if e == nil {
		return err
	}
	reach, most := 0, uint64(max(n, -n))
	for i, found := 0, uint64(0); i < e.list.n && found < most; i++ {
		at := i
		if n < 0 {
			at = e.list.n - 1 - i
		}
		if e.list.at(at) == item {
			found++
			reach = i + 1
		}
	}
	if reach == 0 {
		return nil
	}
	var kept []string
	for _, it := range slices.Backward(t.cut(e, reach, n > 0)) {
		if it != item {
			kept = append(kept, it)
		}
	}
	push := t.pushRight
	if n > 0 {
		push = t.pushLeft
	}
	if err := push(key, kept); err != nil {
		return err
	}
	t.change(key)
	t.sweep(key, e)
	return nil
}

func (t *tx) include(key string, members []string) error {
	if len(members) == 0 {
		_, err := t.s.lookup(key, board.KindSet)
		return err
	}
	e, err := t.open(key, board.KindSet)
	if err != nil {
		return err
	}
	for _, m := range members {
		if e.set.Insert(m) {
			t.journal(func() { e.set.Remove(m) })
			t.change(key)
		}
	}
	return nil
}

func (t *tx) exclude(key string, members []string) error {
	e, err := t.s.lookup(key, board.KindSet)
	if e == nil {
		return err
	}
	for _, m := range members {
		if e.set.Remove(m) {
			t.journal(func() { e.set.Insert(m) })
			t.change(key)
		}
	}
	t.sweep(key, e)
	return nil
}

// mark runs a change of an item's live mark.
func (t *tx) mark(item string, change func()) {
	s := t.s
	old, had := s.marks[item]
	change()
	t.journal(func() {
		if had {
			s.setMark(item, old)
			return
		}
		s.dropMark(item)
	})
}

func (t *tx) setAlarm(name string, at int64) {
	b, s := t.b, t.s
	old, had := s.alarms[name]
	b.putAlarm(s, name, at)
	t.journal(func() {
		b.dropAlarm(s, name)
		if had {
			b.putAlarm(s, name, old)
		}
	})
}

func (t *tx) clearAlarm(name string) {
	b, s := t.b, t.s
	old, had := s.alarms[name]
	if !had {
		return
	}
	b.dropAlarm(s, name)
	t.journal(func() { b.putAlarm(s, name, old) })
}

// release ends the lease on an item and says so on its record.
func (t *tx) release(item string) error {
	if t.s.leases[item] == nil {
		return nil
	}
	t.endLease(item)
	return t.unset(item, board.FieldOwner, board.FieldQueue)
}

func (t *tx) endLease(item string) {
	l := t.s.leases[item]
	if l == nil {
		return
	}
	b := t.b
	b.dropLease(l)
	t.freed = t.freed || l.group != ""
	t.journal(func() { b.putLease(l) })
}

func (t *tx) expire(key string, after int64) {
	e := t.s.entries[key]
	if e == nil {
		return
	}
	if after > 0 {
		after += t.now
	}
	t.setExpiry(key, e, after)
}

func (t *tx) setExpiry(key string, e *entry, at int64) {
	old := e.expires
	if old == at {
		return
	}
	b, s := t.b, t.s
	b.moveExpiry(s, key, e, at)
	t.journal(func() { b.moveExpiry(s, key, e, old) })
}
