package openapi_test

import (
	"bytes"
	"flag"
	"os"
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
