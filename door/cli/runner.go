package cli

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/doctor"
	"github.com/ramet-run/ramet/domain"
)

func (a *app) runnerCommand() *cobra.Command {
	list := &cobra.Command{
		Use: "list", Short: "List runners, what they serve and how they isolate it", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), func(n *client.Client) error {
				list, err := n.Runners(c.Context(), a.tenant())
				if err != nil {
					return err
				}
				return a.print(list, func(t *table) {
					for _, r := range list.Runners {
						runnerTable(t, r)
					}
				})
			})
		},
	}
	show := &cobra.Command{
		Use: "show ID", Short: "Show one runner; with --context one that a foreign program registered there", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			id, err := parseNumber("runner", args[0])
			if err != nil {
				return err
			}
			return a.with(c.Context(), func(n *client.Client) error {
				in := domain.TenantID(0)
				if c.Flags().Changed("context") {
					in = a.tenant()
				}
				r, err := n.Runner(c.Context(), domain.RunnerID(id), in)
				if err != nil {
					return err
				}
				return a.print(r, func(t *table) { runnerTable(t, r) })
			})
		},
	}
	return noun("runner", "Show who executes jobs", list, show)
}

// seenText says when a runner was there last. One of a node that is not there at all was
// stopped with it.
func seenText(r domain.Runner) string {
	if r.SeenMs == 0 && r.Node != "" {
		return "stopped"
	}
	return "seen " + cmp.Or(clock(r.SeenMs), "never")
}

// runnerTable writes a block for a runner: what it is, then a line for each
// script type, with the measures below it. Nothing is cut: why something is not
// served or not in force is what people come here for.
func runnerTable(t *table, r domain.Runner) {
	where := cmp.Or(r.Node, r.Address, "elsewhere")
	if r.Worker != "" {
		where = "worker " + r.Worker + " on " + cmp.Or(r.Host, "a host that it does not name")
	}
	t.wide("runner "+numbers([]domain.RunnerID{r.ID}), where, "topic "+cmp.Or(r.Topic, r.ID.DefaultTopic()), seenText(r))
	if len(r.Labels) > 0 {
		t.wide("  labels", r.Labels)
	}
	for _, o := range r.Off {
		t.wide("  off: "+string(o.Role), doctor.OffText(o))
	}
	for _, l := range r.Locked {
		t.wide("  locked", "context "+numbers([]domain.TenantID{l.Context}),
			strings.TrimSuffix("it is encrypted with the secret "+strconv.Quote(l.Key)+", which is not to be had here: "+l.Why, ": "))
	}
	for _, s := range r.Serves {
		if !s.Served {
			t.wide("  "+string(s.ScriptType), "not served", s.Why)
			continue
		}
		t.wide("  "+string(s.ScriptType), "served", numbers([]uint32{uint32(s.Slots)})+" slots", s.Summary)
		for _, name := range slices.Sorted(maps.Keys(s.Offers)) {
			t.wide("", name, strings.Join(s.Offers[name], ", "))
		}
		if s.Level != "" {
			t.wide("", "isolation", string(s.Level)+" (can be had: "+joined(s.Levels)+")")
		}
		for _, level := range domain.Isolations {
			if why := s.Refused[level]; why != "" {
				t.wide("", "not to be had", string(level)+": "+why)
			}
		}
		if len(s.Isolation) > 0 {
			t.wide("", "in force", strings.Join(s.Isolation, ", "))
		}
		for _, m := range s.NotInForce {
			t.wide("", "not in force", m)
		}
		if s.Taken > 0 {
			t.wide("", "taken", takenText(s.SlotUse))
		}
	}
}

// joined are words with commas.
func joined[T ~string](words []T) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = string(w)
	}
	return strings.Join(texts, ", ")
}

// takenText says who holds the slots of a type, and with which job for longest.
func takenText(u domain.SlotUse) string {
	text := strconv.Itoa(u.Taken) + " of " + strconv.Itoa(u.Slots)
	if u.PerContext < u.Slots {
		text += ", at most " + strconv.Itoa(u.PerContext) + " by one context"
	}
	holders := make([]string, len(u.Holders))
	for i, h := range u.Holders {
		holders[i] = strconv.Itoa(h.Slots) + " by context " + numbers([]domain.TenantID{h.Context})
		if len(h.Jobs) > 0 {
			holders[i] += ", " + h.Jobs[0].Key + " since " + clock(h.Jobs[0].SinceMs)
		}
	}
	return text + ": " + strings.Join(holders, "; ")
}
