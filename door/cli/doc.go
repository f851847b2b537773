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
//	embedded        nobody listens: a node in this process, for the time of
//	                the command, on --data
//
// `ramet run` without --node and --data is different: it starts a node with a
// runner in a folder of its own, and removes both at the end.
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
