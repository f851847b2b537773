// Package budget bounds what callers may hold of a node while nobody knows yet
// what they are worth: connections, requests, streams and bytes in flight. One
// [Budget] stands behind all doors of a node, so that whoever fills one door
// does not get the same again at the next.
//
// # Who holds
//
//	the node      all there is; a part is kept for those who are still to come
//	an address    connections over TCP; an IPv6 address is its /64, which is what one host gets
//	an actor      a quarter of everything, an eighth of the streams
//	refusals      a minute's worth of tokens that are not good, for each address; who has signed in is not asked
//	strangers     connections that have not signed in: an eighth of the connections, all together;
//	              of requests and bytes what one actor has, and one address a quarter of that
//	local socket  a share of its own, which nobody at TCP can take: the operator always gets in
//
// # What happens at a bound
//
// A bound refuses, it does not make wait: who waits holds. (What is read for
// answers waits a little all the same, for [Turns]: it holds nothing yet.) An actor at its own
// bound is told so ([domain.ErrExhausted], HTTP 429), a node that has no more
// says that ([domain.ErrUnavailable], HTTP 503); both may come again soon.
//
// Strangers are the exception. When they are too many, the oldest of the address
// that has most of them is shown out and the newcomer comes in: who means well
// signs in within a round trip, so those who sit there are those who do not.
//
// # Descriptors
//
// Go's runtime raises the soft limit to the hard one at start (and gives scripts
// the old one back). [Config] leaves a quarter of it, or more, to board,
// archive, streams and scripts. Where others used them up all the same, a
// [Listener] goes on: it takes a connection with the descriptor that it keeps
// for that, and closes it.
//
// The package has no goroutines.
package budget
