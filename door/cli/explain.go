package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/queue"
)

// explainCommand answers for anything unfinished, by its key.
func (a *app) explainCommand() *cobra.Command {
	job, flow, message, task := a.jobExplain(), a.flowExplain(), a.messageExplain(), a.circleExplain()
	return &cobra.Command{
		Use: "explain KEY", Short: "Say why something is where it is, and what will move it: a job, a flow, an instance of a saga, a message, a " +
			"circle's task", Args: cobra.ExactArgs(1),
		Example:           "  ramet explain job:1:7\n  ramet explain flow:33\n  ramet explain saga:order:o-1\n  ramet explain message:1:5",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case strings.HasPrefix(args[0], "job:"):
				job.SetContext(c.Context())
				return job.RunE(job, args)
			case strings.HasPrefix(args[0], "flow:"):
				flow.SetContext(c.Context())
				return flow.RunE(flow, args)
			case strings.HasPrefix(args[0], sagaKey):
				return a.explainSagaKey(c.Context(), args[0])
			case strings.HasPrefix(args[0], "message:"):
				message.SetContext(c.Context())
				return message.RunE(message, args)
			case strings.HasPrefix(args[0], queue.TaskPrefix):
				task.SetContext(c.Context())
				return task.RunE(task, args)
			}
			return domain.Invalidf("key %q: want job:<caller>:<id>, flow:<id>, saga:<name>:<correlation>, message:<caller>:<id> or rhai_task_details:<task>", args[0])
		},
	}
}
