package value

// Kind tells what a value is.
type Kind uint8

// The kinds. None is the kind of the zero Value, which is no value.
const (
	None Kind = iota
	UnitKind
	BoolKind
	IntKind
	FloatKind
	CharKind
	StringKind
	ArrayKind
	MapKind
	BlobKind
	FnKind
	RangeKind     // a..b
	RangeInclKind // a..=b
	TimeKind
	IterKind
	CustomKind
	CellKind // a variable shared with a closure; never seen by scripts
)

// kindNames are what type_of answers.
var kindNames = [...]string{
	None: "none", UnitKind: "()", BoolKind: "bool", IntKind: "i64", FloatKind: "f64", CharKind: "char",
	StringKind: "string", ArrayKind: "array", MapKind: "map", BlobKind: "blob", FnKind: "Fn",
	RangeKind: "range", RangeInclKind: "range=", TimeKind: "timestamp", IterKind: "range",
	CustomKind: "custom", CellKind: "shared",
}

// String gives the name that type_of answers for the kind.
func (k Kind) String() string { return kindNames[k] }

// SignatureName is the kind's name inside the signatures of error messages,
// where the reference prints the types that a string parameter may have.
func (k Kind) SignatureName() string {
	if k == StringKind {
		return "&str | ImmutableString | String"
	}
	return kindNames[k]
}

// Kinds is a set of kinds.
type Kinds uint32

// AnyKind is the set of all kinds a script can see.
const AnyKind Kinds = 1<<CellKind - 1 - 1<<None

// Has reports whether k is in the set.
func (s Kinds) Has(k Kind) bool { return s>>k&1 != 0 }

// Of makes a set.
func Of(kinds ...Kind) Kinds {
	var s Kinds
	for _, k := range kinds {
		s |= 1 << k
	}
	return s
}
