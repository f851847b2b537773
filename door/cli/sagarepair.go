package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
)

// This file has what sets sagas right by hand: each says first what would come
// of it.

func (a *app) sagaMigrate() *cobra.Command {
	var p api.MigrateSagaParams
	c := a.onSaga("migrate [CORRELATION]", "Bring instances to another version of their saga, or say what would come of it",
		"migrate order --from 2\n  ramet saga migrate order --from 2 --apply",
		func(ctx context.Context, n *client.Client, name string, args []string) error {
			p.Name = name
			if len(args) > 0 {
				p.Correlation = args[0]
			}
			all := &domain.SagaMigrated{}
			for {
				page, err := n.MigrateSaga(ctx, a.tenant(), p)
				if err != nil {
					return err
				}
				all.To, all.Applied = page.To, all.Applied+page.Applied
				all.Instances, all.Refused = append(all.Instances, page.Instances...), append(all.Refused, page.Refused...)
				if page.Next == "" || page.Next == p.Cursor {
					return a.printMigrated(all, p.Apply)
				}
				p.Cursor, p.To = page.Next, page.To
			}
		})
	c.Flags().IntVar(&p.From, "from", 0, "only instances of that `version`; 0 is any")
	c.Flags().IntVar(&p.To, "to", 0, "the `version` to bring them to; 0 is the newest")
	c.Flags().BoolVar(&p.Apply, "apply", false, "do it; without it, nothing is changed")
	c.Long = c.Short + `. An instance can be brought to a version that has the state it is in; the program's migrate(state, from) may change its data.`
	return c
}

func (a *app) printMigrated(m *domain.SagaMigrated, applied bool) error {
	return a.print(m, func(t *table) {
		if len(m.Instances)+len(m.Refused) > 0 {
			t.row("CORRELATION", "FROM", "STATE", "WHAT CHANGES, OR WHY IT CANNOT BE")
		}
		for _, in := range m.Instances {
			for i, line := range in.Lines {
				if i == 0 {
					t.row(in.Correlation, in.From, in.State, line)
				} else {
					t.row("", "", "", line)
				}
			}
		}
		for _, in := range m.Refused {
			t.wide(in.Correlation, in.From, in.State, in.Error)
		}
		_ = t.flush()
		switch what := fmt.Sprintf("%d instances to version %d, %d cannot be", len(m.Instances), m.To, len(m.Refused)); {
		case applied:
			fmt.Fprintf(t.to, "migrating %s\n", what)
		default:
			fmt.Fprintf(t.to, "would migrate %s; nothing was changed, --apply does it\n", what)
		}
	})
}

func (a *app) sagaReplay() *cobra.Command {
	var p api.ReplaySagaParams
	c := a.onSaga("replay [CORRELATION]", "Compute instances again from the streams, and say in what they differ",
		"replay order\n  ramet saga replay order o-1 --apply",
		func(ctx context.Context, n *client.Client, name string, args []string) error {
			p.Name = name
			if len(args) > 0 {
				p.Correlation = args[0]
			}
			out, err := n.ReplaySaga(ctx, a.tenant(), p)
			if err != nil {
				return err
			}
			return a.print(out, func(t *table) {
				if len(out.Different) > 0 {
					t.row("CORRELATION", "AS IT IS -> AS IT COMES OUT")
				}
				for _, d := range out.Different {
					for _, line := range d.Lines {
						t.row(d.Correlation, line)
					}
					if d.Repaired {
						t.row(d.Correlation, "a person repaired it: it stays as it is")
					}
				}
				_ = t.flush()
				fmt.Fprintf(t.to, "%d events, %d instances: %d the same, %d different, %d written\n", out.Events, out.Instances, out.Same, len(out.Different), out.Applied)
				if len(out.Different) > 0 && !p.Apply {
					fmt.Fprintln(t.to, "nothing was changed; --apply writes what came out")
				}
			})
		})
	c.Flags().IntVar(&p.Definition, "definition", 0, "the `version` to compute with; 0 is that of each instance")
	c.Flags().BoolVar(&p.Apply, "apply", false, "write what came out in place of what is there")
	c.Long = c.Short + `. Nothing is changed without --apply, and no work is sent again in any case. Instances that came to an end and are gone are left out.`
	return c
}

func (a *app) sagaRewind() *cobra.Command {
	var p api.RewindSagaParams
	name, yes := "", false
	c := a.onSaga("rewind", "Have a saga read a stream again from behind a sequence on", "rewind order --stream AGGREGATE_EVENTS --after 120 --yes",
		func(ctx context.Context, n *client.Client, saga string, _ []string) error {
			if name == "" {
				return domain.Invalidf("--stream: which one? want AGGREGATE_EVENTS, WORKFLOW_COMMANDS or WORKFLOW_EVENTS; `ramet saga lag %s` shows where it is", saga)
			}
			if !yes {
				return domain.Invalidf("events of %s behind %d that %s does not remember would be handled again, and their effects done again; add --yes if "+
					"that is meant", name, p.After, saga)
			}
			p.Name, p.Stream = saga, domain.StreamName(name)
			out, err := n.RewindSaga(ctx, a.tenant(), p)
			if err != nil {
				return err
			}
			return a.print(out, func(t *table) { t.row(out.Saga, fmt.Sprintf("reads %s again from behind %d", name, p.After)) })
		})
	c.Flags().StringVar(&name, "stream", "", "`name` of the stream")
	c.Flags().Uint64Var(&p.After, "after", 0, "the `sequence` behind which it reads on; 0 is the beginning")
	c.Flags().BoolVar(&yes, "yes", false, "do it")
	completes(c, "stream", string(domain.AggregateEvents), string(domain.WorkflowCommands), string(domain.WorkflowEvents))
	return c
}
