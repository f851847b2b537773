package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/client"
)

// This file has what is asked of a node as a whole.

func (a *app) auditCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "audit", Short: "Look whether every unfinished job has a reason to be alive, and repair it", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), func(n *client.Client) error {
				r, err := n.Audit(c.Context(), a.tenant())
				if err != nil {
					return err
				}
				err = a.print(r, func(t *table) {
					t.wide(fmt.Sprintf("looked at %d unfinished job(s) of context %d: %d repaired, %d stuck", r.Looked, r.Context, len(r.Repaired), len(r.Stuck)))
					for _, f := range r.Repaired {
						t.wide("repaired", f.Key, f.Text)
					}
					for _, f := range r.Stuck {
						t.wide("stuck", f.Key, f.Text)
					}
				})
				if err == nil && len(r.Stuck) > 0 {
					err = &exitError{code: exitFailed}
				}
				return err
			})
		},
	}
	c.Long = c.Short + ". Exit code: 0 none is stuck, 1 some are."
	return c
}

func (a *app) infoCommand() *cobra.Command {
	return &cobra.Command{
		Use: "info", Short: "Say what node this is", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), func(n *client.Client) error {
				i, err := n.Info(c.Context())
				if err != nil {
					return err
				}
				return a.print(i, func(t *table) {
					t.field("node", i.Name)
					t.field("version", i.Version)
					t.field("runner", i.RunnerID)
					t.field("board", i.Board)
					t.field("durability", i.Durability)
					t.field("archive", i.Archive)
					t.field("archive durability", i.ArchiveDurability)
					t.field("ready", i.Ready)
					for _, o := range i.Off {
						t.field("off: "+string(o.Role), offText(o))
					}
					t.field("since", clock(i.StartedMs))
				})
			})
		},
	}
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version of this program", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return a.print(map[string]string{"version": a.hooks.Version}, func(t *table) { t.wide("ramet " + a.hooks.Version) })
		},
	}
}
