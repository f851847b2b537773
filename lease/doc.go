// Package lease has items worked on under leases: it takes them from queues, keeps
// their leases while they are in hand, has their ends written, and empties the hand
// before the process ends. Engines say what to ask for, what the work is, and what
// the end of it changes.
//
//	queue ──claim──> in hand ──work──> end ──commit──> the lease is gone
//	  ^                │   ^  renewed a third of its length after the last time
//	  │                │   └──┘
//	  └── given back ──┴── could not be renewed in time: the work is stopped
//
// Each part can be had alone: [Take] is the loop that claims, [Renewer] the leases in
// hand and their renewal, [InGroups] the loop that writes what is ready together.
// [Runner] is all of them, with slots that bound how much is in hand, and the drain.
//
// # Whose clock
//
// What is left of a lease is measured from when it was given, by a clock that nobody
// sets. Work is stopped while some time is left, because another node may
// begin the item as soon as there is none; what changes nothing but by commits that
// the lease guards may go on to the end (see [Config.Guarded]). A process that was
// held up (a machine that slept) finds its timers late: so [Item.Look] is asked right
// before anything begins, and a round of renewal asks the board before it stops.
//
// # Goroutines of [Runner.Run]
//
// One for each claimer, which claims; one for each item in hand, used again for the
// next; two that write ends, and one for each end that must be tried again; one that
// renews; while it drains, one that looks whether the board answers. All have ended
// when it returns, but for work that does not stop when it is told: that is in
// [Left].
//
// Effects of sagas have no leases: a broker gives their commands to others when it
// hears nothing. A keeper of flows renews by itself, between two rounds: one that hangs
// is to lose its flow.
package lease
