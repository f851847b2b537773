package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

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

// deadFlags are those by which dead letters are filtered.
type deadFlags struct {
	api.DeadLetterChoice
	kind   string
	before string
}

func (f *deadFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.kind, "kind", "", "only letters of that `kind`: event, saga, work or effect")
	c.Flags().StringVar(&f.Saga, "saga", "", "only letters of that saga, by `name`")
	c.Flags().StringVar(&f.Effect, "effect", "", "only letters of that effect, by `name`")
	c.Flags().StringVar(&f.Cause, "cause", "", "only letters whose cause has that `text`")
	c.Flags().StringVar(&f.before, "before", "", "only letters from before `when`: 2026-12-24T18:00:00Z, or 2h ago")
	words := make([]cobra.Completion, len(domain.DeadKinds))
	for i, k := range domain.DeadKinds {
		words[i] = string(k)
	}
	completes(c, "kind", words...)
}

// choice is what the flags ask for.
//
// Errors: [domain.ErrInvalid].
func (f *deadFlags) choice() (api.DeadLetterChoice, error) {
	out := f.DeadLetterChoice
	if f.kind != "" {
		kind, err := deadKind(f.kind)
		if err != nil {
			return out, domain.Invalidf("--kind %q: want event, saga, work or effect", f.kind)
		}
		out.Kind = kind
	}
	if f.before != "" {
		ms, err := since(f.before, time.Now())
		if err != nil {
			return out, domain.Invalidf("--before: %v, or 2h", err)
		}
		out.BeforeMs = ms
	}
	return out, nil
}

func deadKind(text string) (domain.DeadKind, error) {
	if kind := domain.DeadKind(text); slices.Contains(domain.DeadKinds, kind) {
		return kind, nil
	}
	return "", domain.Invalidf("kind %q: want event, saga, work or effect", text)
}

func (a *app) deadLetterList() *cobra.Command {
	var f deadFlags
	var narrow narrowing
	where, limit := "", 0
	c := &cobra.Command{
		Use: "list", Short: "List the dead letters of a context", Args: cobra.NoArgs,
		Example: "  ramet deadletter list --saga order --cause timeout",
		RunE: func(c *cobra.Command, _ []string) error {
			choice, err := f.choice()
			if err != nil {
				return err
			}
			if limit < 1 {
				return domain.Invalidf("--limit %d: want 1 or more", limit)
			}
			filter := api.DeadLetterFilter{Kind: choice.Kind, Saga: choice.Saga, Effect: choice.Effect, Cause: choice.Cause, BeforeMs: choice.BeforeMs, Where: where}
			if filter.Narrowing, err = narrow.read(); err != nil {
				return err
			}
			return a.with(c.Context(), func(n *client.Client) error {
				p := api.ListDeadLettersParams{Context: a.tenant(), DeadLetterFilter: filter, Count: narrow.count}
				if !p.Count {
					return a.listDead(c.Context(), n, p, limit)
				}
				page, err := n.ListDeadLetters(c.Context(), p)
				if err != nil {
					return err
				}
				return a.counted(page, page.Count, "dead letters")
			})
		},
	}
	f.add(c)
	narrow.flags(c)
	c.Flags().StringVar(&where, "where", "", "only letters for which a Rhai `expression` holds, such as 'letter.attempts > 3'")
	c.Flags().IntVar(&limit, "limit", 100, "how many at the most")
	return c
}

func (a *app) listDead(ctx context.Context, n *client.Client, p api.ListDeadLettersParams, limit int) error {
	all := api.DeadLetterPage{}
	for {
		p.Cursor = all.Next
		page, err := n.ListDeadLetters(ctx, p)
		if err != nil {
			return err
		}
		all.DeadLetters, all.Next = append(all.DeadLetters, page.DeadLetters...), page.Next
		if all.Next == "" || len(all.DeadLetters) >= limit {
			break
		}
	}
	slices.SortStableFunc(all.DeadLetters, func(x, y *domain.DeadLetter) int {
		return cmp.Or(cmp.Compare(x.MadeMs, y.MadeMs), cmp.Compare(x.ID, y.ID))
	})
	if more := all.Next != "" || len(all.DeadLetters) > limit; more && a.output == outTable {
		defer a.complain(fmt.Sprintf("there may be more; --limit is %d", limit))
	}
	all.DeadLetters = all.DeadLetters[:min(limit, len(all.DeadLetters))]
	return a.print(all, func(t *table) {
		t.row("KIND", "ID", "OF", "ATTEMPTS", "MADE", "HOLDS", "CAUSE")
		for _, d := range all.DeadLetters {
			t.write(visible, []any{d.Kind, d.ID, cell(deadOf(d)), d.Attempts, clock(d.MadeMs), truth(d.Holds), cell(d.Cause)}) // ids are typed again
		}
	})
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
	toAll api.Op[api.BulkLettersParams, *domain.Bulk]) *cobra.Command {
	var f deadFlags
	var m many
	var narrow narrowing
	where := ""
	c := &cobra.Command{
		Use: use + " KIND ID | " + use + " --all", Short: short, Args: cobra.MaximumNArgs(2), ValidArgsFunction: completeKind,
		Example: fmt.Sprintf("  ramet deadletter %s saga 0191b2c4-6d3e-7000-8000-000000000001\n  ramet deadletter %s --saga order --all --yes", use, use),
		RunE: func(c *cobra.Command, args []string) error {
			choice, err := f.choice()
			if err != nil {
				return err
			}
			switch {
			case m.all && len(args) > 0:
				return domain.Invalidf("--all is for all that the filters fit; leave it out for one by KIND and ID")
			case !m.all && len(args) != 2:
				return domain.Invalidf("which dead letters? want KIND and ID of one, or --all with filters")
			case !m.all && (choice != (api.DeadLetterChoice{}) || narrow != narrowing{} || where != "" || m != many{}):
				return domain.Invalidf("KIND and ID name one letter; filters are for --all")
			}
			filter := api.DeadLetterFilter{Kind: choice.Kind, Saga: choice.Saga, Effect: choice.Effect, Cause: choice.Cause, BeforeMs: choice.BeforeMs, Where: where}
			if filter.Narrowing, err = narrow.read(); err != nil {
				return err
			}
			if !m.all {
				if choice.Kind, err = deadKind(args[0]); err != nil {
					return err
				}
				choice.ID = args[1]
			}
			return a.with(c.Context(), func(n *client.Client) error {
				if m.all {
					return a.toMany(c.Context(), n, &m, use, "dead letters", func(ctx context.Context, n *client.Client, dry bool) (*domain.Bulk, error) {
						return client.Call(ctx, n, toAll, api.BulkLettersParams{Context: a.tenant(), DeadLetterFilter: filter, DryRun: dry})
					})
				}
				out, err := do(n, c.Context(), a.tenant(), choice)
				if err != nil {
					return err
				}
				return a.print(out, func(t *table) { t.wide(fmt.Sprintf("%d of %d dead letters %s", out.Done, out.Count, did)) })
			})
		},
	}
	f.add(c)
	narrow.filters(c)
	c.Flags().StringVar(&where, "where", "", "only letters for which a Rhai `expression` holds, such as 'letter.attempts > 3'")
	m.flags(c, "letters")
	c.Long = short + ". " + long
	return c
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
