package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
)

// This file asks nodes for the names that there are: for shells that complete them, and
// for whoever has typed one that there is not.

const (
	// namesWithin bounds how long that may take: somebody waits with a finger on Tab.
	namesWithin = time.Second
	// namesMost is how many are asked for.
	namesMost = 200
)

// names asks for names, as the actor and in the context of the command.
type names func(ctx context.Context, a *app, n *client.Client) ([]cobra.Completion, error)

// namesOf are the names in what an operation lists.
func namesOf[P, R any](op api.Op[P, R], of func(R) []cobra.Completion) names {
	return func(ctx context.Context, a *app, n *client.Client) ([]cobra.Completion, error) {
		var params P
		set(op.Operation, &params, "context", a.tenant())
		set(op.Operation, &params, "limit", namesMost)
		answer, err := client.Call(ctx, n, op, params)
		if err != nil {
			return nil, err
		}
		return of(answer), nil
	}
}

// each makes names of a list.
func each[T any](list []T, name func(T) (string, any)) (all []cobra.Completion) {
	for _, t := range list {
		word, about := name(t)
		all = append(all, cobra.CompletionWithDesc(word, visible(fmt.Sprint(about))))
	}
	return all
}

func entry(e domain.DocumentEntry) (string, any) { return e.Name, fmt.Sprint("version ", e.Version) }

// named says of arguments what they name: by the noun of a command, and what its usage
// calls the argument. Numbers are completed; only a name can be nearly another.
var named = map[string]names{
	"blueprint NAME": namesOf(api.BlueprintList, func(p api.BlueprintPage) []cobra.Completion { return each(p.Blueprints, entry) }),
	"saga NAME":      namesOf(api.SagaList, func(p api.SagaPage) []cobra.Completion { return each(p.Sagas, entry) }),
	"schedule NAME": namesOf(api.ScheduleList, func(p api.SchedulePage) []cobra.Completion {
		return each(p.Schedules, func(s api.Schedule) (string, any) { return s.Name, "" })
	}),
	"webhook NAME": namesOf(api.WebhookList, func(p api.Webhooks) []cobra.Completion {
		return each(p.Webhooks, func(w api.Webhook) (string, any) { return w.Name, w.Blueprint })
	}),
	"listener NAME": namesOf(api.ListenerList, func(p api.Listeners) []cobra.Completion {
		return each(p.Listeners, func(l api.Listener) (string, any) { return l.Name, l.Blueprint })
	}),
	"routine NAME": namesOf(api.RoutineList, func(p api.RoutinePage) []cobra.Completion {
		return each(p.Routines, func(r *domain.Routine) (string, any) { return r.Name, "" })
	}),
	"effect NAME": namesOf(api.EffectList, func(p api.EffectPage) []cobra.Completion {
		return each(p.Effects, func(e domain.EffectStatus) (string, any) { return e.Name, e.Kind })
	}),
	"node NAME": namesOf(api.NodeList, func(p api.NodePage) []cobra.Completion {
		return each(p.Nodes, func(n domain.Node) (string, any) { return n.Name, nodeState(n) })
	}),
	"peer NAME": namesOf(api.PeerList, func(p api.PeerPage) []cobra.Completion {
		return each(p.Peers, func(p api.PeerView) (string, any) { return p.Name, "" })
	}),
	"context CONTEXT": namesOf(api.ContextList, func(p api.ContextPage) []cobra.Completion {
		return each(p.Contexts, func(t domain.Tenant) (string, any) {
			if t.Alias != "" {
				return t.Alias, t.ID
			}
			return fmt.Sprint(t.ID), ""
		})
	}),
	"circle CIRCLE": namesOf(api.CircleList, func(p api.CirclePage) []cobra.Completion {
		return each(p.Circles, func(c api.Circle) (string, any) { return c.Name, "" })
	}),
	"actor ID": namesOf(api.ActorList, func(p api.ActorPage) []cobra.Completion {
		return each(p.Actors, func(a domain.Actor) (string, any) { return fmt.Sprint(a.ID), "" })
	}),
	"runner ID": namesOf(api.RunnerList, func(p api.RunnerPage) []cobra.Completion {
		return each(p.Runners, func(r domain.Runner) (string, any) { return fmt.Sprint(r.ID), "" })
	}),
	"flow FLOW": namesOf(api.FlowList, func(p api.FlowPage) []cobra.Completion {
		return each(p.Flows, func(f domain.Flow) (string, any) { return fmt.Sprint(f.ID), f.Status })
	}),
	"job KEY": namesOf(api.JobList, func(p api.JobPage) []cobra.Completion {
		return each(p.Jobs, func(j *domain.Job) (string, any) { return j.Key().String(), j.Status })
	}),
}

// makes are commands whose argument is a name that there is not yet.
var makes = map[string]bool{"schedule create": true, "node discard": true}

// namesFor are the names that a command's first argument may have; nil where it is another
// thing. file reports whether it may be a file, too.
func namesFor(c *cobra.Command) (list names, file bool) {
	path := strings.Fields(c.CommandPath())
	words := strings.Fields(c.Use)
	if len(path) < 3 || len(words) < 2 || makes[strings.Join(path[1:], " ")] {
		return nil, false
	}
	noun := path[1]
	if noun == "ban" {
		noun = c.Name()
	}
	kind := map[string]string{"flow NAME": "blueprint NAME"} // a flow is submitted by its blueprint's name
	for _, what := range strings.Split(strings.Trim(words[1], "[]."), "|") {
		if n := named[cmp.Or(kind[noun+" "+what], noun+" "+what)]; n != nil {
			list = n
		}
		file = file || what == "FILE"
	}
	return list, file
}

// completeNames has shells complete names, in all commands and flags that take one.
func (a *app) completeNames(c *cobra.Command) {
	if list, file := namesFor(c); list != nil {
		otherwise := cobra.ShellCompDirectiveNoFileComp
		if file {
			otherwise = cobra.ShellCompDirectiveDefault
		}
		c.ValidArgsFunction = func(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveDefault // a file, where there is a further argument
			}
			return a.begun(c, list, begun), otherwise
		}
	}
	for flag, of := range map[string]string{"blueprint": "blueprint NAME", "saga": "saga NAME", "effect": "effect NAME"} {
		if c.LocalNonPersistentFlags().Lookup(flag) == nil {
			continue
		}
		_ = c.RegisterFlagCompletionFunc(flag, a.completeFlag(named[of])) // where it has one, that one stays
	}
	for _, sub := range c.Commands() {
		a.completeNames(sub)
	}
}

func (a *app) completeFlag(list names) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return a.begun(c, list, begun), cobra.ShellCompDirectiveNoFileComp
	}
}

// begun are the names that begin as somebody has begun to type; none where no node answers.
func (a *app) begun(c *cobra.Command, list names, begun string) (fit []cobra.Completion) {
	if a.settle(c) != nil { // cobra does not do it for completions
		return nil
	}
	all, _ := a.askNames(c, list)
	for _, name := range all {
		if strings.HasPrefix(name, begun) {
			fit = append(fit, name)
		}
	}
	return fit
}

// askNames asks the node that a command goes to, if one is there, for as long as one waits.
func (a *app) askNames(c *cobra.Command, list names) (all []cobra.Completion, err error) {
	ctx, cancel := context.WithTimeout(c.Context(), namesWithin)
	defer cancel()
	a.startWait, a.embed, a.checks = 0, false, false
	err = a.with(ctx, func(n *client.Client) (err error) {
		all, err = list(ctx, a, n)
		return err
	})
	return all, err
}

// meant adds to an error about a name that there is not which one may be meant, and to one after which nobody knows whether
// something was done what shows it. Whoever may not list them is told nothing.
func (a *app) meant(c *cobra.Command, err error) string {
	if errors.Is(err, client.ErrUnanswered) {
		return looks(c)
	}
	wrong := (*client.Error)(nil)
	if c == nil || c.Context() == nil || c.Context().Err() != nil || !errors.As(err, &wrong) || !errors.Is(err, domain.ErrNotFound) {
		return ""
	}
	list, _ := namesFor(c)
	name := c.Flags().Arg(0)
	if _, number := domain.ParseTenantID(name); list == nil || number == nil || strings.Contains(err.Error(), "did you mean") {
		return ""
	}
	all, _ := a.askNames(c, list)
	var known []string
	for _, one := range all {
		word, _, _ := strings.Cut(one, "\t")
		known = append(known, word)
	}
	if near := domain.Nearest(name, known); near != "" && near != name {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

// looks says which command shows what there is of the noun of one that may have done something.
func looks(c *cobra.Command) string {
	if c == nil || !c.HasParent() {
		return ""
	}
	for _, sub := range c.Parent().Commands() {
		if sub.Name() == "list" && sub != c {
			return fmt.Sprintf(" (`%s` shows what there is)", sub.CommandPath())
		}
	}
	return ""
}

// flagMeant says which flag an unknown one may be.
func flagMeant(c *cobra.Command, text string) string {
	_, name, found := strings.Cut(text, "unknown flag: --")
	if !found {
		return ""
	}
	var known []string
	c.InheritedFlags() // has the command know those of its parents
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, f.Name)
		}
	})
	if near := domain.Nearest(name, known); near != "" {
		return "; did you mean --" + near + "?"
	}
	return ""
}
