package console_test

import (
	"context"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/console"
	"github.com/ramet-run/ramet/service"
	"github.com/ramet-run/ramet/service/servicetest"
)

// broken notes which faults were caused.
type broken struct{ caused []string }

func (*broken) List() []console.Fault {
	return []console.Fault{{Name: "leases", Title: "Drop all leases", Will: "What runs here belongs to nobody any more."}}
}

func (b *broken) Cause(_ context.Context, name string) (string, error) {
	if name != "leases" {
		return "", domain.NotFoundf("there is no fault %q", domain.PlainText(name, 20))
	}
	b.caused = append(b.caused, name)
	return "All leases were dropped.", nil
}

// operator is a browser in which the operator is signed in, who has no role in a context.
func (r *rig) operator() *browser {
	r.Helper()
	b := r.stranger()
	b.post(403, "sign-in", "proof", r.token(servicetest.Operator))
	return b
}

func TestFaultsAreForTheOperatorOfANodeForDevelopment(t *testing.T) {
	r := newRig(t)
	b := r.operator()
	b.hasNot(b.get(200, "sessions"), `class="fault-tray"`)
	b.post(statusAny, "fault", "fault", "leases") // another node has nothing to send one to

	faults := &broken{}
	r = newRig(t, func(r *rig, _ *service.Parts) { r.faults = faults })
	b = r.operator()
	b.has(b.get(200, "sessions"), `class="fault-tray"`, "Drop all leases", "What runs here belongs to nobody any more.")
	b.has(b.post(200, "fault", "fault", "leases", "next", "/console/sessions"), "All leases were dropped.")
	b.has(b.post(200, "fault", "fault", acts[0], "next", "/console/sessions"), "This was not done: there is no fault")
	b.hasNot(b.post(statusAny, "fault", "fault", "leases", "next", "https://elsewhere.example/"), "elsewhere.example")
	r.stranger().post(401, "fault", "fault", "leases")
	b = r.as(admin)
	b.hasNot(b.get(200, path("flows")), `class="fault-tray"`)
	b.has(b.post(403, "fault", "fault", "leases"), "may not break this node")
	if len(faults.caused) != 2 {
		t.Errorf("got %d faults, want the operator's 2", len(faults.caused))
	}
}
