// Package cli is the command line: a noun, then a verb. It translates what a
// person types into calls of package client and prints the answers; it has no
// rules of its own.
//
// # Reaching a node
//
// Three ways, tried in this order:
//
//	--node URL      a node over TCP, with a token made from --key
//	the socket      of the node that has --data open
//	embedded        nobody listens, and --embed is given: a node in this process,
//	                for the time of the command, on --data
//
// Without --embed a command waits a little for a node that is starting, and then
// says that there is none: whoever mistypes a folder is not to see an empty one.
//
// `ramet run` is different: it runs jobs, so with --data it is a node where nobody
// listens, and without --node and --data one in a folder of its own, which it
// removes at the end.
//
// # What is not done here
//
// Nodes, keys and tokens come in as [Hooks], so that the command line can be
// tested without them and imports no other door.
//
// # Goroutines
//
// A command that follows several jobs has one for each, and one that redraws
// the terminal; all have ended when it returns.
package cli
