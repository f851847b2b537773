// Package identity knows who may do what: keys, tokens, the actors and
// contexts of a board, and in access.go the one table of rights.
//
// # How a caller is known
//
//	key file ──> Mint ──> token ──> Verifier.Verify ──> actor id
//	                                    │ public key of the actor, from the board
//	local socket ── same user, checked by the door ──> domain.Operator
//
// A token is an EdDSA JWT that the caller signs itself: it names its actor
// (iss), the node it is for (aud), and lives for at most a day. Private keys
// never reach a board; a node only holds public ones.
//
// What is signed, and that no bytes signed as one thing can be read as another,
// is the rule in statement.go, where all is signed. Keys that log nodes in to NATS
// servers, which choose what is signed, are a type of their own: [LinkKey].
//
// # How a right is decided
//
// Every door asks [Access.Check] with an actor, a verb and a context. The
// actor's role there is read from the context's lists through a cache of at
// most a second ([CacheFor]), so a right that is taken away ends within that
// time on every node, and the hot path pays no round trip. What is refused is
// counted, written to the audit log, and answered so that it does not show
// whether the context exists.
//
// # What is written down
//
//	Registry.As(actor) ──> the change and its line, in one commit ──┐
//	doors, api, post ──> AuditLog.Record ──> waits ──> AuditLog.Run ┴─> the board
//
// Changes of rights are never without their line. All else is written a moment
// later, in batches, and never makes anybody wait: what is refused again and
// again is counted, what finds no room is lost and counted.
//
// The package starts no goroutines; a node runs [AuditLog.Run].
package identity
