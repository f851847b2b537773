package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/cli"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/identity/cookie"
)

// fakeNode speaks the wire's shapes. A job's script is its behaviour: each
// line "out X" or "err X" is logged, "key=value" is a result, "fail" ends it in
// error and "hang" keeps it running until it is cancelled.
type fakeNode struct {
	mu      sync.Mutex
	jobs    map[domain.JobKey]*domain.Job
	next    domain.JobID
	begun   chan struct{} // gets a value when a log is followed
	changed *sync.Cond
	seen    []string // requests
	tokens  []string
	options []cli.EmbeddedOptions
	stopped int
	away    string        // why events are not taken
	ahead   time.Duration // of the board's clock
}

// What each job of a fake node has left: a file of zeros.
const (
	leftBytes = 16 << 10
	leftSum   = "4fe7b59af6de3b665b67788cc2f99892ab827efae3a467342b3bb4e3bc8e5bfe"
)

func newFakeNode() *fakeNode {
	f := &fakeNode{jobs: map[domain.JobKey]*domain.Job{}, begun: make(chan struct{}, 100)}
	f.changed = sync.NewCond(&f.mu)
	return f
}

func (f *fakeNode) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.seen = append(f.seen, r.Method+" "+r.URL.RequestURI())
	if t := r.Header.Get("Authorization"); strings.HasPrefix(t, "Bearer") {
		f.tokens = append(f.tokens, t)
	}
	f.mu.Unlock()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /info", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, api.Info{Name: "fake", Version: "v0", RunnerID: 3, Board: "memory", Durability: "process", Ready: f.away == "", StreamError: f.away,
			BoardMs: time.Now().Add(f.ahead).UnixMilli()})
	})
	mux.HandleFunc("POST /v1/contexts/{context}/jobs", f.submit)
	mux.HandleFunc("GET /v1/contexts/{context}/jobs", f.list)
	mux.HandleFunc("GET /v1/contexts/{context}/jobs/{caller}/{id}/logs", f.logs)
	const left = "GET /v1/contexts/{context}/jobs/{caller}/{id}/artifact"
	mux.HandleFunc(left+"s", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, api.ArtifactPage{Artifacts: []api.LeftArtifact{{Artifact: domain.Artifact{Path: "zeros", Size: leftBytes, SHA256: leftSum}, Job: "job:1:1"}}})
	})
	mux.HandleFunc(left, func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, leftBytes)) })
	mux.HandleFunc("/v1/contexts/{context}/jobs/{caller}/{id}", f.job)
	mux.HandleFunc("/v1/contexts/{context}/jobs/{caller}/{id}/{verb}", f.job)
	mux.HandleFunc("POST /v1/contexts/{context}/prerequisites/meet", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, api.Prerequisite{Name: "approved"})
	})
	audit := func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, api.AuditReport{Context: 1, Mends: true, Audit: domain.Audit{Looked: 2, Stuck: []domain.Finding{{Key: "job:1:9", Text: "odd"}}}})
	}
	mux.HandleFunc("POST /v1/contexts/{context}/audit", audit)
	mux.HandleFunc("GET /v1/contexts/{context}/audit/look", audit)
	due := time.Now().Add(f.ahead - time.Minute).UnixMilli() // a minute ago, by the board's clock
	mux.HandleFunc("GET /v1/contexts/{context}/schedules", func(w http.ResponseWriter, _ *http.Request) {
		late := api.Schedule{Schedule: domain.Schedule{Name: "late", State: domain.ScheduleState{NextMs: due}}}
		next := api.Schedule{Schedule: domain.Schedule{Name: "next", State: domain.ScheduleState{NextMs: due + 2*time.Minute.Milliseconds()}}}
		answer(w, 200, api.SchedulePage{Schedules: []api.Schedule{late, next}})
	})
	mux.HandleFunc("GET /v1/contexts/{context}/routines", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, api.RoutinePage{Routines: []*domain.Routine{{Name: "sweep", Instances: []domain.RoutineInstance{{Name: "late", Round: 1, NextMs: due - 1000},
			{Name: "next", Round: 1, NextMs: due + 2*time.Minute.Milliseconds()}}}}})
	})
	mux.HandleFunc("GET /v1/contexts", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, api.ContextPage{Contexts: []domain.Tenant{{ID: 1}}})
	})
	mux.HandleFunc("GET /v1/contexts/{context}", func(w http.ResponseWriter, _ *http.Request) { answer(w, 200, domain.Tenant{ID: 1}) })
	mux.HandleFunc("GET /v1/actors", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, api.ActorPage{Actors: []domain.Actor{{ID: 1}}})
	})
	mux.HandleFunc("GET /v1/actors/{actor}", func(w http.ResponseWriter, _ *http.Request) { answer(w, 200, domain.Actor{ID: 1}) })
	mux.HandleFunc("POST /v1/contexts", func(w http.ResponseWriter, r *http.Request) {
		var t domain.Tenant
		json.NewDecoder(r.Body).Decode(&t)
		if t.ID == 0 {
			t.ID = 2
		}
		answer(w, 200, t)
	})
	mux.HandleFunc("POST /v1/actors", func(w http.ResponseWriter, r *http.Request) {
		var a domain.Actor
		json.NewDecoder(r.Body).Decode(&a)
		a.ID = 12
		answer(w, 200, a)
	})
	mux.HandleFunc("GET /v1/runners", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, api.RunnerPage{Runners: []domain.Runner{{ID: 3, Node: "fake", SeenMs: time.Date(2001, 2, 3, 12, 0, 0, 0, time.UTC).UnixMilli(),
			Serves: []domain.Service{
				{ScriptType: "shell", Served: true, SlotUse: domain.SlotUse{Slots: 4}, Isolation: []string{"own process group"},
					NotInForce: []string{"cgroup: not delegated"}},
				{ScriptType: "v", Why: "v is not installed"},
			}}}})
	})
	mux.ServeHTTP(w, r)
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body)
}

func (f *fakeNode) submit(w http.ResponseWriter, r *http.Request) {
	var in api.JobInputs
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		answer(w, 400, api.Problem{Code: "invalid", Detail: err.Error()})
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	out := api.JobSubmitted{Durability: "disk"}
	for _, i := range in.Jobs {
		j := i.Job
		if j.CallerID == 0 {
			j.CallerID = 1
		}
		if j.ID == 0 {
			for f.next++; f.jobs[domain.JobKey{Caller: j.CallerID, ID: f.next}] != nil; f.next++ {
			}
			j.ID = f.next
		}
		if j.ScriptType == "cobol" {
			out.Jobs = append(out.Jobs, api.Submitted{Error: &api.Problem{Code: "invalid", Detail: "nobody serves cobol"}})
			continue
		}
		_, existing := f.jobs[j.Key()]
		if !existing {
			f.jobs[j.Key()] = f.play(j)
		}
		out.Jobs = append(out.Jobs, api.Submitted{Key: j.Key().String(), Existing: existing})
	}
	answer(w, 200, out)
}

// play gives a job the state that its script says.
func (f *fakeNode) play(j domain.Job) *domain.Job {
	j.Status, j.StartedMs, j.FinishedMs, j.Attempt = domain.JobFinished, 1_000, 2_500, 1
	j.Result = map[string]string{"exit_code": "0", "stdout": "hidden"}
	for line := range strings.Lines(j.Script) {
		line = strings.TrimSpace(line)
		if name, value, ok := strings.Cut(line, "="); ok {
			j.Result[name] = value
		}
		switch line {
		case "fail":
			j.Status, j.Reason, j.Error = domain.JobError, domain.ReasonScriptFailed, "exit code 3"
		case "hang":
			j.Status = domain.JobStarted
		}
	}
	return &j
}

// find is the job of a request; it answers itself where there is none.
func (f *fakeNode) find(w http.ResponseWriter, r *http.Request) *domain.Job {
	key, _ := domain.ParseJobKey(r.PathValue("caller") + ":" + r.PathValue("id"))
	j := f.jobs[key]
	if j == nil {
		answer(w, 404, api.Problem{Code: "not_found", Detail: key.String() + ": not found"})
	}
	return j
}

func (f *fakeNode) job(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	j := f.find(w, r)
	if j == nil {
		return
	}
	switch r.PathValue("verb") {
	case "explain":
		answer(w, 200, domain.JobExplanation{Key: j.Key().String(), Status: j.Status, Standing: domain.StandingQueued, Text: "3 are before it", Ahead: 3})
		return
	case "cancel":
		if j.Final() {
			answer(w, 409, api.Problem{Code: "conflict", Detail: "it has ended"})
			return
		}
		j.Status, j.Reason = domain.JobError, domain.ReasonCancelled
		f.changed.Broadcast()
	case "wait":
		for !j.Final() {
			f.changed.Wait()
		}
	}
	answer(w, 200, j)
}

func (f *fakeNode) list(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := api.JobPage{Jobs: []*domain.Job{}}
	if r.URL.Query().Get("cursor") == "" {
		list.Next = "more" // an empty page first: it is allowed
		answer(w, 200, list)
		return
	}
	for id := domain.JobID(0); id < 100; id++ {
		if j := f.jobs[domain.JobKey{Caller: 1, ID: id}]; j != nil {
			list.Jobs = append(list.Jobs, j)
		}
	}
	answer(w, 200, list)
}

func (f *fakeNode) logs(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	j := f.find(w, r)
	if j == nil {
		return
	}
	logs := []domain.Log{}
	for line := range strings.Lines(j.Script) {
		word, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		if word == "out" || word == "err" {
			logs = append(logs, domain.Log{Stream: "std" + word, Attempt: 1, Line: text})
		}
	}
	if r.Header.Get("Accept") != "text/event-stream" {
		part := api.LogPage{Logs: logs}
		if from := r.URL.Query().Get("from"); from != "" && from != "0" {
			part.From, part.Logs = len(logs), []domain.Log{}
		}
		answer(w, 200, part)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for i, l := range logs {
		text, _ := json.Marshal(l)
		fmt.Fprintf(w, "event: log\nid: %d\ndata: %s\n\n", i, text)
	}
	w.(http.Flusher).Flush()
	f.begun <- struct{}{}
	gone := context.AfterFunc(r.Context(), f.changed.Broadcast)
	defer gone()
	for !j.Final() && r.Context().Err() == nil {
		f.changed.Wait()
	}
	text, _ := json.Marshal(j)
	fmt.Fprintf(w, "event: end\ndata: %s\n\n", text)
}

// tempFolder is the folder of a node that lives for one command.
func tempFolder() (path string, remove func() error, err error) {
	path, err = os.MkdirTemp("", "ramet-run-")
	return path, func() error { return os.RemoveAll(path) }, err
}

// hooks make commands reach f as an embedded node.
func (f *fakeNode) hooks() cli.Hooks {
	return cli.Hooks{
		Version: "v1.2.3", TempFolder: tempFolder,
		Embedded: func(_ context.Context, o cli.EmbeddedOptions) (cli.Embedded, error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.options = append(f.options, o)
			if err := cookie.New().Save(o.DataDir); err != nil {
				return cli.Embedded{}, err
			}
			l, err := net.Listen("unix", o.Socket)
			if err != nil {
				return cli.Embedded{}, err
			}
			s := &http.Server{Handler: f}
			go s.Serve(l)
			var serves []domain.Service
			for _, t := range domain.ScriptTypes {
				serves = append(serves, domain.Service{ScriptType: t, Served: true})
			}
			runner := domain.Runner{ID: 1, Node: "fake", Serves: serves, SeenMs: time.Now().UnixMilli()}
			return cli.Embedded{Socket: o.Socket, Cookie: cli.CookiePath(o.DataDir), Runner: runner, Stop: func() error {
				f.mu.Lock()
				f.stopped++
				f.mu.Unlock()
				return s.Close()
			}}, nil
		},
		NewKey: func(path string, register func(string) (domain.ActorID, error)) (string, string, error) {
			pubkey := strings.Repeat("ab", 32)
			_, err := register(pubkey)
			return pubkey, "myc", err
		},
		Token: func(key, audience string, ttl time.Duration, _ identity.Claims) (string, error) {
			return fmt.Sprintf("%s for %s", "signed", audience), nil
		},
	}
}

// result is what a command line did.
type result struct {
	code     int
	out, err string
}

// ramet runs a command line.
func ramet(t *testing.T, hooks cli.Hooks, stdin string, args ...string) result {
	t.Helper()
	return rametIn(t.Context(), hooks, stdin, args...)
}

func rametIn(ctx context.Context, hooks cli.Hooks, stdin string, args ...string) result {
	var out, errs bytes.Buffer
	code := cli.Main(ctx, args, cli.Streams{In: strings.NewReader(stdin), Out: &out, Err: &errs}, hooks)
	return result{code, out.String(), errs.String()}
}
