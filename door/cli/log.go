package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
)

// logFlags say which lines of a log are shown, and how.
type logFlags struct {
	follow, timestamps bool
	since              string
	api.LogWanted
}

func (f *logFlags) add(c *cobra.Command, until string) {
	c.Flags().BoolVarP(&f.follow, "follow", "f", false, "go on until "+until)
	c.Flags().IntVarP(&f.Tail, "tail", "n", 0, "only the last `lines`, up to 10,000")
	c.Flags().StringVar(&f.since, "since", "", "only what was said since a `time`: 90m or 7d ago, 2026-11-30, or 2026-11-30T08:00:00Z")
	c.Flags().BoolVarP(&f.timestamps, "timestamps", "t", false, "when each line was said, before it")
}

// wanted is what the flags ask of a node.
func (f *logFlags) wanted() (w api.LogWanted, err error) {
	f.SinceMs, err = instant("--since", f.since, time.Now())
	return f.LogWanted, err
}

// stamp is what comes before a line.
func (f *logFlags) stamp(l domain.Log) string {
	if !f.timestamps {
		return ""
	}
	return time.UnixMilli(l.AtMs).Local().Format("2006-01-02T15:04:05.000Z07:00 ")
}

func (a *app) jobLogs() *cobra.Command {
	var f logFlags
	attempt := 0
	c := a.onJob("logs", "Show what a job said", func(ctx context.Context, c *client.Client, key domain.JobKey) error {
		w, err := f.wanted()
		if err != nil {
			return err
		}
		p := api.LogParams{JobParams: api.JobParams{Context: a.tenant(), Caller: key.Caller, ID: key.ID}, LogWanted: w, Attempt: attempt}
		if f.follow {
			return a.whileRead(ctx, func(ctx context.Context) error { return a.followLogs(ctx, c, p, &f) })
		}
		return a.logs(ctx, c, p, &f)
	})
	f.add(c, "the job has ended")
	c.Flags().IntVar(&attempt, "attempt", 0, "only what that attempt said, from 1 on: `number`")
	c.Example = "  ramet job logs 12:7 --follow\n  ramet job logs 12:7 --attempt 2 --tail 20 --timestamps"
	return c
}

// logs shows a log as far as it goes.
func (a *app) logs(ctx context.Context, c *client.Client, p api.LogParams, f *logFlags) error {
	all := api.LogPage{Logs: []domain.Log{}}
	for first := true; ; first = false {
		part, err := c.LogsWanted(ctx, p)
		if err != nil {
			return err
		}
		if first {
			all.From = part.From
		}
		if len(part.Logs) == 0 {
			break
		}
		p.From, p.Tail = max(part.From, p.From)+len(part.Logs), 0
		if a.output == outTable {
			for _, l := range part.Logs {
				if err := a.logLine(l, f); err != nil {
					return err
				}
			}
			continue
		}
		all.Logs = append(all.Logs, part.Logs...)
	}
	if a.output == outTable {
		return nil
	}
	return a.print(all, nil)
}

// followLogs shows a log until the job has ended; as JSON or YAML, a document
// for each line.
func (a *app) followLogs(ctx context.Context, c *client.Client, p api.LogParams, f *logFlags) error {
	a.noteIdle()
	j, err := c.FollowLogsWanted(ctx, p, func(l domain.Log) error {
		if a.output == outTable {
			return a.logLine(l, f)
		}
		return a.printNext(l)
	})
	if err != nil {
		return err
	}
	return failure(j)
}

// printNext prints one document of many.
func (a *app) printNext(v any) error {
	if a.output == outYAML {
		fmt.Fprintln(a.std.Out, "---")
	}
	return a.print(v, nil)
}

// logLine writes a line where the script wrote it.
func (a *app) logLine(l domain.Log, f *logFlags) error {
	to, who := a.logStream(l)
	_, err := fmt.Fprintln(to, f.stamp(l)+who+oneLine(l.Line))
	return err
}

// logStream is where a line of a script belongs, and what is said before it.
func (a *app) logStream(l domain.Log) (to io.Writer, who string) {
	switch l.Stream {
	case "stdout":
		return a.std.Out, ""
	case "ramet":
		return a.std.Err, "ramet: "
	}
	return a.std.Err, ""
}

func (a *app) flowLogs() *cobra.Command {
	var f logFlags
	step := ""
	c := a.onFlow("logs", "Show what the jobs of a flow said, in the order of time",
		func(ctx context.Context, n *client.Client, id domain.FlowID, _ []string) error {
			w, err := f.wanted()
			if err != nil {
				return err
			}
			p := api.FlowLogParams{FlowParams: api.FlowParams{Context: a.tenant(), Flow: id}, Step: step, LogWanted: w}
			if f.follow {
				return a.whileRead(ctx, func(ctx context.Context) error { return a.followFlowLogs(ctx, n, p, &f) })
			}
			return a.showFlowLogs(ctx, n, p, &f)
		})
	f.add(c, "the flow has ended")
	c.Flags().StringVar(&step, "step", "", "only what the jobs of that step said: its `name`")
	c.Long = c.Short + ". Before each line stands the step, and of a step of many jobs which of them: an index, or a range. Lines of standard error are " +
		"shown among the others. Exit code with --follow: 0 it succeeded, 1 it did not."
	c.Example = "  ramet flow logs 31 --follow\n  ramet flow logs nightly/2026-12-24 --step load --tail 100"
	return c
}

// showFlowLogs shows a flow's log as far as it goes.
func (a *app) showFlowLogs(ctx context.Context, n *client.Client, p api.FlowLogParams, f *logFlags) error {
	all := api.FlowLogPage{Logs: []api.FlowLog{}}
	for {
		part, err := n.FlowLogs(ctx, p)
		if err != nil {
			return err
		}
		for _, l := range part.Logs {
			if a.output != outTable {
				all.Logs = append(all.Logs, l)
			} else if err := a.flowLogLine(l, f); err != nil {
				return err
			}
		}
		if p.Cursor = part.Next; p.Cursor == "" {
			break
		}
	}
	if a.output == outTable {
		return nil
	}
	return a.print(all, nil)
}

// followFlowLogs shows a flow's log until it has ended; as JSON or YAML, a document for
// each line.
func (a *app) followFlowLogs(ctx context.Context, n *client.Client, p api.FlowLogParams, f *logFlags) error {
	a.noteIdle()
	v, err := n.FollowFlowLogs(ctx, p, func(l api.FlowLog) error {
		if a.output == outTable {
			return a.flowLogLine(l, f)
		}
		return a.printNext(l)
	})
	if err != nil {
		return err
	}
	return flowFailure(&v)
}

// flowLogLine writes a line with the step that it is of. All go to standard output: between
// two streams their order would be lost.
func (a *app) flowLogLine(l api.FlowLog, f *logFlags) error {
	name := cmp.Or(l.Step, domain.JobKey{ID: l.Job}.String())
	if l.Part != "" {
		name += " " + l.Part
	}
	_, who := a.logStream(l.Log)
	_, err := fmt.Fprintln(a.std.Out, f.stamp(l.Log)+visible(name)+" | "+who+oneLine(l.Line))
	return err
}
