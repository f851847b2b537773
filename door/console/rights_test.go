package console_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/testwait"
)

func TestRolesAreGivenAndRevoked(t *testing.T) {
	r := newRig(t)
	b := r.as(admin)
	b.has(b.get(200, path("rights")), "You are an admin in context 7.", "actor 10", "actor 30", `href="/console/c/7/rights/new"`, "ramet context show 7")
	b.has(b.post(200, path("rights/new"), "act", "make", "actor", "40", "role", "reader"), "Actor 40 is reader now.", "ramet context revoke 7 40 --role reader")
	b.has(b.post(200, path("rights/new"), "act", "make", "actor", "40", "role", "reader"), "It was so already.")
	b.has(b.post(400, path("rights/new"), "act", "make", "actor", "nina", "role", "reader"), `class="below fault" id="about-actor"`, "want a number")
	b.has(b.post(400, path("rights/new"), "act", "make", "actor", "40", "role", "king"), `class="below fault" id="about-role"`)
	b.has(b.post(200, path("rights/revoke"), "actor", "40"), "no role was named")
	b.has(b.post(200, path("rights/revoke"), "actor", "40", "role", "reader"), "Actor 40 is no reader any more.")
	other := r.as(reader)
	a := other.get(200, path("rights"))
	other.has(a, "You are a reader in context 7.")
	other.hasNot(a, `method="post" action="/console/c/7/`, "Audit log", "rights/actors")
	other.has(other.post(200, path("rights/revoke"), "actor", "30", "role", "admin"), "This was not done: actor")
	other.post(403, path("rights/new"), "act", "make", "actor", "30", "role", "admin")
	other.get(403, path("rights/audit"))
	other.get(403, path("rights/actors"))
	other.has(other.get(200, path("rights/contexts")), `href="/console/c/7/rights"`, "ramet context list")
}

// TestTheOperatorIsNotLedIntoContextsOfOthers: it knows of them all, and sees into those in which it has a role.
func TestTheOperatorIsNotLedIntoContextsOfOthers(t *testing.T) {
	r := newRig(t)
	do(r, domain.Operator, api.ContextCreate, api.CreateContextParams{Tenant: domain.Tenant{ID: 900, Admins: []domain.ActorID{domain.Operator}}})
	b := r.as(domain.Operator)
	a := b.get(200, "c/900/rights/contexts")
	b.has(a, "All contexts.", `href="/console/c/900/rights"`, "actor 10", "admin")
	b.hasNot(a, `href="/console/c/7/`)
	b.hasNot(b.get(200, "c/900/search?q=7"), `href="/console/c/7/"`)
	if a := b.get(200, ""); a.Request.URL.Path != "/console/c/900/" {
		t.Errorf("it begins at %s", a.Request.URL.Path)
	}
}

func TestActorsAreForTheOperator(t *testing.T) {
	r := newRig(t)
	do(r, domain.Operator, api.ContextCreate, api.CreateContextParams{Tenant: domain.Tenant{ID: 1, Admins: []domain.ActorID{domain.Operator}}})
	b := r.as(domain.Operator)
	b.has(b.get(200, "c/1/rights/actors"), "actor 30", r.keys[reader].Pubkey(), "rights/tokens?actor=30", "ramet actor list")
	b.has(b.get(200, "c/1/rights/audit?of=node"), "ramet audit log --of-node")
}

func TestOnesTokensAreListedAndRevoked(t *testing.T) {
	r := newRig(t)
	text := r.token(reader)
	noted := do(r, reader, api.TokenNote, api.NoteTokenParams{Token: text})
	b := r.as(reader)
	b.has(b.get(200, path("rights/tokens")), "good", "all that its actor may", "Revoke 1 token", "ramet token list")
	b.get(403, path("rights/tokens?actor=10"))
	b.has(b.post(200, path("rights/tokens/revoke"), "actor", "30"), "no token was named")
	b.has(b.post(403, path("rights/tokens/revoke"), "actor", "10", "id", noted.ID), "This was not done")
	b.has(b.post(200, path("rights/tokens/revoke"), "actor", "30", "id", noted.ID), "The token is revoked.", "revoked")
}

func TestTheAuditLogSaysWhoDidWhat(t *testing.T) {
	r := newRig(t)
	id := r.flow(nightly)
	r.ended(id)
	r.as(reader).post(200, path("flows/%d/delete", id))
	b := r.as(admin)
	testwait.Until(t, "the audit log has the denial", func() bool { return strings.Contains(b.get(200, path("rights/audit")).text, "1 was denied") })
	b.has(b.get(200, path("rights/audit?outcome=denied&actor=30")), "flow:1", "delete", `href="/console/c/7/flows/1"`,
		"ramet audit log --actor 30 --denied --context 7")
	b.has(b.get(200, path("rights/audit?actor=20")), "Nothing is like that")
}

func TestHostileRights(t *testing.T) {
	b := newRig(t).as(admin)
	for _, text := range acts {
		q := url.QueryEscape(text)
		if !strings.HasPrefix(text, "javascript:") { // as the value of a field it does nothing
			harmless(t, b.post(statusAny, path("rights/new"), "actor", text, "role", text))
			harmless(t, b.post(statusAny, path("schedules/new"), "name", text, "blueprint", text, "cron", text, "zone", text, "act", "make"))
		}
		harmless(t, b.post(statusAny, path("rights/tokens/revoke"), "actor", text, "id", text))
		for _, p := range []string{"rights/audit?outcome=" + q, "rights/tokens?actor=" + q, "rights/contexts?cursor=" + q} {
			harmless(t, b.send(statusAny, "GET", path("%s", p), ""))
		}
	}
}
