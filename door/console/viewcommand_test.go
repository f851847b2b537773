package console_test

import (
	"testing"

	"github.com/ramet-run/ramet/domain"
)

// TestTheCommandShowsWhatTheTabShows: who copies it from a tab gets that in a shell, and not another view of the thing.
func TestTheCommandShowsWhatTheTabShows(t *testing.T) {
	r := newRig(t)
	r.store(hello)
	r.ended(r.flow("name: talk\nsteps:\n- {name: say, script_type: words, script: say hello}\n"))
	r.schedule(domain.Schedule{Name: "nightly", Blueprint: "hello", Cron: "0 2 * * *"})
	r.routine(domain.Routine{Name: "sync", Script: "say hello"})
	b := r.as(admin)
	for at, want := range map[string]string{
		"flows/1":                              "flow show 1",
		"flows/1?tab=steps":                    "flow show 1",
		"flows/1?tab=logs":                     "flow logs 1",
		"flows/1?tab=files":                    "flow artifacts list 1",
		"jobs/10/1":                            "job logs job:10:1",
		"jobs/10/1?tab=memory":                 "job history job:10:1",
		"jobs/10/1?tab=files":                  "job artifacts list job:10:1",
		"jobs/10/1?tab=data":                   "job show job:10:1",
		"schedule?name=nightly":                "schedule next nightly",
		"schedule?name=nightly&tab=definition": "schedule show nightly",
		"routine?name=sync":                    "routine show sync",
		"routine?name=sync&tab=rounds":         "job list --where &#39;job.routine != () &amp;&amp; job.routine.starts_with(&#34;sync:&#34;)&#39;",
	} {
		b.has(b.get(200, path("%s", at)), "<summary>copy as command</summary><code>ramet "+want+" --context 7</code>")
	}
}
