package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/doctor"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/saga"
)

// sagaKey begins the key by which people name an instance: saga:NAME:CORRELATION.
const sagaKey = "saga:"

func (a *app) sagaInstances() *cobra.Command {
	c := &cobra.Command{
		Use: "instances NAME", Aliases: []string{"query"}, Short: "List the instances of a saga, those for which a condition holds",
		Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		Example: `  ramet saga instances order --where 'state == "paying" && data.total > 100'`,
	}
	c.Long = c.Short + ". A condition is over saga, correlation, definition, version, state,\nstatus, outcome, data, steps, timers, deferred, held, paused, " +
		"created_ms, updated_ms and ended_ms."
	return listing[api.ListInstancesParams, api.InstancePage, *domain.SagaInstance]{
		op: api.SagaInstances, of: instances,
		prepare: func(p *api.ListInstancesParams, args []string) { p.Name = args[0] },
		page: func(p *api.InstancePage) paged[*domain.SagaInstance] {
			return paged[*domain.SagaInstance]{(*[]*domain.SagaInstance)(&p.Instances), &p.Next, nil, p.Count}
		},
		rows: func(t *table, list []*domain.SagaInstance) {
			t.row("CORRELATION", "STATE", "STATUS", "VERSION", "UPDATED", "HELD")
			for _, in := range list {
				t.row(in.Correlation, in.State, instanceStatus(in), in.Version, clock(in.UpdatedMs), saga.HeldBy(in))
			}
		},
	}.into(a, c)
}

// instanceStatus says in a word or two whether an instance moves.
func instanceStatus(in *domain.SagaInstance) string {
	switch {
	case in.Status == domain.SagaEnded:
		return "ended, " + string(in.Outcome)
	case in.Paused:
		return string(in.Status) + ", paused"
	}
	return string(in.Status)
}

func (a *app) showInstance(ctx context.Context, n *client.Client, name, correlation string) error {
	in, err := n.Instance(ctx, a.tenant(), name, correlation)
	if err != nil {
		return err
	}
	return a.print(in, func(t *table) { instanceTable(t, in) })
}

func instanceTable(t *table, in *domain.SagaInstance) {
	t.field("saga", in.Saga)
	t.field("correlation", in.Correlation)
	t.field("state", in.State)
	t.field("status", instanceStatus(in))
	t.field("held by", saga.HeldBy(in))
	t.field("version", in.Version)
	t.field("definition", fmt.Sprintf("version %d, %s", in.Definition, short(in.Hash)))
	t.field("data", string(in.Data))
	for i := range in.Timers {
		t.field("timer", in.Timers[i].Event+", "+clock(in.Timers[i].DueMs))
	}
	t.field("deferred", len(in.Deferred))
	t.field("began", clock(in.CreatedMs))
	t.field("updated", clock(in.UpdatedMs))
	t.field("ended", clock(in.EndedMs))
	if len(in.Steps) == 0 {
		return
	}
	_ = t.flush()
	fmt.Fprintln(t.to)
	t.row("STEP", "EFFECT", "STATE", "COMMAND", "RESULT")
	for i := range in.Steps {
		s := &in.Steps[i]
		t.row(s.Name, s.Effect, s.State, s.CommandID, string(s.Result))
	}
}

func (a *app) sagaHistory() *cobra.Command {
	follow, limit := false, 0
	c := a.onSaga("history CORRELATION", "Show what an instance went through", "history order o-1 --follow",
		func(ctx context.Context, n *client.Client, name string, args []string) error {
			switch {
			case follow && a.output == outYAML:
				return domain.Invalidf("--follow writes a table or JSON lines; leave out -o yaml")
			case follow:
				return a.whileRead(ctx, func(ctx context.Context) error { return a.followHistory(ctx, n, name, args[0]) })
			case limit < 0:
				return domain.Invalidf("--limit %d: want 1 or more", limit)
			}
			lines, err := n.History(ctx, a.tenant(), name, args[0], limit)
			if err != nil {
				return err
			}
			return a.print(api.HistoryPage{Lines: lines}, func(t *table) {
				t.row("VERSION", "TIME", "EVENT", "FROM->TO", "WORK", "NOTE")
				for i := range lines {
					t.row(historyCells(&lines[i])...)
				}
			})
		})
	c.Flags().BoolVarP(&follow, "follow", "f", false, "show lines as they come, until the instance has ended")
	c.Flags().IntVar(&limit, "limit", 0, "how many of the newest lines (default: all that are kept)")
	c.Long = c.Short + `. With --follow the exit code is 0 when it ended in success, 1 when it did not; with -o json it writes a JSON object a line.`
	return c
}

func historyCells(l *domain.SagaEntry) []any {
	move := l.From
	if l.To != l.From {
		move += "->" + l.To
	}
	note := l.Note
	if l.Reaction != domain.Handle && l.Reaction != "" {
		note = strings.TrimSuffix(string(l.Reaction)+": "+note, ": ")
	}
	return []any{l.Version, clock(l.AtMs), l.Type, move, strings.Join(l.Work, ", "), note}
}

// followHistory writes lines as they come. Each is written at once, so columns
// have widths of their own.
func (a *app) followHistory(ctx context.Context, n *client.Client, name, correlation string) error {
	// A time is as long as its zone has it here.
	layout := fmt.Sprintf("%%-7v  %%-%dv  %%-24v  %%-24v  %%-36v  %%v\n", len(clock(time.Now().UnixMilli())))
	encoder := json.NewEncoder(bare(a.std.Out))
	encoder.SetEscapeHTML(false)
	if a.output == outTable {
		fmt.Fprintf(a.std.Out, layout, "VERSION", "TIME", "EVENT", "FROM->TO", "WORK", "NOTE")
	}
	in, err := n.FollowHistory(ctx, a.tenant(), name, correlation, func(l domain.SagaEntry) error {
		if a.output == outJSON {
			return encoder.Encode(l)
		}
		cells := historyCells(&l)
		for i := range cells {
			cells[i] = cell(fmt.Sprint(cells[i]))
		}
		_, err := fmt.Fprint(a.std.Out, strings.TrimRight(fmt.Sprintf(layout, cells...), " \n")+"\n")
		return err
	})
	if err != nil {
		return err
	}
	if in.Outcome == domain.OutcomeFailed {
		return &exitError{code: exitFailed, text: fmt.Sprintf("%s%s:%s ended in state %s: %s", sagaKey, name, correlation, in.State, in.Outcome)}
	}
	return nil
}

func (a *app) sagaExplain() *cobra.Command {
	return a.onSaga("explain CORRELATION", "Say what an instance waits for, who serves it, and what will wake it", "explain order o-1",
		func(ctx context.Context, n *client.Client, name string, args []string) error {
			return a.explainInstance(ctx, n, name, args[0])
		})
}

func (a *app) explainInstance(ctx context.Context, n *client.Client, name, correlation string) error {
	x, err := n.ExplainInstance(ctx, a.tenant(), name, correlation)
	if err != nil {
		return err
	}
	return a.print(x, func(t *table) {
		t.field("instance", x.Key)
		t.field("status", x.Status)
		t.field("state", x.State)
		t.field("standing", x.Standing)
		t.field("why", x.Text)
		t.field("since", clock(x.SinceMs))
		t.field("served by", x.Holder)
		t.field("woken at", clock(x.NextMs))
		t.field("dead letter", x.DeadLetter)
		for i := range x.Effects {
			t.field("effect", x.Effects[i].String())
		}
		for _, how := range x.Ended {
			t.field("ended", how)
		}
		for i := range x.Unsent {
			t.field("unsent", x.Unsent[i].String())
		}
		t.field("deferred", strings.Join(x.Deferred, ", "))
		t.field("events", strings.Join(x.Events, ", "))
	})
}

// explainSagaKey is explain of saga:NAME:CORRELATION.
func (a *app) explainSagaKey(ctx context.Context, key string) error {
	name, correlation, ok := strings.Cut(strings.TrimPrefix(key, sagaKey), ":")
	if !ok || correlation == "" {
		return domain.Invalidf("key %q: want saga:<name>:<correlation>", key)
	}
	return a.with(ctx, func(n *client.Client) error { return a.explainInstance(ctx, n, name, correlation) })
}

// steering is a verb that pauses or resumes a saga, or an instance of it.
func (a *app) steering(use, short, did string,
	do func(*client.Client, context.Context, domain.TenantID, string, string) (api.SagaDone, error)) *cobra.Command {
	return a.onSaga(use+" [CORRELATION]", short, use+" order\n  ramet saga "+use+" order o-1",
		func(ctx context.Context, n *client.Client, name string, args []string) error {
			out, err := do(n, ctx, a.tenant(), name, strings.Join(args, ""))
			if err != nil {
				return err
			}
			return a.print(out, func(t *table) {
				if out.Done {
					t.row(out.Saga, did)
				} else {
					t.row(out.Saga, out.Correlation, "noted; it is done as soon as the instance has come to it")
				}
			})
		})
}

func (a *app) sagaPause() *cobra.Command {
	return alsoAll(a, a.steering("pause", "Let a saga take no events, or one instance keep its own", "is paused: its events wait in their streams",
		(*client.Client).PauseSaga), instances, api.SagaPauseAll)
}

func (a *app) sagaResume() *cobra.Command {
	return alsoAll(a, a.steering("resume", "Let a saga or an instance go on that was paused", "goes on", (*client.Client).ResumeSaga),
		instances, api.SagaResumeAll)
}

func (a *app) sagaLag() *cobra.Command {
	return a.onSaga("lag", "Show who serves a saga, how far it has come, and what waits to be sent", "lag order",
		func(ctx context.Context, n *client.Client, name string, _ []string) error {
			out, err := n.SagaLag(ctx, a.tenant(), name)
			if err != nil {
				return err
			}
			return a.print(out, func(t *table) {
				head := []any{"PARTITION", "OWNER", "STREAM", "POSITION", "LAST", "BEHIND", "OUTBOX", "SIZE"}
				ails := slices.ContainsFunc(out.Lags, func(l domain.SagaLag) bool { return l.Trouble != "" })
				if ails {
					head = append(head, "TROUBLE")
				}
				begun := slices.ContainsFunc(out.Lags, func(l domain.SagaLag) bool { return l.First > 1 })
				if begun {
					head = append(head, "BEGINS", "SINCE")
				}
				t.row(head...)
				for i, l := range out.Lags {
					outbox := strconv.Itoa(l.Outbox)
					if i > 0 && l.Partition == out.Lags[i-1].Partition {
						outbox = "" // it stands on the partition's first row
					}
					row := []any{l.Partition, l.Owner, l.Stream, l.Position, l.Last, doctor.BehindText(l), outbox, size(l.Bytes)}
					if ails {
						row = append(row, l.Trouble)
					}
					if begun {
						row = append(row, max(l.First, 1), clock(l.FirstMs))
					}
					t.wide(row...)
				}
			})
		})
}
