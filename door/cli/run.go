package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/work/taker"
)

func (a *app) runCommand() *cobra.Command {
	var flags jobFlags
	var flow flowFlags
	c := &cobra.Command{
		Use: "run FILE", Annotations: map[string]string{ownNode: "yes"},
		Short: "Run a script, a blueprint, or the jobs of a file, and show what happens",
		Long: `Run a script, or the jobs of a .yaml or .json file, show their output as it comes and their results at the end.
A file with steps is a blueprint: a flow is made of it, and shown with a bar for each step on a terminal, a line for each
change elsewhere. --param, --trigger, --skip, --step, --after and --on-error are for blueprints.
One at a time, or so many a minute, is said by "concurrency" and "rate" of a blueprint: one of a single step does it for a script.

They run on a throw-away node, unless --data or --node is given as a flag ($RAMET_DATA, $RAMET_NODE and profiles do
not count here). There, jobs of a file that are known already are shown, not run again.

Ctrl-C cancels the jobs, or the flow. Exit codes: 0 all finished, 1 a job or the flow failed, 130 interrupted.`,
		Example: "  ramet run backup.sh --env TARGET=/mnt --timeout 10m\n  ramet run jobs.yaml\n  ramet run nightly.yaml --param day=2026-11-21",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if kind, _, err := a.documentKind(args[0]); err == nil && kind == kindBlueprint && !(args[0] == "-" && flags.scriptType != "") {
				for _, name := range jobOnly {
					if c.Flags().Changed(name) {
						return domain.Invalidf("--%s is for scripts; %s is a blueprint, whose steps say it themselves", name, args[0])
					}
				}
				flow.env, flow.priority = flags.env, flags.priority
				return a.runFlow(c, args[0], &flow)
			}
			for _, name := range flowOnly {
				if c.Flags().Changed(name) {
					return domain.Invalidf("--%s is for blueprints; %s has no steps", name, args[0])
				}
			}
			jobs, err := a.jobs(c, args[0], &flags)
			if err != nil {
				return err
			}
			l, err := a.reachRun(c.Context())
			if err != nil {
				return err
			}
			if err := a.runnable(l, jobs); err != nil {
				return errors.Join(err, l.close())
			}
			a.noteUnserved(c.Context(), l, jobs)
			return errors.Join(a.run(c.Context(), l.Client, jobs), l.close())
		},
	}
	flags.add(c)
	flow.addShared(c)
	return c
}

// runFlow makes a flow of a blueprint's file and shows it to its end.
func (a *app) runFlow(c *cobra.Command, file string, f *flowFlags) error {
	in, err := a.flowInput(file, f)
	if err != nil {
		return a.faults(err)
	}
	l, err := a.reachRun(c.Context())
	if err != nil {
		return err
	}
	return errors.Join(a.runFlowOn(c.Context(), l, in), l.close())
}

func (a *app) runFlowOn(ctx context.Context, l *link, in api.FlowInput) error {
	steps := make([]api.JobInput, len(in.Plan.Steps))
	for i := range in.Plan.Steps {
		s := &in.Plan.Steps[i]
		steps[i].ScriptType, steps[i].Affinity, steps[i].At = s.ScriptType, s.Affinity, s.At
	}
	if err := a.runnable(l, steps); err != nil {
		return err
	}
	a.noteUnserved(ctx, l, steps)
	out, err := l.SubmitFlow(ctx, a.tenant(), in)
	if err != nil {
		return a.faults(err)
	}
	return a.watchFlow(ctx, l.Client, out.ID, true)
}

// reachRun finds the node to run on, or starts a throw-away one.
func (a *app) reachRun(ctx context.Context) (*link, error) {
	if a.nodeGiven {
		return a.reach(ctx, false)
	}
	a.node = ""
	if a.dataGiven {
		return a.reach(ctx, true)
	}
	return a.throwAway(ctx, true)
}

// throwAway starts a node in a folder that goes with it.
func (a *app) throwAway(ctx context.Context, run bool) (*link, error) {
	if a.hooks.TempFolder == nil || a.hooks.Embedded == nil {
		return nil, domain.Unavailablef("this program can be no node: name one with --node")
	}
	dir, remove, err := a.hooks.TempFolder()
	if err != nil {
		return nil, err
	}
	l, err := a.become(ctx, EmbeddedOptions{DataDir: dir, ArchiveURL: "none", Run: run})
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	stop := l.close
	l.close = func() error { return errors.Join(stop(), remove()) }
	if a.home != domain.DefaultTenant {
		// Only the first context is there at the start.
		t := domain.Tenant{ID: a.home, Admins: []domain.ActorID{domain.Operator}}
		if a.home == 0 {
			t.Alias = a.context
		}
		if t, err = l.CreateContext(ctx, t); err != nil {
			return nil, errors.Join(err, l.close())
		}
		a.home = t.ID
	}
	return l, nil
}

// runnable refuses jobs that would wait for ever: those that this process cannot
// run, on a board that nobody else has open. What is no script type at all the node
// refuses itself.
//
// Errors: [domain.ErrUnavailable].
func (a *app) runnable(l *link, jobs []api.JobInput) error {
	if !l.own || a.board != "" {
		return nil
	}
	for _, j := range jobs {
		lack := a.lackOf([]domain.Runner{l.runner}, j)
		i := slices.IndexFunc(l.runner.Serves, func(s domain.Service) bool { return s.ScriptType == j.ScriptType })
		switch {
		case lack == "":
		case i >= 0 && !l.runner.Serves[i].Served:
			return domain.Unavailablef("script type %q cannot run here: %s", j.ScriptType, l.runner.Serves[i].Why)
		case i >= 0:
			return domain.Unavailablef("a job cannot run here: %s", lack)
		case slices.Contains(domain.ScriptTypes, j.ScriptType):
			return domain.Unavailablef("script type %q cannot run here: no runtime serves it; write one for it under `runtimes` in a config file and name "+
				"that with --config, or with --node a node that serves it", j.ScriptType)
		}
	}
	return nil
}

// lackOf says why none of the runners takes a job; "" where one does, or where its
// node has to say it.
func (a *app) lackOf(runners []domain.Runner, j api.JobInput) string {
	if j.ScriptType == "" || j.At != "" {
		return ""
	}
	_, lack := taker.Of(runners, taker.Want{Type: j.ScriptType, Labels: j.Affinity, Runner: j.ForRunner, Context: a.tenant()}, time.Now())
	return lack
}

// noteUnserved says which jobs will wait, because none of the runners that are
// there would take them. Another may come, so it is no error.
func (a *app) noteUnserved(ctx context.Context, l *link, jobs []api.JobInput) {
	if l.own && a.board == "" {
		return // see runnable
	}
	list, err := l.Runners(ctx, a.tenant())
	if err != nil {
		return // who may submit need not be one who may look
	}
	if l.own {
		list.Runners = append(list.Runners, l.runner) // which may not have told the board yet
	}
	said := map[string]bool{}
	for _, j := range jobs {
		lack := a.lackOf(list.Runners, j)
		if lack == "" || said[lack] {
			continue
		}
		said[lack] = true
		for _, r := range list.Runners {
			for _, s := range r.Serves {
				if s.ScriptType == j.ScriptType && s.Why != "" {
					lack += fmt.Sprintf(" (%s: %s)", cmp.Or(r.Node, r.Topic), s.Why)
				}
			}
		}
		a.complain(lack + "; its jobs wait")
	}
}

// run submits jobs and shows them to their end.
func (a *app) run(ctx context.Context, c *client.Client, jobs []api.JobInput) error {
	out, err := c.Submit(ctx, a.tenant(), jobs)
	if err != nil {
		return err
	}
	keys, refused := a.accepted(out)
	if len(keys) == 0 {
		return refused
	}
	var logs io.Writer = a.std.Out
	if a.output != outTable {
		logs = a.std.Err // what a program reads is not to be mixed with logs
	}
	w := newWatch(c, a.tenant(), newScreen(logs, a.std.Err), keys)
	if err := w.follow(ctx); err != nil {
		if ctx.Err() == nil {
			return err
		}
		if err := w.cancel(ctx); err != nil {
			a.complain(err.Error())
		}
		return &exitError{code: exitInterrupted, text: "cancelled: " + strings.Join(w.labelsOf(domain.ReasonCancelled), ", ")}
	}
	shown := a.print(api.JobPage{Jobs: w.ended()}, w.results)
	return cmp.Or(refused, w.verdict(), shown) // how a script ended is told, whatever becomes of what it left
}

// accepted gives the keys of the jobs that were taken, and says which were
// there already or refused. The error has the code of the first refusal.
func (a *app) accepted(out api.JobSubmitted) (keys []domain.JobKey, refused error) {
	for i, s := range out.Jobs {
		if s.Error != nil {
			err := &client.Error{Problem: *s.Error}
			if refused == nil {
				refused = &exitError{code: exitCode(err)}
			}
			a.complain(fmt.Sprintf("job %d of %d refused: %v", i+1, len(out.Jobs), err))
			continue
		}
		key, err := domain.ParseJobKey(s.Key)
		if err != nil {
			return keys, err
		}
		if s.Existing {
			a.complain(s.Key + " is known already with the same content: it is not run again")
		}
		keys = append(keys, key)
	}
	return keys, refused
}

// hidden are the results that were seen as they came.
var hidden = []string{"stdout", "stderr", "exit_code"}

// results writes what the scripts left as results.
func (w *watch) results(t *table) {
	for i, j := range w.jobs {
		if j == nil {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(j.Result)) {
			switch {
			case slices.Contains(hidden, name):
			case w.single:
				t.row(name, j.Result[name])
			default:
				t.row(w.labels[i], name, j.Result[name])
			}
		}
	}
}

// verdict is nil where all jobs finished.
func (w *watch) verdict() error {
	failed := 0
	for _, j := range w.jobs {
		if j.Status != domain.JobFinished {
			failed++
		}
	}
	switch {
	case failed == 0:
		return nil
	case w.single:
		return &exitError{code: exitFailed, text: w.keys[0].String() + " " + ending(w.jobs[0])}
	}
	return &exitError{code: exitFailed, text: fmt.Sprintf("%d of %d jobs failed", failed, len(w.jobs))}
}

// labelsOf names the jobs that ended for a reason.
func (w *watch) labelsOf(r domain.Reason) (labels []string) {
	for i, j := range w.jobs {
		if j != nil && j.Reason == r {
			labels = append(labels, w.labels[i])
		}
	}
	if labels == nil {
		labels = []string{"none"}
	}
	return labels
}
