package domain

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
