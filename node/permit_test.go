package node

import (
	"context"
	"errors"
	"testing"

	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/work"
)

func TestWorkIsMadeOnlyForActorsWhoMay(t *testing.T) {
	b := memboard.Open()
	defer b.Close()
	jobs := work.New(b, work.Config{})
	flows := flow.New(b, jobs, flow.Config{})
	may := func(_ context.Context, tenant domain.TenantID, actor domain.ActorID, _ string) error {
		if tenant != 7 || actor != 10 {
			return domain.Forbiddenf("no")
		}
		return nil
	}
	job := func(caller domain.ActorID) []*domain.Job {
		return []*domain.Job{{CallerID: caller, Script: "x", ScriptType: "shell"}}
	}
	for _, tc := range []struct {
		tenant domain.TenantID
		actor  domain.ActorID
		may    bool
	}{{7, 10, true}, {7, 11, false}, {8, 10, false}} {
		_, err := permittedJobs{jobs, may, nil}.Submit(t.Context(), tc.tenant, job(tc.actor))
		if errors.Is(err, domain.ErrForbidden) == tc.may {
			t.Errorf("job of %d in %d: got %v", tc.actor, tc.tenant, err)
		}
		_, err = permittedFlows{flows, may, "schedule"}.Submit(t.Context(), tc.tenant, []flow.Request{{Caller: tc.actor, Jobs: job(tc.actor)}})
		if errors.Is(err, domain.ErrForbidden) == tc.may {
			t.Errorf("flow of %d in %d: got %v", tc.actor, tc.tenant, err)
		}
	}
}
