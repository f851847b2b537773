// Package trial reads the tests of a blueprint's author, has them played, and says what is
// not as expected. A case says how jobs end; what the flow makes of that is decided by the
// same functions as on a node, which a [Player] has: this package knows no engine.
package trial
