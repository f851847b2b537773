package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/document"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

func (a *app) jobCommand() *cobra.Command {
	c := noun("job", "Submit, show, follow and end jobs", a.jobSubmit(), a.jobShow(), a.jobList(), a.jobLogs(), a.jobWait(),
		a.jobCancel(), a.jobRetry(), a.jobExplain(), a.jobSignal(), a.jobHistory(), a.jobFork(), a.jobArtifacts())
	c.Long = "Submit, show, follow and end jobs. A job's KEY is job:<caller>:<id>, <caller>:<id>, or <id> for a job of the actor\nof --key, where there is " +
		"such, else of the operator (actor 1)."
	return c
}

func (a *app) jobSubmit() *cobra.Command {
	var flags jobFlags
	var register bool
	c := &cobra.Command{
		Use:     "submit FILE|-",
		Example: "  ramet job submit backup.sh --env TARGET=/mnt --timeout 10m\n  echo 'date' | ramet job submit - --type shell",
		Short:   "Hand in a script, or the jobs of a file, and return once they are safe",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			jobs, err := a.jobs(c, args[0], &flags)
			if err != nil {
				return err
			}
			return a.with(c.Context(), func(n *client.Client) error {
				if register {
					if err := n.RegisterWork(c.Context(), a.tenant(), typesOf(jobs)...); err != nil {
						return err
					}
				}
				return a.submit(c.Context(), n, jobs)
			})
		},
	}
	flags.add(c)
	c.Flags().BoolVar(&register, "register", false, "make its type known first, as workers do: the job waits for the one that serves it")
	return c
}

// typesOf are the script types that jobs have.
func typesOf(jobs []api.JobInput) (types []domain.ScriptType) {
	for i := range jobs {
		if t := jobs[i].ScriptType; !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	return types
}

func (a *app) submit(ctx context.Context, c *client.Client, jobs []api.JobInput) error {
	out, err := c.Submit(ctx, a.tenant(), jobs)
	if err != nil {
		return err
	}
	err = a.print(out, func(t *table) {
		for _, s := range out.Jobs {
			if s.Error == nil {
				t.row(s.Key)
			}
		}
	})
	if err != nil {
		return err
	}
	_, refused := a.accepted(out)
	return refused
}

// onJob is a verb about one job.
func (a *app) onJob(use, short string, do func(ctx context.Context, c *client.Client, key domain.JobKey) error) *cobra.Command {
	return a.onJobAnd(use+" KEY", short, cobra.ExactArgs(1), func(ctx context.Context, c *client.Client, key domain.JobKey, _ []string) error {
		return do(ctx, c, key)
	})
}

// onJobAnd is onJob with more arguments behind the key.
func (a *app) onJobAnd(use, short string, most cobra.PositionalArgs,
	do func(ctx context.Context, c *client.Client, key domain.JobKey, rest []string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: most, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			key, err := parseKey(args[0])
			if err != nil {
				return err
			}
			return a.with(c.Context(), func(n *client.Client) error {
				unsure := isBare(args[0]) && a.key != ""
				if unsure {
					key = a.ownJob(c.Context(), n, key)
				}
				err := do(c.Context(), n, key, args[1:])
				if unsure && errors.Is(err, domain.ErrNotFound) {
					err = fmt.Errorf("%w; a number alone is a job of yours, or of the operator: write <caller>:<id> for another's", err)
				}
				return err
			})
		},
	}
}

// ownJob is the job that an actor means by a number alone: his own, where there is such, else
// the operator's, as without --key.
func (a *app) ownJob(ctx context.Context, n *client.Client, key domain.JobKey) domain.JobKey {
	k, err := identity.LoadKey(a.key)
	if err != nil {
		return key
	}
	own := domain.JobKey{Caller: k.Actor, ID: key.ID}
	if _, err := n.Job(ctx, a.tenant(), own); err != nil {
		return key
	}
	return own
}

// asking is a verb that answers with the job.
func (a *app) asking(use, short string,
	ask func(c *client.Client, ctx context.Context, t domain.TenantID, k domain.JobKey) (*domain.Job, error)) *cobra.Command {
	return a.onJob(use, short, func(ctx context.Context, c *client.Client, key domain.JobKey) error {
		j, err := ask(c, ctx, a.tenant(), key)
		if err != nil {
			return err
		}
		return a.print(j, func(t *table) { jobTable(t, j) })
	})
}

func (a *app) jobShow() *cobra.Command {
	return a.asking("show", "Show a job and its result", (*client.Client).Job)
}

func (a *app) jobCancel() *cobra.Command {
	c := a.asking("cancel", "End a job: at once where it waits, by telling it to stop where it runs", (*client.Client).Cancel)
	c.Example = "  ramet job cancel 12:7\n  ramet job cancel --all --where 'job.attempt > 3' --yes"
	return alsoAll(a, c, jobs, api.JobCancelAll)
}

func (a *app) jobRetry() *cobra.Command {
	c := a.asking("retry", "Bring a job that ended in error back to its queue", (*client.Client).Retry)
	c.Example = "  ramet job retry 12:7\n  ramet job retry --all --text 'connection refused' --since 2h --yes"
	return alsoAll(a, c, jobs, api.JobRetryAll)
}

func (a *app) jobWait() *cobra.Command {
	var p patience
	c := a.onJob("wait", "Wait until a job has ended, and show it", func(ctx context.Context, c *client.Client, key domain.JobKey) error {
		a.noteIdle()
		waiting, cancel := p.within(ctx)
		defer cancel()
		stop := a.tellLater(waiting, key.String(), func(ctx context.Context) string {
			if x, err := c.Explain(ctx, a.tenant(), key); err == nil && x.Standing != domain.StandingLeased {
				return x.Text
			}
			return ""
		})
		j, err := c.Wait(waiting, a.tenant(), key)
		stop()
		if p.over(ctx, waiting, err) {
			x, _ := c.Explain(ctx, a.tenant(), key)
			return notEnded(key.String(), "job", p, x.Text)
		}
		if err != nil {
			return err
		}
		if err := a.printEnd(j, func(t *table) { jobTable(t, j) }); err != nil {
			return err
		}
		return failure(j)
	})
	return p.endedInTime(c, "0 it finished, 1 it failed", "the job")
}

// failure is the exit code of a command that waited for a job.
func failure(j *domain.Job) error {
	if j.Final() && j.Status != domain.JobFinished {
		return &exitError{code: exitFailed, text: j.Key().String() + " " + ending(j)}
	}
	return nil
}

func jobTable(t *table, j *domain.Job) {
	t.field("job", j.Key())
	t.field("context", j.ContextID)
	t.field("status", j.Status)
	t.field("reason", j.Reason)
	if j.Hook != nil {
		t.field("hook", fmt.Sprintf("%s of %s", j.Hook.On, domain.FlowKey(j.Hook.Flow)))
	}
	t.field("error", j.Error)
	if j.Cancel != "" && !j.Final() {
		t.field("to be cancelled", "asked for by "+j.Cancel+": it is to stop; `ramet job explain` says whether it was told")
	} else {
		t.field("cancelled by", j.Cancel)
	}
	if j.FlowID != 0 {
		t.field("flow", domain.FlowKey(j.FlowID))
	}
	t.field("step", j.Step)
	switch first, span, _ := strings.Cut(j.Pack, ":"); {
	case j.Pack != "":
		t.field("range", fmt.Sprintf("%s, number %s", span, first))
	case j.Item != "":
		t.field("element", fmt.Sprintf("%s, number %s", j.Item, j.Shard))
	default:
		t.field("shard", j.Shard)
	}
	t.field("script type", j.ScriptType)
	t.field("attempts", j.Attempt)
	if n := j.MaxRetries(); n > 0 { // else the status says it
		t.field("failures", fmt.Sprintf("%d of %d", j.Failures, n+1))
	}
	if r := j.Retry.Rules(); r != nil {
		t.field("tried again", retryText(r))
	}
	t.field("losses", j.Losses)
	t.field("runner", j.RunnerID)
	t.field("held by", j.LeaseOwner)
	if j.TakenBy != 0 {
		t.field("taken by", fmt.Sprintf("actor %d, at the Redis door", j.TakenBy))
	}
	if j.EndedBy != 0 {
		t.field("ended by", fmt.Sprintf("actor %d, at the Redis door", j.EndedBy))
	}
	t.field("runs at", j.At)
	t.field("message", j.Message)
	t.field("came from", j.Origin)
	t.field("needs", j.Dependends)
	t.field("prerequisites", strings.Join(j.Prerequisites, ", "))
	t.field("priority", j.Priority)
	t.field("affinity", j.Affinity)
	t.field("not before", clock(j.NotBefore))
	t.field("queued", clock(j.QueuedMs))
	t.field("started", clock(j.StartedMs))
	t.field("finished", clock(j.FinishedMs))
	t.field("took", took(j))
	if j.Suspended == nil {
		t.field("next try", clock(j.NextRetryMs))
	}
	t.field("called by", calledText(j.CalledBy))
	t.field("suspended", suspendedText(j.Suspended))
	t.field("remembers", rememberedText(j))
	if j.Signals > 0 {
		t.field("signals", fmt.Sprintf("%d sent that its script has not waited for", j.Signals))
	}
	resultFields(t, j.Result)
}

// resultFields are the rows of a result.
func resultFields(t *table, result map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(result)) {
		if result[name] != "" { // a 0 is one
			t.wide("result "+visible(name), result[name])
		}
	}
}

func (a *app) jobList() *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List the jobs of a context", Args: cobra.NoArgs}
	c.Long = c.Short + ". Those that have not ended come in the order in which they began, those that ended in error the newest end first, others the " +
		"newest first."
	return listing[api.ListJobsParams, api.JobPage, *domain.Job]{
		op: api.JobList, of: jobs,
		page: func(p *api.JobPage) paged[*domain.Job] {
			return paged[*domain.Job]{&p.Jobs, &p.Next, &p.Looked, p.Count}
		},
		key: func(j *domain.Job) string { return j.Key().String() },
		rows: func(t *table, list []*domain.Job) {
			if !c.Flags().Changed("flow") {
				t.row("JOB", "TYPE", "STATUS", "REASON", "ATTEMPT", "QUEUED", "TOOK")
				for _, j := range list {
					t.row(j.Key(), j.ScriptType, statusText(j), j.Reason, j.Attempt, clock(j.QueuedMs), took(j))
				}
				return
			}
			t.row("JOB", "STEP", "PART", "STATUS", "REASON", "ATTEMPT", "QUEUED", "TOOK")
			for _, j := range list {
				t.row(j.Key(), j.Step, partText(j), statusText(j), j.Reason, j.Attempt, clock(j.QueuedMs), took(j))
			}
		},
	}.into(a, c)
}

// statusText is a job's status as a list shows it: of one that holds no slot although it has
// begun, that it is suspended.
func statusText(j *domain.Job) string {
	if p := j.Phase(); p == domain.PhaseSuspended {
		return string(p)
	}
	return string(j.Status)
}

// maxPartText bounds what a list says of an element; `job show` has all of it.
const maxPartText = 40

// partText is which part of its step a job is; "" of one that is all of it.
func partText(j *domain.Job) string {
	_, span, _ := strings.Cut(j.Pack, ":")
	switch {
	case j.Pack != "":
		return span
	case j.Item != "":
		return j.Shard + " " + document.Clip(j.Item, maxPartText)
	}
	return j.Shard
}

func (a *app) jobExplain() *cobra.Command {
	return a.onJob("explain", "Say why a job is where it is, and what will move it", func(ctx context.Context, c *client.Client, key domain.JobKey) error {
		x, err := c.Explain(ctx, a.tenant(), key)
		if err != nil {
			return err
		}
		return a.print(x, func(t *table) {
			t.field("job", x.Key)
			t.field("status", x.Status)
			t.field("standing", x.Standing)
			t.field("outlook", x.Outlook)
			t.field("why", x.Text)
			t.field("since", clock(x.SinceMs))
			t.field("held by", x.Holder)
			t.field("waits for", strings.Join(x.WaitsFor, ", "))
			t.field("looked at by", clock(x.NextMs))
			t.field("queue", x.Queue)
			if x.Ahead < 0 {
				t.field("ahead of it", "too many to count")
			} else {
				t.field("ahead of it", x.Ahead)
			}
		})
	})
}

// retryText says which ends of a job are tried again, and when.
func retryText(r *domain.Retry) string {
	var parts []string
	for _, on := range r.On {
		parts = append(parts, string(on))
	}
	text := "after every end that is no success"
	if len(parts) > 0 {
		text = "only where it " + strings.Join(parts, " or ")
	}
	switch {
	case len(r.ExitCodes) > 0 && len(parts) > 0:
		text += fmt.Sprintf(", or ends with exit code %s", codesText(r.ExitCodes))
	case len(r.ExitCodes) > 0:
		text = "only after exit code " + codesText(r.ExitCodes)
	}
	if len(r.FinalExitCodes) > 0 {
		text += ", never after exit code " + codesText(r.FinalExitCodes)
	}
	if says := r.PauseText(); says != "" {
		text += "; " + says
	}
	return text
}

// codesText is "64, 65 or 66".
func codesText(codes []int) string {
	texts := make([]string, len(codes))
	for i, code := range codes {
		texts[i] = strconv.Itoa(code)
	}
	if last := len(texts) - 1; last > 0 {
		return strings.Join(texts[:last], ", ") + " or " + texts[last]
	}
	return texts[0]
}
