package cli

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/domain"
)

// patience is how long a command waits for the end of something, which goes on after it.
type patience struct{ timeout time.Duration } // 0: until it has ended

// add adds the flag; when begins its text, what is that which goes on.
func (p *patience) add(c *cobra.Command, when, what string) {
	c.Flags().DurationVar(&p.timeout, "timeout", 0, when+"how long to wait; "+what+" goes on after it (default: until it has ended)")
}

// check refuses a bound that says nothing.
//
// Errors: [domain.ErrInvalid].
func (p *patience) check(c *cobra.Command) error {
	if c.Flags().Changed("timeout") && p.timeout <= 0 {
		return domain.Invalidf("--timeout %v: want a positive duration, such as 30s", p.timeout)
	}
	return nil
}

// within is ctx for as long as the command waits.
func (p *patience) within(ctx context.Context) (context.Context, context.CancelFunc) {
	if p.timeout > 0 {
		return context.WithTimeout(ctx, p.timeout)
	}
	return context.WithCancel(ctx)
}

// over reports whether err is that the time is over, and nothing else.
func (p *patience) over(ctx, waiting context.Context, err error) bool {
	return err != nil && waiting.Err() != nil && ctx.Err() == nil
}

// endedInTime has a verb that waits check its bound first, and say what its exit code means.
func (p *patience) endedInTime(c *cobra.Command, ended, what string) *cobra.Command {
	p.add(c, "", what)
	do := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := p.check(c); err != nil {
			return err
		}
		return do(c, args)
	}
	c.Long = c.Short + ". Exit code: " + ended + ", 7 it has not ended within --timeout."
	return c
}

// tellAfter is after how long a command that waits says what for.
const tellAfter = 5 * time.Second

// tellLater has it said on the error stream what is waited for, unless stop is called before. why
// is "" of what goes on, and of what is not known.
func (a *app) tellLater(ctx context.Context, key string, why func(context.Context) string) (stop func()) {
	ctx, cancel := context.WithTimeout(ctx, 2*tellAfter)
	var telling sync.WaitGroup
	telling.Go(func() {
		select {
		case <-time.After(tellAfter):
		case <-ctx.Done():
			return
		}
		if text := why(ctx); text != "" && ctx.Err() == nil {
			fmt.Fprintln(a.std.Err, visible(key+" has not ended: "+text))
		}
	})
	return func() {
		cancel()
		telling.Wait()
	}
}

// notEnded is the error of a wait that was over before the thing was; why is what it waits
// for, where that is known.
func notEnded(key, noun string, p patience, why string) error {
	if why != "" {
		why = ": " + why
	}
	return domain.Unavailablef("%s has not ended within %v, and goes on%s; `ramet %s wait %s` waits again", key, p.timeout, why, noun, key)
}
