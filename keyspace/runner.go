package keyspace

import (
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// This file has the rule for runners.

var leaveWorker = &Rule{needs: always(layout.RunnerWorker), decide: decideLeaveWorker}

// decideLeaveWorker leaves the record of a worker to the node, which writes it when the worker
// asks for jobs: what jobs are for that worker alone hangs on it.
func decideLeaveWorker(_ *Request, c *Change, seen Seen) (Outcome, error) {
	if name := seen.get(layout.RunnerWorker); name != "" {
		return Outcome{}, domain.Conflictf("%s is the worker %s, which leaves by itself; the node writes its record", c.Key, name)
	}
	return Outcome{Guards: []string{layout.RunnerWorker}}, nil
}
