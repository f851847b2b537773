package http_test

import (
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/door/http"
	"github.com/ramet-run/ramet/service"
)

func TestAPathThatThereIsNotIsToldTheNearest(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct{ method, path, want string }{
		{"GET", "/v1/contexts/7/job", "GET /v1/contexts/{context}/jobs"},
		{"POST", "/v1/contexts/7/job", "POST /v1/contexts/{context}/jobs"},
		{"GET", "/v1/contexts/7/jobs/", "GET /v1/contexts/{context}/jobs"},
		{"GET", "/contexts/7/jobs", "GET /v1/contexts/{context}/jobs"},
		{"GET", "/api/v1/contexts/7/flows/3", "GET /v1/contexts/{context}/flows/{flow}"},
		{"GET", "/v1/Contexts", "GET /v1/contexts"},
		{"GET", "/v1/contxets", "GET /v1/contexts"},
		{"POST", "/v1/contexts/7/jobs/10/1/cancle", "POST /v1/contexts/{context}/jobs/{caller}/{id}/cancel"},
		{"GET", "/v1/contexts/7/jobs/10/1/log", "GET /v1/contexts/{context}/jobs/{caller}/{id}/logs"},
		{"GET", "/healthz", "GET /health"},
		{"GET", "/", ""},
		{"GET", "/wp-login.php", ""},
		{"GET", "/v2/jobs", ""},
		{"GET", "/v1/contexts/7/jobs/" + strings.Repeat("1/", 200), ""},
		{"POST", "/v1/contexts/7/jobs/10/1/stop", "POST /v1/contexts/{context}/jobs/{caller}/{id}/cancel"},
		{"BREW", "/v1/contexts/7/pots/of/fresh/coffee", ""},
	} {
		got := r.want(404, 0, c.method, c.path, "")
		if !strings.Contains(got, http.Reference) || strings.Contains(got, "nearest") != (c.want != "") ||
			c.want != "" && !strings.Contains(got, "the nearest is "+c.want+";") {
			t.Errorf("%s %s: got %s, want %q", c.method, c.path, got, c.want)
		}
	}
	resp := r.request(0, "PATCH", "/v1/contexts/7/jobs", "")
	if got := text(t, resp.Body); resp.StatusCode != 405 || resp.Header.Get("Allow") != "GET, HEAD, POST" ||
		!strings.Contains(got, "use GET, HEAD, POST, or see "+http.Reference) {
		t.Errorf("got %s, Allow %q: %s", resp.Status, resp.Header.Get("Allow"), got)
	}
	if !strings.Contains(r.log.String(), "path=/wp-login.php status=404") {
		t.Error("it is not in the log")
	}
}

// BenchmarkNoSuchPath is what a stranger can have the door do by asking for what there
// is not.
func BenchmarkNoSuchPath(b *testing.B) {
	r := newRig(b)
	for b.Loop() {
		r.door.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/v1/contexts/7/jos/a/b", nil))
	}
}

var update = flag.Bool("update", false, "write the operations into docs/http.md anew")

// TestTheReferenceListsEveryOperation holds the table that problems point to against
// the operations.
func TestTheReferenceListsEveryOperation(t *testing.T) {
	const reference = "../../docs/http.md"
	page, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	table.WriteString("| operation | request | does |\n| --- | --- | --- |\n")
	for i := range service.Operations {
		o := &service.Operations[i]
		fmt.Fprintf(&table, "| `%s` | `%s %s` | %s |\n", o.Name, o.Method, o.Path, o.Summary)
	}
	before, rest, there := strings.Cut(string(page), "## Operations\n")
	start, end := strings.Index(rest, "| operation |"), strings.LastIndex(rest, "|\n")
	if !there || start < 0 || end < start {
		t.Fatalf("%s has no table of operations", reference)
	}
	want := before + "## Operations\n" + rest[:start] + table.String() + rest[end+len("|\n"):]
	if *update {
		if err := os.WriteFile(reference, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(page) != want {
		t.Errorf("%s does not list the operations that there are; go test ./door/http -update writes them", reference)
	}
}
