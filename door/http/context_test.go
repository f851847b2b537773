package http_test

import (
	"strings"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/service/servicetest"
)

func TestAContextByItsAlias(t *testing.T) {
	r := newRig(t)
	made, _, err := r.registry.CreateTenant(t.Context(), domain.Tenant{ID: 8, Alias: "acme", Admins: []domain.ActorID{servicetest.Admin}})
	if err != nil {
		t.Fatal(err)
	}
	r.want(200, admin, "POST", "/v1/contexts/acme/jobs", `{"id":1,"script":"say hello","script_type":"lines"}`)
	if got := r.want(200, admin, "GET", "/v1/contexts/8/jobs/10/1", ""); !strings.Contains(got, `"context_id":8`) {
		t.Errorf("context %d: got %s", made.ID, got)
	}
	// A stranger does not learn which aliases there are.
	there := r.want(403, stranger, "GET", "/v1/contexts/acme", "")
	nowhere := r.want(403, stranger, "GET", "/v1/contexts/nobody", "")
	if cutRequest(there) != strings.ReplaceAll(cutRequest(nowhere), "nobody", "acme") {
		t.Errorf("got %s and %s", there, nowhere)
	}
}

// cutRequest drops what differs from request to request.
func cutRequest(problem string) string {
	before, _, _ := strings.Cut(problem, `"request_id"`)
	return before
}

func TestTheTenantHeader(t *testing.T) {
	r := newRig(t)
	if _, _, err := r.registry.CreateTenant(t.Context(), domain.Tenant{ID: 8, Alias: "acme", Admins: []domain.ActorID{servicetest.Admin}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, path, header string
		status             int
		want               string
	}{
		{"it says what the path says", "/v1/contexts/acme", "8", 200, `"alias":"acme"`},
		{"it says something else than the path", "/v1/contexts/7", "acme", 400, "leave one out"},
		{"it says something else than the query", "/v1/runners?context=7", "8", 400, "leave one out"},
		{"it stands for the query", "/v1/runners", "acme", 200, `"runners"`},
		{"it names a context without a right", "/v1/runners", "71", 403, "context 71"},
		{"it is no name", "/v1/runners", "a b", 400, "X-Tenant-Id"},
		{"nothing is asked of a context", "/v1/info", "nobody", 200, `"name":"n1"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := r.want(c.status, admin, "GET", c.path, "", "x-tenant-id", c.header)
			if !strings.Contains(got, c.want) {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
