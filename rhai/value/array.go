package value

// Array is a list of values.
type Array struct {
	header
	Items []Value
}

// NewArray makes an array that owns items.
func NewArray(items []Value) Value {
	return Value{&(&Array{header: header{kind: ArrayKind}, Items: items}).header, 0}
}

// MutArray gives the array at p for changing: a copy, put in its place, where
// others hold it too.
func MutArray(p *Value) *Array {
	a := p.AsArray()
	if !a.shared {
		return a
	}
	// Room for some more: who changes an array often adds to it.
	items := make([]Value, len(a.Items), len(a.Items)+len(a.Items)/4+4)
	for i, item := range a.Items {
		items[i] = item.Keep()
	}
	c := &Array{header: header{kind: ArrayKind}, Items: items}
	*p = Value{&c.header, p.n}
	return c
}

// Blob is a list of bytes.
type Blob struct {
	header
	Bytes []byte
}

// NewBlob makes a blob that owns b.
func NewBlob(b []byte) Value {
	return Value{&(&Blob{header: header{kind: BlobKind}, Bytes: b}).header, 0}
}

// MutBlob gives the blob at p for changing.
func MutBlob(p *Value) *Blob {
	b := p.AsBlob()
	if !b.shared {
		return b
	}
	c := &Blob{header: header{kind: BlobKind}, Bytes: append(make([]byte, 0, len(b.Bytes)+8), b.Bytes...)}
	*p = Value{&c.header, p.n}
	return c
}
