package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
)

func (a *app) auditCommand() *cobra.Command {
	all, look := false, false
	c := &cobra.Command{
		Use: "audit", Short: "Look whether every unfinished job has a reason to be alive, and repair it", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), func(n *client.Client) error {
				audit := func(ctx context.Context, t domain.TenantID) (api.AuditReport, error) {
					return client.Call(ctx, n, api.AuditLook, api.LookParams{Context: t})
				}
				switch {
				case all && look:
					return domain.Invalidf("--all and --look: want one of them, for a look is at the oldest")
				case all:
					audit = func(ctx context.Context, t domain.TenantID) (api.AuditReport, error) {
						return client.Call(ctx, n, api.AuditRun, api.AuditParams{Context: t, All: true})
					}
				case !look:
					audit = n.Audit
				}
				r, err := audit(c.Context(), a.tenant())
				if err != nil {
					return err
				}
				err = a.print(r, func(t *table) {
					t.wide(fmt.Sprintf("looked at %d unfinished thing(s) of context %d: %d repaired, %d stuck, %d waiting for who is not there",
						r.Looked, r.Context, len(r.Repaired), len(r.Stuck), r.Lacks()))
					if r.Partial {
						t.wide("those are the oldest; there are more, which the node looks at by itself, and --all does now")
					}
					for _, f := range r.Repaired {
						t.wide("repaired", f.Key, f.Text)
					}
					for _, f := range r.Stuck {
						t.wide("stuck", f.Keys(), f.Text)
					}
					for _, f := range r.Lacking {
						t.wide("waiting", f.Keys(), f.Text)
					}
				})
				if err == nil && len(r.Stuck) > 0 {
					err = &exitError{code: exitFailed}
				}
				return err
			})
		},
	}
	c.Long = c.Short + ". Exit code: 0 none is stuck, 1 some are."
	c.Flags().BoolVar(&all, "all", false, "look at all, however long that takes, and not at the oldest only where there are very many")
	c.Flags().BoolVar(&look, "look", false, "repair nothing, and look at the oldest only: for who may read")
	c.AddCommand(a.auditLog())
	return c
}

// auditPage is how many lines are asked for at once.
const auditPage = 1000

func (a *app) auditLog() *cobra.Command {
	var denied, ofNode bool
	var actor uint32
	most := 50
	c := &cobra.Command{
		Use: "log", Short: "Show who changed rights or did something by hand, and who was kept from something", Args: cobra.NoArgs,
		Example: "  ramet audit log --denied",
		RunE: func(c *cobra.Command, _ []string) error {
			if most < 1 {
				return domain.Invalidf("-n %d: want 1 or more", most)
			}
			f := api.AuditLogFilter{Actor: domain.ActorID(actor)}
			if denied {
				f.Outcome = domain.AuditDenied
			}
			return a.with(c.Context(), func(n *client.Client) error {
				tenant := a.tenant()
				if ofNode {
					tenant = 0
				}
				var list api.AuditLines
				for len(list.Entries) < most {
					f.Limit = min(most-len(list.Entries), auditPage)
					page, err := n.AuditLog(c.Context(), tenant, f)
					if err != nil {
						return err
					}
					list.Entries = append(list.Entries, page.Entries...)
					if f.Cursor = page.Next; f.Cursor == "" {
						break
					}
				}
				list.Entries = list.Entries[:min(len(list.Entries), most)] // a page may have a few more
				return a.print(list, func(t *table) { auditTable(t, list.Entries) })
			})
		},
	}
	c.Long = c.Short + `: newest first. A context's log is for its admins; that of the node, which
has what concerns no context, for the operator. Lines that are equal are counted in one.`
	c.Flags().BoolVar(&denied, "denied", false, "only what was denied or refused")
	c.Flags().BoolVar(&ofNode, "of-node", false, "what concerns no context: actors, contexts, refused tokens")
	c.Flags().Uint32Var(&actor, "actor", 0, "only lines of that `actor`")
	c.Flags().IntVarP(&most, "lines", "n", most, "how many `lines` at most")
	c.AddCommand(a.auditVerify(), a.auditExport())
	return c
}

func auditTable(t *table, entries []domain.AuditEntry) {
	t.row("AT", "ACTOR", "OUTCOME", "VERB", "OBJECT", "CONTEXT", "TIMES", "DETAIL")
	for _, e := range entries {
		// Whole: what is cut off may be what is looked for.
		t.wide(clock(e.AtMs), e.Actor, e.Outcome, e.Verb, e.Object, blank(e.Context), max(e.Count, 1), e.Detail)
	}
}

// blank is a number, or nothing for 0.
func blank[T ~uint32](n T) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}
