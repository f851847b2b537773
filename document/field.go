package document

import "fmt"

// Kind is what the value of a field is.
type Kind uint8

// The kinds.
const (
	AText        Kind = iota + 1 // a text
	AValue                       // a text; numbers and booleans are taken as written
	ANumber                      // a whole number
	ADecimal                     // a number
	AFlag                        // true or false
	ASpan                        // see [domain.Span]
	AnInstant                    // see [domain.Instant]
	SomeTexts                    // a list of texts, or one text
	SomeValues                   // a list of texts, or one; each as AValue
	SomeNumbers                  // a list of whole numbers
	AMap                         // names and values, as AValue
	AnObject                     // an object: a mapping with known fields
	SomeObjects                  // a list of those
	NamedObjects                 // objects by name; it may be written as a list, with the name in each
	SomeChoices                  // names, and one of Enum for each
	SomeData                     // names with any values
	AnyData                      // any value, as JSON has it
)

// Field is a row of a table.
type Field struct {
	Name string
	Kind Kind
	Doc  string // a sentence, for editors
	// The rest bounds the value, as far as a schema can say it; what is not
	// given does not.
	Required bool
	Min, Max int64    // of a number
	Most     int      // bytes of a text, items of a list, names of a map
	Enum     []string // of a text, of the values of choices
	Pattern  string   // of a text, of the items of a list, of the names of a map
	Initial  any      // what it is when it is not there
	// Hint is said of a value that is of another kind, and of an empty text where Full
	// refuses one.
	Hint string
	Full bool
	Of   *Object
	// Key is the field of an object that its name is, in what NamedObjects has: a
	// text, or a whole number where KeyNumber says so.
	Key       string
	KeyNumber bool
	// Short is the field that is meant where one of NamedObjects is a text.
	Short string
}

// Object is a kind of mapping with known fields.
type Object struct {
	Title, Doc string
	Fields     []Field
	// Others are what people who know other programs write.
	Others map[string]string
	// Not are fields that exclude each other, for the schema.
	Not []string
	// After, when not nil, looks at what was read of a mapping, and may change it.
	After func(r *Reader, at Position, values map[string]any)

	names  []string
	byName map[string]*Field
}

// Index makes an object fit to be read by.
func (o *Object) Index() *Object {
	o.byName = make(map[string]*Field, len(o.Fields))
	for i := range o.Fields {
		f := &o.Fields[i]
		o.names = append(o.names, f.Name)
		o.byName[f.Name] = f
	}
	return o
}

// Known finds a field; nil where there is none.
func (o *Object) Known(name string) *Field { return o.byName[name] }

// Names are those of the fields.
func (o *Object) Names() []string { return o.names }

// TextsOf are the texts of a list of words, for Enum.
func TextsOf[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return out
}

// want says for people what a field's value is.
func (f *Field) want() string {
	switch f.Kind {
	case AText:
		if len(f.Enum) > 0 {
			return oneOf(f.Enum)
		}
		return "a text"
	case AValue:
		return "a text, a number, true or false"
	case ANumber:
		if f.Max < 1<<31 {
			return fmt.Sprintf("a whole number from %d to %d", f.Min, f.Max)
		}
		return "a whole number"
	case ADecimal:
		return fmt.Sprintf("a number from %d to %d", f.Min, f.Max)
	case AFlag:
		return "true or false"
	case ASpan:
		return "a span of time, as 90, 90s, 1h30m or 2d"
	case AnInstant:
		return "an instant, as 2026-01-31T02:00:00Z, or Unix milliseconds"
	case SomeTexts:
		return "a list of texts, or one"
	case SomeValues:
		return "a list of texts, numbers, true or false, or one of them"
	case SomeNumbers:
		return fmt.Sprintf("a list of whole numbers from %d to %d", f.Min, f.Max)
	case AMap, SomeData:
		return "names with values"
	case AnyData:
		return "a value"
	case AnObject:
		return fmt.Sprintf("fields such as `%s:`", f.Of.Fields[0].Name)
	case NamedObjects:
		return fmt.Sprintf("names, of which each has fields such as `%s:`", f.Of.Fields[0].Name)
	case SomeChoices:
		return "names, and " + oneOf(f.Enum) + " for each"
	}
	return fmt.Sprintf("a list, of which each item has fields such as `%s:`", f.Of.Fields[0].Name)
}

// oneOf is "a, b or c".
func oneOf(words []string) string {
	text := words[0]
	for i, w := range words[1:] {
		if i == len(words)-2 {
			text += " or " + w
		} else {
			text += ", " + w
		}
	}
	return text
}
