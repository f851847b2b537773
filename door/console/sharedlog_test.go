package console_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/testwait"
	"github.com/ramet-run/ramet/service"
)

// countedJobs counts who reads logs as they come.
type countedJobs struct {
	service.Jobs
	begun, now *atomic.Int32
}

func (j countedJobs) FollowLogs(ctx context.Context, tenant domain.TenantID, key domain.JobKey, from int, each func(domain.Log) error) error {
	j.begun.Add(1)
	j.now.Add(1)
	defer j.now.Add(-1)
	return j.Jobs.FollowLogs(ctx, tenant, key, from, each)
}

// lineNumber is the number of a line that came, 0 at the end.
func lineNumber(t *testing.T, e [2]string) (n int) {
	t.Helper()
	var data struct{ HTML string }
	if e[0] == "end" {
		return 0
	}
	if err := json.Unmarshal([]byte(e[1]), &data); err != nil || e[0] != "line" {
		t.Fatalf("got %v, %v", e, err)
	}
	if _, err := fmt.Sscanf(data.HTML[strings.Index(data.HTML, `id="L`):], `id="L%d"`, &n); err != nil {
		t.Fatalf("got %s: %v", data.HTML, err)
	}
	return n
}

// TestALogIsReadOnceForAllWhoFollowIt holds that it is read by one of those who look with the
// same rights, and that another one goes on where that one leaves, without a gap.
func TestALogIsReadOnceForAllWhoFollowIt(t *testing.T) {
	var begun, now atomic.Int32
	r := newRig(t, func(_ *rig, p *service.Parts) { p.Jobs = countedJobs{p.Jobs, &begun, &now} })
	p := r.job("say one\nsay two\ngate\nsay three\nsay four")
	path := path("jobs/10/%d/log?from=", p.ID)
	var all []<-chan [2]string
	var ends []func()
	for i := range 10 {
		events, end := r.follow(reader, path+fmt.Sprint(i%3)) // pages were made at different lines
		defer end()
		all, ends = append(all, events), append(ends, end)
		for want := i%3 + 1; want <= 2; want++ {
			if got := lineNumber(t, <-events); got != want {
				t.Fatalf("viewer %d got line %d, want %d", i, got, want)
			}
		}
	}
	if n := begun.Load(); n != 1 {
		t.Errorf("the log is read %d times for 10 viewers with the same rights", n)
	}
	own, end := r.follow(admin, path+"0") // sees more of a job, and reads by itself
	defer end()
	if got := lineNumber(t, <-own); got != 1 || begun.Load() != 2 {
		t.Errorf("got line %d, the log is read %d times", got, begun.Load())
	}
	ends[0]() // who reads leaves
	testwait.Until(t, "another one reads on", func() bool { return begun.Load() == 3 && now.Load() == 2 })
	close(r.gate)
	for i, events := range append(all[1:], own) {
		want := []int{3, 4, 0}
		if i == 9 {
			want = []int{2, 3, 4, 0}
		}
		for _, n := range want {
			if got := lineNumber(t, <-events); got != n {
				t.Fatalf("viewer %d got line %d, want %d", i+1, got, n)
			}
		}
	}
	testwait.Until(t, "nobody reads when all is said", func() bool { return now.Load() == 0 })
}

// TestALogEndsForWhoMayReadNoMore holds that who reads together with others is looked at
// before lines are sent.
func TestALogEndsForWhoMayReadNoMore(t *testing.T) {
	r := newRig(t)
	do(r, admin, api.ContextGrant, api.GrantParams{Context: 7, Actor: stranger, Role: domain.Reader})
	p := r.job("say one\ngate\nsay two")
	path := path("jobs/10/%d/log?from=0", p.ID)
	stays, end := r.follow(reader, path)
	defer end()
	goes, end := r.follow(stranger, path)
	defer end()
	lineNumber(t, <-stays)
	lineNumber(t, <-goes)
	do(r, admin, api.ContextRevoke, api.GrantParams{Context: 7, Actor: stranger, Role: domain.Reader})
	close(r.gate)
	if got := lineNumber(t, <-stays); got != 2 {
		t.Errorf("got line %d", got)
	}
	for e := range goes {
		if e[0] == "line" || e[0] == "end" {
			t.Errorf("who may read no more got %v", e)
		}
	}
}
