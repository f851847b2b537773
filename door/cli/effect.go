package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
)

func (a *app) effectCommand() *cobra.Command {
	c := noun("effect", "Show, try and hold up calls to the outside", a.effectList(), a.effectShow(), a.effectTest(), a.effectPause(), a.effectResume())
	c.Long = "Show, try and hold up calls to the outside, for which sagas and flows ask by NAME. What effects there are is said in the config files of nodes."
	return c
}

func (a *app) effectList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the effects of the node that the context may use", Args: cobra.NoArgs,
		Long: "List the effects of the node that the context may use: the calls to the target now (IN FLIGHT), those that jobs make, of flows and hooks too, " +
			"with how many have ended since the node began (OF JOBS), and the commands of sagas that no node has taken (PENDING).",
		Example: "  ramet effect list",
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), func(n *client.Client) error {
				list, err := n.Effects(c.Context(), a.tenant())
				if err != nil {
					return err
				}
				return a.print(list, func(t *table) {
					t.row("EFFECT", "KIND", "TARGET", "BREAKER", "IN FLIGHT", "OF JOBS", "PENDING", "STANDS")
					for i := range list.Effects {
						e := &list.Effects[i]
						t.row(e.Name, e.Kind, e.Target, e.Breaker, fmt.Sprintf("%d/%d", e.InFlight, e.MaxInFlight),
							fmt.Sprintf("%d, %d done", e.Calls, e.Called), e.Pending, effectStands(e))
					}
				})
			})
		},
	}
}

// effectStands says in a few words how an effect does.
func effectStands(e *domain.EffectStatus) string {
	is, why := e.Stands()
	if why == "" {
		return string(is)
	}
	return string(is) + ": " + why
}

// onEffect is a verb about one.
func (a *app) onEffect(use, short, example string, do func(ctx context.Context, n *client.Client, name string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions, Example: "  ramet effect " + example,
		RunE: func(c *cobra.Command, args []string) error {
			return a.with(c.Context(), func(n *client.Client) error { return do(c.Context(), n, args[0]) })
		},
	}
}

func (a *app) effectShow() *cobra.Command {
	return a.onEffect("show NAME", "Show how an effect does on the node", "show charge-card", func(ctx context.Context, n *client.Client, name string) error {
		e, err := n.Effect(ctx, a.tenant(), name)
		if err != nil {
			return err
		}
		return a.print(e, func(t *table) {
			t.field("effect", e.Name)
			t.field("summary", e.Summary)
			t.field("kind", e.Kind)
			t.field("target", e.Target)
			t.field("contexts", e.Contexts)
			t.field("stands", effectStands(&e))
			t.field("breaker", e.Breaker)
			t.field("in flight", fmt.Sprintf("%d of %d", e.InFlight, e.MaxInFlight))
			t.field("of jobs", fmt.Sprintf("%d now, %d since this node began", e.Calls, e.Called))
			t.field("taken here", e.Hand)
			t.field("taken by all", e.Taken)
			t.field("pending", e.Pending)
			t.field("timeout", nonzero(time.Duration(e.TimeoutMs)*time.Millisecond))
			t.field("attempts", e.Attempts)
			t.field("last error", e.Error)
			t.field("at", clock(e.ErrorMs))
		})
	})
}

func (a *app) effectTest() *cobra.Command {
	call, payload := false, ""
	c := a.onEffect("test NAME", "Look whether an effect's target can be reached; with --call, do the effect once",
		"test charge-card\n  ramet effect test send-mail --call --payload @mail.json",
		func(ctx context.Context, n *client.Client, name string) error {
			out, err := domain.EffectTrial{}, error(nil)
			switch {
			case call:
				var data json.RawMessage
				if data, err = a.jsonFlag("payload", payload); err == nil {
					out, err = n.CallEffect(ctx, a.tenant(), name, data)
				}
			case payload != "":
				err = domain.Invalidf("--payload is for a call: add --call, which does the effect for real")
			default:
				out, err = n.TestEffect(ctx, a.tenant(), name)
			}
			if err != nil {
				return err
			}
			err = a.printEnd(out, func(t *table) {
				t.field("effect", out.Effect)
				t.field("target", out.Target)
				t.field("outcome", out.Outcome)
				t.field("error", out.Error)
				t.field("answer", string(out.Answer))
				t.field("command", out.CommandID)
				t.field("took", fmt.Sprintf("%.1f ms", out.TookMs))
			})
			if err == nil && out.Outcome != domain.EffectDone {
				err = &exitError{code: exitFailed, text: fmt.Sprintf("effect %s: %s", out.Effect, out.Outcome)}
			}
			return err
		})
	c.Flags().BoolVar(&call, "call", false, "do the effect, for real")
	c.Flags().StringVar(&payload, "payload", "", "`JSON` to do it with, @FILE, or - for what is piped in")
	c.Long = c.Short + `. It goes past the stream, breaker, cap and bans. Exit code: 0 it works, 1 it does not.`
	return c
}

// pausing is a verb that pauses or resumes an effect or a target.
func (a *app) pausing(use, short, did string, do func(*client.Client, context.Context, domain.TenantID, string) (api.EffectDone, error)) *cobra.Command {
	c := a.onEffect(use+" NAME|TARGET", short, use+" charge-card", func(ctx context.Context, n *client.Client, name string) error {
		out, err := do(n, ctx, a.tenant(), name)
		if err != nil {
			return err
		}
		return a.print(out, func(t *table) { t.row(out.Effect, did) })
	})
	c.Long = c.Short + ", in the context. `ramet ban effect --everywhere` is for all contexts."
	return c
}

func (a *app) effectPause() *cobra.Command {
	return a.pausing("pause", "Let commands for an effect wait, or those for all effects on a target",
		"is paused: its commands wait in their stream", (*client.Client).PauseEffect)
}

func (a *app) effectResume() *cobra.Command {
	return a.pausing("resume", "Let an effect or a target go on that was paused", "goes on", (*client.Client).ResumeEffect)
}
