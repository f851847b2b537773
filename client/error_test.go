package client_test

import (
	"encoding/json"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/ramet-run/ramet/client"
)

// The clients in all languages are held to the same table.
func TestRetryAfterIsReadAsInTheOtherLanguages(t *testing.T) {
	text, err := os.ReadFile("../test/sdk/testdata/retry_after.json")
	if err != nil {
		t.Fatal(err)
	}
	var table struct {
		Now     string
		Headers []struct {
			Header  string
			Seconds int
		}
	}
	if err := json.Unmarshal(text, &table); err != nil {
		t.Fatal(err)
	}
	now, err := http.ParseTime(table.Now)
	if err != nil {
		t.Fatal(err)
	}
	if len(table.Headers) == 0 {
		t.Fatal("the table is empty")
	}
	for _, h := range table.Headers {
		if got, want := client.RetryAfter(h.Header, now), time.Duration(h.Seconds)*time.Second; got != want {
			t.Errorf("Retry-After %.40q: %v, want %v", h.Header, got, want)
		}
	}
}
