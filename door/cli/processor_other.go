//go:build !unix

package cli

import "time"

var begun = time.Now()

// processorTime is, where the system does not tell it, the time that passed.
func processorTime() time.Duration { return time.Since(begun) }
