package http_test

import (
	"context"
	"fmt"
	"io"
	nethttp "net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/http"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/service"
)

// creating are requests that create, each with another body for the same place.
var creating = []struct{ path, body, other, list string }{
	{"jobs", `{"script":"gate","script_type":"lines"}`, `{"script":"hang","script_type":"lines"}`, "jobs"},
	{"jobs", `{"jobs":[{"script":"gate","script_type":"lines"},{"script":"gate","script_type":"lines"}]}`, `{"jobs":[]}`, "jobs"},
	{"flows", `{"jobs":[{"id":1,"script":"gate","script_type":"lines"}]}`, `{"jobs":[]}`, "flows"},
	{"flows", `{"flows":[{"jobs":[{"id":1,"script":"gate","script_type":"lines"}]},{"jobs":[{"id":1,"script":"gate","script_type":"lines"}]}]}`,
		`{"flows":[]}`, "flows"},
	{"circles/c/tasks", `{"script":"1"}`, `{"script":"2"}`, "circles"},
	{"events", `{"event_type":"E","aggregate_type":"a","aggregate_id":"1"}`, `{"event_type":"F","aggregate_type":"a","aggregate_id":"1"}`, ""},
}

// noAnswers is a board that keeps no answers of requests: as if the node had died
// before.
type noAnswers struct{ service.Keys }

func (n noAnswers) Commit(ctx context.Context, b board.Batch) error {
	for _, op := range b.Ops {
		for _, f := range op.Fields {
			if f.Name == "answer" {
				return domain.Unavailablef("away")
			}
		}
	}
	return n.Keys.Commit(ctx, b)
}

func TestARequestWithAKeyCreatesOnce(t *testing.T) {
	for _, forgets := range []bool{false, true} {
		for i, c := range creating {
			t.Run(fmt.Sprint(c.path, i, " answers lost: ", forgets), func(t *testing.T) {
				r := newRigOf(t, func(p *service.Parts) {
					if forgets {
						p.Keys = noAnswers{p.Keys}
					}
				})
				path := "/v1/contexts/7/" + c.path
				first := r.request(admin, "POST", path, c.body, http.KeyHeader, "k1")
				if first.StatusCode != nethttp.StatusOK || first.Header.Get(http.ReplayedHeader) != "" {
					t.Fatalf("got %s, replayed %q", first.Status, first.Header.Get(http.ReplayedHeader))
				}
				before := ""
				if c.list != "" {
					before = r.want(200, admin, "GET", "/v1/contexts/7/"+c.list, "")
				}
				again := r.request(admin, "POST", path, c.body, http.KeyHeader, "k1")
				if again.StatusCode != nethttp.StatusOK || (again.Header.Get(http.ReplayedHeader) == "true") == forgets {
					t.Errorf("again: got %s, replayed %q", again.Status, again.Header.Get(http.ReplayedHeader))
				}
				if c.list != "" {
					if after := r.want(200, admin, "GET", "/v1/contexts/7/"+c.list, ""); count(after) != count(before) {
						t.Errorf("created again: before\n%s\nafter\n%s", before, after)
					}
				}
				if problem := r.want(409, admin, "POST", path, c.other, http.KeyHeader, "k1"); !strings.Contains(problem, "another request") {
					t.Errorf("got %s", problem)
				}
			})
		}
	}
}

// TestWhatMakesUnderAnotherRightKnowsItsKey: a flow of a schedule whose overlap allows one, and a bulk
// operation.
func TestWhatMakesUnderAnotherRightKnowsItsKey(t *testing.T) {
	for _, forgets := range []bool{false, true} {
		r := newRigOf(t, func(p *service.Parts) {
			if forgets {
				p.Keys = noAnswers{p.Keys}
			}
		})
		r.want(200, admin, "POST", "/v1/contexts/7/blueprints", plan)
		r.want(200, admin, "POST", "/v1/contexts/7/schedules", `{"name":"s","blueprint":"p","cron":"0 3 * * *","overlap":"skip"}`)
		for _, c := range []struct {
			who        domain.ActorID
			path, body string
			list, of   string // what is made, and what is counted in it
		}{
			{admin, "/v1/contexts/7/schedules/s/trigger", `{}`, "/v1/contexts/7/flows", `"context_id"`},
			{admin, "/v1/contexts/7/jobs/all/retry?status=error", `{}`, "/v1/contexts/7/bulk", `"operation"`},
		} {
			before := strings.Count(r.want(200, c.who, "GET", c.list, ""), c.of)
			for range 3 {
				r.want(200, c.who, "POST", c.path, c.body, http.KeyHeader, c.list)
			}
			if made := strings.Count(r.want(200, c.who, "GET", c.list, ""), c.of) - before; made != 1 {
				t.Errorf("%s made %d, answers lost: %v", c.path, made, forgets)
			}
		}
		// Each key is a request of its own, also within a second.
		r.want(200, admin, "POST", "/v1/contexts/7/schedules", `{"name":"many","blueprint":"p","cron":"0 3 * * *","overlap":"allow"}`)
		made := map[string]bool{}
		for _, key := range []string{"a", "b", "c", "a"} {
			made[r.want(200, admin, "POST", "/v1/contexts/7/schedules/many/trigger", `{}`, http.KeyHeader, key)[:len(`{"flow":"flow:2"`)]] = true
		}
		if len(made) != 3 {
			t.Errorf("three keys made %v", made)
		}
	}
}

// TestWhatHasASecretKnowsItsKey: the answer tells it again, and so do the answers of what is made for a node.
func TestWhatHasASecretKnowsItsKey(t *testing.T) {
	r := newRig(t)
	r.want(200, admin, "POST", "/v1/contexts/7/blueprints", plan)
	key, err := identity.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		who              domain.ActorID
		path, body, told string
	}{
		{admin, "/v1/contexts/7/webhooks", `{"name":"w","scheme":"github","blueprint":"p"}`, `"secret":"`},
		{admin, "/v1/contexts/7/webhooks/w/rotate", `{}`, `"secret":"`},
		{domain.Operator, "/v1/actors", `{"pubkey":"` + key.Pubkey() + `"}`, `"id":`},
		{domain.Operator, "/v1/contexts", `{"admins":[10]}`, `"id":`},
	} {
		var answers [2]string
		for i := range answers {
			resp := r.request(c.who, "POST", c.path, c.body, http.KeyHeader, "k"+c.path)
			text, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != nethttp.StatusOK || (resp.Header.Get(http.ReplayedHeader) == "true") != (i == 1) {
				t.Fatalf("%s: got %s, replayed %q, %v: %s", c.path, resp.Status, resp.Header.Get(http.ReplayedHeader), err, text)
			}
			answers[i] = string(text)
		}
		if answers[0] != answers[1] || !strings.Contains(answers[0], c.told) {
			t.Errorf("%s: got\n%s\nand then\n%s", c.path, answers[0], answers[1])
		}
		r.want(409, c.who, "POST", c.path, strings.Replace(c.body, "{", `{ `, 1), http.KeyHeader, "k"+c.path)
	}
}

// count is how many things a list has: each is said to be of a context, or waits.
func count(list string) string {
	return fmt.Sprint(strings.Count(list, `"context_id"`), strings.Count(list, `"waiting":2`))
}

func TestAKeyIsItsCallersAndHoldsForOneRequest(t *testing.T) {
	r := newRig(t)
	const path, body = "/v1/contexts/7/jobs", `{"script":"gate","script_type":"lines"}`
	for _, key := range []string{"", strings.Repeat("k", 256)} {
		r.want(400, admin, "POST", path, body, http.KeyHeader, key)
	}
	r.want(403, stranger, "POST", path, body, http.KeyHeader, "k")
	one := r.want(200, admin, "POST", path, body, http.KeyHeader, "k")
	if two := r.want(200, admin, "POST", path, body, http.KeyHeader, "l"); one == two {
		t.Errorf("two keys have one answer: %s", one)
	}
	// What was refused is judged anew.
	r.want(400, admin, "POST", path, `{"script_type":"nothing of that kind!"}`, http.KeyHeader, "m")
	r.want(400, admin, "POST", path, `{"script_type":"nothing of that kind!"}`, http.KeyHeader, "m")
}

func TestManyAtOnceWithOneKeyCreateOneJob(t *testing.T) {
	r := newRig(t)
	const path, body = "/v1/contexts/7/jobs", `{"script":"gate","script_type":"lines"}`
	var all sync.WaitGroup
	var bad atomic.Int32
	for range 20 {
		all.Go(func() {
			if resp := r.request(admin, "POST", path, body, http.KeyHeader, "k"); resp.StatusCode != nethttp.StatusOK {
				bad.Add(1)
			}
		})
	}
	all.Wait()
	if list := r.want(200, admin, "GET", path, ""); bad.Load() != 0 || strings.Count(list, `"context_id"`) != 1 {
		t.Errorf("%d were refused; made were %s", bad.Load(), list)
	}
}
