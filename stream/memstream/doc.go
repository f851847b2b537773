// Package memstream keeps the streams of a test in memory: everything is lost
// with the process. A [Broker] is what several nodes share, each with a [Log]
// of its own. One mutex guards it all; it starts no goroutines and waits on
// channels and timers only, so that it works in a bubble of testing/synctest.
//
// [Broker.Fault] makes it as bad as brokers are: [Faults] says how. All that is
// left to chance hangs on its seed.
package memstream
