package console_test

import (
	"path/filepath"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/secret"
	"github.com/ramet-run/ramet/service"
)

// TestASecretIsSetAndNeverShown: no page has the value, not even that of the form that was
// refused.
func TestASecretIsSetAndNeverShown(t *testing.T) {
	r := newRig(t, func(r *rig, p *service.Parts) {
		p.Secrets = secret.New(r.board, secret.Config{KeyFile: filepath.Join(t.TempDir(), secret.KeyFile)})
	})
	b, form := r.as(admin), path("rights/secrets/new")
	const value = "pass-word-48151623"
	b.has(b.get(200, path("rights/secrets")), "This context has no secret.", `href="/console/c/7/rights/secrets/new"`)
	b.has(b.get(200, form), "It is not shown again", "ramet secret set NAME --from-file FILE --context 7")

	a := b.post(400, form, "name", "no blanks", "proof", value, "act", "make")
	b.has(a, `class="below fault" id="about-name"`, `value="no blanks"`)
	b.hasNot(a, value)
	b.has(a, `class="below fault" id="about-proof"`, "give it again")
	a = b.post(400, form, "name", "warehouse", "proof", "abc", "act", "make") // too short to be hidden in logs
	b.has(a, `class="below fault" id="about-proof"`)
	a = b.post(200, form, "name", "warehouse", "proof", value) // without the button
	b.hasNot(a, value)
	a = b.post(200, form, "name", "warehouse") // as one types: its value is sent once, to be set
	b.has(a, "ramet secret set warehouse --from-file FILE")
	b.hasNot(a, `class="below fault"`, `class="outcome"><p`)
	if list := do(r, admin, api.SecretList, api.ListSecretsParams{Context: 7}); len(list.Secrets) > 0 {
		t.Fatalf("typing set %v", list.Secrets)
	}

	a = b.post(200, form, "name", "warehouse", "proof", value, "act", "make")
	b.has(a, "Secret warehouse is set.", "the board, sealed", "Delete 1 secret", "ramet secret delete warehouse --context 7")
	for _, p := range []string{"rights/secrets", "rights/secrets/new?name=warehouse", "rights/audit", "rights/settings", ""} {
		b.hasNot(b.get(200, path("%s", p)), value)
	}
	b.hasNot(a, value)

	low := r.as(reader)
	low.hasNot(low.get(statusAny, path("rights/secrets")), value, "secrets/new", "secrets/delete")
	low.get(403, form)
	low.post(403, form, "name", "warehouse", "proof", "other-word", "act", "make")
	low.has(low.post(200, path("rights/secrets/delete"), "name", "warehouse"), "This was not done: actor")
	if list := do(r, admin, api.SecretList, api.ListSecretsParams{Context: 7}); len(list.Secrets) != 1 || list.Secrets[0].By != admin {
		t.Fatalf("a reader changed it: %+v", list.Secrets)
	}

	b.has(b.post(200, path("rights/secrets/delete"), "name", "warehouse"), "Secret warehouse was deleted.", "This context has no secret.")
}
