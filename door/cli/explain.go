package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/domain"
)

// explainCommand answers for anything unfinished, by its key.
func (a *app) explainCommand() *cobra.Command {
	job, flow := a.jobExplain(), a.flowExplain()
	return &cobra.Command{
		Use: "explain KEY", Short: "Say why something is where it is, and what will move it: a job, a flow", Args: cobra.ExactArgs(1),
		Example:           "  ramet explain job:1:7\n  ramet explain flow:33",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case strings.HasPrefix(args[0], "job:"):
				job.SetContext(c.Context())
				return job.RunE(job, args)
			case strings.HasPrefix(args[0], "flow:"):
				flow.SetContext(c.Context())
				return flow.RunE(flow, args)
			}
			return domain.Invalidf("key %q: want job:<caller>:<id> or flow:<id>", args[0])
		},
	}
}
