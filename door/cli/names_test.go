package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/service"
)

// answering is a node that answers each operation with an answer in which everything is set.
func answering(t *testing.T) (url string) {
	t.Helper()
	mux := http.NewServeMux()
	answer := func(v any) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(plainOf(v))
		}
	}
	for i := range service.Operations {
		o := &service.Operations[i]
		mux.HandleFunc(o.Method+" "+o.Path, answer(o.Result))
	}
	mux.HandleFunc("/info", answer(api.Info{}))
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	t.Setenv("RAMET_DATA", filepath.Join(t.TempDir(), "none"))
	return s.URL
}

// plainOf is a value of v's type with texts in it that are none of a stranger's.
func plainOf(v any) any {
	text, _ := json.Marshal(filled(hostileText, v))
	hostile, _ := json.Marshal(hostileText)
	out := reflect.New(reflect.TypeOf(v)).Interface()
	_ = json.Unmarshal(bytes.ReplaceAll(text, hostile, []byte(`"n1"`)), out)
	return out
}

// commandsNamed are the paths of those commands that have one of these names.
func commandsNamed(names ...string) (paths []string) {
	walk((&app{std: Streams{Out: os.Stdout, Err: os.Stderr}}).root(), func(path string) {
		if words := strings.Fields(path); slices.Contains(names, words[len(words)-1]) {
			paths = append(paths, path)
		}
	})
	return paths
}

func TestEveryListHasNames(t *testing.T) {
	url := answering(t)
	t.Setenv("XDG_CONFIG_HOME", t.TempDir()) // where profiles lie
	if code := Main(t.Context(), []string{"profile", "add", "n1", "--node", url}, Streams{In: strings.NewReader(""), Out: io.Discard, Err: os.Stderr},
		Hooks{}); code != 0 {
		t.Fatal("no profile was made")
	}
	paths := commandsNamed(listers...)
	if len(paths) < 20 {
		t.Errorf("got %d lists, want at least 20", len(paths))
	}
	for _, path := range paths {
		var out, errs bytes.Buffer
		args := slices.Concat(strings.Fields(path), strings.Fields(verbs[path]), []string{"--node", url, "-o", "name"})
		if code := Main(t.Context(), args, Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, Hooks{}); code != 0 {
			t.Errorf("ramet %v: exit code %d: %s", args, code, &errs)
			continue
		}
		got := out.String()
		if strings.Count(got, "\n") != 1 || strings.TrimSpace(got) == "" || strings.ContainsAny(strings.TrimSpace(got), " \t{") {
			t.Errorf("ramet %v: got %q, want one name", args, got)
		}
	}
	if code := Main(t.Context(), []string{"job", "show", "1", "--node", url, "-o", "name"}, Streams{In: strings.NewReader(""), Out: &bytes.Buffer{},
		Err: &bytes.Buffer{}}, Hooks{}); code != 2 {
		t.Errorf("-o name of a command that lists nothing: got exit code %d, want 2", code)
	}
}

func TestEveryListAndShowCanBeWatched(t *testing.T) {
	root := (&app{std: Streams{Out: os.Stdout, Err: os.Stderr}}).root()
	var look func(c *cobra.Command)
	look = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			if shows := slices.Contains([]string{"list", "show"}, sub.Name()); shows && sub.Flags().Lookup("watch") == nil {
				t.Errorf("%s has no --watch", sub.CommandPath())
			}
			look(sub)
		}
	}
	look(root)
}
