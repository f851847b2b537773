// Package watched says how much of a test the race detector is to see. It makes what it
// looks at five to twenty times slower, and finds no more in the thousandth round of one
// goroutine than in the tenth: `make race` is short (-short), and `make test` does all.
package watched

import "testing"

// Rounds is how many rounds a test does of something: as many as usual, or but a few
// where the race detector looks at them.
func Rounds(usual, few int) int {
	if testing.Short() {
		return min(usual, few)
	}
	return usual
}

// Alone skips what decides in one goroutine where the race detector would look at it. It
// is for tests of pure functions; what starts a goroutine anywhere must not call it.
func Alone(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("one goroutine has no races; make test runs it")
	}
}

// Large skips, under the race detector, what does with thousands of something what other
// tests do with a few, to count or to bound it.
func Large(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("others do the same with less; make test runs it")
	}
}

// Again skips, under the race detector, what has another test of the package do the same,
// of the same goroutines, where only a server beside them is set up in another way.
func Again(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("another test has the same goroutines do the same; make test runs it")
	}
}
