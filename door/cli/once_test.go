package cli_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A node does what creates, and its answer is lost: the next node of the board is asked under the same key, and there is one
// job. A command that is typed again has another key, and there are two.
func TestAnAnswerThatIsLostMakesNothingTwice(t *testing.T) {
	f := newFakeNode()
	var mu sync.Mutex // of two servers, which answer one after the other
	var keys []string
	answers := map[string]*httptest.ResponseRecorder{}
	node := func(loses bool) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			if r.Method != http.MethodPost {
				f.ServeHTTP(w, r)
				return
			}
			key := r.Header.Get("Idempotency-Key")
			answer := answers[key]
			if keys = append(keys, key); answer == nil || key == "" {
				answer = httptest.NewRecorder()
				f.ServeHTTP(answer, r)
				answers[key] = answer
			}
			if loses {
				panic(http.ErrAbortHandler)
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(answer.Code)
			w.Write(answer.Body.Bytes())
		}))
		t.Cleanup(s.Close)
		return s.URL + "#fake"
	}
	args := []string{"job", "submit", write(t, "a.sh", "echo a\n"), "--key", write(t, "k", ""), "--node", node(true) + "," + node(false)}
	for n := 1; n <= 2; n++ {
		if got := ramet(t, f.hooks(), "", args...); got.code != 0 || !strings.Contains(got.out, "job:1:") {
			t.Fatalf("got %+v", got)
		}
		mu.Lock()
		if len(f.jobs) != n {
			t.Errorf("after %d commands there are %d jobs", n, len(f.jobs))
		}
		mu.Unlock()
	}
	mu.Lock()
	defer mu.Unlock()
	if keys = slices.Compact(keys); len(keys) != 2 || slices.Contains(keys, "") { // a connection may be tried anew, too
		t.Errorf("two commands asked under the keys %q", keys)
	}
}

// A node that breaks its answer off may have done what changes something: that is said, with what shows it, and no question
// whether it runs. Where there was no connection nothing was done.
func TestWhatHasNoAnswerMayHaveBeenDone(t *testing.T) {
	f := newFakeNode()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/info" {
			panic(http.ErrAbortHandler)
		}
		f.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	const perhaps = "nobody knows whether it was done; look before you do it again"
	for line, want := range map[string]string{
		"job submit " + write(t, "a.sh", "echo a\n"): perhaps + " (`ramet job list` shows what there is)\n",
		"job cancel job:1:1":                         perhaps + " (`ramet job list` shows what there is)\n",
		"prerequisite meet x":                        perhaps + "\n",
		"job list":                                   "is the node running?\n",
		"job cancel job:1:1 --away":                  "is the node running?\n",
	} {
		line, away := strings.CutSuffix(line, " --away")
		node := s.URL
		if away {
			node = "http://127.0.0.1:1"
		}
		if got := ramet(t, f.hooks(), "", append(strings.Fields(line), "--node", node)...); got.code != 7 || !strings.HasSuffix(got.err, want) {
			t.Errorf("%s at %s: got %+v, want %q", line, node, got, want)
		}
	}
}
