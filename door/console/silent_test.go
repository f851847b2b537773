package console_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/testwait"
	"github.com/ramet-run/ramet/listing"
	"github.com/ramet-run/ramet/service"
	"github.com/ramet-run/ramet/work"
)

// TestPagesComeWhileTheStreamsAreSilent: their server takes what is sent, and never answers. One look
// at it is enough for all pages, which say since when, and all is well as soon as it answers.
func TestPagesComeWhileTheStreamsAreSilent(t *testing.T) {
	var asked atomic.Int32
	answer := make(chan struct{})
	r := newRig(t, func(_ *rig, p *service.Parts) {
		p.Streams = func(context.Context) error {
			asked.Add(1)
			<-answer
			return nil
		}
	})
	do(r, domain.Operator, api.ContextCreate, api.CreateContextParams{Tenant: domain.Tenant{ID: 1, Admins: []domain.ActorID{domain.Operator}}})
	b := r.as(domain.Operator)
	const silent = "server of the event streams gives no answer since 2"
	b.has(b.get(200, "c/1/"), "The "+silent)
	for _, page := range []string{"", "flows", "letters", "operate"} {
		b.get(200, "c/1/"+page)
	}
	b.has(b.get(200, "c/1/operate/nodes"), silent)
	if n := asked.Load(); n != 1 {
		t.Errorf("it was looked at %d times while it was silent, want once", n)
	}
	close(answer)
	testwait.Until(t, "the overview does not speak of it", func() bool { return !strings.Contains(b.get(200, "c/1/").text, silent) })
}

// TestNoPageWaitsForSizes: to tell them the node asks all that keeps something, one after the other.
func TestNoPageWaitsForSizes(t *testing.T) {
	answer := make(chan struct{})
	var waited atomic.Bool
	r := newRig(t, func(_ *rig, p *service.Parts) {
		p.Sizes = func() []api.Size {
			select {
			case <-answer:
			case <-time.After(10 * time.Second): // a page that waits for it is to fail, not to hang
				waited.Store(true)
			}
			return []api.Size{{Of: "board", Bytes: 7}}
		}
	})
	do(r, domain.Operator, api.ContextCreate, api.CreateContextParams{Tenant: domain.Tenant{ID: 1, Admins: []domain.ActorID{domain.Operator}}})
	b := r.as(domain.Operator)
	b.get(200, "c/1/flows")
	if waited.Load() {
		t.Error("a page waited until the sizes were known")
	}
	close(answer)
	testwait.Until(t, "the sizes are told once they are known", func() bool {
		info := do(r, domain.Operator, api.NodeInfo, api.NodeInfoParams{})
		return len(info.Sizes) == 1 && info.Sizes[0].Bytes == 7
	})
}

// silentJobs are those of a board that does not answer.
type silentJobs struct{ service.Jobs }

func (silentJobs) List(ctx context.Context, _ domain.TenantID, _ work.Filter, _ string) ([]*domain.Job, listing.At, error) {
	<-ctx.Done()
	return nil, listing.At{}, ctx.Err()
}

// TestAPageEndsThatWaitsForASilentBoard: it would wait until the board's driver gives up.
func TestAPageEndsThatWaitsForASilentBoard(t *testing.T) {
	answer := make(chan struct{})
	defer close(answer)
	r := newRig(t, func(_ *rig, p *service.Parts) {
		p.Board = func(context.Context) error { <-answer; return nil }
		p.Jobs = silentJobs{p.Jobs}
	})
	b := r.stranger()
	b.post(503, "sign-in", "proof", r.token(admin)) // it leads to the overview
	for range 2 {
		b.has(b.get(503, path("jobs")), "the board gives no answer since 2")
	}
}
