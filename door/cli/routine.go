package cli

import (
	"cmp"
	"context"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/doctor"
	"github.com/ramet-run/ramet/domain"
)

// maxRoutineFile bounds a routine's file; its script can be a file of its own.
const maxRoutineFile = 2 * domain.MaxScriptBytes

func (a *app) routineCommand() *cobra.Command {
	c := noun("routine", "Run scripts again and again, one round at a time", a.routineList(), a.routineApply(),
		a.onRoutine("show", "Show a routine and where it stands", (*client.Client).Routine),
		a.onRoutine("pause", "Let no more rounds begin; one under way goes on", (*client.Client).PauseRoutine),
		a.onRoutine("resume", "Let a paused routine go on", (*client.Client).ResumeRoutine),
		a.onRoutine("run", "Let the next round begin now", (*client.Client).RunRoutine),
		a.onRoutine("delete", "Take a routine away; a round under way is let end", (*client.Client).DeleteRoutine))
	c.Long = `Run scripts again and again: each round is a job, one at a time, and the next
begins when the last has ended and the pause is over. What a round saves in
$RAMET_CHECKPOINT the next one finds there, on whatever node. A file:

  name: sync
  every: 5m           # the pause between rounds; 60s if not given
  scale: 2            # instances, each with rounds of its own; 1 if not given
  script_type: shell  # or by the file's name
  script: echo "round $RAMET_PARAM_ROUND"
  # file: sync.sh     # in place of script
  # params, env, timeout, priority, paused`
	return c
}

// onRoutine is a verb about one routine.
func (a *app) onRoutine(use, short string, do func(*client.Client, context.Context, domain.TenantID, string) (*domain.Routine, error)) *cobra.Command {
	return &cobra.Command{
		Use: use + " NAME", Short: short, Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			if err := domain.ValidateName("routine", args[0]); err != nil {
				return err
			}
			return a.with(c.Context(), func(n *client.Client) error {
				r, err := do(n, c.Context(), a.tenant(), args[0])
				if err != nil {
					return err
				}
				return a.print(r, func(t *table) { routineTable(t, r, a.boardNow()) })
			})
		},
	}
}

func (a *app) routineApply() *cobra.Command {
	return &cobra.Command{
		Use: "apply FILE|-", Short: "Make the routine of a file, or change it", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			r, err := a.routineFile(args[0])
			if err != nil {
				return err
			}
			return a.with(c.Context(), func(n *client.Client) error {
				made, err := n.ApplyRoutine(c.Context(), a.tenant(), r)
				if err != nil {
					return err
				}
				return a.print(made, func(t *table) { routineTable(t, made, a.boardNow()) })
			})
		},
	}
}

// routineFile reads a routine.
//
// Errors: [domain.ErrInvalid], those of [domain.FileErrorf].
func (a *app) routineFile(path string) (domain.Routine, error) {
	var in struct {
		domain.Routine
		// File is read into Script; its path is relative to the routine's file.
		File string `json:"file"`
	}
	text, err := a.readInput(path, maxRoutineFile)
	if err == nil {
		err = decodeFile(path, text, &in)
	}
	if err != nil || in.File == "" {
		return in.Routine, err
	}
	if in.Script != "" {
		return in.Routine, domain.Invalidf("%s: has script and file; want one of them", path)
	}
	if !filepath.IsAbs(in.File) && path != "-" {
		in.File = filepath.Join(filepath.Dir(path), in.File)
	}
	if text, err = a.readInput(in.File, domain.MaxScriptBytes); err != nil {
		return in.Routine, err
	}
	in.Script = string(text)
	in.ScriptType = cmp.Or(in.ScriptType, domain.GuessScriptType(in.File, in.Script))
	return in.Routine, nil
}

func routineTable(t *table, r *domain.Routine, now time.Time) {
	t.field("routine", r.Name)
	t.field("summary", r.Summary)
	t.field("script type", r.ScriptType)
	t.field("every", r.EveryOr().Time())
	t.field("in the name of", r.CallerID)
	t.field("paused", truth(r.Paused))
	t.field("timeout", nonzero(r.Timeout.Time()))
	t.field("priority", r.Priority)
	for _, name := range slices.Sorted(maps.Keys(r.Params)) {
		t.paragraph("param "+visible(name), r.Params[name])
	}
	for _, i := range r.Instances {
		t.field("instance", i.Name)
		t.field("  round", i.Round)
		t.field("  job", i.Job)
		t.field("  last job", i.LastJob)
		t.field("  began", clock(i.BeganMs))
		ended := "  ended"
		if i.Job != "" { // that of the round before
			ended = "  last ended"
		}
		t.field(ended, clock(i.EndedMs))
		t.field("  next", clock(i.NextMs))
		t.field("  failures", i.Failures)
		t.field("  error", i.Error)
		t.field("  held up", i.Held)
		t.field("  checkpoint", i.Checkpoint)
		t.field("  stands", instanceStands(r, &i, now))
	}
}

// truth shows what is so, and leaves out what is not.
func truth(b bool) string {
	if b {
		return "yes"
	}
	return ""
}

// nonzero shows a length of time that was given.
func nonzero(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

func (a *app) routineList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the routines of the context, and what nodes do for all", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), func(n *client.Client) error {
				list, err := n.Routines(c.Context(), a.tenant())
				if err != nil {
					return err
				}
				return a.print(list, func(t *table) {
					t.row("ROUTINE", "EVERY", "ROUND", "UNDER WAY", "NEXT", "FAILURES", "STANDS")
					for _, r := range list.Routines {
						for _, i := range r.Instances {
							t.row(i.Name, r.EveryOr().Time(), i.Round, i.Job, clock(i.NextMs), i.Failures, instanceStands(r, &i, a.boardNow()))
						}
					}
					t.row("SYSTEM", "EVERY", "HOLDER", "SINCE", "", "", "STANDS")
					for _, s := range list.System {
						t.row(s.Name, nonzero(time.Duration(s.EveryMs)*time.Millisecond), s.Holder, clock(s.SinceMs), "", "", s.Held)
					}
				})
			})
		},
	}
}

// instanceStands says in a word how an instance stands.
func instanceStands(r *domain.Routine, i *domain.RoutineInstance, now time.Time) string {
	switch is, why := doctor.RoutineStands(r, i, now); is {
	case doctor.StartPaused:
		return "paused"
	case doctor.StartLate:
		return "late: " + why
	case doctor.StartHeld:
		return why
	case doctor.StartRefused:
		return "failed: " + why
	}
	return "ok"
}
