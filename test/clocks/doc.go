// Package clocks has one test: the wall clock of a node jumps while it works, and
// nothing is lost, doubled or stuck. A node's clock is the machine's, so the node is
// built with a standard library whose time.Now is some seconds away from it, as a file
// says; what is measured by the monotonic clock stays true, as when NTP sets a clock.
// That compiles every package anew, so the test is run by `make clocks`.
package clocks
