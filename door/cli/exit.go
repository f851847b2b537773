package cli

import (
	"github.com/spf13/cobra"

	"context"
	"errors"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
)

// Exit codes that stand for no kind of error; the others are in the table of package api.
// docs/errors.md has all.
const (
	exitFailed      = 1
	exitInterrupted = 130 // as shells have it: 128 and the number of SIGINT
)

// exitError ends the process with a code. Text may be "", where all has been
// said.
type exitError struct {
	code int
	text string
}

func (e *exitError) Error() string { return e.text }

// exit says what went wrong, if anything, and turns it into the exit code.
func (a *app) exit(ctx context.Context, c *cobra.Command, err error) int {
	own := (*exitError)(nil)
	switch {
	case err == nil:
		return 0
	case errors.As(err, &own):
		if own.text != "" {
			a.complain(own.text)
		}
		return own.code
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return exitInterrupted
	}
	a.complain(err.Error() + a.meant(c, err))
	return exitCode(err)
}

// exitCode is the process's exit code for an error.
func exitCode(err error) int {
	if e := (*client.Error)(nil); errors.As(err, &e) {
		return api.FailureIn(e.Problem).Exit
	}
	f, _ := api.FailureOf(err)
	return f.Exit
}
