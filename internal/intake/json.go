package intake

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/ramet-run/ramet/domain"
)

// Size is what a text of JSON has.
type Size struct {
	Values  int // names.lax them
	Objects int
}

// Check looks at a text of JSON before it is decoded into what into points to;
// nil where that has no fields of its own. Whether it is JSON at all is left to
// the decoder: what is none says nothing twice.
//
// Errors: *[Error].
func Check(text []byte, into any, l Limits) (Size, error) {
	l = l.filled()
	switch {
	case len(text) > l.Bytes:
		return Size{}, l.tooLong()
	case !utf8.Valid(text):
		return Size{}, errNotUTF8()
	}
	s := scanners.Get().(*scanner)
	defer s.done()
	s.text, s.limits = text, l
	if err := s.scan(shapeOf(reflect.TypeOf(into))); err != nil {
		return Size{}, err
	}
	return s.size, nil
}

// scanners are those that nobody has now: what a small text needs would be most of what
// it costs to look at it.
var scanners = sync.Pool{New: func() any { return &scanner{open: make([]frame, 0, 8), names: make([][]byte, 0, 32)} }}

// maxKept is how many names a scanner may have had room for to be kept.
const maxKept = 1 << 10

// done gives a scanner back, without anything of the text.
func (s *scanner) done() {
	open, names := s.open[:cap(s.open)], s.names[:cap(s.names)]
	if len(names) > maxKept {
		return
	}
	clear(open)
	clear(names)
	*s = scanner{open: open[:0], names: names[:0]}
	scanners.Put(s)
}

// Decode reads a text that is one JSON value into what into points to. Fields
// that it has not are refused.
//
// Errors: *[Error], or another [domain.ErrInvalid].
func Decode(text []byte, into any, l Limits) error { return decode(text, into, l, true) }

// Read is [Decode] for what programs of other versions write: fields that are not
// known are passed over.
func Read(text []byte, into any, l Limits) error { return decode(text, into, l, false) }

func decode(text []byte, into any, l Limits, known bool) error {
	if _, err := Check(text, into, l); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if known {
		d.DisallowUnknownFields()
	}
	if err := d.Decode(into); err != nil {
		if err == io.EOF {
			return domain.Invalidf("it is empty")
		}
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			return at(text, int(syntax.Offset), "%v", err)
		}
		return domain.Invalidf("%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); err != io.EOF {
		return at(text, int(d.InputOffset()), "there is more behind the JSON value")
	}
	return nil
}

// at is an error at a byte of a text.
func at(text []byte, offset int, format string, args ...any) *Error {
	before := text[:min(max(offset, 0), len(text))]
	line := bytes.LastIndexByte(before, '\n') + 1
	return &Error{Line: bytes.Count(before, []byte("\n")) + 1, Column: utf8.RuneCount(before[line:]) + 1, Text: fmt.Sprintf(format, args...)}
}

// scanner goes once over a text of JSON.
type scanner struct {
	text   []byte
	limits Limits
	size   Size
	open   []frame
	// lax says that names may stand twice.
	lax bool
	// names are those of all objects that are open, each after those of the one
	// around it.
	names [][]byte
}

// frame is a list or an object that is open.
type frame struct {
	object bool
	wants  bool // a name is to come next
	first  int  // of its names
	many   map[string]struct{}
	shape  *shape // of the object, or of the items of the list
	next   *shape // of the value that is to come
}

// fewNames is up to how many names are compared one by one.
const fewNames = 16

func (s *scanner) scan(shape *shape) error {
	for i := 0; i < len(s.text); i++ {
		switch c := s.text[i]; c {
		case ' ', '\t', '\r', '\n', ':':
			continue
		case '{', '[':
			if len(s.open) >= s.limits.Depth {
				return at(s.text, i, "it is nested more than %d deep", s.limits.Depth)
			}
			f := frame{object: c == '{', wants: c == '{', first: len(s.names), shape: s.shapeHere(shape)}
			if f.object {
				s.size.Objects++
			} else if f.shape != nil {
				f.shape = f.shape.items
			}
			s.open = append(s.open, f)
		case '}', ']':
			if n := len(s.open); n > 0 {
				s.names = s.names[:s.open[n-1].first]
				s.open = s.open[:n-1]
			}
			continue
		case ',':
			if n := len(s.open); n > 0 {
				s.open[n-1].wants = s.open[n-1].object
			}
			continue
		case '"':
			end := endOf(s.text, i)
			if n := len(s.open); n > 0 && s.open[n-1].wants {
				if err := s.name(&s.open[n-1], s.text[i:end], i); err != nil {
					return err
				}
			}
			i = end - 1
		default: // a number or a word
			for i+1 < len(s.text) && !ends(s.text[i+1]) {
				i++
			}
		}
		if s.size.Values++; s.size.Values > s.limits.Values {
			return at(s.text, i, "it has more than %d values", s.limits.Values)
		}
	}
	return nil
}

// ends reports whether a byte ends a number or a word.
func ends(c byte) bool { return c == ',' || c == ']' || c == '}' || c <= ' ' }

// shapeHere is the shape of the value that begins.
func (s *scanner) shapeHere(whole *shape) *shape {
	if n := len(s.open); n > 0 {
		if f := &s.open[n-1]; f.object {
			return f.next
		} else {
			return f.shape
		}
	}
	return whole
}

// endOf is behind the text that begins at a quote.
func endOf(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// name takes a name of an object, in quotes.
func (s *scanner) name(f *frame, quoted []byte, offset int) error {
	f.wants = false
	name := bytes.Trim(quoted, `"`)
	if bytes.IndexByte(quoted, '\\') >= 0 {
		var plain string
		if json.Unmarshal(quoted, &plain) != nil {
			return nil // the decoder will say so
		}
		name = []byte(plain)
	}
	if !s.lax && s.twice(f, name) {
		return at(s.text, offset, "%q stands twice", name)
	}
	f.next = nil
	if f.shape != nil {
		var meant string
		if f.next, meant = f.shape.field(name); meant != "" {
			return at(s.text, offset, "%q is written %q", name, meant)
		}
	}
	return nil
}

// twice reports whether an object has a name already, and keeps it.
func (s *scanner) twice(f *frame, name []byte) bool {
	if f.many != nil {
		_, there := f.many[string(name)]
		f.many[string(name)] = struct{}{}
		return there
	}
	mine := s.names[f.first:]
	for _, n := range mine {
		if bytes.Equal(n, name) {
			return true
		}
	}
	if s.names = append(s.names, name); len(mine) == fewNames {
		f.many = make(map[string]struct{}, 2*fewNames)
		for _, n := range s.names[f.first:] {
			f.many[string(n)] = struct{}{}
		}
	}
	return false
}
