package cli

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/doctor"
	"github.com/ramet-run/ramet/domain"
)

// This file has the verbs for listeners.

func (a *app) listenerCommand() *cobra.Command {
	c := noun("listener", "Start flows for events of streams", a.listenerApply(), a.listenerList(),
		a.onListener("show", "Show a listener, and how many events are behind", api.ListenerShow),
		a.onListener("pause", "Keep a listener from taking events; they wait in their stream", api.ListenerPause),
		a.onListener("resume", "Let a paused listener go on where it was", api.ListenerResume),
		a.onListener("delete", "Remove a listener; its flows stay", api.ListenerDelete))
	c.Long = `Start flows for events of streams. A listener says which events (on_event, when), of which blueprint, and what of an
event becomes which param. Each event starts one flow, whatever dies.`
	return c
}

func (a *app) listenerApply() *cobra.Command {
	return &cobra.Command{
		Use: "apply FILE|-", Short: "Make the listener of a file, or change the one of that name", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			text, err := a.readInput(args[0], domain.MaxListenerBytes)
			if err != nil {
				return err
			}
			var l domain.Listener
			if err := decodeFile(args[0], text, &l); err != nil {
				return err
			}
			return a.with(c.Context(), func(n *client.Client) error {
				made, err := n.ApplyListener(c.Context(), a.tenant(), l)
				if err != nil {
					return err
				}
				return a.print(made, func(t *table) { listenerTable(t, made) })
			})
		},
	}
}

func (a *app) listenerList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the listeners of a context", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), func(n *client.Client) error {
				list, err := n.Listeners(c.Context(), a.tenant())
				if err != nil {
					return err
				}
				return a.print(api.Listeners{Listeners: list}, func(t *table) {
					t.row("LISTENER", "EVENTS", "BLUEPRINT", "STARTED", "LAST", "FLOW", "REFUSED", "STANDS")
					for _, l := range list {
						t.row(l.Name, eventsOf(l.On), l.Blueprint, l.State.Started, clock(l.State.LastMs), flowNamed(l.State.LastFlow), l.State.Refused,
							startStands(doctor.ListenerStands(&l)))
					}
				})
			})
		},
	}
}

// eventsOf says in a few words which events a trigger takes.
func eventsOf(t domain.SagaTrigger) string { return t.Of + " " + strings.Join(t.Types, ",") }

// onListener is a verb about one listener.
func (a *app) onListener(use, short string, op api.Op[api.ListenerParams, api.Listener]) *cobra.Command {
	return &cobra.Command{
		Use: use + " NAME", Short: short, Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			return a.with(c.Context(), func(n *client.Client) error {
				l, err := client.Call(c.Context(), n, op, api.ListenerParams{Context: a.tenant(), Name: args[0]})
				if err != nil {
					return err
				}
				return a.print(l, func(t *table) { listenerTable(t, l) })
			})
		},
	}
}

func listenerTable(t *table, l api.Listener) {
	t.field("listener", l.Name)
	t.field("stands", startStands(doctor.ListenerStands(&l)))
	t.field("summary", l.Summary)
	t.field("events", eventsOf(l.On))
	t.field("source", l.On.Source)
	t.field("when", l.When)
	t.field("blueprint", l.Blueprint)
	t.field("version", l.Version)
	for _, name := range slices.Sorted(maps.Keys(l.Params)) {
		t.field("param "+visible(name), l.Params[name])
	}
	if l.Paused {
		t.field("paused", true)
	}
	t.field("in the name of", l.CallerID)
	t.field("started", l.State.Started)
	t.field("last", clock(l.State.LastMs))
	t.field("last flow", flowNamed(l.State.LastFlow))
	t.field("last event", l.State.LastEvent)
	t.field("behind", l.Behind)
	t.field("waits since", clock(l.State.HeldMs))
	t.field("waits for", l.State.HeldWhy)
	t.field("refused", l.State.Refused)
	t.field("last refused", clock(l.State.RefusedMs))
	t.field("why", l.State.LastError)
}
