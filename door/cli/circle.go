package cli

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/queue"
)

func (a *app) circleCommand() *cobra.Command {
	c := noun("circle", "Run Rhai scripts in circles, and serve them", a.circleSubmit(), a.circleServe(), a.circleShow(), a.circleWait(), a.circleList(),
		a.circleExplain(), a.circleDelete())
	c.Long = "Run Rhai scripts in circles, and serve them: named queues whose results come back on reply queues, as rhailib has them."
	return c
}

// ofCircles is a client of the context's circles. Which one does not matter for
// what is asked by a task's id.
func (a *app) ofCircles(n *client.Client, name string) *client.Circle {
	return n.Circle(a.tenant(), name)
}

func (a *app) circleSubmit() *cobra.Command {
	var in api.TaskInput
	var f taskWait
	c := &cobra.Command{
		Use: "submit CIRCLE FILE|-", Short: "Put a script into a circle, and return once it is safe", Args: cobra.ExactArgs(2),
		Example: "  ramet circle submit friends sum.rhai\n  echo '40 + 2' | ramet circle submit friends - --wait",
		RunE: func(c *cobra.Command, args []string) error {
			text, err := a.readInput(args[1], domain.MaxScriptBytes)
			if err != nil {
				return err
			}
			in.Script = string(text)
			if err := cmp.Or(domain.ValidateCircle(args[0]), f.check(c)); err != nil {
				return err
			}
			return a.with(c.Context(), func(n *client.Client) error { return a.submitTask(c.Context(), a.ofCircles(n, args[0]), in, f) })
		},
	}
	c.Flags().StringVar(&in.ID, "id", "", "`text` that names the task (default: one is made)")
	c.Flags().StringVar(&in.ClientRPCID, "rpc-id", "", "`text` that comes back with the reply")
	c.Flags().StringVar(&in.ReplyToQueue, "reply-to", "", "`list` that gets a message at the end")
	c.Flags().BoolVar(&f.wait, "wait", false, "wait for the end, and print what the script gave")
	f.add(c, "with --wait: ", "the task")
	c.Long = c.Short + ".\n\nIt prints the task's id. With --wait it prints the output; exit code: 0 it completed," +
		" 1 it failed, 7 it has not ended within --timeout."
	return c
}

// taskWait says whether a command waits for the end of a task, and how long.
type taskWait struct {
	wait bool
	patience
}

// check refuses a bound that says nothing.
//
// Errors: [domain.ErrInvalid].
func (f *taskWait) check(c *cobra.Command) error {
	if c.Flags().Changed("timeout") && !f.wait {
		return domain.Invalidf("--timeout bounds --wait, which is missing; how long a script may run is circle_timeout in the config file of who serves it")
	}
	return f.patience.check(c)
}

// awaitTask waits for the end of a task.
//
// Errors: [domain.ErrUnavailable], with what the task waits for, where it has not
// ended in time.
func (a *app) awaitTask(ctx context.Context, circle *client.Circle, id string, f taskWait) (*domain.Task, error) {
	a.noteIdle()
	waiting, cancel := f.within(ctx)
	defer cancel()
	task, err := circle.Wait(waiting, id)
	if !f.over(ctx, waiting, err) {
		return task, err
	}
	why := ""
	if x, err := circle.Explain(ctx, id); err == nil {
		why = ": " + x.Text
	}
	return nil, domain.Unavailablef("task %s has not ended within %v, and goes on%s; `ramet circle wait %s` waits again, `ramet circle delete %s` takes it away",
		id, f.timeout, why, id, id)
}

func (a *app) submitTask(ctx context.Context, circle *client.Circle, in api.TaskInput, f taskWait) error {
	out, err := circle.Submit(ctx, in)
	if err != nil {
		return err
	}
	if !f.wait {
		return a.print(out, func(t *table) { t.wide(out.TaskID) })
	}
	task, err := a.awaitTask(ctx, circle, out.TaskID, f)
	if err != nil {
		return err
	}
	if a.output != outTable {
		if err := a.printEnd(task, nil); err != nil {
			return err
		}
	} else if task.Status == domain.TaskCompleted && task.Output != "" {
		fmt.Fprintln(a.std.Out, strings.TrimSuffix(task.Output, "\n"))
	}
	return taskFailure(task)
}

// taskFailure is the exit code of a command that waited for a task.
func taskFailure(t *domain.Task) error {
	if t.Status == domain.TaskError {
		return &exitError{code: exitFailed, text: "task " + t.ID + ": " + t.Error}
	}
	return nil
}

func (a *app) circleServe() *cobra.Command {
	c := a.serving(&cobra.Command{
		Use: "serve CIRCLE[=CONTEXT]...", Short: "Run a node that serves circles and takes no jobs, until it is told to stop", Args: cobra.MinimumNArgs(1),
		Example: "  ramet circle serve friends --data /var/lib/ramet\n  ramet circle serve friends=7 others=7 --board redis://localhost:6379",
	}, func(o *ServeOptions, args []string) (err error) {
		o.CirclesOnly = true
		o.Circles, err = a.servedCircles(args)
		return err
	})
	c.Long = c.Short + `.

It opens the board itself, as ` + "`ramet serve`" + ` does: on --data, or on --board with a data folder of its own. To let a
node that runs jobs serve circles as well, start it with --circle, or name them in its config file.`
	return c
}

// servedCircles reads NAME[=CONTEXT], where the context is by default the
// one of --context.
//
// Errors: [domain.ErrInvalid].
func (a *app) servedCircles(args []string) ([]domain.ServedCircle, error) {
	if len(args) > 0 && a.home == 0 {
		return nil, domain.Invalidf("--context %q: want its number here, the board is not open yet", a.context)
	}
	var list []domain.ServedCircle
	for _, arg := range args {
		c := domain.ServedCircle{Context: a.tenant()}
		name, number, given := strings.Cut(arg, "=")
		if c.Name = name; given {
			n, err := strconv.ParseUint(number, 10, 32)
			if err != nil {
				return nil, domain.Invalidf("circle %q: want NAME or NAME=CONTEXT, such as friends=7", arg)
			}
			c.Context = domain.TenantID(n)
		}
		if err := c.Validate(); err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

// onTask is a verb about one task.
func (a *app) onTask(use, short string, do func(c *client.Circle, ctx context.Context, id string) (*domain.Task, error)) *cobra.Command {
	return &cobra.Command{
		Use: use + " TASK", Short: short, Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			id := strings.TrimPrefix(args[0], queue.TaskPrefix)
			return a.with(c.Context(), func(n *client.Client) error {
				task, err := do(a.ofCircles(n, ""), c.Context(), id)
				if err != nil {
					return err
				}
				return a.print(task, func(t *table) { taskTable(t, task) })
			})
		},
	}
}

func (a *app) circleShow() *cobra.Command {
	return a.onTask("show", "Show a task and what it gave", (*client.Circle).Task)
}

func (a *app) circleDelete() *cobra.Command {
	return a.onTask("delete", "Take a task away: one that waits does not begin, one that runs is stopped", (*client.Circle).Delete)
}

func (a *app) circleWait() *cobra.Command {
	var ended *domain.Task
	f := taskWait{wait: true}
	c := a.onTask("wait", "Wait until a task has ended, and show it", func(c *client.Circle, ctx context.Context, id string) (t *domain.Task, err error) {
		ended, err = a.awaitTask(ctx, c, id, f)
		return ended, err
	})
	show := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := show(c, args); err != nil {
			return err
		}
		return taskFailure(ended)
	}
	return f.endedInTime(c, "0 it completed, 1 it failed", "the task")
}

func taskTable(t *table, task *domain.Task) {
	t.field("task", task.ID)
	t.field("circle", task.Circle)
	t.field("status", task.Status)
	t.field("output", task.Output)
	t.field("error", task.Error)
	t.field("caller", task.CallerID)
	t.field("rpc id", task.ClientRPCID)
	t.field("reply to", task.ReplyToQueue)
	t.field("attempt", task.Attempt)
	t.field("losses", task.Losses)
	t.field("held by", task.LeaseOwner)
	t.field("created", clock(int64(task.CreatedAt)*1000))
	t.field("updated", clock(int64(task.UpdatedAt)*1000))
}

func (a *app) circleExplain() *cobra.Command {
	return &cobra.Command{
		Use: "explain TASK", Short: "Say why a task is where it is, and who holds it", Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			return a.with(c.Context(), func(n *client.Client) error {
				x, err := a.ofCircles(n, "").Explain(c.Context(), strings.TrimPrefix(args[0], queue.TaskPrefix))
				if err != nil {
					return err
				}
				return a.print(x, func(t *table) {
					t.field("task", x.Key)
					t.field("status", x.Status)
					t.field("standing", x.Standing)
					t.field("why", x.Text)
					t.field("since", clock(x.SinceMs))
					t.field("held by", x.Holder)
					t.field("looked at by", clock(x.NextMs))
					t.field("circle", x.Circle)
				})
			})
		},
	}
}

func (a *app) circleList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the circles of the context: how many tasks wait in each, and who serves it", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), func(n *client.Client) error {
				list, err := n.Circles(c.Context(), a.tenant())
				if err != nil {
					return err
				}
				return a.print(list, func(t *table) {
					t.row("CIRCLE", "QUEUED", "SERVED BY")
					for _, one := range list.Circles {
						t.row(one.Name, one.Queued, cmp.Or(one.Fault, strings.Join(one.Nodes, ", "), "nobody known"))
					}
				})
			})
		},
	}
}
