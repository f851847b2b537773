// Package node is one process of a Ramet deployment: which roles run in it, in
// which order they start, and how they end.
//
// # Start
//
// The node reads who it is from its data folder (name, runner id), fences its
// own earlier life (board.Void on everything it held), makes the operator and
// the first context where there are none, and then starts its maintenance, its
// runner and its services.
//
// # A disk that is nearly full
//
// What lies in the data folder ends with it, so [Disk] is asked wherever something new
// comes in or an effect is to be called: by the doors, by messages of other sites, by
// what schedules and routines make. What runs is never asked for room.
//
// # Drain
//
// When the context of Run ends the runner takes no more work and lets running
// jobs go on for the grace time; those that take longer go back to the queue.
// Maintenance and services (the doors) go on until then, so that people can watch
// the drain and cancels still arrive. Then they end too.
//
// # Goroutines
//
// Run starts one for the runner, one for each runtime that does not work, which looks
// again and is its runner when it does, one for the maintenance, one that renews the
// runner's record, and one a service, in one group; all have ended when it
// returns.
package node
