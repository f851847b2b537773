package console_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/console"
	"github.com/ramet-run/ramet/internal/testwait"
	"github.com/ramet-run/ramet/service"
	"github.com/ramet-run/ramet/service/servicetest"
)

// broken notes which faults were caused.
type broken struct{ caused []string } // with what each is of

func (*broken) List() []console.Fault {
	return []console.Fault{{Name: "leases", Title: "Drop all leases", Will: "What runs here belongs to nobody any more."},
		{Name: "script", Title: "Kill this script", Will: "It gets SIGKILL.", Of: console.FaultOfJob},
		{Name: "call", Title: "Fail its next call", Will: "It is not made.", Of: console.FaultOfEffect}}
}

func (b *broken) Cause(_ context.Context, name string, of console.Target) (string, error) {
	switch name {
	case "leases", "script", "call":
		b.caused = append(b.caused, strings.TrimSpace(fmt.Sprint(name, " ", of.Kind, " ", of.Name)))
		return "It was done.", nil
	}
	return "", domain.NotFoundf("there is no fault %q", domain.PlainText(name, 20))
}

// operator is a browser in which the operator is signed in, who has no role in a context.
func (r *rig) operator() *browser {
	r.Helper()
	b := r.stranger()
	b.has(b.post(200, "sign-in", "proof", r.token(servicetest.Operator)), "There is nothing that you may look at yet")
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
	b.has(b.post(200, "fault", "fault", "leases", "next", "/console/sessions"), "It was done.")
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

// TestFaultsOfOneThingAreOnItsPage: of a job that runs and of an effect, for the operator alone.
func TestFaultsOfOneThingAreOnItsPage(t *testing.T) {
	faults := &broken{}
	r := newRig(t, func(r *rig, _ *service.Parts) { r.faults = faults })
	do(r, admin, api.ContextGrant, api.GrantParams{Context: 7, Actor: servicetest.Operator, Role: domain.Admin})
	p := r.job("gate")
	b := r.stranger()
	b.post(200, "sign-in", "proof", r.token(servicetest.Operator))
	at := path("jobs/%d/%d", p.Caller, p.ID)
	testwait.Until(t, "it runs", func() bool { return strings.Contains(b.get(200, at).text, "Kill this script") })
	b.has(b.get(200, at), `name="of" value="`+p.Key().String()+`"`, `name="in" value="7"`)
	b.hasNot(b.get(200, at), "Fail its next call")
	b.hasNot(b.get(200, path("jobs")), "Kill this script", "Fail its next call")
	b.has(b.get(200, path("effect?name=go")), "Fail its next call", `name="of" value="go"`)
	b.has(b.post(200, "fault", "fault", "script", "of", p.Key().String(), "in", "7", "next", "/console/"+at), "It was done.")
	b.post(200, "fault", "fault", "call", "of", "go", "in", "7", "next", "/console/"+at)
	r.as(admin).hasNot(r.as(admin).get(200, at), "Kill this script")
	close(r.gate)
	r.jobEnded(p)
	b.hasNot(b.get(200, at), "Kill this script")
	if want := []string{"script job " + p.Key().String(), "call effect go"}; !slices.Equal(faults.caused, want) {
		t.Errorf("got %q, want %q", faults.caused, want)
	}
}
