package api

import (
	"io"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/ramet-run/ramet/domain"
)

// Operation is what there is to know of an operation: routes, rights, clients and
// descriptions are made from it.
type Operation struct {
	// Name is noun and verb: "job.submit".
	Name string
	// Method and Path are its place at the HTTP door; {name} in the path is
	// the parameter tagged so.
	Method, Path string
	// Right is what the caller needs: in the context that the parameters
	// name, or on the node for verbs that are [domain.Verb.OnNode].
	Right domain.Verb
	// Summary says what it does, in one sentence.
	Summary string
	// Follows are the names of the events that come where it is followed, and does not
	// answer once. None: there is nothing to follow.
	Follows []string
	// Errors are kinds that it may end with beside those that [Operation.Kinds] adds.
	Errors []error
	// ByHand has the audit log say who did it, to what, wherever it came to something:
	// what a person decides, past what the nodes do by themselves.
	ByHand bool
	// Holds names the operation that reads the one thing that this one changes, where it
	// can hold that thing as it was read: If-Match with the ETag that reading gave. What
	// names the thing, in the path or by a parameter with the tag thing:"true", has the
	// same names in the parameters of both.
	Holds string
	// Large says that its body may be of [MaxLargeBody] bytes.
	Large bool
	// Much says that its answer may be of many records, or of large ones.
	Much bool
	// Waits says that it may take its time before there is something to answer.
	Waits bool
	// Again says of what changes something that sent twice it does what it does once, without a key.
	Again bool
	// Keyed has it know a request again by its key, though its right is another than to create.
	Keyed bool
	// Secret says that its body or its answer has a secret. Of a request with a key nothing of the answer is
	// kept, and of the body no digest that could be tried against.
	Secret bool

	// Bytes is the media type of an answer that is no JSON, but [Bytes] as they come. "": JSON.
	Bytes string

	// NewParams returns a pointer to fresh parameters, and Result is a zero result.
	NewParams func() any
	Result    any
	// Example is a pointer to parameters as somebody would send them.
	Example any

	fields func() []reflect.StructField // of the parameters
}

// Bytes is an answer that is written while it is made. One that cannot go on ends the
// connection before its end.
type Bytes struct {
	Write func(to io.Writer) error `json:"-"`
	// File is the answer instead of Write, where it lies somewhere as a whole.
	File *File `json:"-"`
}

// Op is an operation with the types of its parameters and of its result.
type Op[P, R any] struct{ *Operation }

// Table has all operations. Each is a variable of this package, in the file of its noun.
var Table []*Operation

// op makes an operation, and puts it into the table.
func op[R, P any](o Operation, example P) Op[P, R] {
	var zero R
	o.NewParams, o.Result, o.Example = func() any { return new(P) }, zero, &example
	o.fields = sync.OnceValue(func() []reflect.StructField { return FieldsOf(reflect.TypeFor[P]()) })
	Table = append(Table, &o)
	return Op[P, R]{&o}
}

// Group is the group of operations that this one belongs to: the noun of its name, by
// which tokens are narrowed.
func (o *Operation) Group() string {
	noun, _, _ := strings.Cut(o.Name, ".")
	return noun
}

// Creates reports whether a request for the operation may have a key, under which it is
// known again.
func (o *Operation) Creates() bool { return o.Right == domain.VerbCreate || o.Keyed }

// Repeatable reports whether a client may send a request once more, under the same key if it
// has one, when no answer came, or 429, 502, 503 or 504. After any other answer it never may.
func (o *Operation) Repeatable(keyed bool) bool {
	return o.Method == "GET" || o.Again || keyed && o.Creates()
}

// Kinds are the kinds of errors that it may end with: those of its own, and those that
// follow from what it is.
func (o *Operation) Kinds() []error {
	kinds := append([]error{domain.ErrInvalid, domain.ErrUnauthenticated, domain.ErrForbidden, domain.ErrUnavailable, domain.ErrExhausted}, o.Errors...)
	if strings.Contains(o.Path, "{") || o.named("context") {
		kinds = append(kinds, domain.ErrNotFound)
	}
	if o.Method != "GET" {
		kinds = append(kinds, domain.ErrConflict) // with what is there, has ended, or changes at the same time
	}
	if o.Creates() {
		kinds = append(kinds, domain.ErrLimit)
	}
	return kinds
}

// named reports whether a parameter of the name may stand behind the address's question mark.
func (o *Operation) named(query string) bool {
	return slices.ContainsFunc(o.fields(), func(f reflect.StructField) bool { return f.Tag.Get("query") == query })
}

// Groups of what is no operation: the node's metrics, and what the Redis door has
// beside the nouns: keys of the callers' own, and channels.
const (
	GroupMetrics = "metrics"
	GroupKey     = "key"
	GroupChannel = "channel"
)

// Groups are all that a token can be narrowed to, in the order of the alphabet.
func Groups() []string {
	groups := []string{GroupMetrics, GroupKey, GroupChannel}
	for _, o := range Table {
		groups = append(groups, o.Group())
	}
	slices.Sort(groups)
	return slices.Compact(groups)
}
