package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
)

func (a *app) deadLetterCommand() *cobra.Command {
	c := noun("deadletter", "See and settle what sagas and effects gave up on", a.deadLetterList(), a.deadLetterShow(), a.deadLetterReplay(), a.deadLetterDrop())
	c.Long = "See and settle what sagas and effects gave up on. A dead letter is named by its KIND (event, saga, work or effect) and ID, as `ramet " +
		"deadletter list` has them."
	return c
}

func deadKind(text string) (domain.DeadKind, error) {
	if kind := domain.DeadKind(text); slices.Contains(domain.DeadKinds, kind) {
		return kind, nil
	}
	return "", domain.Invalidf("kind %q: want event, saga, work or effect", text)
}

func (a *app) deadLetterList() *cobra.Command {
	c := &cobra.Command{
		Use: "list", Short: "List the dead letters of a context", Args: cobra.NoArgs,
		Example: "  ramet deadletter list --saga order --cause timeout",
	}
	return listing[api.ListDeadLettersParams, api.DeadLetterPage, *domain.DeadLetter]{
		op: api.DeadLetterList, of: deadLetters,
		page: func(p *api.DeadLetterPage) paged[*domain.DeadLetter] {
			return paged[*domain.DeadLetter]{(*[]*domain.DeadLetter)(&p.DeadLetters), &p.Next, nil, p.Count}
		},
		arrange: func(list []*domain.DeadLetter) {
			slices.SortStableFunc(list, func(x, y *domain.DeadLetter) int {
				return cmp.Or(cmp.Compare(x.MadeMs, y.MadeMs), cmp.Compare(x.ID, y.ID))
			})
		},
		rows: func(t *table, list []*domain.DeadLetter) {
			t.keep = 2
			t.row("KIND", "ID", "OF", "ATTEMPTS", "MADE", "HOLDS", "CAUSE")
			for _, d := range list {
				t.write(visible, false, []any{d.Kind, d.ID, cell(deadOf(d)), d.Attempts, clock(d.MadeMs), truth(d.Holds), cell(d.Cause)}) // ids are typed again
			}
		},
	}.into(a, c)
}

// deadOf is whose letter it is.
func deadOf(d *domain.DeadLetter) string {
	of := d.Effect
	if d.Saga != "" {
		of = strings.TrimSuffix(d.Saga+":"+d.Correlation, ":")
	}
	return of
}

func (a *app) deadLetterShow() *cobra.Command {
	return &cobra.Command{
		Use: "show KIND ID", Short: "Show a dead letter with what it was", Args: cobra.ExactArgs(2), ValidArgsFunction: completeKind,
		Example: "  ramet deadletter show saga 0191b2c4-6d3e-7000-8000-000000000001",
		RunE: func(c *cobra.Command, args []string) error {
			kind, err := deadKind(args[0])
			if err != nil {
				return err
			}
			return a.with(c.Context(), func(n *client.Client) error {
				d, err := n.DeadLetter(c.Context(), a.tenant(), kind, args[1])
				if err != nil {
					return err
				}
				return a.print(d, func(t *table) {
					t.field("kind", d.Kind)
					t.field("id", d.ID)
					t.field("saga", d.Saga)
					t.field("correlation", d.Correlation)
					t.field("effect", d.Effect)
					t.field("cause", d.Cause)
					t.field("attempts", d.Attempts)
					t.field("holds the instance", truth(d.Holds))
					t.field("stream", d.Stream)
					t.field("sequence", d.Seq)
					t.field("subject", d.Subject)
					t.field("made", clock(d.MadeMs))
					t.field("trace", d.Trace)
					t.field("what it was", d.Content())
				})
			})
		},
	}
}

// completeKind completes the first argument, a kind.
func completeKind(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var words []cobra.Completion
	for _, k := range domain.DeadKinds {
		words = append(words, string(k))
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// settling is a verb that settles one dead letter, or many after a count.
func (a *app) settling(use, short, did, long string,
	do func(*client.Client, context.Context, domain.TenantID, api.DeadLetterChoice) (api.DeadLettersDone, error),
	toAll api.Op[api.BulkDeadLettersParams, *domain.Bulk]) *cobra.Command {
	return alsoAll(a, &cobra.Command{
		Use: use + " KIND ID", Short: short, Long: short + ". " + long, Args: cobra.ExactArgs(2), ValidArgsFunction: completeKind,
		Example: fmt.Sprintf("  ramet deadletter %s saga 0191b2c4-6d3e-7000-8000-000000000001\n  ramet deadletter %s --saga order --all --yes", use, use),
		RunE: func(c *cobra.Command, args []string) error {
			kind, err := deadKind(args[0])
			if err != nil {
				return err
			}
			return a.with(c.Context(), func(n *client.Client) error {
				out, err := do(n, c.Context(), a.tenant(), api.DeadLetterChoice{Kind: kind, ID: args[1]})
				if err != nil {
					return err
				}
				return a.print(out, func(t *table) { t.wide(fmt.Sprintf("%d of %d dead letters %s", out.Done, out.Count, did)) })
			})
		},
	}, deadLetters, toAll)
}

func (a *app) deadLetterReplay() *cobra.Command {
	return a.settling("replay", "Give dead letters another chance", "are on their way again",
		"An event goes to its instance once more, work and effect commands to where they go. What fails again is a dead letter again.",
		(*client.Client).ReplayDeadLetters, api.DeadLetterReplayAll)
}

func (a *app) deadLetterDrop() *cobra.Command {
	return a.settling("drop", "Forget dead letters", "are dropped",
		"An instance that a letter holds goes on without its event.", (*client.Client).DropDeadLetters, api.DeadLetterDropAll)
}
