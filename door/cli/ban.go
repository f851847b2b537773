package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
)

// banned is what can be banned.
type banned struct {
	kind domain.BanKind
	arg  string // what it is called by; "" where it needs no name
	what string
	name string // as in an example
	// wide says that it can be banned in all contexts at once.
	wide bool
}

// banScopes are what can be banned, in the order of the help.
var banScopes = []banned{
	{domain.BanAll, "", "everything, in all contexts", "", false},
	{domain.BanContext, "", "the context", "", false},
	{domain.BanBlueprint, "NAME", "a blueprint's flows", "nightly", false},
	{domain.BanFlow, "ID", "a flow", "31", false},
	{domain.BanType, "TYPE", "a script type", "shell", true},
	{domain.BanRoutine, "NAME", "a routine, or one of its instances", "sweep", true},
	{domain.BanEffect, "NAME", "an effect, or the calls to a target outside", "charge-card", true},
	{domain.BanSaga, "NAME", "a saga: its events wait", "order", false},
}

func (a *app) banCommand() *cobra.Command {
	verbs := []*cobra.Command{a.banList()}
	for _, s := range banScopes {
		var in api.BanInput
		var level string
		var length time.Duration
		c := a.onScope(s, "ban", "Hold up", "--reason 'the disk is full'",
			func(ctx context.Context, n *client.Client, scope domain.BanScope, operator bool) (domain.Ban, error) {
				if length < 0 {
					return domain.Ban{}, domain.Invalidf("--for %v: want a positive duration such as 2h", length)
				}
				in.BanScope, in.Level = scope, domain.BanLevel(level)
				if length > 0 {
					in.UntilMs = time.Now().Add(length).UnixMilli()
				}
				if operator {
					return n.BanAnywhere(ctx, in)
				}
				return n.Ban(ctx, a.tenant(), in)
			})
		usual, levels := domain.BanPick, "pick: nothing is begun; create: flows make no jobs either; submit: nothing is taken in either"
		switch s.kind {
		case domain.BanRoutine:
			usual, levels = domain.BanExec, "exec: rounds are left out; occupy: no node holds it either"
		case domain.BanSaga:
			levels = "pick: no event is taken"
		case domain.BanFlow:
			levels = "pick: nothing is begun; create: no jobs are made either"
		}
		c.Flags().StringVar(&level, "level", string(usual), levels)
		c.Flags().StringVar(&in.Reason, "reason", "", "`text` for those who wait (required)")
		c.Flags().DurationVar(&length, "for", 0, "how `long` (default: until it is lifted)")
		verbs = append(verbs, c)
	}
	c := noun("ban", "Hold work up, and show what is held up", append(verbs, a.banShow(), a.banLift())...)
	c.Aliases = []string{"hold"} // as the field has it
	c.Long = "Hold work up: what runs goes on, what has not begun waits until `ramet ban lift` or until its time is over."
	return c
}

func (a *app) banShow() *cobra.Command {
	var verbs []*cobra.Command
	for _, s := range banScopes {
		verbs = append(verbs, a.onScope(s, "ban show", "Show what holds up", "",
			func(ctx context.Context, n *client.Client, scope domain.BanScope, operator bool) (domain.Ban, error) {
				if operator {
					return client.Call(ctx, n, api.BanShowAll, api.ShowAnyBanParams{Kind: scope.Kind, Context: scope.Context, Name: scope.Name})
				}
				return client.Call(ctx, n, api.BanShow, api.ShowBanParams{In: a.tenant(), Kind: scope.Kind, Name: scope.Name})
			}))
	}
	return noun("show", "Show what holds one thing up", verbs...)
}

func (a *app) banLift() *cobra.Command {
	var verbs []*cobra.Command
	for _, s := range banScopes {
		verbs = append(verbs, a.onScope(s, "ban lift", "Let go on what was held up:", "",
			func(ctx context.Context, n *client.Client, scope domain.BanScope, operator bool) (domain.Ban, error) {
				if operator {
					return n.ResumeAnywhere(ctx, scope)
				}
				return n.Resume(ctx, a.tenant(), scope)
			}))
	}
	return noun("lift", "Let go on what was held up", verbs...)
}

// onScope is a verb, below the command above, on what can be banned; flags are those of its
// example.
func (a *app) onScope(s banned, above, verb, flags string,
	do func(ctx context.Context, n *client.Client, scope domain.BanScope, operator bool) (domain.Ban, error)) *cobra.Command {
	var everywhere, operator bool
	c := &cobra.Command{Use: string(s.kind), Short: verb + " " + s.what, Args: cobra.NoArgs}
	if s.arg != "" {
		c.Use, c.Args = c.Use+" "+s.arg, cobra.ExactArgs(1)
	}
	c.Example = "  " + strings.Join(strings.Fields("ramet "+above+" "+string(s.kind)+" "+s.name+" "+flags), " ")
	if s.wide {
		c.Flags().BoolVar(&everywhere, "everywhere", false, "in all contexts, as the node's operator")
	}
	if s.kind != domain.BanAll {
		c.Flags().BoolVar(&operator, "operator", false, "as the node's operator, whoever is admin of the context")
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		scope := domain.BanScope{Kind: s.kind}
		if len(args) > 0 {
			scope.Name = args[0]
		}
		return a.with(c.Context(), func(n *client.Client) error {
			if s.kind != domain.BanAll && !everywhere {
				scope.Context = a.tenant()
			}
			if err := scope.Validate(); err != nil {
				return err
			}
			b, err := do(c.Context(), n, scope, operator || scope.Context == 0)
			if err != nil {
				return err
			}
			return a.print(b, func(t *table) { banTable(t, b) })
		})
	}
	return c
}

func banTable(t *table, b domain.Ban) {
	t.field("on", b.Words())
	t.field("level", b.Level)
	t.field("by actor", b.By)
	t.field("since", clock(b.AtMs))
	t.field("until", clock(b.UntilMs))
	t.field("reason", b.Reason)
}

func (a *app) banList() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use: "list", Short: "List what is held up in the context, and everywhere", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), func(n *client.Client) error {
				list, err := a.bans(c.Context(), n, all)
				if err != nil {
					return err
				}
				return a.print(list, func(t *table) {
					t.row("ON", "LEVEL", "BY", "SINCE", "UNTIL", "REASON")
					for _, b := range list.Bans {
						t.row(b.Words(), b.Level, b.By, clock(b.AtMs), clock(b.UntilMs), b.Reason)
					}
				})
			})
		},
	}
	c.Flags().BoolVar(&all, "all", false, "of all contexts, as the node's operator")
	return c
}

func (a *app) bans(ctx context.Context, n *client.Client, all bool) (api.BanPage, error) {
	if all {
		return n.AllBans(ctx)
	}
	return n.Bans(ctx, a.tenant())
}
