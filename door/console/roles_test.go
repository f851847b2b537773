package console_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mounted is where the source mounts a page of a context, or what a form of one is sent to.
var mounted = regexp.MustCompile(`c\.(live|inContext|follow|mountMake)\("(?:(GET|POST) )?([^"]*)"`)

// route is a page of a context, with things that there are in place of its names.
type route struct{ method, path string }

func routes(t *testing.T) (list []route) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	acts := []string{"cancel", "retry", "delete", "pause", "resume", "replay", "drop", "rerun", "run", "trigger", "signal"}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range mounted.FindAllStringSubmatch(string(text), -1) {
			method, p := m[2], m[3]
			switch m[1] {
			case "follow":
				continue // a stream, of a page that is here
			case "mountMake":
				list = append(list, route{"GET", p}, route{"POST", p})
				continue
			}
			p = strings.NewReplacer("{$}", "", "{flow}", "1", "{caller}", "10", "{id}", "1", "{bulk}", "1", "{saga}", "covert").Replace(p)
			if !strings.Contains(p, "{act}") {
				list = append(list, route{method, p})
				continue
			}
			for _, act := range acts {
				list = append(list, route{method, strings.ReplaceAll(p, "{act}", act)})
			}
		}
	}
	if len(list) < 70 || slices.ContainsFunc(list, func(r route) bool { return strings.Contains(r.path, "{") }) {
		t.Fatalf("got routes %v", list)
	}
	return list
}

var (
	// ownForms are what who only reads may send: it changes nothing, or what is their own.
	ownForms = []string{"blueprint/edit", "rights/tokens", "rights/tokens/new"}
	// partless says that the node of the test lacks a part.
	partless = regexp.MustCompile(`this node (has|sends) no `)
)

// TestEveryPageInEveryRole asks for each page of a context, and sends each form empty, as nobody,
// as somebody without a role, as who may read, and as who may do all.
func TestEveryPageInEveryRole(t *testing.T) {
	r := newRig(t)
	id := r.flow("name: covert\nsummary: hushed\nsteps: [{name: x, summary: hushed, script: say hushed, script_type: words}]")
	r.ended(id)
	everybody := map[string]*browser{"nobody": r.stranger(), "a stranger": r.as(stranger), "a reader": r.as(reader), "an executor": r.as(executor),
		"an admin": r.as(admin)}
	for _, to := range routes(t) {
		for who, b := range everybody {
			if to.method == "POST" && who != "nobody" && who != "a stranger" && who != "a reader" {
				continue // they may do it
			}
			a := b.send(statusAny, to.method, path("%s", to.path), "")
			switch {
			case a.StatusCode >= 500 && !partless.MatchString(a.text):
				t.Errorf("%s %s as %s: %d: %s", to.method, to.path, who, a.StatusCode, mainOf(a.text))
			case who == "nobody" || who == "a stranger":
				if strings.Contains(a.text, "hushed") || a.StatusCode == 200 && !strings.Contains(a.text, `action="/console/sign-in"`) {
					t.Errorf("%s %s as %s: %d: %s", to.method, to.path, who, a.StatusCode, mainOf(a.text))
				}
			case who != "a reader": // they may, or are told that they may not: above
			case slices.Contains(ownForms, to.path):
			case to.method == "GET" && strings.Contains(a.text, `method="post" action="/console/c/7/`):
				t.Errorf("%s offers a reader what they may not: %s", to.path, mainOf(a.text))
			case to.method == "POST" && a.StatusCode == 200 && !strings.Contains(a.text, "not done"):
				t.Errorf("POST %s was done for a reader: %s", to.path, mainOf(a.text))
			}
		}
	}
}
