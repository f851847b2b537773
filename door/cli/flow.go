package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
)

func (a *app) flowCommand() *cobra.Command {
	c := noun("flow", "Submit, watch and steer flows", a.flowSubmit(), a.flowShow(), a.flowList(), a.flowWatch(), a.flowWait(), a.flowLogs(),
		a.flowGraph(), a.flowExplain(),
		a.flowCancel(), a.flowRetry(), a.flowSkip(), a.flowMarkDone(), a.flowRerun(), a.flowDecide("approve", true), a.flowDecide("reject", false), a.flowPause(),
		a.flowResume(),
		a.flowUpdate(), a.flowDelete(), a.flowArtifacts())
	c.Long = "Submit, watch and steer flows. A FLOW is its number, flow:<number>, or <blueprint>/<trigger>."
	return c
}

func (a *app) flowSubmit() *cobra.Command {
	var f flowFlags
	follow, register := false, false
	c := &cobra.Command{
		Use: "submit FILE|NAME", Short: "Make a flow: of a blueprint's or a jobs file, or of a stored blueprint", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			in, err := a.flowInput(args[0], &f)
			if err != nil {
				return a.faults(err)
			}
			return a.with(c.Context(), func(n *client.Client) error {
				if register {
					types, err := a.typesOfFlow(c.Context(), n, &in)
					if err == nil {
						err = n.RegisterWork(c.Context(), a.tenant(), types...)
					}
					if err != nil {
						return err
					}
				}
				out, err := n.SubmitFlow(c.Context(), a.tenant(), in)
				if err != nil {
					return a.faults(err)
				}
				if follow {
					return a.watchFlow(c.Context(), n, out.ID, false)
				}
				return a.print(out, func(t *table) {
					if out.Existing {
						t.row(out.Key, "exists already")
						return
					}
					t.row(out.Key)
				})
			})
		},
	}
	c.Long = c.Short + `. A flow whose blueprint and trigger are known already is not made again: the one that is there is shown.`
	c.Example = "  ramet flow submit nightly --trigger 2026-11-21 --param day=2026-11-21\n  ramet flow submit load.yaml --step load.end=5000 --watch"
	f.add(c)
	c.Flags().BoolVarP(&follow, "watch", "w", false, "show how it goes until it has ended")
	c.Flags().BoolVar(&register, "register", false, "make the types of its steps known first, as workers do: they wait for those that serve them")
	return c
}

// typesOfFlow are the script types that the jobs of a flow have.
func (a *app) typesOfFlow(ctx context.Context, n *client.Client, in *api.FlowInput) ([]domain.ScriptType, error) {
	plan := in.Plan
	if in.Blueprint != "" {
		stored, err := n.Blueprint(ctx, a.tenant(), in.Blueprint, in.Version)
		if err != nil {
			return nil, err
		}
		plan = &stored.Blueprint
	}
	types := typesOf(in.Jobs)
	if plan != nil {
		for i := range plan.Steps {
			if t := plan.Steps[i].ScriptType; t != "" && !slices.Contains(types, t) { // approvals have none
				types = append(types, t)
			}
		}
	}
	return types, nil
}

// onFlow is a verb about a flow.
func (a *app) onFlow(use, short string, do func(ctx context.Context, n *client.Client, id domain.FlowID, rest []string) error) *cobra.Command {
	words := strings.Fields(use)
	c := &cobra.Command{
		Use: words[0] + " FLOW" + strings.TrimPrefix(use, words[0]), Short: short, Args: cobra.ExactArgs(len(words)), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			blueprint, trigger, named := strings.Cut(args[0], "/")
			id, err := domain.ParseFlowKey(args[0])
			if err != nil && !named {
				return domain.Invalidf("flow %q: want its number, flow:<number>, or <blueprint>/<trigger>", args[0])
			}
			return a.with(c.Context(), func(n *client.Client) error {
				if named {
					if id, err = n.FlowNamed(c.Context(), a.tenant(), blueprint, trigger); err != nil {
						return err
					}
				}
				return do(c.Context(), n, id, args[1:])
			})
		},
	}
	return c
}

// ordering is a verb that asks something of a flow.
func (a *app) ordering(use, short, did string,
	do func(ctx context.Context, n *client.Client, id domain.FlowID, rest []string) (api.FlowDone, error)) *cobra.Command {
	return a.onFlow(use, short, func(ctx context.Context, n *client.Client, id domain.FlowID, rest []string) error {
		out, err := do(ctx, n, id, rest)
		if err != nil {
			return err
		}
		return a.print(out, func(t *table) {
			if out.Done {
				t.row(out.Key, did)
			} else {
				t.row(out.Key, "noted; it is done as soon as a node has looked at the flow")
			}
		})
	})
}

func (a *app) flowShow() *cobra.Command {
	var from int
	c := a.onFlow("show", "Show a flow with its steps and its result", func(ctx context.Context, n *client.Client, id domain.FlowID, _ []string) error {
		v, err := n.FlowFrom(ctx, a.tenant(), id, from)
		if err != nil {
			return err
		}
		return a.print(v, func(t *table) { flowTable(t, &v) })
	})
	c.Flags().IntVar(&from, "steps-from", 0, "of a flow of more than 10,000 steps, the `number` of the first of 1,000 to show, counted from 0")
	return c
}

func flowTable(t *table, v *domain.FlowView) {
	t.field("flow", v.Key())
	if v.StepsTotal > 0 {
		t.field("steps", fmt.Sprintf("%d to %d of %d; see --steps-from", v.StepsFrom, v.StepsFrom+len(v.Steps)-1, v.StepsTotal))
	}
	t.field("context", v.ContextID)
	t.field("blueprint", v.Blueprint)
	t.field("version", v.Version)
	t.field("trigger", v.Trigger)
	t.field("schedule", v.Schedule)
	if p := v.Parent; p != nil {
		t.field("made by", fmt.Sprintf("step %s of %s", p.Step, domain.FlowKey(p.Flow)))
	}
	t.field("called by", calledText(v.CalledBy))
	t.field("status", v.Status)
	t.field("reason", v.Reason)
	t.field("error", v.Error)
	if v.Paused && !v.Final() {
		t.field("paused", "yes")
	}
	if v.Cancel != "" && v.Cancel != domain.CancelledFull {
		t.field("cancelled by", "actor "+v.Cancel)
	}
	if v.Progress != "" {
		t.field("progress", v.Progress+" %")
	}
	t.field("started", clock(v.StartedMs))
	t.field("finished", clock(v.FinishedMs))
	if v.Slow {
		t.field("slow", fmt.Sprintf("expected were %s", domain.Span(v.Duration).Time()))
	}
	t.field("retried", v.Retried)
	if v.RerunOf != 0 {
		t.field("rerun of", domain.FlowKey(v.RerunOf))
	}
	if v.RerunBy != 0 {
		t.field("rerun by", domain.FlowKey(v.RerunBy))
	}
	for _, h := range v.Hooks {
		t.field("hook "+string(h.On), hookViewText(h))
	}
	resultFields(t, v.Result)
	if len(v.Steps) == 0 {
		return
	}
	_ = t.flush()
	fmt.Fprintln(t.to)
	t.row("STEP", "KIND", "STATUS", "DONE", "OPEN", "BAD", "JOB", "NEEDS", "WHY")
	for i := range v.Steps {
		s := &v.Steps[i]
		t.row(s.Name, s.Kind, s.Status, doneText(s), s.Open, s.Bad, cmp.Or(s.Job, s.Flow), strings.Join(s.Needs, ", "), s.Text)
	}
	badTable(t, v)
}

// hookViewText says which job a hook is, and what came of it.
func hookViewText(h domain.HookView) string {
	text := h.Job + " " + cmp.Or(string(h.Status), "is not on the board any more")
	if h.Error != "" {
		text += ": " + h.Error
	}
	return text
}

// maxBadShown bounds the parts of steps that are listed because they ended
// badly; -o json has more.
const maxBadShown = 20

// badTable lists the parts of shards and packs that ended badly.
func badTable(t *table, v *domain.FlowView) {
	n := 0
	for i := range v.Steps {
		s := &v.Steps[i]
		for _, u := range s.Units {
			if u.Outcome == "" || s.Kind.One() {
				continue
			}
			if n++; n == 1 {
				_ = t.flush()
				fmt.Fprintln(t.to)
				t.row("PART", "FROM", "TO", "ENDED", "JOB", "WHY")
			} else if n > maxBadShown {
				return
			}
			t.row(s.Name+" "+cmp.Or(u.Key, strconv.FormatInt(u.ID, 10)), u.Start, u.End, u.Outcome, cmp.Or(u.Job, u.Flow), u.Text)
		}
	}
}

// doneText is how much of a step is done.
func doneText(s *domain.StepView) string {
	if s.Total == 0 {
		return strconv.FormatInt(s.Done, 10)
	}
	return fmt.Sprintf("%d/%d", s.Done, s.Total)
}

func (a *app) flowList() *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List the flows of a context that the board still has", Args: cobra.NoArgs}
	c.Long = c.Short + ". Those that have not ended come in the order in which they began, those that ended in error the newest end first, others the " +
		"newest first. One that is named by --blueprint and --trigger is also found in the archive."
	return listing[api.ListFlowsParams, api.FlowPage, domain.Flow]{
		op: api.FlowList, of: flows,
		page: func(p *api.FlowPage) paged[domain.Flow] {
			return paged[domain.Flow]{(*[]domain.Flow)(&p.Flows), &p.Next, &p.Looked, p.Count}
		},
		note: func(p *api.FlowPage) string {
			if p.Archived && len(p.Flows) > 0 {
				return "only the archive still has it"
			}
			return ""
		},
		rows: func(t *table, list []domain.Flow) {
			t.row("FLOW", "BLUEPRINT", "TRIGGER", "STATUS", "REASON", "PROGRESS", "STARTED", "TOOK")
			for i := range list {
				f := &list[i]
				t.row(f.Key(), f.Blueprint, f.Trigger, f.Status, f.Reason, f.Progress, clock(f.StartedMs), flowTook(f))
			}
		},
	}.into(a, c)
}

func (a *app) flowWatch() *cobra.Command {
	c := a.onFlow("watch", "Show how a flow goes until it has ended", func(ctx context.Context, n *client.Client, id domain.FlowID, _ []string) error {
		return a.watchFlow(ctx, n, id, false)
	})
	c.Example = "  ramet flow watch 31"
	c.Long = c.Short + ": a bar for each step on a terminal, a line for each change elsewhere. Exit code: 0 it succeeded, 1 it did not."
	return c
}

func (a *app) flowGraph() *cobra.Command {
	format := ""
	c := a.onFlow("graph", "Draw a flow with the states of its steps", func(ctx context.Context, n *client.Client, id domain.FlowID, _ []string) error {
		v, err := n.Flow(ctx, a.tenant(), id)
		if err != nil {
			return err
		}
		return a.draw(blueprint.FlowGraph(&v), format)
	})
	c.Flags().StringVar(&format, "format", "mermaid", "mermaid, dot or svg")
	c.Example = "  ramet flow graph 31 --format svg >flow.svg"
	return c
}

func (a *app) flowExplain() *cobra.Command {
	return a.onFlow("explain", "Say what a flow waits for, and what will move it",
		func(ctx context.Context, n *client.Client, id domain.FlowID, _ []string) error {
			x, err := n.ExplainFlow(ctx, a.tenant(), id)
			if err != nil {
				return err
			}
			return a.print(x, func(t *table) {
				t.field("flow", x.Key)
				t.field("status", x.Status)
				t.field("standing", x.Standing)
				t.field("outlook", x.Outlook)
				t.field("why", x.Text)
				t.field("since", clock(x.SinceMs))
				t.field("held by", x.Holder)
				t.field("waits for", strings.Join(x.WaitsFor, ", "))
				t.field("looked at by", clock(x.NextMs))
			})
		})
}

func (a *app) flowCancel() *cobra.Command {
	return alsoAll(a, a.ordering("cancel", "End what a flow has not begun, and tell what runs to stop", "cancelled",
		func(ctx context.Context, n *client.Client, id domain.FlowID, _ []string) (api.FlowDone, error) {
			return n.CancelFlow(ctx, a.tenant(), id)
		}), flows, api.FlowCancelAll)
}

func (a *app) flowRetry() *cobra.Command {
	var what api.RetryFlowParams
	c := a.ordering("retry", "Start again what ended in error, keeping checkpoints", "goes on",
		func(ctx context.Context, n *client.Client, id domain.FlowID, _ []string) (api.FlowDone, error) {
			what.FlowParams = api.FlowParams{Context: a.tenant(), Flow: id}
			return client.Call(ctx, n, api.FlowRetry, what)
		})
	c.Flags().BoolVar(&what.Failed, "failed", false, "also what failed because its script said so")
	c.Flags().BoolVar(&what.NoCache, "no-cache", false, "from now on run every step, also one whose result is kept from an earlier flow")
	c.Flags().StringVar(&what.Step, "step", "", "this `step` alone, whether it failed or ended in error")
	c.Flags().StringVar(&what.Key, "element", "", "of that step, this element alone, by the `name` that it has in flow show, or its place in the list")
	return alsoAll(a, c, flows, api.FlowRetryAll)
}

func (a *app) flowSkip() *cobra.Command {
	return a.ordering("skip STEP", "Skip a step that allows it, or accept one that ended badly", "skips it",
		func(ctx context.Context, n *client.Client, id domain.FlowID, rest []string) (api.FlowDone, error) {
			return n.SkipStep(ctx, a.tenant(), id, rest[0])
		})
}

func (a *app) flowDecide(verb string, approve bool) *cobra.Command {
	comment, given := "", []string(nil)
	short, did := "Let a step fail that waits for a decision", "rejected"
	if approve {
		short, did = "Let a step succeed that waits for a decision", "approved"
	}
	c := a.ordering(verb+" STEP", short, did,
		func(ctx context.Context, n *client.Client, id domain.FlowID, rest []string) (api.FlowDone, error) {
			answers, err := pairs("answer", given)
			if err != nil {
				return api.FlowDone{}, err
			}
			return n.DecideStep(ctx, a.tenant(), id, rest[0], comment, answers, approve)
		})
	c.Flags().StringVarP(&comment, "comment", "m", "", "why; scripts after the step find it")
	c.Flags().StringArrayVar(&given, "answer", nil, "what the step asks for, `NAME=VALUE`; may be repeated")
	return c
}

func (a *app) flowMarkDone() *cobra.Command {
	comment, given := "", []string(nil)
	c := a.ordering("done STEP", "Mark a step as done that has not begun, or ended badly", "counts as done",
		func(ctx context.Context, n *client.Client, id domain.FlowID, rest []string) (api.FlowDone, error) {
			result, err := pairs("result", given)
			if err != nil {
				return api.FlowDone{}, err
			}
			return n.MarkStepDone(ctx, a.tenant(), id, rest[0], comment, result)
		})
	c.Flags().StringArrayVar(&given, "result", nil, "what the step should have left, `NAME=VALUE`; may be repeated")
	c.Flags().StringVarP(&comment, "comment", "m", "", "why")
	return c
}

func (a *app) flowRerun() *cobra.Command {
	p := api.RerunFlowParams{}
	c := a.onFlow("rerun", "Make a new flow of one that has ended", func(ctx context.Context, n *client.Client, id domain.FlowID, _ []string) error {
		p.FlowParams = api.FlowParams{Context: a.tenant(), Flow: id}
		out, err := client.Call(ctx, n, api.FlowRerun, p)
		if err != nil {
			return err
		}
		return a.print(out, func(t *table) { t.row(out.Key) })
	})
	c.Flags().BoolVar(&p.NoCache, "no-cache", false, "run every step, also one whose result is kept from an earlier flow")
	c.Flags().StringVar(&p.From, "from", "", "the first `step` to run anew; what ended well before it is taken over")
	c.Flags().StringVar(&p.Trigger, "trigger", "", "the new flow's `trigger`; left out, the old one's with the time")
	return c
}

func (a *app) flowPause() *cobra.Command {
	return a.ordering("pause", "Hold a flow up: nothing more of it is begun", "paused; what runs goes on",
		func(ctx context.Context, n *client.Client, id domain.FlowID, _ []string) (api.FlowDone, error) {
			return n.PauseFlow(ctx, a.tenant(), id)
		})
}

func (a *app) flowResume() *cobra.Command {
	return a.ordering("resume", "Let a flow go on that was paused", "goes on",
		func(ctx context.Context, n *client.Client, id domain.FlowID, _ []string) (api.FlowDone, error) {
			return n.ResumeFlow(ctx, a.tenant(), id)
		})
}

func (a *app) flowDelete() *cobra.Command {
	forget := false
	c := a.ordering("delete", "Remove a flow with its jobs; one that lives is cancelled first", "deleted",
		func(ctx context.Context, n *client.Client, id domain.FlowID, _ []string) (api.FlowDone, error) {
			return n.DeleteFlow(ctx, a.tenant(), id, forget)
		})
	c.Long = c.Short + ". The archive keeps it as it ended, and its name stays taken."
	c.Flags().BoolVar(&forget, "forget", false, "free its name, too: also of one that only the archive still has")
	return alsoAll(a, c, flows, api.FlowDeleteAll, "forget")
}

func (a *app) flowUpdate() *cobra.Command {
	var changes []string
	c := a.ordering("update", "Change steps of a flow that lives", "changed",
		func(ctx context.Context, n *client.Client, id domain.FlowID, _ []string) (api.FlowDone, error) {
			steps, err := parseChanges(changes)
			if err != nil {
				return api.FlowDone{}, err
			}
			if len(steps) == 0 {
				return api.FlowDone{}, domain.Invalidf("what is to change? want --step NAME.FIELD=VALUE, with the fields size, window, end, endless, retries")
			}
			return n.UpdateFlow(ctx, a.tenant(), id, steps)
		})
	c.Flags().StringArrayVar(&changes, "step", nil, "`NAME.FIELD=VALUE`: size, window, end, endless=false, retries; may be repeated")
	c.Example = "  ramet flow update 12 --step load.window=100 --step stream.endless=false"
	return c
}
