package cli

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/doctor"
	"github.com/ramet-run/ramet/domain"
)

func (a *app) doctorCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "doctor", Short: "Look whether all is well: node, board, runners, jobs", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), func(n *client.Client) error {
				found, hindrance := a.checkUp(c.Context(), n)
				if len(found.Findings) == 0 {
					return hindrance
				}
				// What keeps it from looking further may be what is wrong, so all that was found is told.
				err := a.tell(found)
				return cmp.Or(hindrance, err)
			})
		},
	}
	c.Long = c.Short + `. Jobs of the context are audited, as ` + "`ramet audit`" + ` does, and repaired where there is a rule for it.
Exit code: 0 nothing is bad (there may be warnings), 1 something is.`
	return c
}

// tell prints a doctor.Report and turns it into the exit code.
func (a *app) tell(found doctor.Report) error {
	bad := false
	err := a.print(found, func(t *table) {
		for _, f := range found.Findings {
			t.wide(f.State, f.What, f.Text)
		}
	})
	for _, f := range found.Findings {
		bad = bad || f.State == doctor.Bad
	}
	if err == nil && bad {
		err = &exitError{code: exitFailed}
	}
	return err
}

func (a *app) checkUp(ctx context.Context, n *client.Client) (doctor.Report, error) {
	var found doctor.Report
	info, err := n.Info(ctx)
	if err != nil {
		return found, err
	}
	found.Node(info, a.hooks.Version, time.Now())
	runners, err := n.Runners(ctx, a.tenant())
	if err != nil {
		return found, err
	}
	found.Runners(runners.Runners, time.Now())
	contexts, err := n.Contexts(ctx)
	if err != nil {
		return found, err
	}
	found.Isolation(contexts.Contexts, runners.Runners, time.Now())
	audit, err := n.Audit(ctx, a.tenant())
	if err != nil {
		return found, err
	}
	found.Jobs(audit)
	if circles, err := n.Circles(ctx, a.tenant()); err == nil { // a token may be narrowed to other nouns
		found.Circles(circles.Circles, audit.Stuck)
	}
	if dead, err := n.DeadLetters(ctx, a.tenant(), api.DeadLetterChoice{Kind: domain.DeadSaga}, ""); err == nil {
		found.Held(dead)
	}
	if peers, err := n.Peers(ctx, a.tenant()); err == nil { // not for everybody to see
		found.Peers(peers)
	}
	return found, nil
}
