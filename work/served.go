package work

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// seenWithin is how long ago a runner may have said that it is alive to count
// as there: some of its rounds.
const seenWithin = time.Minute

// servedNow are the services of nodes that are alive which would take a job: its
// type, with the labels or the runner that it asks for. Foreign runners do not
// tell, so that there are none is only a hint. lacking is the key of its context
// that some others would need.
func (e *Engine) servedNow(ctx context.Context, tenant domain.TenantID, j *domain.Job) (services []domain.Service, lacking string, err error) {
	uses := e.uses()
	cursor, seen := "", map[string]bool{} // a key may come twice in a listing
	for {
		keys, next, err := e.board.Keys(ctx, 0, layout.RunnerPrefix, cursor, listPage)
		if err != nil {
			return nil, "", err
		}
		recs, err := e.board.Get(ctx, 0, keys...)
		if err != nil {
			return nil, "", err
		}
		for i, rec := range recs {
			r, err := layout.DecodeRunner(keys[i], rec)
			if err != nil || seen[keys[i]] || j.ForRunner != 0 && r.ID != j.ForRunner {
				continue
			}
			s, yes := serves(r, j.ScriptType, j.Affinity)
			l, locked := r.LockedOut(tenant)
			switch {
			case yes && locked:
				lacking = l.Key
			case yes:
				if here, ours := uses[r.ID]; ours {
					s.SlotUse = here[j.ScriptType]
				}
				services, seen[keys[i]] = append(services, s), true
			}
		}
		if next == "" {
			return services, lacking, nil
		}
		cursor = next
	}
}

// uses are the slots of the runners in this process as they stand now; records of
// others are some seconds old.
func (e *Engine) uses() map[domain.RunnerID]map[domain.ScriptType]domain.SlotUse {
	e.mu.Lock()
	defer e.mu.Unlock()
	uses := map[domain.RunnerID]map[domain.ScriptType]domain.SlotUse{}
	for r := range e.runners {
		uses[r.cfg.ID] = r.Uses()
	}
	return uses
}

// explainSlots says that a job waits for a slot, where none of those who would
// take it has one for its context. Of other contexts it tells how many there are.
func (x *Explanation) explainSlots(tenant domain.TenantID, t domain.ScriptType, services []domain.Service) {
	slots, taken, mine, most := 0, 0, 0, 0
	holders := map[domain.TenantID]bool{}
	for _, s := range services {
		if s.Slots == 0 || s.Free(tenant) {
			return
		}
		slots, taken, mine, most = slots+s.Slots, taken+min(s.Taken, s.Slots), mine+s.HeldBy(tenant), most+s.PerContext
		for _, h := range s.Holders {
			holders[h.Context] = true
		}
	}
	switch {
	case slots == 0:
	case taken < slots:
		x.Text += fmt.Sprintf("; its context holds %d of the %d slots for %s, and may hold %d: it waits for one of its own jobs to end", mine, slots, t, most)
	case len(holders) == 1 && holders[tenant]:
		x.SlotsTaken, x.SlotContexts = slots, 1
		x.Text += fmt.Sprintf("; all slots for %s (%d) are taken by jobs of its own context", t, slots)
	default:
		x.SlotsTaken, x.SlotContexts = slots, len(holders)
		x.Text += fmt.Sprintf("; all slots for %s (%d) are taken by jobs of %s", t, slots, countOf(len(holders), "context"))
	}
}

// countOf is a number with its noun.
func countOf(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// askedText names the labels that a job asks for.
func askedText(j *domain.Job) string {
	if len(j.Affinity) == 0 {
		return ""
	}
	return " with the labels " + domain.Labels(j.Affinity).String()
}

func serves(r domain.Runner, t domain.ScriptType, wanted domain.Labels) (domain.Service, bool) {
	if time.Since(time.UnixMilli(r.SeenMs)) > seenWithin {
		return domain.Service{}, false
	}
	for _, s := range r.Serves {
		if s.ScriptType == t && s.Served && s.Has(r.Labels, wanted) {
			return s, true
		}
	}
	return domain.Service{}, false
}
