package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/durable"
	"github.com/ramet-run/ramet/durable/shell"
)

// This file has what there is for durable scripts: what people do with their jobs, and
// the commands that the scripts themselves call.

func (a *app) jobSignal() *cobra.Command {
	var payload string
	c := &cobra.Command{
		Use: "signal KEY NAME", Short: "Tell a job what its durable script waits for, or will wait for", Args: cobra.ExactArgs(2),
		Example: "  ramet job signal 12:7 click --payload '{\"by\":\"ann\"}'",
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("payload") && !json.Valid([]byte(payload)) {
				return domain.Invalidf("--payload %.80q is no JSON; a text stands in quotes: '\"%.20s\"'", payload, payload)
			}
			var value json.RawMessage // nil: null
			if payload != "" {
				value = json.RawMessage(payload)
			}
			on := a.asking("signal", "", func(n *client.Client, ctx context.Context, t domain.TenantID, k domain.JobKey) (*domain.Job, error) {
				return n.Signal(ctx, t, k, args[1], value)
			})
			on.SetContext(c.Context())
			return on.RunE(on, args[:1])
		},
	}
	c.Flags().StringVar(&payload, "payload", "", "what its wait gives, as `JSON`")
	return c
}

func (a *app) jobFork() *cobra.Command {
	var from string
	c := a.asking("fork", "Submit a job's script again, with what it remembers of the time before a step",
		func(n *client.Client, ctx context.Context, t domain.TenantID, k domain.JobKey) (*domain.Job, error) {
			return n.Fork(ctx, t, k, from)
		})
	c.Example = "  ramet job fork 12:7 --from charge\n  ramet job fork 12:7 --from 'mail#3'"
	c.Flags().StringVar(&from, "from", "", "the first `step` that the new job does itself: its name, or <name>#<n>")
	_ = c.MarkFlagRequired("from")
	return c
}

func (a *app) jobHistory() *cobra.Command {
	c := a.onJob("history", "Show what a job's durable script remembers", func(ctx context.Context, n *client.Client, key domain.JobKey) error {
		all := api.JobHistoryPage{Events: []domain.HistoryEvent{}}
		for {
			part, err := n.JobHistory(ctx, a.tenant(), key, len(all.Events), 0)
			if err != nil {
				return err
			}
			all.Events, all.Total, all.Signals = append(all.Events, part.Events...), part.Total, part.Signals
			if len(part.Events) == 0 || len(all.Events) >= part.Total {
				break
			}
		}
		return a.print(all, func(t *table) { historyTable(t, all) })
	})
	c.Example = "  ramet job history 12:7"
	return c
}

func historyTable(t *table, all api.JobHistoryPage) {
	if len(all.Events) > 0 {
		t.row("AT", "KIND", "STEP", "ANSWER")
	}
	for _, e := range all.Events {
		name := e.Name
		if e.N > 1 {
			name = fmt.Sprintf("%s#%d", name, e.N)
		}
		t.row(clock(e.AtMs), e.Kind, name, eventText(e))
	}
	for _, s := range all.Signals {
		t.row(clock(s.AtMs), "signal", s.Name, fmt.Sprintf("sent by actor %d, and not waited for yet", s.By))
	}
}

// eventText says what an event remembers.
func eventText(e domain.HistoryEvent) string {
	switch {
	case e.Failure != nil && e.Kind == durable.EventFailed:
		return "failed: " + e.Failure.Text + "; tried again from " + clock(e.UntilMs)
	case e.Failure != nil:
		return "failed: " + e.Failure.Text
	case e.TimedOut:
		return "timed out"
	case e.Cut:
		return "left out by the archive"
	case e.Kind == durable.DoSleep:
		return "until " + clock(e.UntilMs)
	case e.Kind == durable.DoCall && !e.Ended:
		return e.Child
	case e.Kind == durable.DoWait && !e.Ended:
		text := "for " + e.WaitsFor()
		if e.UntilMs != 0 {
			text += ", until " + clock(e.UntilMs)
		}
		return text
	}
	return string(e.Value)
}

// rememberedText says how much a job remembers.
func rememberedText(j *domain.Job) string {
	if j.Remembered == 0 {
		return ""
	}
	return fmt.Sprintf("%d events; see ramet job history %s", j.Remembered, strings.TrimPrefix(j.Key().String(), "job:"))
}

// suspendedText says what its script waits for.
func suspendedText(s *domain.Suspension) string {
	if s == nil {
		return ""
	}
	text := fmt.Sprintf("in %s %q", s.Kind, s.Name)
	if len(s.Signals) > 0 {
		text += ", for signal " + strings.Join(s.Signals, ", ")
	}
	if len(s.Prerequisites) > 0 {
		text += ", for prerequisite " + strings.Join(s.Prerequisites, ", ")
	}
	if n := len(s.Children); n > 0 {
		text += ", for " + strings.Join(s.Children[:min(n, childrenShown)], ", ")
		if n > childrenShown {
			text += fmt.Sprintf(" and %d more", n-childrenShown)
		}
	}
	if s.UntilMs != 0 {
		text += ", until " + clock(s.UntilMs)
	}
	return text
}

// calledText says whose script has made a job or flow.
func calledText(by *domain.CalledBy) string {
	if by == nil {
		return ""
	}
	return fmt.Sprintf("%s, in call %q", by.Job, by.Name)
}

// childrenShown is how many of the children that a job waits for are named.
const childrenShown = 5

// scriptCommands are those that scripts call in their jobs. The program's main does so by
// itself, without all that is made for people: these are for who asks what they are.
func (a *app) scriptCommands() (list []*cobra.Command) {
	for _, v := range shell.Commands {
		list = append(list, &cobra.Command{
			Use: v.Use, Short: v.Short, Example: "  " + v.Example, DisableFlagParsing: true, DisableFlagsInUseLine: true,
			Long: v.Short + ".\n\nIt is for shell scripts that run as jobs, which find $" + shell.Variable + "; see docs/durable.md.",
			RunE: func(c *cobra.Command, args []string) error {
				for _, arg := range args {
					if arg == "--help" || arg == "-h" {
						return c.Help()
					}
				}
				if os.Getenv(shell.Variable) == "" {
					return domain.Invalidf("$%s is not set: this command is for scripts that run as jobs", shell.Variable)
				}
				if code := shell.Main(append([]string{v.Verb}, args...), a.std.In, a.std.Out, a.std.Err); code != 0 {
					return &exitError{code: code}
				}
				return nil
			},
		})
	}
	return list
}
