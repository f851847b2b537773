// Package pattern has regular expressions that are compiled when they are needed first. A
// program has some hundred, and most runs of a command need three of them: to compile all when
// packages are initialised is a tenth of what a command takes.
package pattern

import (
	"regexp"
	"sync"
)

// Late is the regular expression that is written so, in the syntax of package regexp. Like
// regexp.MustCompile it panics for one that is wrong, but when it is asked for.
func Late(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
