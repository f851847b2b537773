package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// TestARoutineIsShownAsItStands: while a round runs, its beginning stands beside the end of the one before, which is said.
// Params have the lines that they have.
func TestARoutineIsShownAsItStands(t *testing.T) {
	r := &domain.Routine{Name: "sync", ScriptType: "shell", Params: map[string]string{"a": "one\ntwo", "b": "0"}}
	at := domain.RoutineInstance{Name: "sync", Round: 2, LastJob: "job:1:1", BeganMs: 1_795_000_010_000, EndedMs: 1_795_000_009_000}
	for job, want := range map[string]string{"job:1:2": "  last ended ", "": "  ended "} {
		at.Job = job
		r.Instances = domain.List[domain.RoutineInstance]{at}
		var out strings.Builder
		table := newTable(&out)
		routineTable(table, r, time.UnixMilli(at.BeganMs))
		if err := table.flush(); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("with the job %q: got\n%s, want a line %q", job, text, want)
		}
		lines := strings.Split(text, "\n")
		for i, l := range lines {
			if strings.HasPrefix(l, "param a") && (!strings.HasSuffix(l, " one") || strings.TrimSpace(lines[i+1]) != "two" || !strings.HasSuffix(lines[i+2], " 0")) {
				t.Errorf("got\n%s, want each line of a param, and one that is 0", text)
			}
		}
	}
}
