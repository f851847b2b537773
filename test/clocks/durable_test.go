package clocks

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// TestASignUpWaitsForThreeDays has the script of examples/durable wait for as long as it says: the node's
// clock goes on by days.
func TestASignUpWaitsForThreeDays(t *testing.T) {
	if os.Getenv("RAMET_CLOCKS") == "" {
		t.Skip("run by `make clocks`: it compiles every package anew")
	}
	script, err := os.ReadFile("../../examples/durable/signup.mjs")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	n := start(t, build(t), w.dir, "a", "--config", w.config)
	jobs := map[string]domain.JobKey{}
	for _, who := range []string{"ada", "bob"} {
		key, err := n.SubmitJob(t.Context(), 1, domain.Job{Script: string(script), ScriptType: "node", EnvVars: map[string]string{"WHO": who}})
		if err != nil {
			t.Fatal(err)
		}
		jobs[who] = key
	}
	waiting := func(who string) bool {
		j, err := n.Job(t.Context(), 1, jobs[who])
		return err == nil && !j.Final() && j.Suspended != nil
	}
	n.until("both wait for the click", func(context.Context) bool { return waiting("ada") && waiting("bob") })
	n.set(2 * 24 * time.Hour)
	if _, err := n.Signal(t.Context(), 1, jobs["ada"], "click", json.RawMessage(`{"from": "a letter"}`)); err != nil {
		t.Fatal(err)
	}
	w.said(n, jobs["ada"], "welcome, you came from a letter")
	n.set(3*24*time.Hour - 10*time.Minute)
	time.Sleep(lease)
	if !waiting("bob") {
		t.Error("bob does not wait any more, and his three days are not over")
	}
	n.set(3*24*time.Hour + 10*time.Minute)
	w.said(n, jobs["bob"], "you did not click, so we have forgotten you")
}

// said wants a job to succeed, and to have written a text.
func (w *world) said(n *node, key domain.JobKey, text string) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), patience)
	defer cancel()
	if j, err := n.Wait(ctx, 1, key); err != nil || j.Status != domain.JobFinished {
		w.Fatalf("%s: got %+v, %v", key, j, err)
	}
	page, err := n.Logs(ctx, 1, key, 0, 100)
	if err != nil {
		w.Fatal(err)
	}
	for _, l := range page.Logs {
		if strings.Contains(l.Line, text) {
			return
		}
	}
	w.Errorf("%s does not say %q: %+v", key, text, page.Logs)
}
