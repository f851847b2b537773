package cli

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
)

func (a *app) bulkCommand() *cobra.Command {
	c := noun("bulk", "Follow and end what is done to many jobs, flows or dead letters at once", a.bulkList(), a.bulkShow(), a.bulkWait(), a.bulkCancel())
	c.Long = c.Short + ". Such an operation is begun by `ramet job cancel --all`, `job retry`, `flow cancel`, `flow retry`, `flow delete`,\n" +
		"`deadletter replay`, `deadletter drop`, `saga pause` and `saga resume`. It goes on by itself, and is kept for 7 days when it has ended."
	return c
}

func (a *app) bulkList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the bulk operations of a context, newest first", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), func(n *client.Client) error {
				all := api.BulkPage{Bulk: domain.List[*domain.Bulk]{}}
				for cursor := ""; ; {
					page, err := client.Call(c.Context(), n, api.BulkList, api.ListBulkParams{Context: a.tenant(), Cursor: cursor})
					if err != nil {
						return err
					}
					all.Bulk = append(all.Bulk, page.Bulk...)
					if cursor = page.Next; cursor == "" {
						break
					}
				}
				return a.print(all, func(t *table) {
					t.row("BULK", "WHAT", "STATUS", "DONE", "FAILED", "SKIPPED", "OF", "BEGAN", "FILTER")
					for _, b := range all.Bulk {
						t.row(b.ID, b.Operation, b.Status, b.Done, b.Failed, b.Skipped, totalText(b), clock(b.BeganMs), bulkFilter(b))
					}
				})
			})
		},
	}
}

// onBulk is a verb about one bulk operation, which it shows.
func (a *app) onBulk(use, short string, do func(ctx context.Context, n *client.Client, p api.BulkParams) (*domain.Bulk, error)) *cobra.Command {
	return &cobra.Command{
		Use: use + " BULK", Short: short, Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			id, err := domain.ParseBulkID(args[0])
			if err != nil {
				return err
			}
			return a.with(c.Context(), func(n *client.Client) error {
				b, err := do(c.Context(), n, api.BulkParams{Context: a.tenant(), ID: id})
				if err != nil {
					return err
				}
				return a.print(b, func(t *table) { bulkTable(t, b) })
			})
		},
	}
}

func (a *app) bulkShow() *cobra.Command {
	return a.onBulk("show", "Show how far a bulk operation has come", func(ctx context.Context, n *client.Client, p api.BulkParams) (*domain.Bulk, error) {
		return client.Call(ctx, n, api.BulkShow, p)
	})
}

func (a *app) bulkWait() *cobra.Command {
	return a.onBulk("wait", "Wait until a bulk operation has ended, and show it",
		func(ctx context.Context, n *client.Client, p api.BulkParams) (*domain.Bulk, error) {
			return n.WaitBulk(ctx, p.Context, p.ID, nil)
		})
}

func (a *app) bulkCancel() *cobra.Command {
	return a.onBulk("cancel", "End a bulk operation; what was done stays done",
		func(ctx context.Context, n *client.Client, p api.BulkParams) (*domain.Bulk, error) {
			return client.Call(ctx, n, api.BulkCancel, p)
		})
}

func bulkTable(t *table, b *domain.Bulk) {
	t.field("bulk", b.ID)
	t.field("what", b.Operation)
	t.field("saga", b.Saga)
	t.field("filter", bulkFilter(b))
	t.field("status", b.Status)
	t.field("error", b.Error)
	t.field("by", fmt.Sprintf("actor %d", b.CallerID))
	t.field("done", fmt.Sprintf("%d of %s", b.Done, totalText(b)))
	t.field("failed", b.Failed)
	t.field("skipped", b.Skipped)
	t.field("began", clock(b.BeganMs))
	t.field("ended", clock(b.EndedMs))
	for _, f := range b.Failures {
		t.field("failed: "+f.Key, f.Error)
	}
}

func totalText(b *domain.Bulk) string {
	if b.More {
		return fmt.Sprintf("more than %d", b.Total)
	}
	return fmt.Sprint(b.Total)
}

// bulkFilter is the filter as people would write it.
func bulkFilter(b *domain.Bulk) string {
	text, err := url.QueryUnescape(strings.ReplaceAll(b.Filter, "&", ", "))
	if err != nil {
		return b.Filter
	}
	return text
}

// many are the flags of a verb that can be done to all that filters fit.
type many struct {
	all, yes, detach bool
}

func (m *many) flags(c *cobra.Command, things string) {
	c.Flags().BoolVar(&m.all, "all", false, "all "+things+" that the filters fit, after a count")
	c.Flags().BoolVar(&m.yes, "yes", false, "with --all: do it, do not only count them")
	c.Flags().BoolVar(&m.detach, "detach", false, "with --all: do not wait until it is done")
}

// beginner counts what filters fit, or begins to do something to it.
type beginner func(ctx context.Context, n *client.Client, dry bool) (*domain.Bulk, error)

// alsoMany adds to a verb about one thing what does it to all that filters fit. filtered
// reports whether there are any; single are flags of the verb that are for one thing only.
func (a *app) alsoMany(c *cobra.Command, things string, filtered func() bool, begin beginner, single ...string) *cobra.Command {
	var m many
	m.flags(c, things)
	args, run := c.Args, c.RunE
	verb := c.Name()
	c.Use += " | " + verb + " --all"
	c.Args = func(c *cobra.Command, list []string) error {
		if m.all && len(list) > 0 {
			return domain.Invalidf("--all is for all %s that the filters fit; leave it out for one", things)
		} else if m.all {
			return nil
		}
		return args(c, list)
	}
	c.RunE = func(c *cobra.Command, list []string) error {
		if !m.all {
			if filtered() || m != (many{}) {
				return domain.Invalidf("filters, --yes and --detach are for --all %s; you have named one", things)
			}
			return run(c, list)
		}
		for _, name := range single {
			if c.Flags().Changed(name) {
				return domain.Invalidf("--%s is for one; leave it out with --all", name)
			}
		}
		return a.with(c.Context(), func(n *client.Client) error { return a.toMany(c.Context(), n, &m, verb, things, begin) })
	}
	return c
}

// toMany counts and, with --yes, begins and waits.
func (a *app) toMany(ctx context.Context, n *client.Client, m *many, verb, things string, begin beginner) error {
	b, err := begin(ctx, n, true)
	if err != nil {
		return err
	}
	count := countText(&api.Counted{Matching: b.Total, More: b.More}, things)
	if !m.yes || b.Total == 0 && !b.More {
		if err := a.print(b, func(t *table) { t.wide(count) }); err != nil || b.Total == 0 && !b.More {
			return err
		}
		return domain.Invalidf("nothing was done; add --yes to %s them", verb)
	}
	if a.output == outTable {
		a.complain(count)
	}
	if b, err = begin(ctx, n, false); err != nil {
		return err
	}
	if m.detach {
		return a.print(b, func(t *table) { t.row("bulk", b.ID, "goes on; `ramet bulk wait` waits for it") })
	}
	if b, err = n.WaitBulk(ctx, a.tenant(), b.ID, nil); err != nil {
		return err
	}
	if err := a.print(b, func(t *table) { bulkTable(t, b) }); err != nil {
		return err
	}
	switch {
	case b.Status != domain.BulkFinished:
		return &exitError{code: exitFailed, text: fmt.Sprintf("bulk operation %d has ended: %s", b.ID, b.Status)}
	case b.Failed > 0:
		return &exitError{code: exitFailed, text: fmt.Sprintf("%d %s could not be dealt with", b.Failed, things)}
	}
	return nil
}

// manyJobs is a verb about one job that can be done to many.
func (a *app) manyJobs(c *cobra.Command, op api.Op[api.BulkJobsParams, *domain.Bulk]) *cobra.Command {
	var f jobFilter
	var narrow narrowing
	f.flags(c)
	narrow.filters(c)
	return a.alsoMany(c, "jobs", func() bool { return f != jobFilter{} || narrow != narrowing{} },
		func(ctx context.Context, n *client.Client, dry bool) (*domain.Bulk, error) {
			filter, err := f.read(&narrow)
			if err != nil {
				return nil, err
			}
			return client.Call(ctx, n, op, api.BulkJobsParams{Context: a.tenant(), JobFilter: filter, DryRun: dry})
		})
}

// manyFlows is a verb about one flow that can be done to many.
func (a *app) manyFlows(c *cobra.Command, op api.Op[api.BulkFlowsParams, *domain.Bulk], single ...string) *cobra.Command {
	var f flowFilter
	var narrow narrowing
	f.flags(c)
	narrow.filters(c)
	return a.alsoMany(c, "flows", func() bool { return f != flowFilter{} || narrow != narrowing{} },
		func(ctx context.Context, n *client.Client, dry bool) (*domain.Bulk, error) {
			filter, err := f.read(&narrow)
			if err != nil {
				return nil, err
			}
			return client.Call(ctx, n, op, api.BulkFlowsParams{Context: a.tenant(), FlowFilter: filter, DryRun: dry})
		}, single...)
}

// manyInstances is a verb about a saga, or one instance, that can be done to many.
func (a *app) manyInstances(c *cobra.Command, op api.Op[api.BulkInstancesParams, *domain.Bulk]) *cobra.Command {
	var f api.InstanceFilter
	var narrow narrowing
	var m many
	narrow.filters(c)
	c.Flags().StringVar(&f.State, "state", "", "with --all: only instances in that `state` of the definition")
	c.Flags().StringVar(&f.Where, "where", "", "with --all: only instances for which a Rhai `condition` holds")
	m.flags(c, "instances")
	run, verb := c.RunE, c.Name()
	c.RunE = func(c *cobra.Command, args []string) error {
		filtered := f != (api.InstanceFilter{}) || narrow != narrowing{}
		switch {
		case !m.all && (filtered || m != (many{})):
			return domain.Invalidf("filters, --yes and --detach are for --all instances")
		case !m.all:
			return run(c, args)
		case len(args) > 1:
			return domain.Invalidf("--all is for all instances that the filters fit; leave it out for one")
		}
		var err error
		if f.Narrowing, err = narrow.read(); err != nil {
			return err
		}
		return a.with(c.Context(), func(n *client.Client) error {
			return a.toMany(c.Context(), n, &m, verb, "instances", func(ctx context.Context, n *client.Client, dry bool) (*domain.Bulk, error) {
				return client.Call(ctx, n, op, api.BulkInstancesParams{Context: a.tenant(), Name: args[0], InstanceFilter: f, DryRun: dry})
			})
		})
	}
	return c
}
