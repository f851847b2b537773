package value

import (
	"slices"
	"strings"
)

// smallMap is the size up to which looking through the entries beats hashing.
const smallMap = 8

// Map is an object map. Its keys show in the order of their bytes; they are
// sorted when somebody looks, not when they are added.
type Map struct {
	header
	entries []Entry
	index   map[string]int32 // nil while there are at most smallMap entries
	sorted  bool             // entries stand in the order of their keys
}

// Entry is one key and its value.
type Entry struct {
	Key   string
	Value Value
}

// NewMap makes an empty map with room for n entries.
func NewMap(n int) Value {
	return Value{&newMap(n).header, 0}
}

func newMap(n int) *Map {
	m := &Map{header: header{kind: MapKind}, sorted: true}
	if n > 0 {
		m.entries = make([]Entry, 0, n)
	}
	if n > smallMap {
		m.index = make(map[string]int32, n)
	}
	return m
}

// MutMap gives the map at p for changing.
func MutMap(p *Value) *Map {
	m := p.AsMap()
	if !m.shared {
		return m
	}
	c := newMap(len(m.entries))
	for _, e := range m.entries {
		e.Value.Keep()
		if c.index != nil {
			c.index[e.Key] = int32(len(c.entries))
		}
		c.entries = append(c.entries, e)
	}
	c.sorted = m.sorted
	*p = Value{&c.header, p.n}
	return c
}

// Bytes is about what the map takes, without what its keys and values lead to.
func (m *Map) Bytes() int {
	n := 64 + 32*cap(m.entries)
	if m.index != nil {
		n += 40 * len(m.entries)
	}
	return n
}

// Len is the number of entries.
func (m *Map) Len() int { return len(m.entries) }

// At gives entry i in the present inner order, for caches that check the key.
func (m *Map) At(i int) *Entry { return &m.entries[i] }

// Find gives the inner place of key, -1 when there is none.
func (m *Map) Find(key string) int {
	if m.index != nil {
		if i, ok := m.index[key]; ok {
			return int(i)
		}
		return -1
	}
	for i := range m.entries {
		if m.entries[i].Key == key {
			return i
		}
	}
	return -1
}

// Get gives the value of key for reading, None when there is none.
func (m *Map) Get(key string) Value {
	if i := m.Find(key); i >= 0 {
		return m.entries[i].Value
	}
	return Value{}
}

// Ref gives the place of key's value, nil when there is none. The place is
// good until the next key is added or removed, or the map is sorted.
func (m *Map) Ref(key string) *Value {
	if i := m.Find(key); i >= 0 {
		return &m.entries[i].Value
	}
	return nil
}

// Set puts a value, which the map then owns, and gives its inner place.
func (m *Map) Set(key string, v Value) int {
	if i := m.Find(key); i >= 0 {
		m.entries[i].Value = v
		return i
	}
	n := len(m.entries)
	if m.sorted && n > 0 && m.entries[n-1].Key > key {
		m.sorted = false
	}
	m.entries = append(m.entries, Entry{key, v})
	if m.index != nil {
		m.index[key] = int32(n)
	} else if n+1 > smallMap {
		m.reindex()
	}
	return n
}

// Remove takes key out and gives its value, None when there was none.
func (m *Map) Remove(key string) Value {
	i := m.Find(key)
	if i < 0 {
		return Value{}
	}
	v := m.entries[i].Value
	last := len(m.entries) - 1
	if m.index != nil {
		delete(m.index, key)
	}
	if i != last {
		m.entries[i] = m.entries[last]
		m.sorted = false
		if m.index != nil {
			m.index[m.entries[i].Key] = int32(i)
		}
	}
	m.entries[last] = Entry{}
	m.entries = m.entries[:last]
	return v
}

// Clear takes everything out.
func (m *Map) Clear() { m.entries, m.index, m.sorted = nil, nil, true }

// Entries gives all entries in the order of their keys, for reading. What it
// gives is the map's own: it must not be kept across a change.
func (m *Map) Entries() []Entry {
	if !m.sorted {
		slices.SortFunc(m.entries, func(a, b Entry) int { return strings.Compare(a.Key, b.Key) })
		m.sorted = true
		if m.index != nil {
			m.reindex()
		}
	}
	return m.entries
}

func (m *Map) reindex() {
	if m.index == nil {
		m.index = make(map[string]int32, 2*len(m.entries))
	}
	for i := range m.entries {
		m.index[m.entries[i].Key] = int32(i)
	}
}
