package value

// Copy gives a value that shares nothing with v that could change, so that
// another goroutine may use it. Function pointers and host objects without
// Clone are the same objects still.
func Copy(v Value) Value { return copyDeep(v, 0) }

func copyDeep(v Value, depth int) Value {
	if depth > mostNested {
		return Unit
	}
	switch v = v.Flatten(); v.Kind() {
	case StringKind:
		return Constant(string([]byte(v.AsString()))).WithTag(v.Tag())
	case ArrayKind:
		items := make([]Value, len(v.AsArray().Items))
		for i, item := range v.AsArray().Items {
			items[i] = copyDeep(item, depth+1)
		}
		return NewArray(items).WithTag(v.Tag())
	case MapKind:
		out := NewMap(v.AsMap().Len())
		for _, e := range v.AsMap().entries {
			out.AsMap().Set(e.Key, copyDeep(e.Value, depth+1))
		}
		return out.WithTag(v.Tag())
	case BlobKind:
		return NewBlob(append([]byte{}, v.AsBlob().Bytes...)).WithTag(v.Tag())
	case FnKind:
		f := *v.AsFn()
		f.Curry = make([]Value, len(f.Curry))
		for i, c := range v.AsFn().Curry {
			if c.Is(CellKind) {
				f.Curry[i] = NewCell(copyDeep(c, depth+1))
			} else {
				f.Curry[i] = copyDeep(c, depth+1)
			}
		}
		return Value{&f.header, v.n}
	case CustomKind:
		if c := v.AsCustom(); c.Type.Clone != nil {
			return NewCustom(c.Type, c.Type.Clone(c.Data)).WithTag(v.Tag())
		}
	}
	return v
}
