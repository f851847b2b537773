package domain

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// FieldType is what the value of a typed field is. On the wire it is a text in any case.
type FieldType string

// The types.
const (
	TypeText    FieldType = "text"
	TypeNumber  FieldType = "number"  // 1.5
	TypeInteger FieldType = "integer" // a whole number
	TypeFlag    FieldType = "flag"    // true or false; yes, no, on, off, 1 and 0 are taken for these
	TypeList    FieldType = "list"    // a list in JSON; texts with commas between them are made one
	TypeInstant FieldType = "instant" // see [ParseInstant]
	TypeSpan    FieldType = "span"    // see [ParseSpan]
)

// FieldTypes are all of them.
var FieldTypes = []FieldType{TypeText, TypeNumber, TypeInteger, TypeFlag, TypeList, TypeInstant, TypeSpan}

// Limits of typed fields.
const (
	MaxInputs          = 200 // of a blueprint
	MaxAnswers         = 64  // of an approval
	MaxTypedValueBytes = 4 << 10
	MaxEnum            = 200
	MaxFieldPattern    = 1 << 10
)

// TypedField is a value that somebody gives: its name, what it must be, and what it is
// where nobody says. Inputs of a blueprint are such, and answers to an approval.
type TypedField struct {
	Name        string    `json:"name"`
	Type        FieldType `json:"type,omitzero"` // default: text
	Description string    `json:"description,omitzero"`
	// Default is its value where nobody gives one. None: then it is not there.
	Default *string `json:"default,omitzero"`
	// Required says that somebody has to give it.
	Required bool `json:"required,omitzero"`
	// Enum are the values that it may have. None: any of its type.
	Enum []string `json:"enum,omitzero"`
	// Pattern is a regular expression (RE2) that the whole of a text fits.
	Pattern string `json:"pattern,omitzero"`
	// Min and Max bound a number, an instant or a span, how many characters a text has, and
	// how many elements a list. Both are included. "": no bound.
	Min string `json:"min,omitzero"`
	Max string `json:"max,omitzero"`
}

// TypeOr is the field's type.
func (f *TypedField) TypeOr() FieldType {
	if f.Type == "" {
		return TypeText
	}
	return f.Type
}

// DefaultOr is its default; "" where it has none.
func (f *TypedField) DefaultOr() string {
	if f.Default == nil {
		return ""
	}
	return *f.Default
}

// Wants says what a value has to be, in a few words.
func (f *TypedField) Wants() string {
	text := map[FieldType]string{TypeText: "a text", TypeNumber: "a number", TypeInteger: "a whole number", TypeFlag: "true or false",
		TypeList: "a list", TypeInstant: "an instant, as 2026-01-31T02:00:00Z", TypeSpan: "a span, as 1h30m"}[f.TypeOr()]
	if len(f.Enum) > 0 {
		text = "one of " + strings.Join(f.Enum, ", ")
	}
	unit := map[FieldType]string{TypeText: " characters", TypeList: " elements"}[f.TypeOr()]
	switch {
	case f.Min != "" && f.Max != "":
		text += fmt.Sprintf(", %s to %s%s", f.Min, f.Max, unit)
	case f.Min != "":
		text += fmt.Sprintf(", at least %s%s", f.Min, unit)
	case f.Max != "":
		text += fmt.Sprintf(", at most %s%s", f.Max, unit)
	}
	if f.Pattern != "" {
		text += ", that fits " + f.Pattern
	}
	return text
}

// Value is a value as it is kept: a flag as true or false, a list in JSON, all but a text
// without blanks around it.
//
// Errors: [ErrInvalid] for one that it cannot be, with what would be right.
func (f *TypedField) Value(text string) (string, error) {
	value, size, fits := f.read(text)
	if fits && f.Pattern != "" {
		p, err := f.pattern()
		fits = err == nil && p.MatchString(value)
	}
	if fits && len(f.Enum) > 0 {
		fits = slices.Contains(f.Enum, value)
	}
	if fits && !f.beyond(size, f.Min, -1) && !f.beyond(size, f.Max, 1) {
		return value, nil
	}
	near := ""
	if meant := Nearest(text, f.Enum); meant != "" {
		near = fmt.Sprintf("; did you mean %q?", meant)
	}
	return "", Invalidf("%q, want %s%s", PlainText(text, 64), f.Wants(), near)
}

// read takes a text for a value of the field's type, with how large it is for its bounds.
func (f *TypedField) read(text string) (value string, size float64, fits bool) {
	if f.TypeOr() == TypeText {
		return text, float64(utf8.RuneCountInString(text)), true
	}
	value = strings.TrimSpace(text)
	switch f.TypeOr() {
	case TypeFlag:
		switch strings.ToLower(value) {
		case "true", "yes", "on", "1":
			return "true", 0, true
		case "false", "no", "off", "0":
			return "false", 0, true
		}
		return value, 0, false
	case TypeList:
		list, elements, ok := listValue(value)
		return list, float64(elements), ok
	}
	size, err := f.measure(value)
	return value, size, err == nil
}

// listValue is a list as JSON, of one that is, or of texts with commas between them.
func listValue(text string) (value string, elements int, ok bool) {
	if strings.HasPrefix(text, "[") {
		var list []json.RawMessage
		ok = json.Unmarshal([]byte(text), &list) == nil
		return text, len(list), ok
	}
	texts := []string{}
	if text != "" {
		texts = strings.Split(text, ",")
	}
	for i := range texts {
		texts[i] = strings.TrimSpace(texts[i])
	}
	whole, err := json.Marshal(texts)
	return string(whole), len(texts), err == nil
}

// measure reads a bound, or a value that has no other size, as a number to compare with.
func (f *TypedField) measure(text string) (n float64, err error) {
	switch f.TypeOr() {
	case TypeInteger:
		var whole int64
		whole, err = strconv.ParseInt(text, 10, 64)
		n = float64(whole)
	case TypeInstant:
		var at Instant
		at, err = ParseInstant(text)
		n = float64(at)
	case TypeSpan:
		var span Span
		span, err = ParseSpan(text)
		n = float64(span)
	default:
		if n, err = strconv.ParseFloat(text, 64); err == nil && (math.IsNaN(n) || math.IsInf(n, 0)) {
			err = ErrInvalid
		}
	}
	return n, err
}

// beyond reports whether a size goes over a bound to that side.
func (f *TypedField) beyond(size float64, bound string, side float64) bool {
	if bound == "" {
		return false
	}
	b, err := f.measure(bound)
	return err != nil || (size-b)*side > 0
}

func (f *TypedField) pattern() (*regexp.Regexp, error) {
	return regexp.Compile(`\A(?:` + f.Pattern + `)\z`)
}

// check finds what is wrong in the declaration, and tells the field and what would be right.
func (f *TypedField) check(at func(field, format string, args ...any)) {
	if !slices.Contains(FieldTypes, f.TypeOr()) {
		near := ""
		if meant := Nearest(string(f.Type), []string{"text", "number", "integer", "flag", "list", "instant", "span"}); meant != "" {
			near = fmt.Sprintf("; did you mean %q?", meant)
		}
		at("type", "%q: want text, number, integer, flag, list, instant or span%s", PlainText(string(f.Type), MaxNameBytes), near)
		return
	}
	if n := len(f.Description); n > MaxSummaryBytes {
		at("description", "%d bytes, the limit is %d", n, MaxSummaryBytes)
	}
	f.checkBounds(at)
	f.checkPattern(at)
	switch {
	case len(f.Enum) > MaxEnum:
		at("enum", "%d values, the limit is %d", len(f.Enum), MaxEnum)
		return
	case len(f.Enum) > 0 && (f.TypeOr() == TypeList || f.TypeOr() == TypeFlag):
		at("enum", "a value of type %s has none", f.TypeOr())
		return
	}
	free := *f
	free.Enum = nil
	for i, value := range f.Enum {
		if _, err := free.Value(value); err != nil {
			at(fmt.Sprintf("enum[%d]", i), "%v", err)
		}
	}
	if f.Default == nil {
		return
	}
	if f.Required {
		at("default", "what is required has none: leave out one of the two")
	} else if _, err := f.Value(*f.Default); err != nil {
		at("default", "%v", err)
	}
}

func (f *TypedField) checkBounds(at func(field, format string, args ...any)) {
	for _, bound := range [][2]string{{"min", f.Min}, {"max", f.Max}} {
		switch _, err := f.measure(bound[1]); {
		case bound[1] == "":
		case f.TypeOr() == TypeFlag:
			at(bound[0], "a value of type flag has none")
		case err != nil:
			want := map[FieldType]string{TypeInteger: "a whole number", TypeInstant: "an instant", TypeSpan: "a span"}[f.TypeOr()]
			if want == "" {
				want = "a number"
			}
			at(bound[0], "%q: want %s", PlainText(bound[1], 100), want)
		}
	}
	least, errLeast := f.measure(f.Min)
	if most, errMost := f.measure(f.Max); errLeast == nil && errMost == nil && least > most {
		at("min", "%s is more than max %s", f.Min, f.Max)
	}
}

func (f *TypedField) checkPattern(at func(field, format string, args ...any)) {
	switch _, err := regexp.Compile(f.Pattern); {
	case f.Pattern == "":
	case f.TypeOr() != TypeText:
		at("pattern", "a value of type %s has none", f.TypeOr())
	case len(f.Pattern) > MaxFieldPattern:
		at("pattern", "%d bytes, the limit is %d", len(f.Pattern), MaxFieldPattern)
	case err != nil:
		at("pattern", "%q is no regular expression: %v", f.Pattern, err)
	}
}

// fields checks a list of what is declared, which stands at path, and returns what is as it
// should be. what is the word for one.
func (c *checker) fields(path, what string, list []TypedField, most int) (sound []*TypedField) {
	if len(list) > most {
		c.fault(path, "%d %ss, the limit is %d", len(list), what, most)
		return nil
	}
	seen := map[string]int{}
	for i := range list {
		f := &list[i]
		at := fmt.Sprintf("%s[%d]", path, i)
		if err := ValidateName(what, f.Name); err != nil {
			c.err(at+".name", err)
			continue
		}
		if first, twice := seen[f.Name]; twice {
			c.fault(at+".name", "%q is the name of %s[%d] too: each needs its own", f.Name, path, first)
		} else {
			seen[f.Name] = i
		}
		right := true
		f.check(func(field, format string, args ...any) {
			right = false
			c.fault(at+"."+field, format, args...)
		})
		if right {
			sound = append(sound, f)
		}
	}
	return sound
}

// FillIn checks values against fields, and adds what is theirs by default. what is the
// word for a field in errors. Where whole is not set, required ones may be missing.
//
// Errors: [ErrInvalid], for one that is wrong, missing, or not known, then with the
// nearest name.
func FillIn(what string, fields []TypedField, given map[string]string, whole bool) (map[string]string, error) {
	names := make([]string, len(fields))
	for i := range fields {
		names[i] = fields[i].Name
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if slices.Contains(names, name) {
			continue
		}
		if len(names) == 0 {
			return nil, Invalidf("%s %q: none is asked for", what, PlainText(name, 100))
		}
		if near := Nearest(name, names); near != "" {
			return nil, Invalidf("%s %q is not asked for; did you mean %q?", what, PlainText(name, 100), near)
		}
		return nil, Invalidf("%s %q is not asked for; asked for are %s", what, PlainText(name, 100), strings.Join(names, ", "))
	}
	out := make(map[string]string, len(fields))
	for i := range fields {
		f := &fields[i]
		text, ok := given[f.Name]
		if ok && text == "" && !f.Required { // a form sends what was left empty
			ok = false
		}
		switch {
		case ok && text == "" || !ok && f.Required && whole:
			return nil, Invalidf("%s %q is required%s", what, f.Name, f.hint())
		case ok:
			value, err := f.said(text)
			if err != nil {
				return nil, Invalidf("%s %q: %v", what, f.Name, err)
			}
			out[f.Name] = value
		case f.DefaultOr() != "" && whole:
			out[f.Name], _ = f.said(*f.Default) // which was checked with the field
		}
	}
	return out, nil
}

// said is the value of what a person has typed.
func (f *TypedField) said(text string) (string, error) {
	if len(text) > MaxTypedValueBytes {
		return "", Invalidf("%d bytes, the limit is %d", len(text), MaxTypedValueBytes)
	}
	if !utf8.ValidString(text) || strings.IndexByte(text, 0) >= 0 {
		return "", Invalidf("it is no text")
	}
	return f.Value(strings.TrimSpace(text))
}

// hint says what a field is for, where that is known.
func (f *TypedField) hint() string {
	if f.Description == "" {
		return ": " + string(f.TypeOr())
	}
	return fmt.Sprintf(" (%s): %s", f.TypeOr(), f.Description)
}
