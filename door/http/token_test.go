package http_test

import (
	"encoding/json"
	"io"
	nethttp "net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

// bearer is the header of a narrowed token.
func (r *rig) bearer(as domain.ActorID, s domain.Scope) []string {
	r.Helper()
	token, err := identity.MintFor(r.keys[as], "n1", time.Now(), time.Hour, identity.Claims{Scope: s})
	if err != nil {
		r.Fatal(err)
	}
	return []string{"Authorization", "Bearer " + token}
}

// TestWhatIsOpenEnds has a stream and a call wait for a job, and takes away at
// another node by what they are open. That it is within a second holds
// identity.TestWhatIsOpenEndsWithinASecond.
func TestWhatIsOpenEnds(t *testing.T) {
	for name, c := range map[string]struct {
		do     func(r *rig, there *identity.Registry) error
		status int
		code   string
	}{
		"all tokens are revoked": {func(r *rig, there *identity.Registry) error { return there.RevokeTokens(r.Context(), reader) }, 401, "unauthenticated"},
		"the actor has another key": {func(r *rig, there *identity.Registry) error {
			key, err := identity.NewKey()
			if err != nil {
				return err
			}
			_, err = there.UpdateActor(r.Context(), reader, domain.ActorChange{Pubkey: key.Pubkey()})
			return err
		}, 401, "unauthenticated"},
		"the role is taken away": {func(r *rig, there *identity.Registry) error {
			_, _, err := there.Revoke(r.Context(), 7, reader, "")
			return err
		}, 403, "forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.submit(1, "hang")
			events := r.stream(reader, "/v1/contexts/7/jobs/10/1/wait")
			r.next(events) // it stands
			waited := make(chan *nethttp.Response, 1)
			begun := make(chan struct{})
			go func() {
				close(begun)
				waited <- r.request(reader, "GET", "/v1/contexts/7/jobs/10/1/wait?timeout_ms=60000", "")
			}()
			<-begun
			if err := c.do(r, identity.NewRegistry(r.board)); err != nil {
				t.Fatal(err)
			}
			all := r.until(events, "error ")
			if last := all[len(all)-1]; !strings.Contains(last, `"code":"`+c.code+`"`) {
				t.Errorf("the stream: got %s", last)
			}
			resp := <-waited
			if text, _ := io.ReadAll(resp.Body); resp.StatusCode != c.status || !strings.Contains(string(text), c.code) {
				t.Errorf("the call: got %d %s", resp.StatusCode, text)
			}
		})
	}
}

// TestANarrowedTokenAtTheDoor holds paths to the scope of the token.
func TestANarrowedTokenAtTheDoor(t *testing.T) {
	r := newRig(t)
	r.submit(1, "a=1")
	jobs := r.bearer(admin, domain.Scope{Contexts: []domain.TenantID{7}, ReadOnly: true, Groups: []string{"job"}})
	r.want(200, 0, "GET", "/v1/contexts/7/jobs", "", jobs...)
	r.want(403, 0, "GET", "/v1/contexts/70/jobs", "", jobs...)
	r.want(403, 0, "GET", "/v1/contexts/7/flows", "", jobs...)
	r.want(403, 0, "POST", "/v1/contexts/7/jobs", `{"script":"x","script_type":"lines"}`, jobs...)
	r.want(403, 0, "POST", "/v1/contexts/7/jobs/10/1/cancel", "", jobs...)
	r.want(403, 0, "GET", "/v1/tokens", "", jobs...)
	r.want(403, 0, "POST", "/v1/tokens/revoke", `{"all":true}`, jobs...)
	// Nobody learns by it what there is: it is refused before anything is looked up.
	there, missing := r.want(403, 0, "GET", "/v1/contexts/70/jobs", "", jobs...), r.want(403, 0, "GET", "/v1/contexts/99/jobs", "", jobs...)
	if a, b := detail(t, there), detail(t, missing); a != b || !strings.Contains(a, "narrowed") {
		t.Errorf("got %q and %q", a, b)
	}
	// A list shows what the token is for, whatever its actor may.
	list := r.want(200, 0, "GET", "/v1/contexts", "", r.bearer(admin, domain.Scope{Contexts: []domain.TenantID{7}})...)
	if !strings.Contains(list, `"id":7,`) || strings.Contains(list, `"id":70`) {
		t.Errorf("got %s", list)
	}
	list = r.want(200, 0, "GET", "/v1/contexts", "", r.bearer(domain.Operator, domain.Scope{Contexts: []domain.TenantID{1}})...)
	if strings.Contains(list, `"id":7,`) {
		t.Errorf("the operator's: got %s", list)
	}
	// The operator's, narrowed, is no operator.
	for _, s := range []domain.Scope{{ReadOnly: true}, {Groups: []string{"actor", "ban", "node", "context"}}, {Contexts: []domain.TenantID{1}}} {
		op := r.bearer(domain.Operator, s)
		r.want(403, 0, "POST", "/v1/actors", `{"pubkey":"`+strings.Repeat("ab", 32)+`"}`, op...)
		r.want(403, 0, "POST", "/v1/bans", `{"kind":"all","level":"pick","reason":"x"}`, op...)
		r.want(403, 0, "POST", "/admin/drain", "", op...)
		r.want(403, 0, "POST", "/v1/contexts/1/grant", `{"actor":40,"role":"admin"}`, op...)
	}
}

func detail(t *testing.T, problem string) string {
	t.Helper()
	var p struct{ Detail string }
	if err := json.Unmarshal([]byte(problem), &p); err != nil {
		t.Fatal(err)
	}
	return p.Detail
}

// TestAPeersNodeSeesNothingOfTheNode: it has a key here, and no role.
func TestAPeersNodeSeesNothingOfTheNode(t *testing.T) {
	r := newRig(t)
	for _, path := range []string{"/metrics", "/v1/nodes", "/v1/nodes/n1", "/v1/runners", "/v1/runners/1", "/v1/runners?context=7", "/v1/duty",
		"/v1/actors", "/v1/actors/1",
		"/v1/actors/10?context=7", "/v1/peers?context=7", "/v1/card?context=7", "/v1/bans", "/v1/audit", "/v1/contexts/7", "/v1/tokens?actor=10"} {
		for _, who := range []domain.ActorID{60, stranger} {
			resp := r.request(who, "GET", path, "")
			if !slices.Contains([]int{403, 404}, resp.StatusCode) || path != "/metrics" && resp.StatusCode != 403 {
				t.Errorf("%s as actor %d: got %d", path, who, resp.StatusCode)
			}
		}
	}
	if got := r.want(200, 60, "GET", "/v1/contexts", ""); !strings.Contains(got, `"contexts":[]`) {
		t.Errorf("got %s", got)
	}
}
