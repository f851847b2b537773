package cli

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
)

func (a *app) contextCommand() *cobra.Command {
	return noun("context", "Make and show contexts: who may do what, and how much", a.contextCreate(), a.contextShow(), a.contextList())
}

func (a *app) contextCreate() *cobra.Command {
	var t domain.Tenant
	var number uint32
	var admins, readers, executors []uint
	var byType map[string]int
	c := &cobra.Command{
		Use: "create", Short: "Make a context", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			t.ID = domain.TenantID(number)
			for list, given := range map[*domain.List[domain.ActorID]][]uint{&t.Admins: admins, &t.Readers: readers, &t.Executors: executors} {
				if *list, err = actorIDs(given); err != nil {
					return err
				}
			}
			t.MaxRunningByType = map[domain.ScriptType]int{}
			for name, n := range byType {
				t.MaxRunningByType[domain.ScriptType(name)] = n
			}
			return a.with(c.Context(), func(n *client.Client) error {
				made, err := n.CreateContext(c.Context(), t)
				if err != nil {
					return err
				}
				return a.print(made, func(out *table) { contextTable(out, made) })
			})
		},
	}
	f := c.Flags()
	f.Uint32Var(&number, "id", 0, "its `number`; 0 is the next free one")
	f.UintSliceVar(&admins, "admin", []uint{uint(domain.Operator)}, "`actors` who may do everything; may be repeated")
	f.UintSliceVar(&readers, "reader", nil, "`actors` who may look")
	f.UintSliceVar(&executors, "executor", nil, "`actors` whose runners may take jobs")
	f.BoolVar(&t.ExecutorsMaySubmit, "executors-may-submit", false, "executors may submit and cancel jobs as well")
	f.IntVar(&t.Weight, "weight", 0, "its share of turns relative to other contexts, 1 to 1000 (default 1)")
	f.IntVar(&t.MaxRunning, "max-running", 0, "how many of its jobs run at once; 0 is no bound")
	f.StringToIntVar(&byType, "max-running-type", nil, "the same by script type, for example `v=2`; may be repeated")
	return c
}

func actorIDs(given []uint) ([]domain.ActorID, error) {
	ids := make([]domain.ActorID, 0, len(given))
	for _, n := range given {
		if n == 0 || n > 1<<32-1 {
			return nil, domain.Invalidf("actor %d: want a number from 1 to 4294967295", n)
		}
		ids = append(ids, domain.ActorID(n))
	}
	return ids, nil
}

func (a *app) contextShow() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show a context", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			id, err := parseNumber("context", args[0])
			if err != nil {
				return err
			}
			return a.with(c.Context(), func(n *client.Client) error {
				t, err := n.Context(c.Context(), domain.TenantID(id))
				if err != nil {
					return err
				}
				return a.print(t, func(out *table) { contextTable(out, t) })
			})
		},
	}
}

func (a *app) contextList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the contexts that you may read", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), func(n *client.Client) error {
				list, err := n.Contexts(c.Context())
				if err != nil {
					return err
				}
				return a.print(list, func(out *table) {
					out.row("CONTEXT", "ADMINS", "READERS", "EXECUTORS", "WEIGHT", "MAX RUNNING")
					for _, t := range list.Contexts {
						out.row(t.ID, numbers(t.Admins), numbers(t.Readers), numbers(t.Executors), max(t.Weight, 1), bound(t.MaxRunning))
					}
				})
			})
		},
	}
}

func contextTable(out *table, t domain.Tenant) {
	out.field("context", t.ID)
	out.field("admins", numbers(t.Admins))
	out.field("readers", numbers(t.Readers))
	out.field("executors", numbers(t.Executors))
	out.field("weight", max(t.Weight, 1))
	out.field("max running", bound(t.MaxRunning))
	for typ, n := range t.MaxRunningByType {
		out.field("max running "+string(typ), n)
	}
	if t.ExecutorsMaySubmit {
		out.field("executors", "may submit")
	}
	out.field("made", clock(int64(t.CreatedAt)*1000))
}

func bound(n int) string {
	if n == 0 {
		return "any"
	}
	return strconv.Itoa(n)
}

// numbers shows a list of ids.
func numbers[T ~uint32](ids []T) string {
	var words []string
	for _, id := range ids {
		words = append(words, strconv.FormatUint(uint64(id), 10))
	}
	return strings.Join(words, ", ")
}

// parseNumber reads an id as people type it.
//
// Errors: [domain.ErrInvalid].
func parseNumber(noun, s string) (uint32, error) {
	n, err := strconv.ParseUint(strings.TrimPrefix(s, noun+":"), 10, 32)
	if err != nil || n == 0 {
		return 0, domain.Invalidf("%s %q: want its number, for example 1", noun, s)
	}
	return uint32(n), nil
}
