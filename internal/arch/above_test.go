package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// above are names in lower packages of what is made of jobs, and stands above package work.
var above = regexp.MustCompile(`Flow|Message|Routine|Saga|Task|Circle|Outbox|Dead[A-Z]|Schedule`)

// jobsKnow are the files of package work that may name some of that, and why. Whoever waits
// for the end of a job says so on its record (layout.Waiters), and what else ends is made
// known by Engine.Ends: so this list only gets shorter.
var jobsKnow = map[string]string{
	"archive.go":      "the list of what ended has messages and flows, which the archive takes with the jobs",
	"prune.go":        "messages are removed by any node, also one without a supervisor",
	"remote.go":       "a job with a place is sent as a message, and its explanation says where that is",
	"retry.go":        "a message is told that its job was started again",
	"explain.go":      "what a job waits for may be its flow, or the message it was sent by",
	"flow.go":         "what flows need of jobs, and how jobs tell their flow that they have ended",
	"flowadopt.go":    "jobs of a foreign program's flow",
	"flowlog.go":      "the log of a flow is that of its jobs, which stand among others of their caller",
	"knownflow.go":    "the environment that a job finds of its flow",
	"environment.go":  "values of its environment may name its flow",
	"folder.go":       "what a job finds of its flow: its name, and what earlier steps added",
	"foreign.go":      "a foreign program that writes jobs may have written a flow of them: flows are looked for",
	"call.go":         "scripts call flows as they call jobs, and a flow is made in the commit that remembers it",
	"park.go":         "a ban on a blueprint holds the jobs of its flows",
	"prerequisite.go": "a flow can be a prerequisite, but not the job's own",
	"read.go":         "jobs are listed by their flow",
	"trace.go":        "the trace of a job is within that of its flow",
	"list.go":         "what a job of a flow finds as its list: results that its flow has",
	"waiting.go":      "what a context has waiting is jobs and flows together, which have one bound",
	"artifactlist.go": "they are listed, and dropped, by their flow",
	"failed.go":       "one collection for the lists of jobs and flows that ended in error",
}

func TestJobsKnowLittleOfWhatIsAbove(t *testing.T) {
	files, err := filepath.Glob("../../work/*.go")
	if err != nil || len(files) < 20 {
		t.Fatalf("got %d files, %v", len(files), err)
	}
	found := map[string][]string{}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if of, ok := s.X.(*ast.Ident); ok && slices.Contains([]string{"layout", "domain", "queue", "template"}, of.Name) && above.MatchString(s.Sel.Name) {
					names[of.Name+"."+s.Sel.Name] = true
				}
			}
			return true
		})
		if len(names) > 0 {
			found[filepath.Base(path)] = slices.Sorted(maps.Keys(names))
		}
	}
	for file, names := range found {
		if jobsKnow[file] == "" {
			t.Errorf("work/%s knows %v, of what is above it: let that say on the job's record that it waits, or register with Engine.Ends", file, names)
		}
	}
	for file := range jobsKnow {
		if found[file] == nil {
			t.Errorf("work/%s knows nothing of what is above it any more: take it from the list", file)
		}
	}
}
