package service

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// runnerPage is how many runners a page has at the most. A context may have thousands of workers, and
// each says of up to [domain.MaxWorkerTypes] types how it serves them.
const runnerPage = 500

// The parts of the list of runners, by which its cursors begin.
const (
	ofNodes   = "nodes"
	ofContext = "context"
)

// ListRunners lists the runners of the nodes, then those of one context.
func (c Caller) ListRunners(ctx context.Context, p api.ListRunnersParams) (api.RunnerPage, error) {
	if err := c.mayRunners(ctx, p.Context, "runners"); err != nil {
		return api.RunnerPage{}, err
	}
	if p.Limit < 0 || p.Limit > runnerPage {
		return api.RunnerPage{}, domain.Invalidf("limit %d: want 1 to %d, or 0 for that", p.Limit, runnerPage)
	}
	limit := cmp.Or(p.Limit, runnerPage)
	part, cursor, _ := strings.Cut(cmp.Or(p.Cursor, ofNodes), ":")
	if part != ofNodes && (part != ofContext || p.Context == 0) {
		return api.RunnerPage{}, domain.Invalidf("cursor %q: want the next of the page before, with the same context", domain.PlainText(p.Cursor, 100))
	}
	list := api.RunnerPage{Runners: []domain.Runner{}}
	if part == ofNodes {
		var err error
		if cursor, err = c.addRunners(ctx, &list, 0, p.Context, cursor, limit); err != nil {
			return list, err
		}
		if cursor != "" || p.Context != 0 && len(list.Runners) >= limit {
			list.Next = ofNodes + ":" + cursor
			if cursor == "" {
				list.Next = ofContext
			}
			return list, nil
		}
	}
	if p.Context == 0 {
		return list, nil
	}
	cursor, err := c.addRunners(ctx, &list, layout.SpaceOf(p.Context), p.Context, cursor, limit)
	if cursor != "" {
		list.Next = ofContext + ":" + cursor
	}
	return list, err
}

// mayRunners asks for the right to see runners: that of the operator, and where a
// context is named the one to read there, for the operator too.
func (c Caller) mayRunners(ctx context.Context, tenant domain.TenantID, object string) error {
	if err := c.mayInspect(ctx, domain.VerbRead, tenant, object); err != nil || tenant == 0 || !c.who.Operates(domain.VerbInspect, c.group) {
		return err
	}
	_, err := c.may(ctx, domain.VerbRead, tenant, object)
	return err
}

// forTenant is what those may know of a node's runner who have a role in a
// context: what it serves, so that they see what would run their jobs. Which
// machine it is, what holds its scripts in and who holds its slots is the operator's,
// and what it offers to other contexts theirs.
func forTenant(r domain.Runner, t domain.TenantID) domain.Runner {
	out := domain.Runner{ID: r.ID, Local: r.Local, Topic: r.Topic, Labels: r.Labels, SeenMs: r.SeenMs}
	if l, locked := r.LockedOut(t); locked {
		out.Locked = []domain.Locked{{Context: t, Key: l.Key}} // as `context show` names it; why it lacks it is the operator's
	}
	if off, yes := r.OffDuty(domain.RoleRunner); yes {
		out.Off = []domain.Off{{Role: off.Role}} // by which rule is the operator's
	}
	for _, s := range r.Serves {
		out.Serves = append(out.Serves, domain.Service{ScriptType: s.ScriptType, Served: s.Served, Unasked: s.Unasked,
			SlotUse: domain.SlotUse{Slots: s.Slots, PerContext: s.PerContext}, Offers: offeredTo(s, t)})
	}
	return out
}

// ShowRunner shows one runner: of a node, or of a context's own.
func (c Caller) ShowRunner(ctx context.Context, p api.RunnerParams) (domain.Runner, error) {
	key := layout.Runner(p.Runner)
	if err := c.mayRunners(ctx, p.Context, key); err != nil {
		return domain.Runner{}, err
	}
	recs, err := c.api.parts.Records.Get(ctx, layout.SpaceOf(p.Context), key)
	if err != nil {
		return domain.Runner{}, err
	}
	if recs[0] == nil {
		return domain.Runner{}, domain.NotFoundf("runner %d does not exist; `ramet runner list` shows those there are", p.Runner)
	}
	return layout.DecodeRunner(key, recs[0])
}

// addRunners adds those of one space, by id, as they may be seen from a context, until the list
// has about limit. It returns from where to go on; "" is the end.
func (c Caller) addRunners(ctx context.Context, list *api.RunnerPage, space board.Space, from domain.TenantID, cursor string, limit int) (string, error) {
	seen := map[string]bool{} // a key may come twice in a listing
	begin := len(list.Runners)
	for len(list.Runners) < limit {
		keys, next, err := c.api.parts.Records.Keys(ctx, space, layout.RunnerPrefix, cursor, limit-len(list.Runners))
		if err != nil {
			return "", err
		}
		recs, err := board.Readable(c.api.parts.Records.Get(ctx, space, keys...))
		if err != nil {
			return "", err
		}
		for i, rec := range recs {
			if rec == nil || seen[keys[i]] {
				continue
			}
			seen[keys[i]] = true
			// A foreign record that cannot be read wholly is listed all the same.
			r, _ := layout.DecodeRunner(keys[i], rec)
			if space == 0 && !c.who.Operates(domain.VerbInspect, c.group) {
				r = forTenant(r, from)
			}
			list.Runners = append(list.Runners, r)
		}
		if cursor = next; next == "" {
			break
		}
	}
	slices.SortFunc(list.Runners[begin:], func(a, b domain.Runner) int { return cmp.Compare(a.ID, b.ID) })
	return cursor, nil
}

// offeredTo is what a service offers as somebody in one context may know it:
// that others have offers for themselves is theirs.
func offeredTo(s domain.Service, t domain.TenantID) map[string][]string {
	var out map[string][]string
	for name, values := range s.Offers {
		for _, value := range values {
			if only := s.Reserved[domain.Offer(name, value)]; len(only) > 0 && !slices.Contains(only, t) {
				continue
			}
			if out == nil {
				out = map[string][]string{}
			}
			out[name] = append(out[name], value)
		}
	}
	return out
}
