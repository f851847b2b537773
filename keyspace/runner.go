package keyspace

import (
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
)

// This file has the rule for runners.

var leaveWorker = &Rule{needs: always(layout.RunnerWorker), decide: decideLeaveWorker}

// decideLeaveWorker leaves the record of a worker to the node, which writes it when the worker
// asks for jobs: what jobs are for that worker alone hangs on it. Nor is one made under the number
// of a worker that is not listed: it would be kept out by that.
func decideLeaveWorker(_ *Request, c *Change, seen Seen) (Outcome, error) {
	if name := seen.get(layout.RunnerWorker); name != "" {
		return Outcome{}, domain.Conflictf("%s is the worker %s, which leaves by itself; the node writes its record", c.Key, name)
	}
	id, err := strconv.ParseUint(strings.TrimPrefix(c.Key, layout.RunnerPrefix), 10, 32)
	if err == nil && domain.RunnerID(id) >= domain.FirstWorkerID && len(c.Set) > 0 {
		return Outcome{}, domain.Forbiddenf("%s: such high numbers are those of workers; the node writes the record of one when it asks for jobs", c.Key)
	}
	return Outcome{Guards: []string{layout.RunnerWorker}}, nil
}

// RunnerOwner is the field that says whose worker a runner is, and RunnerNeeds are those that [MayTakeFor] needs.
const RunnerOwner = layout.RunnerActor

var RunnerNeeds = []string{layout.RunnerWorker, RunnerOwner}

// RunnerOf is the runner whose own jobs a queue has, and the key of its record; ok is false for other lists.
func RunnerOf(list string) (id domain.RunnerID, key string, ok bool) {
	id, ok = queue.RunnerOf(list)
	return id, layout.Runner(id), ok
}

// MayTakeFor refuses to take what only one runner may from its queue, where that runner is a worker of another
// actor, or of nobody: who comes to the number of one that is not listed need not be the one that was meant.
//
// Errors: [domain.ErrForbidden].
func MayTakeFor(id domain.RunnerID, who domain.ActorID, seen Seen) error {
	switch worker := seen.get(layout.RunnerWorker); {
	case worker != "" && seen.get(layout.RunnerActor) != strconv.FormatUint(uint64(who), 10):
		return domain.Forbiddenf("what is for runner %d alone is taken by the worker %s of its actor, and that is not actor %d", id, worker, who)
	case !seen.There && id >= domain.FirstWorkerID:
		return domain.Forbiddenf("what is for runner %d alone is a worker's, and none of that number is listed; see `ramet runner list`", id)
	}
	return nil
}
