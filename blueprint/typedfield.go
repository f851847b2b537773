package blueprint

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

	"github.com/ramet-run/ramet/domain"
)

// FieldWants says what a value has to be, in a few words.
func FieldWants(f *domain.TypedField) string {
	text := map[domain.FieldType]string{
		domain.TypeText: "a text", domain.TypeNumber: "a number", domain.TypeInteger: "a whole number", domain.TypeFlag: "true or false",
		domain.TypeList: "a list", domain.TypeInstant: "an instant, as 2026-01-31T02:00:00Z", domain.TypeSpan: "a span, as 1h30m",
	}[f.TypeOr()]
	if len(f.Enum) > 0 {
		text = "one of " + strings.Join(f.Enum, ", ")
	}
	unit := map[domain.FieldType]string{domain.TypeText: " characters", domain.TypeList: " elements"}[f.TypeOr()]
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

// FieldValue is a value as it is kept: a flag as true or false, a list in JSON, all but a text
// without blanks around it.
//
// Errors: [domain.ErrInvalid] for one that it cannot be, with what would be right.
func FieldValue(f *domain.TypedField, text string) (string, error) {
	value, size, fits := readField(f, text)
	if fits && f.Pattern != "" {
		p, err := fieldPattern(f)
		fits = err == nil && p.MatchString(value)
	}
	if fits && len(f.Enum) > 0 {
		fits = slices.Contains(f.Enum, value)
	}
	if fits && !beyond(f, size, f.Min, -1) && !beyond(f, size, f.Max, 1) {
		return value, nil
	}
	near := ""
	if meant := domain.Nearest(text, f.Enum); meant != "" {
		near = fmt.Sprintf("; did you mean %q?", meant)
	}
	return "", domain.Invalidf("%q, want %s%s", domain.PlainText(text, 64), FieldWants(f), near)
}

// readField takes a text for a value of the field's type, with how large it is for its bounds.
func readField(f *domain.TypedField, text string) (value string, size float64, fits bool) {
	if f.TypeOr() == domain.TypeText {
		return text, float64(utf8.RuneCountInString(text)), true
	}
	value = strings.TrimSpace(text)
	switch f.TypeOr() {
	case domain.TypeFlag:
		switch strings.ToLower(value) {
		case "true", "yes", "on", "1":
			return "true", 0, true
		case "false", "no", "off", "0":
			return "false", 0, true
		}
		return value, 0, false
	case domain.TypeList:
		list, elements, ok := listValue(value)
		return list, float64(elements), ok
	}
	size, err := measure(f, value)
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
func measure(f *domain.TypedField, text string) (n float64, err error) {
	switch f.TypeOr() {
	case domain.TypeInteger:
		var whole int64
		whole, err = strconv.ParseInt(text, 10, 64)
		n = float64(whole)
	case domain.TypeInstant:
		var at domain.Instant
		at, err = domain.ParseInstant(text)
		n = float64(at)
	case domain.TypeSpan:
		var span domain.Span
		span, err = domain.ParseSpan(text)
		n = float64(span)
	default:
		if n, err = strconv.ParseFloat(text, 64); err == nil && (math.IsNaN(n) || math.IsInf(n, 0)) {
			err = domain.ErrInvalid
		}
	}
	return n, err
}

// beyond reports whether a size goes over a bound to that side.
func beyond(f *domain.TypedField, size float64, bound string, side float64) bool {
	if bound == "" {
		return false
	}
	b, err := measure(f, bound)
	return err != nil || (size-b)*side > 0
}

func fieldPattern(f *domain.TypedField) (*regexp.Regexp, error) {
	return regexp.Compile(`\A(?:` + f.Pattern + `)\z`)
}

// checkField finds what is wrong in the declaration, and tells the field and what would be right.
func checkField(f *domain.TypedField, at func(field, format string, args ...any)) {
	if !slices.Contains(domain.FieldTypes, f.TypeOr()) {
		near := ""
		if meant := domain.Nearest(string(f.Type), []string{"text", "number", "integer", "flag", "list", "instant", "span"}); meant != "" {
			near = fmt.Sprintf("; did you mean %q?", meant)
		}
		at("type", "%q: want text, number, integer, flag, list, instant or span%s", domain.PlainText(string(f.Type), domain.MaxNameBytes), near)
		return
	}
	if n := len(f.Description); n > domain.MaxSummaryBytes {
		at("description", "%d bytes, the limit is %d", n, domain.MaxSummaryBytes)
	}
	checkBounds(f, at)
	checkPattern(f, at)
	switch {
	case len(f.Enum) > domain.MaxEnum:
		at("enum", "%d values, the limit is %d", len(f.Enum), domain.MaxEnum)
		return
	case len(f.Enum) > 0 && (f.TypeOr() == domain.TypeList || f.TypeOr() == domain.TypeFlag):
		at("enum", "a value of type %s has none", f.TypeOr())
		return
	}
	free := *f
	free.Enum = nil
	for i, value := range f.Enum {
		if _, err := FieldValue(&free, value); err != nil {
			at(fmt.Sprintf("enum[%d]", i), "%v", err)
		}
	}
	if f.Default == nil {
		return
	}
	if f.Required {
		at("default", "what is required has none: leave out one of the two")
	} else if _, err := FieldValue(f, *f.Default); err != nil {
		at("default", "%v", err)
	}
}

func checkBounds(f *domain.TypedField, at func(field, format string, args ...any)) {
	for _, bound := range [][2]string{{"min", f.Min}, {"max", f.Max}} {
		switch _, err := measure(f, bound[1]); {
		case bound[1] == "":
		case f.TypeOr() == domain.TypeFlag:
			at(bound[0], "a value of type flag has none")
		case err != nil:
			want := map[domain.FieldType]string{domain.TypeInteger: "a whole number", domain.TypeInstant: "an instant", domain.TypeSpan: "a span"}[f.TypeOr()]
			if want == "" {
				want = "a number"
			}
			at(bound[0], "%q: want %s", domain.PlainText(bound[1], 100), want)
		}
	}
	least, errLeast := measure(f, f.Min)
	if most, errMost := measure(f, f.Max); errLeast == nil && errMost == nil && least > most {
		at("min", "%s is more than max %s", f.Min, f.Max)
	}
}

func checkPattern(f *domain.TypedField, at func(field, format string, args ...any)) {
	switch _, err := regexp.Compile(f.Pattern); {
	case f.Pattern == "":
	case f.TypeOr() != domain.TypeText:
		at("pattern", "a value of type %s has none", f.TypeOr())
	case len(f.Pattern) > domain.MaxFieldPattern:
		at("pattern", "%d bytes, the limit is %d", len(f.Pattern), domain.MaxFieldPattern)
	case err != nil:
		at("pattern", "%q is no regular expression: %v", f.Pattern, err)
	}
}

// fields checks a list of what is declared, which stands at path, and returns what is as it
// should be. what is the word for one.
func (c *checker) fields(path, what string, list []domain.TypedField, most int) (sound []*domain.TypedField) {
	if len(list) > most {
		c.fault(path, "%d %ss, the limit is %d", len(list), what, most)
		return nil
	}
	seen := map[string]int{}
	for i := range list {
		f := &list[i]
		at := fmt.Sprintf("%s[%d]", path, i)
		if err := domain.ValidateName(what, f.Name); err != nil {
			c.err(at+".name", err)
			continue
		}
		if first, twice := seen[f.Name]; twice {
			c.fault(at+".name", "%q is the name of %s[%d] too: each needs its own", f.Name, path, first)
		} else {
			seen[f.Name] = i
		}
		right := true
		checkField(f, func(field, format string, args ...any) {
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
// Errors: [domain.ErrInvalid], for one that is wrong, missing, or not known, then with the
// nearest name.
func FillIn(what string, fields []domain.TypedField, given map[string]string, whole bool) (map[string]string, error) {
	names := make([]string, len(fields))
	for i := range fields {
		names[i] = fields[i].Name
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if slices.Contains(names, name) {
			continue
		}
		if len(names) == 0 {
			return nil, domain.Invalidf("%s %q: none is asked for", what, domain.PlainText(name, 100))
		}
		if near := domain.Nearest(name, names); near != "" {
			return nil, domain.Invalidf("%s %q is not asked for; did you mean %q?", what, domain.PlainText(name, 100), near)
		}
		return nil, domain.Invalidf("%s %q is not asked for; asked for are %s", what, domain.PlainText(name, 100), strings.Join(names, ", "))
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
			return nil, domain.Invalidf("%s %q is required%s", what, f.Name, hint(f))
		case ok:
			value, err := said(f, text)
			if err != nil {
				return nil, domain.Invalidf("%s %q: %v", what, f.Name, err)
			}
			out[f.Name] = value
		case f.DefaultOr() != "" && whole:
			out[f.Name], _ = said(f, *f.Default) // which was checked with the field
		}
	}
	return out, nil
}

// said is the value of what a person has typed.
func said(f *domain.TypedField, text string) (string, error) {
	if len(text) > domain.MaxTypedValueBytes {
		return "", domain.Invalidf("%d bytes, the limit is %d", len(text), domain.MaxTypedValueBytes)
	}
	if !utf8.ValidString(text) || strings.IndexByte(text, 0) >= 0 {
		return "", domain.Invalidf("it is no text")
	}
	return FieldValue(f, strings.TrimSpace(text))
}

// hint says what a field is for, where that is known.
func hint(f *domain.TypedField) string {
	if f.Description == "" {
		return ": " + string(f.TypeOr())
	}
	return fmt.Sprintf(" (%s): %s", f.TypeOr(), f.Description)
}
