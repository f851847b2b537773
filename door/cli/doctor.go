package cli

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/doctor"
)

func (a *app) doctorCommand() *cobra.Command {
	quiet := false
	c := &cobra.Command{
		Use: "doctor", Short: "Look whether all is well: node, board, runners, jobs", Args: cobra.NoArgs,
		Example: "  ramet doctor\n  ramet doctor --quiet",
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), func(n *client.Client) error {
				found, hindrance := a.checkUp(c.Context(), n)
				if len(found.Findings) == 0 {
					return hindrance
				}
				if quiet {
					found.Findings = slices.DeleteFunc(found.Findings, func(f doctor.Finding) bool { return f.State == doctor.OK })
				}
				// What keeps it from looking further may be what is wrong, so all that was found is told.
				err := a.tell(found)
				return cmp.Or(hindrance, err)
			})
		},
	}
	c.Long = c.Short + `. Jobs of the context are audited, as ` + "`ramet audit`" +
		` does, and repaired where there is a rule for it, or only looked at for who may not.
Exit code: 0 nothing is bad (there may be warnings), 1 something is.`
	c.Flags().BoolVarP(&quiet, "quiet", "q", false, "say only what is not ok: nothing, where all is well")
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

// checkUp asks what there is to be known. What keeps it from asking further is returned
// beside what was found until then.
func (a *app) checkUp(ctx context.Context, n *client.Client) (doctor.Report, error) {
	var told doctor.Answers
	var err error
	asked := time.Now()
	if told.Info, err = n.Info(ctx); err != nil {
		return doctor.Report{}, err
	}
	at := nearest(time.UnixMilli(told.Info.NowMs), asked, time.Now())
	told.Passing = a.idle
	err = a.askMore(ctx, n, &told)
	return doctor.Of(told, a.hooks.Version, at), err
}

// nearest is when a node looked at its clock that was asked from one moment to another: when its clock
// was right, if it can have been. However long an answer takes, no clock is called off for that.
func nearest(told, from, to time.Time) time.Time {
	switch {
	case told.Before(from):
		return from
	case told.After(to):
		return to
	}
	return told
}

func (a *app) askMore(ctx context.Context, n *client.Client, told *doctor.Answers) error {
	runners, err := n.Runners(ctx, a.tenant())
	if err != nil {
		return err
	}
	told.Runners = &runners
	contexts, err := n.Contexts(ctx)
	if err != nil {
		return err
	}
	told.Contexts = contexts.Contexts
	// What one may not is not asked for: each refusal would stand in the audit log, as if somebody had tried.
	inspects := told.Info.NowMs != 0 // which whoever may inspect nodes is told
	audit, err := client.Call(ctx, n, api.AuditLook, api.LookParams{Context: a.tenant()})
	if err == nil && audit.Mends {
		audit, err = n.Audit(ctx, a.tenant())
	}
	if err != nil {
		return err
	}
	told.Audit = &audit
	if circles, err := n.Circles(ctx, a.tenant()); err == nil { // a token may be narrowed to other nouns
		told.Circles = circles.Circles
	}
	if bans, err := n.Bans(ctx, a.tenant()); err == nil {
		told.Bans = bans.Bans
	}
	for _, kind := range doctor.DeadKinds {
		if dead, err := n.DeadLetters(ctx, a.tenant(), api.DeadLetterChoice{Kind: kind}, ""); err == nil {
			told.Add(dead)
		}
	}
	if list, err := n.Listeners(ctx, a.tenant()); err == nil { // not on a node without streams
		told.Listeners = list
	}
	if list, err := n.Webhooks(ctx, a.tenant()); err == nil {
		told.Webhooks = list
	}
	if page, err := n.ListSchedules(ctx, api.ScheduleListParams{Context: a.tenant()}); err == nil {
		told.Schedules = page.Schedules
	}
	if page, err := n.Routines(ctx, a.tenant()); err == nil {
		told.Routines = page.Routines
	}
	if list, err := n.Secrets(ctx, a.tenant()); err == nil {
		told.Secrets = list
	}
	if !inspects {
		told.Unseen = append(told.Unseen, "nodes", "peers")
		return nil
	}
	if peers, err := n.Peers(ctx, a.tenant()); err == nil { // not on a node without a post
		told.Peers = peers
	}
	if nodes, err := n.Nodes(ctx); err == nil {
		told.Nodes = nodes.Nodes
	}
	return nil
}
