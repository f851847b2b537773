package openapi_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/api/openapi"
)

var update = flag.Bool("update", false, "write what is made of the contract into docs anew")

// TestWhatIsKeptIsWhatIsMade holds the files of docs against the contract in package api.
func TestWhatIsKeptIsWhatIsMade(t *testing.T) {
	comments, err := openapi.ReadComments("..", "../../domain")
	if err != nil {
		t.Fatal(err)
	}
	document, err := openapi.Write(comments)
	if err != nil {
		t.Fatal(err)
	}
	keep(t, "../../docs/openapi.json", document)
	page, err := openapi.Page(document)
	if err != nil {
		t.Fatal(err)
	}
	keep(t, "../../docs/reference.html", page)
}

// TestWhatIsNeverRepeatedOfWorkersSaysWhy: who makes a client of the document learns from it who may
// ask again all the same.
func TestWhatIsNeverRepeatedOfWorkersSaysWhy(t *testing.T) {
	comments, err := openapi.ReadComments("..", "../../domain")
	if err != nil {
		t.Fatal(err)
	}
	text, err := openapi.Write(comments)
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
			Description string
			Repeat      string `json:"x-repeat"`
		}
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	says := 0
	for _, methods := range document.Paths {
		for _, o := range methods {
			want := strings.HasPrefix(o.OperationID, "worker.") && o.Repeat == "never"
			if got := strings.Contains(o.Description, "whether its leases leave the time"); got != want {
				t.Errorf("%s (%s): it says of leases: %v, want %v", o.OperationID, o.Repeat, got, want)
			}
			if want {
				says++
			}
		}
	}
	if want := 5; says != want { // claim, extend, finish, step, log
		t.Errorf("%d operations say it, want %d", says, want)
	}
}

func keep(t *testing.T, file string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what the contract says now (%v); go test ./api/openapi -update writes it", file, err)
	}
}
