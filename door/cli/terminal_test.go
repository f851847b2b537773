package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/service"
)

// What lists and shows say, of things whose every field says something, on a narrow
// terminal that knows ASCII alone: no line is too long where rows are, no sign is foreign,
// nothing is drawn, and times say their zone.
func TestListsOnANarrowPlainTerminal(t *testing.T) {
	const word = "some_words_of_some_length"
	mux := http.NewServeMux()
	for i := range service.Operations {
		o := &service.Operations[i]
		mux.HandleFunc(o.Method+" "+o.Path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(filled(word, o.Result))
		})
	}
	mux.HandleFunc("/info", func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(filled(word, api.Info{})) })
	s := httptest.NewServer(mux)
	defer s.Close()
	t.Setenv("RAMET_DATA", filepath.Join(t.TempDir(), "none"))

	var paths []string
	walk((&app{}).root(), func(path string) {
		if last := path[strings.LastIndex(path, " ")+1:]; verbs[path] != "" && last == "show" ||
			slices.Contains([]string{"list", "lag", "versions", "instances", "inbox"}, last) {
			if _, shows := verbs[path]; shows {
				paths = append(paths, path)
			}
		}
	})
	if len(paths) < 25 {
		t.Fatalf("%d commands are looked at: %q", len(paths), paths)
	}
	bareTime := regexp.MustCompile(`[0-9]{2}:[0-9]{2}:[0-9]{2}($|[^Z+:0-9 -]| [^A-Z])`)
	between := regexp.MustCompile(` {2,}`)
	rows := 0
	for _, path := range paths {
		var out bytes.Buffer
		a := &app{std: Streams{In: strings.NewReader(""), Out: page{&out, true}, Err: page{&out, true}}, hooks: Hooks{Version: "dev"}, width: 50}
		root := a.root()
		root.SetArgs(append(append(strings.Fields(path), strings.Fields(verbs[path])...), "--node", s.URL))
		if err := root.ExecuteContext(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("ramet %s: %v", path, err)
			continue
		}
		for _, line := range strings.Split(out.String(), "\n") {
			// A name and a value may go on in the next line; a row of columns may not.
			if columns := between.Split(strings.TrimSpace(line), -1); len(columns) > 2 && len(line) > 50 && !strings.HasPrefix(path, "runner ") {
				t.Errorf("ramet %s: a row of %d columns: %q", path, len(line), line)
			}
			if bareTime.MatchString(line) {
				t.Errorf("ramet %s: a time without a zone: %q", path, line)
			}
			rows++
		}
		for _, r := range out.String() {
			if r > 126 || r < ' ' && r != '\n' && r != '\t' {
				t.Errorf("ramet %s: got %q in\n%s", path, r, &out)
				break
			}
		}
	}
	if rows < 2*len(paths) {
		t.Errorf("%d commands showed %d lines", len(paths), rows)
	}
}

func TestOnlyASCII(t *testing.T) {
	for _, tt := range []struct {
		all, ctype, lang string
		want             bool
	}{{"", "", "", false}, {"C", "", "de_DE.UTF-8", true}, {"", "", "C", true}, {"", "", "C.UTF-8", false}, {"", "POSIX", "en_US.utf8", true},
		{"en_US.UTF-8", "C", "C", false}} {
		got := onlyASCII(func(name string) string {
			return map[string]string{"LC_ALL": tt.all, "LC_CTYPE": tt.ctype, "LANG": tt.lang}[name]
		})
		if got != tt.want {
			t.Errorf("%+v: got %v", tt, got)
		}
	}
}

// A table that is too wide is made to fit, by shorter cells or as blocks; the first
// column, by which things are called, stays whole.
func TestTableFits(t *testing.T) {
	show := func(width int, cells ...any) string {
		var out bytes.Buffer
		tab := newTable(&out)
		tab.width = width
		tab.row("KEY", "STATUS", "ERROR")
		tab.row(cells...)
		if err := tab.flush(); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	long := "a script that was ended by somebody else"
	for _, tt := range []struct {
		width int
		want  string
	}{
		{0, "KEY      STATUS  ERROR\njob:1:1  error   " + long + "\n"},
		{80, "KEY      STATUS  ERROR\njob:1:1  error   " + long + "\n"},
		{40, "KEY      STATUS  ERROR\njob:1:1  error   a script that was ende…\n"},
		{20, "KEY     job:1:1\nSTATUS  error\nERROR   " + long + "\n"},
	} {
		if got := show(tt.width, "job:1:1", "error", long); got != tt.want {
			t.Errorf("at %d: got\n%s\nwant\n%s", tt.width, got, tt.want)
		}
	}
}
