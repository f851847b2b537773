package api_test

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/api"
)

// TestTheTable holds operations to what routes, clients and rights are made from.
func TestTheTable(t *testing.T) {
	names, places := map[string]bool{}, map[string]bool{}
	for _, o := range api.Table {
		if names[o.Name] || !regexp.MustCompile(`^[a-z]+\.[a-z_]+$`).MatchString(o.Name) {
			t.Errorf("%s: want noun and verb, once", o.Name)
		}
		if place := o.Method + " " + o.Path; places[place] {
			t.Errorf("%s is there twice", place)
		} else {
			places[place] = true
		}
		names[o.Name] = true
		if o.Right == "" || !strings.HasSuffix(o.Summary, ".") {
			t.Errorf("%s: right %q, summary %q: want both", o.Name, o.Right, o.Summary)
		}
		if o.Right.Reads() && o.ByHand {
			t.Errorf("%s only reads, and the audit log is to say who did it", o.Name)
		}
		path, _, _ := o.Write(o.Example)
		if strings.ContainsAny(path, "{}") || strings.Contains(path, "//") || strings.HasSuffix(path, "/") || strings.Contains(path+"/", "/0/") {
			t.Errorf("%s: its example is at %s", o.Name, path)
		}
		if got, want := reflect.TypeOf(o.Example), reflect.TypeOf(o.NewParams()); got != want {
			t.Errorf("%s: its example is a %s, want %s", o.Name, got, want)
		}
	}
	if len(api.Table) < 100 {
		t.Errorf("got %d operations", len(api.Table))
	}
}

// TestListsAreMuch: of an answer that grows with what there is few are made at once.
func TestListsAreMuch(t *testing.T) {
	few := map[string]string{ // whose lists are short, and why
		"circle.list": "circles stand in the config files of nodes",
		"effect.list": "so do effects",
		"peer.list":   "the operator adds peers by hand",
	}
	for _, o := range api.Table {
		_, verb, _ := strings.Cut(o.Name, ".")
		result := reflect.TypeOf(o.Result)
		paged := false
		if result.Kind() == reflect.Struct {
			_, paged = result.FieldByName("Next")
		}
		lists := o.Right.Reads() && (paged || strings.HasPrefix(verb, "list"))
		if why := few[o.Name]; lists && o.Much == (why != "") {
			t.Errorf("%s: much %v; it is little because %q", o.Name, o.Much, why)
		}
		delete(few, o.Name)
	}
	for name := range few {
		t.Errorf("%s is no operation", name)
	}
}
