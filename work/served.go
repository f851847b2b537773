package work

import (
	"context"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// seenWithin is how long ago a runner may have said that it is alive to count
// as there: some of its rounds.
const seenWithin = time.Minute

// servedNow reports whether a node that is alive serves a job: its type, with
// the labels or the runner that it asks for. Foreign runners do not tell, so a
// no is only a hint.
func (e *Engine) servedNow(ctx context.Context, j *domain.Job) (bool, error) {
	cursor := ""
	for {
		keys, next, err := e.board.Keys(ctx, 0, layout.RunnerPrefix, cursor, listPage)
		if err != nil {
			return false, err
		}
		recs, err := e.board.Get(ctx, 0, keys...)
		if err != nil {
			return false, err
		}
		for i, rec := range recs {
			r, err := layout.DecodeRunner(keys[i], rec)
			if err == nil && (j.ForRunner == 0 || r.ID == j.ForRunner) && serves(r, j.ScriptType, j.Affinity) {
				return true, nil
			}
		}
		if next == "" {
			return false, nil
		}
		cursor = next
	}
}

// askedText names the labels that a job asks for.
func askedText(j *domain.Job) string {
	if len(j.Affinity) == 0 {
		return ""
	}
	return " with the labels " + domain.Labels(j.Affinity).String()
}

func serves(r domain.Runner, t domain.ScriptType, wanted domain.Labels) bool {
	if time.Since(time.UnixMilli(r.SeenMs)) > seenWithin {
		return false
	}
	for _, s := range r.Serves {
		if s.ScriptType == t && s.Served && s.Has(r.Labels, wanted) {
			return true
		}
	}
	return false
}
