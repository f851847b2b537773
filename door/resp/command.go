package resp

import (
	"strings"

	"github.com/ramet-run/ramet/keyspace"
)

// command is one command of the door.
type command struct {
	name string // lower case
	// arity is how many arguments it has, its name included; -n: n or more.
	arity int
	// first, last and step say which arguments are keys; a negative last counts
	// from the end. first 0: none, or it is not that simple.
	first, last, step int
	// class is what it does to its keys, second to the keys after the first,
	// where that differs.
	class  keyspace.Class
	second *keyspace.Class

	writes bool // it may change something: it waits for its turn
	less   bool // it only takes away, though its class writes
	much   bool // it only reads, and that may be more than a record
	blocks bool // it waits where there is nothing, outside of MULTI
	single bool // "nothing" is null, and no array that is null
	open   bool // for who has not said who it is
	inSub  bool // for who has subscribed, in RESP2
	atOnce bool // not queued after MULTI

	// run does it on the sheet of a space, conn on the connection: one of both.
	run  func(*call) error
	conn func(*client, []string) error
	// undo puts back what was handed to a client that went meanwhile.
	undo func(*client, *waiter)
}

// commands are all of them, by name.
var commands map[string]*command

func init() {
	commands = map[string]*command{}
	for _, list := range [][]command{connectionCommands, keyCommands, stringCommands, hashCommands, listCommands, setCommands, multiCommands,
		channelCommands, serverCommands} {
		for i := range list {
			commands[list[i].name] = &list[i]
		}
	}
}

// find is a command by its name in any case, nil where there is none.
func find(name string) *command {
	var low [24]byte
	if len(name) > len(low) {
		return nil
	}
	for i := range len(name) {
		c := name[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		low[i] = c
	}
	return commands[string(low[:len(name)])]
}

// fits reports whether n arguments are right.
func (s *command) fits(n int) bool { return n == s.arity || s.arity < 0 && n >= -s.arity }

// keys are those among the arguments.
func (s *command) keys(args []string) []string {
	if s.first == 0 {
		return nil
	}
	last := s.last
	if last < 0 {
		last += len(args)
	}
	if s.step == 1 {
		return args[s.first : last+1]
	}
	var keys []string
	for i := s.first; i <= last; i += s.step {
		keys = append(keys, args[i])
	}
	return keys
}

// nothing answers that there is nothing.
func (s *command) nothing(a *answer) {
	if s.single {
		a.null()
		return
	}
	a.nullArray()
}

// waitsFor are the keys that a blocking command takes from.
func (s *command) waitsFor(args []string) []string {
	keys := s.keys(args)
	if s.second != nil {
		return keys[:1]
	}
	return keys
}

// is reports whether an argument is a word, in any case.
func is(arg, word string) bool { return strings.EqualFold(arg, word) }

// Shorthands for the tables below.
var pushed = keyspace.Push
