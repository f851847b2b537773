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

// servedNow reports whether a node that is alive serves a script type, and
// which runner must be it, if not 0. Foreign runners do not tell, so a no is
// only a hint.
func (e *Engine) servedNow(ctx context.Context, t domain.ScriptType, only domain.RunnerID) (bool, error) {
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
			if err == nil && (only == 0 || r.ID == only) && serves(r, t) {
				return true, nil
			}
		}
		if next == "" {
			return false, nil
		}
		cursor = next
	}
}

func serves(r domain.Runner, t domain.ScriptType) bool {
	if time.Since(time.UnixMilli(r.SeenMs)) > seenWithin {
		return false
	}
	for _, s := range r.Serves {
		if s.ScriptType == t && s.Served {
			return true
		}
	}
	return false
}
