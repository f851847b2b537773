package cli

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
)

func (a *app) contextCommand() *cobra.Command {
	return noun("context", "Make and show contexts: who may do what, and how much", a.contextCreate(), a.contextShow(), a.contextList(), a.contextArtifacts(),
		a.contextUpdate(), a.contextGrant(), a.contextRevoke(), a.contextEncrypt(), a.contextRekey(), a.contextDecrypt())
}

func (a *app) contextCreate() *cobra.Command {
	var t domain.Tenant
	var number uint32
	var admins, readers, executors []uint
	var byType map[string]int
	c := &cobra.Command{
		Use: "create", Short: "Make a context", Args: cobra.NoArgs,
		Example: "  ramet context create --admin 10 --alias acme",
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
	f.StringVar(&t.Alias, "alias", "", "a `name` that will do wherever its number does; it stays for ever")
	f.UintSliceVar(&admins, "admin", []uint{uint(domain.Operator)}, "`actors` who may do everything; may be repeated")
	numbersVar(f, &readers, "reader", "`actors` who may look")
	numbersVar(f, &executors, "executor", "`actors` whose runners may take jobs")
	f.BoolVar(&t.ExecutorsMaySubmit, "executors-may-submit", false, "executors may submit and cancel jobs as well")
	f.IntVar(&t.Weight, "weight", 0, "its share of turns relative to other contexts, 1 to 1000 (default 1)")
	f.IntVar(&t.MaxRunning, "max-running", 0, "how many of its jobs run at once; 0 is no bound")
	f.StringToIntVar(&byType, "max-running-type", nil, "the same by script type, as `TYPE=N`: v=2; may be repeated")
	f.StringVar((*string)(&t.Isolation), "isolation", "", "how far its scripts are held in at the least: walled or sealed (default as the nodes do)")
	f.StringVar((*string)(&t.Archives), "archives", "", "what of its ended work is archived: all, errors or none (default all)")
	return c
}

func (a *app) contextUpdate() *cobra.Command {
	var submit bool
	var isolation, archives, on string
	var weight, most int
	var byType map[string]int
	c := &cobra.Command{
		Use:   "update CONTEXT",
		Short: "Change what a context gets of the nodes, whether its executors may submit, how far its scripts are held in, and what is archived",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			change := domain.TenantChange{MaxRunningByType: map[domain.ScriptType]int{}}
			given := c.Flags().Changed
			if given("executors-may-submit") {
				change.ExecutorsMaySubmit = &submit
			}
			if given("weight") {
				change.Weight = &weight
			}
			if given("max-running") {
				change.MaxRunning = &most
			}
			if given("isolation") {
				change.Isolation = (*domain.Isolation)(&isolation)
			}
			if given("archives") {
				change.Archives = (*domain.Archives)(&archives)
			}
			for name, n := range byType {
				change.MaxRunningByType[domain.ScriptType(name)] = n
			}
			if !given("executors-may-submit") && !given("weight") && !given("max-running") && !given("isolation") && !given("archives") && !given("on") &&
				len(byType) == 0 {
				return domain.Invalidf("nothing is to be changed: want one of --executors-may-submit, --weight, --max-running, --max-running-type, " +
					"--isolation, --archives and --on")
			}
			if given("on") {
				hooks, err := a.hooksFile(on)
				if err != nil {
					return err
				}
				change.On = hooks
			}
			return a.onContext(c.Context(), args[0], func(n *client.Client, id domain.TenantID) error {
				t, err := n.UpdateContext(c.Context(), id, change)
				if err != nil {
					return err
				}
				return a.print(t, func(out *table) { contextTable(out, t) })
			})
		},
	}
	f := c.Flags()
	f.BoolVar(&submit, "executors-may-submit", false, "executors may submit and cancel jobs as well; =false takes that away")
	f.IntVar(&weight, "weight", 0, "its share of turns relative to other contexts, 1 to 1000; 0 is the default")
	f.IntVar(&most, "max-running", 0, "how many of its jobs run at once; 0 is no bound")
	f.StringToIntVar(&byType, "max-running-type", nil, "the same by script type, as `TYPE=N`: v=2; 0 takes a bound away; may be repeated")
	f.StringVar(&isolation, "isolation", "", "how far its scripts are held in at the least: walled or sealed; =\"\" is as the nodes do")
	f.StringVar(&archives, "archives", "", "what of its ended work is archived from now on: all, errors or none")
	f.StringVar(&on, "on", "", "a `file` with the hooks of its flows that have none of their own, as under on: of a blueprint; =\"\" takes them away")
	return c
}

func (a *app) contextGrant() *cobra.Command {
	c := a.roleVerb("grant CONTEXT ACTOR --role ROLE", "Give an actor a role in a context",
		"the `role`: admin, executor or reader (required)",
		func(ctx context.Context, n *client.Client, tenant domain.TenantID, actor domain.ActorID, role string) (api.GrantedContext, error) {
			if role == "" {
				return api.GrantedContext{}, domain.Invalidf("--role is missing: want admin, executor or reader")
			}
			return n.Grant(ctx, tenant, actor, role)
		})
	c.Long = c.Short + `: admins do everything, executors run jobs, readers look. Where an actor has several roles
the strongest counts. Every node acts by it within a second.`
	return c
}

func (a *app) contextRevoke() *cobra.Command {
	c := a.roleVerb("revoke CONTEXT ACTOR", "Take a role from an actor, or all it has in a context",
		"only that `role`: admin, executor or reader (default: all)",
		func(ctx context.Context, n *client.Client, tenant domain.TenantID, actor domain.ActorID, role string) (api.GrantedContext, error) {
			return n.Revoke(ctx, tenant, actor, role)
		})
	c.Long = c.Short + `. Every node acts by it within a second; what runs already goes on. The last admin
of a context stays.`
	return c
}

// roleVerb is a verb on an actor's roles in a context.
func (a *app) roleVerb(use, short, roleHelp string,
	do func(ctx context.Context, n *client.Client, tenant domain.TenantID, actor domain.ActorID, role string) (api.GrantedContext, error)) *cobra.Command {
	var role string
	c := &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(2), DisableFlagsInUseLine: true,
		RunE: func(c *cobra.Command, args []string) error {
			actor, err := parseNumber("actor", args[1])
			if err != nil {
				return err
			}
			return a.onContext(c.Context(), args[0], func(n *client.Client, tenant domain.TenantID) error {
				t, err := do(c.Context(), n, tenant, domain.ActorID(actor), role)
				if err != nil {
					return err
				}
				return a.print(t, func(out *table) {
					contextTable(out, t.Tenant)
					if !t.Changed {
						out.field("changed", "nothing: it was so already")
					}
				})
			})
		},
	}
	c.Flags().StringVar(&role, "role", "", roleHelp)
	if err := c.RegisterFlagCompletionFunc("role", cobra.FixedCompletions([]cobra.Completion{"admin", "executor", "reader"},
		cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic("BUG: " + err.Error())
	}
	return c
}

// onContext is what a verb does to the context that is its first argument.
func (a *app) onContext(ctx context.Context, name string, do func(n *client.Client, id domain.TenantID) error) error {
	name = strings.TrimPrefix(name, "context:")
	if _, err := domain.ParseTenantID(name); err != nil && domain.ValidateAlias(name) != nil {
		return err
	}
	return a.with(ctx, func(n *client.Client) error {
		id, err := contextNamed(ctx, n, name)
		if err != nil {
			return err
		}
		return do(n, id)
	})
}

// numbersVar is a flag of numbers, of which there are none by default: help would show "[]".
func numbersVar(f *pflag.FlagSet, to *[]uint, name, usage string) {
	f.UintSliceVar(to, name, nil, usage)
	f.Lookup(name).DefValue = ""
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
		Use: "show CONTEXT", Short: "Show a context", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.onContext(c.Context(), args[0], func(n *client.Client, id domain.TenantID) error {
				t, err := n.ShowContext(c.Context(), id)
				if err != nil {
					return err
				}
				return a.print(t, func(out *table) {
					contextTable(out, t.Tenant)
					encryptionTable(out, t.Encryption)
				})
			})
		},
	}
}

func (a *app) contextArtifacts() *cobra.Command {
	return &cobra.Command{
		Use: "artifacts CONTEXT", Short: "Show how much the files take that its jobs have left, and how much they may", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.onContext(c.Context(), args[0], func(n *client.Client, id domain.TenantID) error {
				room, err := client.Call(c.Context(), n, api.ContextArtifacts, api.ContextParams{Context: id})
				if err != nil {
					return err
				}
				return a.print(room, func(out *table) {
					out.row("left", size(uint64(room.Bytes)))
					if room.Limit > 0 {
						out.row("at most", size(uint64(room.Limit)))
					}
				})
			})
		},
	}
}

func (a *app) contextList() *cobra.Command {
	return listing[api.ListContextsParams, api.ContextPage, domain.Tenant]{
		op: api.ContextList,
		page: func(p *api.ContextPage) paged[domain.Tenant] {
			return paged[domain.Tenant]{list: &p.Contexts, next: &p.Next}
		},
		rows: func(out *table, list []domain.Tenant) {
			out.row("CONTEXT", "ALIAS", "ADMINS", "READERS", "EXECUTORS", "WEIGHT", "MAX RUNNING")
			for _, t := range list {
				out.row(t.ID, t.Alias, numbers(t.Admins), numbers(t.Readers), numbers(t.Executors), max(t.Weight, 1), bound(t.MaxRunning))
			}
		},
	}.into(a, &cobra.Command{Use: "list", Short: "List the contexts that you may read", Args: cobra.NoArgs})
}

func contextTable(out *table, t domain.Tenant) {
	out.field("context", t.ID)
	if t.Alias != "" {
		out.field("alias", t.Alias)
	}
	out.field("admins", numbers(t.Admins))
	out.field("readers", numbers(t.Readers))
	out.field("executors", numbers(t.Executors))
	out.field("weight", max(t.Weight, 1))
	out.field("max running", bound(t.MaxRunning))
	for _, typ := range slices.Sorted(maps.Keys(t.MaxRunningByType)) {
		out.field("max running "+string(typ), t.MaxRunningByType[typ])
	}
	if t.Isolation != "" {
		out.field("isolation", string(t.Isolation)+" at the least")
	}
	if t.Archives != "" {
		out.field("archives", string(t.Archives))
	}
	if hooks := t.On.Names(); hooks != "" {
		out.field("hooks", hooks)
	}
	if t.ExecutorsMaySubmit {
		out.field("executors", "may submit")
	}
	out.field("made", clock(int64(t.CreatedAt)*1000))
}

// hooksFile reads the hooks of a context; none where no file is named.
func (a *app) hooksFile(path string) (*domain.Hooks, error) {
	if path == "" {
		return &domain.Hooks{}, nil
	}
	return blueprint.ParseHooksFile(path)
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
