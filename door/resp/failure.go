package resp

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ramet-run/ramet/api"
)

// failure is an error whose text begins with its code, as Redis has it.
type failure string

func (f failure) Error() string { return string(f) }

// The failures that Redis has words for.
const (
	errWrongType failure = "WRONGTYPE Operation against a key holding the wrong kind of value"
	errSyntax    failure = "ERR syntax error"
	errInteger   failure = "ERR value is not an integer or out of range"
	errFloat     failure = "ERR value is not a valid float"
	errHashInt   failure = "ERR hash value is not an integer"
	errOverflow  failure = "ERR increment or decrement would overflow"
	errTimeout   failure = "ERR timeout is not a float or out of range"
	errNegative  failure = "ERR timeout is negative"
	errNoAuth    failure = "NOAUTH Authentication required."
	errAborted   failure = "EXECABORT Transaction discarded because of previous errors."
	errNoMulti   failure = "ERR EXEC without MULTI"
)

// And those that are ours.
const (
	errChanging failure = "TRYAGAIN the keys change too quickly for this command; nothing was written"
	errTooLarge failure = "ERR the answer is too large for one; ask for a part of it"
	errTogether failure = "ERR this cannot be done in one MULTI: a key was changed there before in a way that leaves its content unknown; do it in two"
	errPattern  failure = "ERR the pattern takes too long; ask for a simpler one, or use SCAN"
	errBatch    failure = "ERR a MULTI of more than the board does at once (1,024 changes and conditions); do it in several"
	errScan     failure = "ERR the cursor is not known, or too old; begin again with 0"
	errDatabase failure = "NOPERM this is database 0, the node's own; SELECT the number of your context first (a client's URL does it: redis://host:port/7)"
)

// textOf is what a client is told of an error. listed is false where the rest
// is not for clients but for the log.
func textOf(err error) (text string, listed bool) {
	var own failure
	var protocol protocolError
	switch {
	case errors.As(err, &own):
		return string(own), true
	case errors.As(err, &protocol):
		return protocol.Error(), true
	}
	f, listed := api.FailureOf(err)
	if !listed {
		return f.RESP + " internal error; the node's log has the details", false
	}
	return f.RESP + " " + api.DetailOf(err), true
}

// errArity is for a command with too few arguments, or too many.
func errArity(name string) error {
	return failure("ERR wrong number of arguments for '" + strings.ToLower(clip(name, 128)) + "' command")
}

// errUnknown is Redis' own text.
func errUnknown(args []string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "ERR unknown command '%s', with args beginning with: ", clip(args[0], 128))
	for _, arg := range args[1:] {
		if b.Len() > 256 {
			break
		}
		fmt.Fprintf(&b, "'%s' ", clip(arg, 128))
	}
	return failure(b.String())
}

func errSubcommand(sub, name string) error {
	return failure(fmt.Sprintf("ERR unknown subcommand '%s'. Try %s HELP.", clip(sub, 128), name))
}

func clip(s string, n int) string { return s[:min(len(s), n)] }
