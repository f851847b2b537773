package cli

import (
	"context"
	"fmt"
	"net/url"
	"reflect"
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
	return listing[api.ListBulkParams, api.BulkPage, *domain.Bulk]{
		op: api.BulkList,
		page: func(p *api.BulkPage) paged[*domain.Bulk] {
			return paged[*domain.Bulk]{list: (*[]*domain.Bulk)(&p.Bulk), next: &p.Next}
		},
		rows: func(t *table, list []*domain.Bulk) {
			t.row("BULK", "WHAT", "STATUS", "DONE", "FAILED", "SKIPPED", "OF", "BEGAN", "FILTER")
			for _, b := range list {
				t.row(b.ID, b.Operation, b.Status, b.Done, b.Failed, b.Skipped, totalText(b), clock(b.BeganMs), bulkFilter(b))
			}
		},
	}.into(a, &cobra.Command{Use: "list", Short: "List the bulk operations of a context, newest first", Args: cobra.NoArgs})
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

// alsoAll adds to a verb about one thing what does it to all that filters fit. single are
// flags of the verb that are for one thing only.
func alsoAll[P any](a *app, c *cobra.Command, of things, op api.Op[P, *domain.Bulk], single ...string) *cobra.Command {
	var m many
	m.flags(c, of.many)
	filters := flagsOf(c, op.Operation, of)
	args, run, verb := c.Args, c.RunE, c.Name()
	within := pathParams(op.Operation) // what the things are of, such as a saga
	c.Use += " | " + strings.Join(strings.Fields(c.Use)[:1+len(within)], " ") + " --all"
	c.Args = func(c *cobra.Command, list []string) error {
		switch {
		case m.all && len(list) > len(within):
			return domain.Invalidf("--all is for all %s that the filters fit; leave it out for one", of.many)
		case m.all:
			return cobra.ExactArgs(len(within))(c, list)
		}
		return args(c, list)
	}
	c.RunE = func(c *cobra.Command, list []string) error {
		if !m.all {
			if filters.given() || m != (many{}) {
				return domain.Invalidf("filters, --yes and --detach are for --all %s; you have named one", of.many)
			}
			return run(c, list)
		}
		for _, name := range single {
			if c.Flags().Changed(name) {
				return domain.Invalidf("--%s is for one; leave it out with --all", name)
			}
		}
		var params P
		if err := filters.read(&params); err != nil {
			return err
		}
		for i, name := range within {
			set(op.Operation, &params, name, list[i])
		}
		return a.with(c.Context(), func(n *client.Client) error {
			set(op.Operation, &params, "context", a.tenant())
			return a.toAll(c.Context(), n, &m, verb, of.many, func(dry bool) (*domain.Bulk, error) {
				set(op.Operation, &params, "dry_run", dry)
				return client.Call(c.Context(), n, op, params)
			})
		})
	}
	filters.named(a, c)
	return c
}

// pathParams are the names of the parameters in an operation's path, but for the context.
func pathParams(o *api.Operation) (names []string) {
	for _, f := range api.FieldsOf(reflect.TypeOf(o.NewParams()).Elem()) {
		if name := f.Tag.Get("path"); name != "" && name != "context" {
			names = append(names, name)
		}
	}
	return names
}

// toAll counts and, with --yes, begins and waits.
func (a *app) toAll(ctx context.Context, n *client.Client, m *many, verb, things string, begin func(dry bool) (*domain.Bulk, error)) error {
	b, err := begin(true)
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
	if b, err = begin(false); err != nil {
		return err
	}
	if m.detach {
		return a.print(b, func(t *table) { t.row("bulk", b.ID, "goes on; `ramet bulk wait` waits for it") })
	}
	if b, err = n.WaitBulk(ctx, a.tenant(), b.ID, nil); err != nil {
		return err
	}
	if err := a.printEnd(b, func(t *table) { bulkTable(t, b) }); err != nil {
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
