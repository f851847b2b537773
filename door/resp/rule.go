package resp

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// This file has the rules that hold for keys of the layout beside the rights:
// what keeps a record readable for the engine, and what the engine must be told
// in the same commit.

// change is fields that a command is about to write to a record, or to take
// away.
type change struct {
	l     *leaf
	set   []board.Field
	unset []string
	// maker says that fields of the definition are among them.
	maker bool
}

// names are those of the fields.
func (c *change) names() []string {
	names := slices.Clone(c.unset)
	for _, f := range c.set {
		names = append(names, f.Name)
	}
	return names
}

// text is what a field will be.
func (c *change) text(name string) (string, bool) {
	for _, f := range slices.Backward(c.set) {
		if f.Name == name {
			return f.Value, true
		}
	}
	return "", false
}

// own refuses a record in another's name. The operator may write for everybody,
// where it is admin.
func (x *call) own(what string, caller domain.ActorID) error {
	if who := x.c.who.Actor; who == caller || who == domain.Operator {
		return nil
	}
	return domain.Forbiddenf("%s: the caller in its key is not you: what is asked for is asked for in one's own name; write %s:%d:<id>",
		what, strings.SplitN(what, ":", 2)[0], x.c.who.Actor)
}

// identical refuses fields that say something else than the key does.
func (c *change) identical(want map[string]uint64) error {
	for name, n := range want {
		if text, there := c.text(name); there && text != strconv.FormatUint(n, 10) && !(name == "context_id" && text == "0") {
			return domain.Invalidf("%s: field %s is %.40q, but by its key it is %d", c.l.key, name, text, n)
		}
	}
	return nil
}
