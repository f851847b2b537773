// Package memboard is the board in memory: the reference that other drivers
// are compared with, and what tests and simulations stand on. Nothing
// survives the process.
//
// # How it works
//
// One mutex guards everything; every call does its whole work under it. Keys,
// sets, alarms, lease deadlines, expiries and live marks each lie in a sorted
// container, so that pages and "what comes first" cost O(log n); lists are
// ring buffers. A batch is applied operation by operation with a journal of
// how to take each step back; an operation that fails plays it backwards.
//
// What waits is woken, never polls:
//
//	Claim    queues as a waiter of its groups; whoever pushes, frees a cap or
//	         changes limits serves the waiters before it lets go of the mutex
//	Due      sleeps until the earliest alarm or until an earlier one is set
//	Expired  sleeps until the earliest lease deadline or until one moves closer
//	Watch    has a bounded buffer that committers fill; they never wait for it
//
// Spaces take turns as package board says. A group keeps its spaces that have
// something to give in a heap by pass; a space at its cap is parked outside
// the heap until a lease ends or its limits change. So a claim costs
// O(log spaces), however many spaces are full.
//
// # Goroutines
//
// None of its own. Expiries run on one time.AfterFunc, a watch ends by
// context.AfterFunc. It works inside a testing/synctest bubble.
package memboard
