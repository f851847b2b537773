package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
)

// slowNode has the clock of the machine that asks, off by so much, and takes its time for each answer.
type slowNode struct{ off time.Duration }

func (n slowNode) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(15 * time.Second)
	answer := "{}"
	if r.URL.Path == "/info" {
		text, err := json.Marshal(api.Info{Name: "n1", NowMs: time.Now().Add(n.off).UnixMilli()})
		if err != nil {
			return nil, err
		}
		answer = string(text)
		time.Sleep(15 * time.Second)
	}
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(answer))}, nil
}

// TestAClockIsNotOffWhereAnswersTakeLong: the node's time is of one moment within one question.
func TestAClockIsNotOffWhereAnswersTakeLong(t *testing.T) {
	for off, want := range map[time.Duration]string{0: "", time.Minute: "45s ahead of", -time.Minute: "45s behind"} { // at least
		synctest.Test(t, func(t *testing.T) {
			n, err := client.New(client.Config{URL: "http://node.test", HTTP: &http.Client{Transport: slowNode{off}}})
			if err != nil {
				t.Fatal(err)
			}
			found, err := (&app{home: 1}).checkUp(t.Context(), n)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, f := range found.Findings {
				if f.What == "clock" {
					got = f.Text
				}
			}
			if (got == "") != (want == "") || !strings.Contains(got, want) {
				t.Errorf("off by %v: got %q, want %q", off, got, want)
			}
		})
	}
}
