// Package below starts a goroutine, and has no tests.
package below

// Run runs in a goroutine.
func Run(f func()) { go f() }
