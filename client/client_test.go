package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity/cookie"
)

// open makes a client of a node that answers with h, one request after the
// other: h may count them.
func open(t *testing.T, h http.HandlerFunc) *client.Client {
	t.Helper()
	var mu sync.Mutex
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		h(w, r)
	}))
	t.Cleanup(s.Close)
	c, err := client.New(client.Config{URL: s.URL + "/", Token: func(context.Context) (string, error) { return "secret", nil }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body)
}

func TestRequests(t *testing.T) {
	ctx, key := context.Background(), domain.JobKey{Caller: 2, ID: 7}
	tests := []struct {
		want string // method, path, query and body
		do   func(c *client.Client) error
	}{
		{"GET /v1/contexts/3/jobs/2/7", func(c *client.Client) error { _, err := c.Job(ctx, 3, key); return err }},
		{"POST /v1/contexts/3/jobs/2/7/cancel", func(c *client.Client) error { _, err := c.Cancel(ctx, 3, key); return err }},
		{"POST /v1/contexts/3/jobs/2/7/retry", func(c *client.Client) error { _, err := c.Retry(ctx, 3, key); return err }},
		{"GET /v1/contexts/3/jobs/2/7/explain", func(c *client.Client) error { _, err := c.Explain(ctx, 3, key); return err }},
		{"GET /v1/contexts/3/jobs/2/7/logs?from=5&limit=9", func(c *client.Client) error { _, err := c.Logs(ctx, 3, key, 5, 9); return err }},
		{"GET /v1/contexts/3/jobs", func(c *client.Client) error { _, err := c.Jobs(ctx, api.ListJobsParams{Context: 3}); return err }},
		{"GET /v1/contexts/3/jobs?caller=4&cursor=a%2Fb&limit=8&status=error&type=v", func(c *client.Client) error {
			those := api.JobFilter{Status: domain.JobError, Type: domain.ScriptV, Caller: 4}
			_, err := c.Jobs(ctx, api.ListJobsParams{Context: 3, JobFilter: those, Limit: 8, Cursor: "a/b"})
			return err
		}},
		{`POST /v1/contexts/3/prerequisites/meet {"name":"a<b"}`, func(c *client.Client) error { return c.MeetPrerequisite(ctx, 3, "a<b") }},
		{"GET /v1/contexts", func(c *client.Client) error { _, err := c.Contexts(ctx); return err }},
		{"GET /v1/contexts/3", func(c *client.Client) error { _, err := c.Context(ctx, 3); return err }},
		{"GET /v1/actors", func(c *client.Client) error { _, err := c.Actors(ctx); return err }},
		{"GET /v1/actors/4", func(c *client.Client) error { _, err := c.Actor(ctx, 4, 0); return err }},
		{"GET /v1/actors/4?context=3", func(c *client.Client) error { _, err := c.Actor(ctx, 4, 3); return err }},
		{"GET /v1/tokens?actor=4", func(c *client.Client) error { _, err := c.Tokens(ctx, 4); return err }},
		{`POST /v1/tokens {"token":"a.b.c"}`, func(c *client.Client) error { _, err := c.NoteToken(ctx, "a.b.c"); return err }},
		{`POST /v1/tokens/revoke {"actor":4,"id":"k"}`, func(c *client.Client) error {
			_, err := c.RevokeToken(ctx, api.RevokeTokenParams{Actor: 4, ID: "k"})
			return err
		}},
		{"GET /v1/runners?context=3", func(c *client.Client) error { _, err := c.Runners(ctx, 3); return err }},
		{"POST /v1/contexts/3/audit", func(c *client.Client) error { _, err := c.Audit(ctx, 3); return err }},
		{"GET /v1/contexts/3/circles", func(c *client.Client) error { _, err := c.Circles(ctx, 3); return err }},
		{`POST /v1/contexts/3/circles/a:b/tasks {"script":"1","task_id":"t"}`, func(c *client.Client) error {
			_, err := c.Circle(3, "a:b").Submit(ctx, api.TaskInput{Script: "1", ID: "t"})
			return err
		}},
		{"GET /v1/contexts/3/tasks/a%2Fb%20c", func(c *client.Client) error { _, err := c.Circle(3, "x").Task(ctx, "a/b c"); return err }},
		{"GET /v1/contexts/3/tasks/t/explain", func(c *client.Client) error { _, err := c.Circle(3, "x").Explain(ctx, "t"); return err }},
		{"DELETE /v1/contexts/3/tasks/t", func(c *client.Client) error { _, err := c.Circle(3, "x").Delete(ctx, "t"); return err }},
		{"GET /info", func(c *client.Client) error { _, err := c.Info(ctx); return err }},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			var got, token string
			c := open(t, func(w http.ResponseWriter, r *http.Request) {
				got, token = r.Method+" "+r.URL.RequestURI(), r.Header.Get("Authorization")
				var body json.RawMessage
				if json.NewDecoder(r.Body).Decode(&body) == nil {
					got += " " + string(body)
				}
				answer(w, http.StatusOK, map[string]any{})
			})
			if err := tt.do(c); err != nil {
				t.Fatal(err)
			}
			if got != tt.want || token != "Bearer secret" {
				t.Errorf("got %s as %q, want %s", got, token, tt.want)
			}
		})
	}
}

func TestSubmitSendsDependsAndReadsEachAnswer(t *testing.T) {
	var got api.JobInputs
	c := open(t, func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		answer(w, http.StatusOK, api.JobSubmitted{Durability: "disk", Jobs: []api.Submitted{{Key: "job:1:1"}, {Error: &api.Problem{Code: "invalid"}}}})
	})
	out, err := c.Submit(context.Background(), 1, []api.JobInput{
		{Job: domain.Job{ID: 1, Script: "true"}}, {Job: domain.Job{ID: 3, Dependends: []domain.JobID{2}}, Depends: []domain.JobID{1}},
	})
	if err != nil || out.Durability != "disk" || out.Jobs[1].Error.Code != "invalid" {
		t.Fatalf("got %+v, %v", out, err)
	}
	if in := got.Jobs[1]; !slices.Equal(in.Dependends, []domain.JobID{2}) || !slices.Equal(in.Depends, []domain.JobID{1}) {
		t.Errorf("the node got dependends %v and depends %v, want 2 and 1", in.Dependends, in.Depends)
	}
	if _, err := c.Submit(context.Background(), 1, make([]api.JobInput, 1)); err == nil {
		t.Error("an answer for two jobs was taken for one")
	}
}

func TestListsFollowTheirPages(t *testing.T) {
	pages := map[string]string{ // by cursor
		"":  `{"contexts":[{"id":1}],"actors":[{"id":1}],"next":"a"}`,
		"a": `{"contexts":[],"actors":[],"next":"b"}`,
		"b": `{"contexts":[{"id":2}],"actors":[{"id":2}]}`,
	}
	c := open(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, pages[r.URL.Query().Get("cursor")])
	})
	contexts, err := c.Contexts(t.Context())
	if err != nil || len(contexts.Contexts) != 2 || contexts.Contexts[1].ID != 2 || contexts.Next != "" {
		t.Errorf("contexts: got %+v, %v", contexts, err)
	}
	actors, err := c.Actors(t.Context())
	if err != nil || len(actors.Actors) != 2 || actors.Actors[1].ID != 2 || actors.Next != "" {
		t.Errorf("actors: got %+v, %v", actors, err)
	}
	stuck := open(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, `{"next":"a"}`) })
	if _, err := stuck.Actors(t.Context()); err == nil {
		t.Error("a node whose pages never end was believed")
	}
}

func TestProblemsBecomeKinds(t *testing.T) {
	tests := []struct {
		code string
		kind error
	}{
		{"not_found", domain.ErrNotFound}, {"conflict", domain.ErrConflict}, {"invalid", domain.ErrInvalid},
		{"forbidden", domain.ErrForbidden}, {"unauthenticated", domain.ErrForbidden},
		{"unavailable", domain.ErrUnavailable}, {"exhausted", domain.ErrExhausted}, {"limit", domain.ErrLimit},
	}
	for _, tt := range tests {
		c := open(t, func(w http.ResponseWriter, r *http.Request) {
			answer(w, 499, api.Problem{Code: tt.code, Detail: "job:1:7: no such thing"})
		})
		_, err := c.Info(context.Background())
		if !errors.Is(err, tt.kind) || err.Error() != "job:1:7: no such thing" {
			t.Errorf("%s: got %v, want kind %v", tt.code, err, tt.kind)
		}
	}
	c := open(t, func(w http.ResponseWriter, r *http.Request) { http.Error(w, "upstream gone", http.StatusBadGateway) })
	_, err := c.Info(context.Background())
	if !errors.Is(err, domain.ErrUnavailable) || !strings.Contains(err.Error(), `502 Bad Gateway, not as a Ramet node does: "upstream gone"`) {
		t.Errorf("got %v", err)
	}
	c = open(t, func(w http.ResponseWriter, r *http.Request) {
		answer(w, 500, api.Problem{Code: "internal", Title: "internal", RequestID: "r1"})
	})
	if _, err := c.Info(context.Background()); err == nil || !strings.Contains(err.Error(), "request r1") {
		t.Errorf("got %v", err)
	}
}

func TestNoNodeIsUnavailable(t *testing.T) {
	dir := t.TempDir()
	if err := cookie.New().Save(dir); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(client.Config{Socket: filepath.Join(dir, "none.sock")})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Info(context.Background())
	if !errors.Is(err, domain.ErrUnavailable) || !strings.HasSuffix(err.Error(), "is the node running?") {
		t.Errorf("got %v", err)
	}
	ended, end := context.WithCancel(context.Background())
	end()
	if _, err := c.Info(ended); !errors.Is(err, context.Canceled) || errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("got %v, want the context's end", err)
	}
}

// TestACookieIsReadAnew holds a client to the cookie file: none is sent without
// one, and that of a node started anew is found, once for each refusal.
func TestACookieIsReadAnew(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var now cookie.Cookie
	var seen []string
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown := r.Header.Get("Authorization")
		seen = append(seen, shown)
		if shown != cookie.Scheme+" "+now.Text() {
			answer(w, 401, api.Problem{Code: "unauthenticated"})
			return
		}
		answer(w, 200, api.Info{Name: "here"})
	})}
	go s.Serve(l)
	defer s.Close()
	c, err := client.New(client.Config{Socket: path})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Info(t.Context()); !errors.Is(err, domain.ErrNotFound) || len(seen) > 0 {
		t.Errorf("no cookie file: got %v, sent %q", err, seen)
	}
	for range 2 { // a start of the node, and another
		now = cookie.New()
		if err := now.Save(dir); err != nil {
			t.Fatal(err)
		}
		if info, err := c.Info(t.Context()); err != nil || info.Name != "here" {
			t.Errorf("got %+v, %v", info, err)
		}
	}
	if len(seen) != 3 {
		t.Errorf("got %d requests, want 3: one of them with a stale cookie", len(seen))
	}
	now, seen = cookie.New(), nil // and it is not in the file
	if _, err := c.Info(t.Context()); !errors.Is(err, domain.ErrForbidden) || len(seen) != 1 {
		t.Errorf("a stale file: got %v after %d requests, want one", err, len(seen))
	}
}

func TestNewRefuses(t *testing.T) {
	for _, cfg := range []client.Config{
		{}, {URL: "http://a", Socket: "b"}, {Socket: "b", HTTP: http.DefaultClient}, {URL: "localhost:1"}, {URL: "ftp://a"}, {URL: "http://"},
		{URL: "http://me:pw@a"}, {URL: "http://a#b"},
	} {
		if _, err := client.New(cfg); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("%+v: got %v", cfg, err)
		}
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	c := open(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) })
	if _, err := c.Info(context.Background()); err == nil || !strings.Contains(err.Error(), "302") {
		t.Errorf("got %v", err)
	}
}

func TestWaitGoesOnAfterABreak(t *testing.T) {
	calls := 0
	c := open(t, func(w http.ResponseWriter, r *http.Request) {
		calls++
		j := domain.Job{ID: 7, CallerID: 1, Status: domain.JobStarted}
		switch {
		case !strings.HasSuffix(r.URL.Path, "/wait"):
		case calls == 2:
			panic(http.ErrAbortHandler)
		case calls > 3:
			j.Status = domain.JobFinished
		}
		answer(w, 200, j)
	})
	j, err := c.Wait(context.Background(), 1, domain.JobKey{Caller: 1, ID: 7})
	if err != nil || j.Status != domain.JobFinished || calls != 4 {
		t.Errorf("got %+v, %v after %d calls", j, err, calls)
	}
}

func TestFollowLogsResumes(t *testing.T) {
	var asked []string
	c := open(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Query().Get("from")+" after "+r.Header.Get("Last-Event-ID"))
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		fmt.Fprint(w, ": hello\n\n")
		switch len(asked) {
		case 1:
			fmt.Fprint(w, "event: log\nid: 3\ndata: {\"line\":\"c\",\"stream\":\"stdout\"}\n\nevent: log\r\nid: 4\r\ndata: {\"line\":\r\ndata: "+
				"\"d\"}\r\n\r\nevent: log\nid: 5\ndata: {\"line\":\"half")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		case 2: // repeats a line, then ends without an end
			fmt.Fprint(w, "event: log\nid: 4\ndata: {\"line\":\"d\"}\n\nevent:log\nid:5\ndata:{\"line\":\"e\"}\n\nevent: new\ndata: x\n\n")
		default:
			fmt.Fprint(w, "event: end\ndata: {\"id\":7,\"status\":\"finished\"}\n\n")
		}
	})
	var got []string
	j, err := c.FollowLogs(context.Background(), 1, domain.JobKey{Caller: 1, ID: 7}, 3, func(l domain.Log) error {
		got = append(got, l.Line)
		return nil
	})
	if err != nil || j.ID != 7 || !j.Final() {
		t.Fatalf("got %+v, %v", j, err)
	}
	if diff := cmp.Diff([]string{"c", "d", "e"}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"3 after ", "5 after 4", "6 after 5"}, asked); diff != "" {
		t.Error(diff)
	}
}

func TestFollowLogsEnds(t *testing.T) {
	stream := "event: log\nid: 0\ndata: {\"line\":\"a\"}\n\n"
	enough := errors.New("enough")
	tests := []struct {
		name   string
		answer func(w http.ResponseWriter)
		want   error
	}{
		{"when its caller has enough", func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, stream)
		}, enough},
		{"when there is no such job", func(w http.ResponseWriter) { answer(w, 404, api.Problem{Code: "not_found", Detail: "no"}) }, domain.ErrNotFound},
		{"when the node was never there", func(w http.ResponseWriter) {
			answer(w, 503, api.Problem{Code: "unavailable", Detail: "draining"})
		}, domain.ErrUnavailable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := open(t, func(w http.ResponseWriter, _ *http.Request) { tt.answer(w) })
			_, err := c.FollowLogs(context.Background(), 1, domain.JobKey{Caller: 1, ID: 7}, 0, func(domain.Log) error { return enough })
			if !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
	for _, bad := range []string{"event: log\nid: x\ndata: {}\n\n", "event: log\nid: 1\ndata: {\n\n", "event: end\ndata: 7\n\n"} {
		c := open(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, bad)
		})
		if _, err := c.FollowLogs(context.Background(), 1, domain.JobKey{Caller: 1, ID: 7}, 0, func(domain.Log) error {
			return nil
		}); err == nil || errors.Is(err, domain.ErrUnavailable) {
			t.Errorf("%q: got %v", bad, err)
		}
	}
}

// TestNothingIsCompressedWithinAMachine: net/http would ask for it by itself.
func TestNothingIsCompressedWithinAMachine(t *testing.T) {
	var asked []string
	c := open(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r.Header.Values("Accept-Encoding")
		answer(w, http.StatusOK, api.ContextPage{})
	})
	if _, err := c.Contexts(t.Context()); err != nil || len(asked) > 0 {
		t.Errorf("got Accept-Encoding %q, %v", asked, err)
	}
}
