package resp

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// scanning are the options of SCAN and its kind.
type scanning struct {
	match string
	count int
	kind  string
}

// scanMost bounds COUNT.
const scanMost = 1000

func scanOptions(args []string, kinds bool) (scanning, error) {
	o := scanning{match: "*", count: 10}
	for ; len(args) > 0; args = args[2:] {
		if len(args) < 2 {
			return o, errSyntax
		}
		switch word := strings.ToUpper(args[0]); {
		case word == "MATCH":
			o.match = args[1]
		case word == "COUNT":
			n, err := count32(args[1])
			switch {
			case err != nil:
				return o, err
			case n < 1:
				return o, errSyntax
			}
			o.count = min(n, scanMost)
		case word == "TYPE" && kinds:
			o.kind = strings.ToLower(args[1])
		default:
			return o, errSyntax
		}
	}
	return o, nil
}

func scan(x *call) error {
	if err := mayList(x); err != nil {
		return err
	}
	o, err := scanOptions(x.args[2:], true)
	if err != nil {
		return err
	}
	match, err := x.c.door.match(o.match)
	if err != nil {
		return err
	}
	prefix := literal(o.match)
	if len(prefix) > board.MaxKey {
		prefix = ""
	}
	where := place{x.c.who.Actor, x.s.space(), "k" + prefix}
	at, err := x.c.door.cursors.find(x.args[1], where)
	if err != nil {
		return err
	}
	page, next, err := x.s.board.Keys(x.s.ctx, x.s.space(), prefix, at, o.count)
	if err != nil {
		return err
	}
	var out []string
	for _, key := range page {
		fits, err := match.of(key)
		if err != nil {
			return err
		}
		if !fits || !x.c.lists(x.s.now, key) {
			continue
		}
		if o.kind != "" {
			word, err := kindOf(x.s, key)
			if err != nil {
				return err
			}
			if word != o.kind {
				continue
			}
		}
		out = append(out, key)
	}
	x.a.array(2)
	x.a.bulk(x.c.door.cursors.keep(next, where))
	x.a.bulks(out)
	return nil
}

// cursors keeps the board's cursors, which are texts, under numbers, which is
// what clients know. A page may be asked for over another connection of the
// same actor.
type cursors struct {
	mu    sync.Mutex
	byID  map[uint64]cursor
	order []uint64 // oldest first
}

// place is what a cursor is good for.
type place struct {
	actor domain.ActorID
	space board.Space
	what  string
}

type cursor struct {
	at    string
	where place
}

// maxCursors is how many are kept: older ones are forgotten.
const maxCursors = 10_000

func newCursors() *cursors { return &cursors{byID: map[uint64]cursor{}} }

// keep returns the number of a cursor; "0" is the end.
func (c *cursors) keep(at string, where place) string {
	if at == "" {
		return "0"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.order) >= maxCursors {
		delete(c.byID, c.order[0])
		c.order = c.order[1:]
	}
	// Not guessable, and clients in other languages read it as a signed number.
	id := rand.Uint64()>>1 | 1
	c.byID[id] = cursor{at, where}
	c.order = append(c.order, id)
	return strconv.FormatUint(id, 10)
}

// find is the cursor of a number; "" for the beginning.
//
// Errors: [errScan].
func (c *cursors) find(id string, where place) (at string, err error) {
	n, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return "", failure("ERR invalid cursor")
	}
	if n == 0 {
		return "", nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	k, known := c.byID[n]
	if !known || k.where != where {
		return "", errScan
	}
	return k.at, nil
}
