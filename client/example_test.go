package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
)

// exampleNode stands in for a node on which one job has run.
func exampleNode() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost:
			answer(w, 200, api.JobSubmitted{Jobs: []api.Submitted{{Key: "job:1:1"}}, Durability: "disk"})
		case r.Header.Get("Accept") == "text/event-stream":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "event: log\nid: 0\ndata: {\"stream\":\"stdout\",\"line\":\"hello\"}\n\nevent: end\ndata: {\"status\":\"finished\"}\n\n")
		default:
			answer(w, 404, api.Problem{Code: "not_found", Detail: "job:1:2: not found"})
		}
	}))
}

func Example() {
	node := exampleNode()
	defer node.Close()
	ctx := context.Background()

	c, err := client.New(client.Config{URL: node.URL})
	if err != nil {
		log.Fatal(err)
	}
	done, err := c.Submit(ctx, 1, []api.JobInput{{Job: domain.Job{Script: "echo hello", ScriptType: domain.ScriptShell}}})
	if err != nil {
		log.Fatal(err)
	}
	key, err := domain.ParseJobKey(done.Jobs[0].Key)
	if err != nil {
		log.Fatal(err)
	}
	job, err := c.FollowLogs(ctx, 1, key, 0, func(l domain.Log) error {
		fmt.Println(l.Stream+":", l.Line)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(job.Status)

	_, err = c.Job(ctx, 1, domain.JobKey{Caller: 1, ID: 2})
	fmt.Println(errors.Is(err, domain.ErrNotFound), err)
	// Output:
	// stdout: hello
	// finished
	// true job:1:2: not found
}

// Any operation of package api can be called; the example of each says what it takes.
func ExampleCall() {
	node := exampleNode()
	defer node.Close()
	c, err := client.New(client.Config{URL: node.URL})
	if err != nil {
		log.Fatal(err)
	}
	done, err := client.Call(context.Background(), c, api.JobSubmit, api.SubmitParams{
		Context: 1, JobInput: api.JobInput{Job: domain.Job{Script: "echo hello", ScriptType: domain.ScriptShell}}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(done.Jobs[0].Key, done.Durability)
	// Output: job:1:1 disk
}

// A schedule is paused unless somebody has changed it since it was read.
func ExampleIfMatch() {
	changed := false
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		if r.Method == http.MethodPost && (changed || r.Header.Get("If-Match") != `"1"`) {
			answer(w, 412, api.Problem{Code: "conflict", Status: 412, Detail: "what is there now is not what the request names"})
			return
		}
		answer(w, 200, api.Schedule{})
	}))
	defer node.Close()
	c, err := client.New(client.Config{URL: node.URL})
	if err != nil {
		log.Fatal(err)
	}
	ctx, nightly := context.Background(), api.ScheduleParams{Context: 1, Name: "nightly"}
	_, tag, err := client.Read(ctx, c, api.ScheduleShow, api.ScheduleShowParams{ScheduleParams: nightly})
	if err != nil {
		log.Fatal(err)
	}
	changed = true // somebody else was faster
	_, err = client.Call(client.IfMatch(ctx, tag), c, api.SchedulePause, nightly)
	fmt.Println(errors.Is(err, domain.ErrConflict), err)
	// Output: true what is there now is not what the request names
}

// All jobs that a filter fits are cancelled, after a count.
func ExampleAll() {
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Query().Get("dry_run") == "true":
			answer(w, 200, domain.Bulk{Status: domain.BulkCounted, Total: 3})
		case r.Method == http.MethodPost:
			answer(w, 200, domain.Bulk{ID: 1, ContextID: 1, Status: domain.BulkRunning, Total: 3})
		default:
			answer(w, 200, domain.Bulk{ID: 1, ContextID: 1, Status: domain.BulkFinished, Total: 3, Done: 3})
		}
	}))
	defer node.Close()
	c, err := client.New(client.Config{URL: node.URL})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	mail := api.BulkJobsParams{Context: 1, JobFilter: api.JobFilter{Type: "mail"}, DryRun: true}
	counted, err := client.All(ctx, c, api.JobCancelAll, mail, nil)
	if err != nil {
		log.Fatal(err)
	}
	mail.DryRun = false
	done, err := client.All(ctx, c, api.JobCancelAll, mail, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(counted.Total, done.Done, done.Status)
	// Output: 3 3 finished
}
