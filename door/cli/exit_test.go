package cli

import (
	"bytes"
	"encoding/json"
	goflag "flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/api"
)

var update = goflag.Bool("update", false, "write docs/errors.md anew")

// TestThePageOfErrorsHasAll holds docs/errors.md against the tables it is made of.
func TestThePageOfErrorsHasAll(t *testing.T) {
	const page = "../../docs/errors.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(text), "| code |")
	var b strings.Builder
	b.WriteString(head + "| code | HTTP status | exit code | Redis door | means |\n| --- | --- | --- | --- | --- |\n")
	fmt.Fprintf(&b, "| | 200 | 0 | | It is done. |\n")
	fmt.Fprintf(&b, "| | 200 | %d | | A command that waits or looks: a script, job, flow or saga ended badly, or something is not well. |\n", exitFailed)
	for _, f := range api.Failures() {
		fmt.Fprintf(&b, "| `%s` | %d | %d | `%s` | %s |\n", f.Word, f.Status, f.Exit, f.RESP, f.Means)
	}
	fmt.Fprintf(&b, "| | | %d | | Ctrl-C, or another signal that ends the command. |\n", exitInterrupted)
	if *update {
		if err := os.WriteFile(page, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if b.String() != string(text) {
		t.Errorf("%s is not what the table of errors says; go test ./door/cli -run TestThePageOfErrorsHasAll -update writes it", page)
	}
}

// Each kind of error that a node answers with ends a command with its own exit code.
func TestEachKindOfErrorHasItsExitCode(t *testing.T) {
	t.Setenv("RAMET_DATA", filepath.Join(t.TempDir(), "none"))
	for _, f := range api.Failures() {
		node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(f.Status)
			_ = json.NewEncoder(w).Encode(api.Problem{Code: f.Word, Status: f.Status, Detail: "the " + f.Word})
		}))
		var out, errs bytes.Buffer
		code := Main(t.Context(), []string{"job", "show", "1", "--node", node.URL}, Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, Hooks{})
		node.Close()
		if code != f.Exit || !strings.Contains(errs.String(), "the "+f.Word) {
			t.Errorf("%s: got exit code %d, %q", f.Word, code, &errs)
		}
	}
}
