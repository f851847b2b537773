package value

import (
	"math"
	"strconv"
	"unicode/utf8"
)

// This file renders values. There are three styles: display (print and
// interpolation), debug (debug, to_debug and inside containers) and the host's.

type style uint8

const (
	display style = iota
	debug
	hostDebug
)

const (
	// maxText bounds a rendering, in bytes. Shared structure can be small and
	// yet render without end: a = [a, a] sixty times.
	maxText = 64 << 20
	// maxDepth bounds how deep containers are followed.
	maxDepth = 1 << 14
	cutMark  = "..."
)

// Display renders v as print and interpolation do.
func (v Value) Display() string { return v.render(display) }

// String is [Value.Display], for package fmt.
func (v Value) String() string { return v.Display() }

// Debug renders v as debug does and as it shows inside containers.
func (v Value) Debug() string { return v.render(debug) }

// HostDebug renders v as a host's debugger does: chars in quotes, shared cells marked.
func (v Value) HostDebug() string { return v.render(hostDebug) }

// AppendDisplay appends v as print and interpolation show it.
func AppendDisplay(buf []byte, v Value) []byte {
	switch v.Kind() {
	case StringKind:
		return append(buf, v.AsString()...)
	case IntKind:
		return strconv.AppendInt(buf, v.AsInt(), 10)
	case UnitKind, None:
		return buf
	case CharKind:
		return utf8.AppendRune(buf, v.AsChar())
	}
	p := printer{writer: writer{buf: buf}, limit: len(buf) + maxText, style: display}
	p.value(v)
	return p.buf
}

// AppendPaced is AppendDisplay for what may be large. Not ok means that pace
// has ended it.
func AppendPaced(buf []byte, v Value, pace Pace) (longer []byte, ok bool) {
	p := printer{writer: writer{buf: buf, pace: pace}, limit: len(buf) + maxText, style: display}
	p.value(v)
	return p.buf, !p.stopped
}

// RenderDisplay is [Value.Display] for what may be large. Not ok means that
// pace has ended it.
func RenderDisplay(v Value, pace Pace) (text string, ok bool) { return v.paced(display, pace) }

// RenderDebug is RenderDisplay for [Value.Debug].
func RenderDebug(v Value, pace Pace) (text string, ok bool) { return v.paced(debug, pace) }

func (v Value) paced(s style, pace Pace) (string, bool) {
	if v.Kind() == StringKind && s == display {
		return v.AsString(), true
	}
	p := printer{writer: writer{pace: pace}, limit: maxText, style: s}
	p.value(v)
	return p.String(), !p.stopped
}

func (v Value) render(s style) string {
	if v.Kind() == StringKind && s == display {
		return v.AsString()
	}
	p := printer{limit: maxText, style: s}
	p.value(v)
	return p.String()
}

// printer renders one value.
type printer struct {
	writer
	limit int
	style style
	depth int
	// seen holds the cells being rendered, for cells may lead back to themselves.
	seen map[*Cell]bool
}

// full reports that enough has been written; the caller then marks the cut.
func (p *printer) full() bool { return p.stopped || len(p.buf) >= p.limit || p.depth >= maxDepth }

func (p *printer) value(v Value) {
	if !p.room(scalarText) {
		return
	}
	switch v.Kind() {
	case UnitKind:
		if p.style != display {
			p.text("()")
		}
	case BoolKind:
		p.buf = strconv.AppendBool(p.buf, v.AsBool())
	case IntKind:
		p.buf = strconv.AppendInt(p.buf, v.AsInt(), 10)
	case FloatKind:
		if p.style == display {
			p.buf = appendFloat(p.buf, v.AsFloat())
		} else {
			p.buf = appendDebugFloat(p.buf, v.AsFloat())
		}
	case CharKind:
		if p.style == hostDebug {
			p.quoted(string(v.AsChar()), '\'')
		} else {
			p.buf = utf8.AppendRune(p.buf, v.AsChar())
		}
	case StringKind:
		if p.style == display {
			p.text(v.AsString())
		} else {
			p.quoted(v.AsString(), '"')
		}
	case ArrayKind:
		p.array(v.AsArray())
	case MapKind:
		p.mapping(v.AsMap())
	case BlobKind:
		p.blob(v.AsBlob().Bytes)
	case FnKind:
		p.fn(v.AsFn())
	case RangeKind, RangeInclKind:
		p.rng(v.AsRange())
	case TimeKind:
		p.text("<timestamp>")
	case IterKind:
		if it := v.AsIter(); p.style == hostDebug && it.Name != "" {
			p.text(it.Name)
		} else {
			p.text(IterKind.String())
		}
	case CustomKind:
		p.custom(v.AsCustom())
	case CellKind:
		p.cell(v.AsCell())
	}
}

// inner renders a part of a container.
func (p *printer) inner(v Value) {
	if p.style == display {
		p.style = debug
		defer func() { p.style = display }()
	}
	p.depth++
	p.value(v)
	p.depth--
}

func (p *printer) array(a *Array) {
	p.text("[")
	for i, item := range a.Items {
		if i > 0 {
			p.text(", ")
		}
		if p.full() {
			p.text(cutMark)
			break
		}
		p.inner(item)
	}
	p.text("]")
}

func (p *printer) mapping(m *Map) {
	p.text("#{")
	for i, e := range m.Entries() {
		if i > 0 {
			p.text(", ")
		}
		if p.full() {
			p.text(cutMark)
			break
		}
		p.quoted(e.Key, '"')
		p.text(": ")
		p.inner(e.Value)
	}
	p.text("}")
}

func (p *printer) blob(b []byte) {
	const hex = "0123456789abcdef"
	p.text("[")
	for i, x := range b {
		if i > 0 && i%8 == 0 {
			p.text(" ")
		}
		if p.full() {
			p.text(cutMark)
			break
		}
		if p.room(2) {
			p.buf = append(p.buf, hex[x>>4], hex[x&15])
		}
	}
	p.text("]")
}

func (p *printer) fn(f *Fn) {
	p.text("Fn(")
	if p.style != hostDebug {
		p.text(f.Name)
	} else {
		p.quoted(f.Name, '"')
		for _, v := range f.Curry {
			p.text(", ")
			if p.full() {
				p.text(cutMark)
				break
			}
			p.inner(v)
		}
	}
	p.text(")")
}

func (p *printer) rng(r *Range) {
	p.buf = strconv.AppendInt(p.buf, r.From, 10)
	p.text("..")
	if r.Inclusive() {
		p.text("=")
	}
	// The largest int is what a range without an end ends with.
	if r.To != math.MaxInt64 {
		p.buf = strconv.AppendInt(p.buf, r.To, 10)
	}
}

func (p *printer) custom(c *Custom) {
	switch {
	case p.style == display && c.Type.Display != nil:
		p.text(c.Type.Display(c.Data))
	case p.style != display && c.Type.Debug != nil:
		p.text(c.Type.Debug(c.Data))
	default:
		p.text(c.Type.Name)
	}
}

func (p *printer) cell(c *Cell) {
	if p.seen[c] {
		p.text("<shared>")
		return
	}
	if p.seen == nil {
		p.seen = map[*Cell]bool{}
	}
	p.seen[c] = true
	p.value(c.V)
	delete(p.seen, c)
	if p.style == hostDebug {
		p.text(" (shared)")
	}
}
