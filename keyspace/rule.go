package keyspace

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// Request is who asks, where and when.
type Request struct {
	Who   domain.ActorID
	Space board.Space
	Now   time.Time
	// Tenant is the context of the space; it is asked for only where a rule needs it.
	Tenant func() (domain.Tenant, error)
	// NamedCallers ends tasks of circles that do not say whose they are.
	NamedCallers bool
	// ReplyExpiry is how long a reply to a task waits for its client. Default: 5 minutes.
	ReplyExpiry time.Duration
}

// Change is what a command is about to write to a record, or to take away.
type Change struct {
	Key   string
	Set   []board.Field
	Unset []string
	// maker says that fields of the definition are among them: see [Kind.FieldRight].
	maker bool
}

// Seen is the record that a rule is asked about, as it is before the command.
type Seen struct {
	// Fields has at least those that [Rule.Needs] names.
	Fields interface{ Get(name string) string }
	// There says that the record is there, where any field was needed; Beside that
	// the one of [Rule.Beside] is.
	There, Beside bool
}

func (s Seen) get(name string) string { return s.Fields.Get(name) }

// Outcome is what a rule adds to the commit of the command that it was asked for.
type Outcome struct {
	// Drop says that an item is taken off its list and not handed out.
	Drop bool
	// Guards are fields of the record that must still be as they were seen: where
	// another was quicker the command is done again.
	Guards []string
	// Absent is a key that must not be there; "" is none.
	Absent string
	// Set and Unset change the record, beside the command.
	Set   []board.Field
	Unset []string
	// Live counts the item as unfinished work from now on.
	Live bool
	// Alarm is the name of an alarm that is set to At, or cleared where At is zero;
	// "" is none.
	Alarm string
	At    time.Time
	// Reply is what the client of a task is told.
	Reply *Reply
}

// Reply is an item that is pushed for a client that waits for it.
type Reply struct {
	List, Item string
	Expires    time.Time
}

// Rule is asked before a command changes something.
type Rule struct {
	needs  func(*Change) []string
	beside func(key string) string
	decide func(*Request, *Change, Seen) (Outcome, error)
}

// Needs are the fields of the record that must be read before [Rule.Decide].
func (r *Rule) Needs(c *Change) []string { return r.needs(c) }

// Beside is the key of another record whose being there counts; "" is none.
func (r *Rule) Beside(key string) string {
	if r.beside == nil {
		return ""
	}
	return r.beside(key)
}

// Decide says what the change means beside itself.
//
// Errors: [domain.ErrInvalid] for what the engines could not read,
// [domain.ErrForbidden] for what is not the actor's, [domain.ErrConflict] for what
// is not to be written now.
func (r *Rule) Decide(q *Request, c *Change, seen Seen) (Outcome, error) { return r.decide(q, c, seen) }

// always needs the same fields.
func always(names ...string) func(*Change) []string { return func(*Change) []string { return names } }

// Asks reports whether fields of the definition are among them: it asks for something,
// and does not only say how far that has come. It is known after [Kind.FieldRight].
func (c *Change) Asks() bool { return c.maker }

// Begins reports whether that is a job or a flow.
func (c *Change) Begins() bool {
	return c.maker && (strings.HasPrefix(c.Key, layout.JobPrefix) || strings.HasPrefix(c.Key, layout.FlowPrefix))
}

// names are those of the fields.
func (c *Change) names() []string {
	names := slices.Clone(c.Unset)
	for _, f := range c.Set {
		names = append(names, f.Name)
	}
	return names
}

// text is what a field will be.
func (c *Change) text(name string) (string, bool) {
	for _, f := range slices.Backward(c.Set) {
		if f.Name == name {
			return f.Value, true
		}
	}
	return "", false
}

// identical refuses fields that say something else than the key does.
func (c *Change) identical(want map[string]uint64) error {
	for name, n := range want {
		if text, there := c.text(name); there && text != strconv.FormatUint(n, 10) && !(name == "context_id" && text == "0") {
			return domain.Invalidf("%s: field %s is %.40q, but by its key it is %d", c.Key, name, text, n)
		}
	}
	return nil
}

// own refuses a record in another's name. The operator may write for everybody,
// where it is admin.
func (q *Request) own(key string, caller domain.ActorID) error {
	if q.Who == caller || q.Who == domain.Operator {
		return nil
	}
	noun, _, _ := strings.Cut(key, ":")
	return domain.Forbiddenf("%s: the caller in its key is not you: what is asked for is asked for in one's own name; write %s:%d:<id>", key, noun, q.Who)
}
