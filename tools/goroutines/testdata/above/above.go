// Package above imports what starts one.
package above

import "github.com/ramet-run/ramet/tools/goroutines/testdata/below"

// Run runs in a goroutine.
func Run() { below.Run(func() {}) }
