package circle

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
)

// Explain answers for one task.
//
// Errors: [domain.ErrNotFound].
func (e *Engine) Explain(ctx context.Context, tenant domain.TenantID, id string) (domain.TaskExplanation, error) {
	space := layout.SpaceOf(tenant)
	t, rec, err := e.load(ctx, space, id)
	if err != nil {
		return domain.TaskExplanation{}, err
	}
	x := domain.TaskExplanation{Key: layout.Task(id), Status: t.Status, SinceMs: int64(t.UpdatedAt) * 1000, Circle: t.Circle}
	if t.Final() {
		x.Standing, x.Text = domain.StandingEnded, "it has ended: "+string(t.Status)
		return x, nil
	}
	if l, held, err := e.board.LeaseOf(ctx, space, x.Key); err != nil {
		return x, err
	} else if held {
		x.Standing, x.Holder, x.NextMs = domain.StandingLeased, l.Owner, l.Until.UnixMilli()
		x.Text = fmt.Sprintf("%s runs it (attempt %d); its lease is renewed until it ends", l.Owner, l.Token)
		if l.Over() { // nothing but a node's next look moves it
			x.NextMs = 0
			x.Text = fmt.Sprintf("%s took it (attempt %d) and is gone, paused or cut off: its lease ran out at %s, "+
				"and the task waits for a node that takes it back", l.Owner, l.Token, l.Until.UTC().Format(time.RFC3339))
		}
		return x, nil
	}
	return e.explainQueued(ctx, space, t, rec, x)
}

func (e *Engine) explainQueued(ctx context.Context, space board.Space, t *domain.Task, rec board.Record,
	x domain.TaskExplanation) (domain.TaskExplanation, error) {
	circles := []string{t.Circle}
	if t.Circle == "" { // a foreign client pushed it
		var err error
		if circles, err = e.names(ctx, space); err != nil {
			return x, err
		}
	}
	faults, err := e.faults(ctx, space, circles)
	if err != nil {
		return x, err
	}
	for _, circle := range circles {
		if faults[circle] != "" {
			continue
		}
		ahead, found, err := e.ahead(ctx, space, queue.Circle(circle), t.ID)
		if err != nil {
			return x, err
		}
		if !found {
			continue
		}
		x.Standing, x.Circle, x.Ahead = domain.StandingQueued, circle, ahead
		x.Text = domain.TextAhead(ahead, aheadLook, "the circle "+circle)
		servers, err := e.Servers(ctx)
		if err != nil {
			return x, err
		}
		if len(servers[domain.ServedCircle{Name: circle, Context: domain.TenantID(space)}]) == 0 {
			x.Text += "; no node that is alive serves it: see `ramet serve --circle`"
		}
		return x, nil
	}
	switch {
	case t.Status == domain.TaskProcessing:
		x.Standing, x.Text = domain.StandingForeign, "it is in no circle and nobody leases it: a worker that takes no leases may have it"
	case faults[t.Circle] != "":
		x.Standing, x.Text = domain.StandingStuck, "it is pending, but in no circle: "+faults[t.Circle]
	default:
		x.Standing, x.Text = domain.StandingStuck, "it is pending, but in no circle"
		if listOf(rec) != "" {
			x.Text += "; the next audit puts it back"
		}
	}
	return x, nil
}

// aheadLook bounds how much of a list Explain reads.
const aheadLook = 100_000

// ahead counts what will be taken from a list before an id; -1 where the list
// was too long to count.
func (e *Engine) ahead(ctx context.Context, space board.Space, list, id string) (ahead int, found bool, err error) {
	lengths, err := e.board.Len(ctx, space, list)
	if err != nil {
		return 0, false, err
	}
	for end := lengths[0]; end > 0; end -= listPage {
		from := max(0, end-listPage)
		ids, err := e.board.List(ctx, space, list, from, end-from)
		if err != nil {
			return 0, false, err
		}
		for _, it := range slices.Backward(ids) {
			if it == id {
				return ahead, true, nil
			}
			ahead++
		}
		if ahead >= aheadLook {
			break
		}
	}
	// What was taken meanwhile moved others past the look.
	err = e.scan(ctx, space, list, func(it string) bool {
		found = found || it == id
		return !found
	})
	if ahead < aheadLook {
		return 0, found, err
	}
	return -1, found, err
}

// Servers are the nodes that are alive and serve circles, by circle. Foreign
// workers do not tell.
func (e *Engine) Servers(ctx context.Context) (map[domain.ServedCircle][]string, error) {
	servers := map[domain.ServedCircle][]string{}
	for cursor := ""; ; {
		keys, next, err := e.board.Keys(ctx, 0, layout.NodePrefix, cursor, listPage)
		if err != nil {
			return nil, err
		}
		recs, err := board.Readable(e.board.Get(ctx, 0, keys...))
		if err != nil {
			return nil, err
		}
		for i, rec := range recs {
			n, err := layout.DecodeNode(keys[i], rec)
			if err != nil || !n.Seen(e.board.Now()).Alive {
				continue
			}
			for _, c := range n.Circles {
				if !slices.Contains(servers[c], n.Name) { // a key may come twice
					servers[c] = append(servers[c], n.Name)
				}
			}
		}
		if cursor = next; next == "" {
			return servers, nil
		}
	}
}
