package cli

import (
	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
)

func (a *app) prerequisiteCommand() *cobra.Command {
	meet := &cobra.Command{
		Use: "meet NAME", Short: "Mark a prerequisite as met: jobs that wait for it go on", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.with(c.Context(), func(n *client.Client) error {
				if err := n.MeetPrerequisite(c.Context(), a.tenant(), args[0]); err != nil {
					return err
				}
				return a.print(api.Prerequisite{Name: args[0]}, func(t *table) { t.row(args[0] + " is met") })
			})
		},
	}
	return noun("prerequisite", "Mark what jobs wait for as met", meet)
}
