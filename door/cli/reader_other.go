//go:build !unix

package cli

import "context"

// unread waits for the end of ctx: the system does not tell of a pipe that nobody reads.
func unread(ctx context.Context, _ int) bool {
	<-ctx.Done()
	return false
}
