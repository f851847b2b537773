package layout

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/canonical"
)

// encoder collects fields. Methods ending in Opt leave zero values out: those
// are fields of ours, which foreign readers need not meet.
type encoder []board.Field

func (e *encoder) str(name, v string) { *e = append(*e, board.Field{Name: name, Value: v}) }

func (e *encoder) num(name string, v int64) { e.str(name, strconv.FormatInt(v, 10)) }

func (e *encoder) numOpt(name string, v int64) {
	if v != 0 {
		e.num(name, v)
	}
}

func (e *encoder) flag(name string, v bool) { e.str(name, strconv.FormatBool(v)) }

// encodeMap writes a map; the empty one costs nothing, it is the usual one.
func encodeMap(m map[string]string) string {
	if len(m) == 0 {
		return "{}"
	}
	keys := make([]string, 0, 8)
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	b := make([]byte, 0, 64)
	for i, k := range keys {
		if i == 0 {
			b = append(b, '{')
		} else {
			b = append(b, ',')
		}
		b = appendString(b, k)
		b = append(b, ':')
		b = appendString(b, m[k])
	}
	return string(append(b, '}'))
}

// appendString writes a JSON string as encoding/json does; what needs no
// escape, nearly everything, costs a copy.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		c := s[i]
		if c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return append(b, mustJSON(s)...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// encodeIDs writes a list of numbers.
func encodeIDs[T ~uint32](ids []T) string {
	if len(ids) == 0 {
		return "[]"
	}
	b := make([]byte, 0, 2+11*len(ids))
	b = append(b, '[')
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendUint(b, uint64(id), 10)
	}
	return string(append(b, ']'))
}

// encodeList writes a list of anything else.
func encodeList[T any](list []T) string {
	if len(list) == 0 {
		return "[]"
	}
	return mustJSON(list)
}

// encodePlain writes a list without escaping what only HTML wants escaped: what
// payloads may have was checked as they are.
func encodePlain[T any](list []T) string {
	if len(list) == 0 {
		return "[]"
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(list); err != nil {
		panic("BUG: a domain value cannot be written as JSON: " + err.Error())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// partsOf writes a list of what a message has.
func partsOf[T any](list []T) string {
	if text, ok := canonical.Declared(list); ok {
		return string(text)
	}
	return mustJSON(list)
}

func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("BUG: a domain value cannot be written as JSON: " + err.Error())
	}
	return string(b)
}

// decoder reads fields and keeps the first error: records may have been
// written by foreign programs.
type decoder struct {
	key fmt.Stringer // named in errors only, so it is not built before
	err error
}

func (d *decoder) fail(f board.Field, want string) {
	if d.err == nil {
		v := f.Value
		if len(v) > 64 {
			v = v[:64] + "…"
		}
		d.err = domain.Invalidf("%s: field %s is %q, want %s", d.key, f.Name, v, want)
	}
}

// unreadable notes that values of the record do not open: it goes before what
// their places hold instead.
func (d *decoder) unreadable(f board.Field) { d.err = domain.Invalidf("%s: %s", d.key, f.Value) }

func (d *decoder) int(f board.Field) int64 {
	if f.Value == "" {
		return 0
	}
	n, err := strconv.ParseInt(f.Value, 10, 64)
	if err != nil {
		d.fail(f, "a decimal number")
		return 0 // strconv has the largest there is for what is too large
	}
	return n
}

// uint reads a number of at most bits bits.
func (d *decoder) uint(f board.Field, bits int) uint64 {
	if f.Value == "" {
		return 0
	}
	n, err := strconv.ParseUint(f.Value, 10, bits)
	if err != nil {
		d.fail(f, "a decimal number of "+strconv.Itoa(bits)+" bits")
		return 0
	}
	return n
}

func (d *decoder) u32(f board.Field) uint32 { return uint32(d.uint(f, 32)) }

func (d *decoder) flag(f board.Field) bool {
	switch f.Value {
	case "true", "1":
		return true
	case "", "false", "0":
		return false
	}
	d.fail(f, "true or false")
	return false
}

func (d *decoder) strMap(f board.Field) map[string]string {
	if f.Value == "" || f.Value == "{}" {
		return nil
	}
	var m map[string]string
	d.json(f, &m, "a JSON object of strings")
	return m
}

// ids reads a list of numbers. As they are written here they need no reader of JSON,
// which costs more than all else of a small record; an empty list leaves v as it is.
func (d *decoder) ids(f board.Field, v *[]domain.JobID) {
	if list, ok := decodeIDs(f.Value); !ok {
		d.json(f, v, "a JSON list of job ids")
	} else if len(list) > 0 {
		*v = list
	}
}

// decodeIDs reads what encodeIDs has written; ok is false for any other text.
func decodeIDs(text string) (ids []domain.JobID, ok bool) {
	rest, ok1 := strings.CutPrefix(text, "[")
	rest, ok2 := strings.CutSuffix(rest, "]")
	if !ok1 || !ok2 {
		return nil, false
	}
	if rest == "" {
		return nil, true
	}
	ids = make([]domain.JobID, 0, 1+strings.Count(rest, ","))
	for more := true; more; {
		var one string
		one, rest, more = strings.Cut(rest, ",")
		n, err := strconv.ParseUint(one, 10, 32)
		if err != nil || len(one) > 1 && one[0] == '0' {
			return nil, false
		}
		ids = append(ids, domain.JobID(n))
	}
	return ids, true
}

// json reads f into v; an empty field is the zero value.
func (d *decoder) json(f board.Field, v any, want string) {
	if f.Value == "" || f.Value == "[]" || f.Value == "{}" {
		return
	}
	if err := json.Unmarshal([]byte(f.Value), v); err != nil {
		d.fail(f, want)
	}
}
