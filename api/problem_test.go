package api_test

import (
	"context"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// Every kind of error that package domain names has its row.
func TestEachKindOfErrorIsListed(t *testing.T) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, "../domain/errors.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	source, err := os.ReadFile("problem.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range regexp.MustCompile(`\{domain\.(Err\w+),`).FindAllStringSubmatch(string(source), -1) {
		listed[name[1]] = true
	}
	found := 0
	for name := range f.Scope.Objects {
		if !strings.HasPrefix(name, "Err") {
			continue
		}
		if found++; !listed[name] {
			t.Errorf("domain.%s has no row in the table of failures", name)
		}
	}
	if found < 8 || found != len(listed) {
		t.Errorf("got %d kinds in domain/errors.go and %d rows", found, len(listed))
	}
}

// What a door shows of a kind leads back to it: words and statuses are not used twice, and a
// problem of a newer node, with a word that nobody knows here, is taken by its status.
func TestEachFailureIsKnownAgain(t *testing.T) {
	words, statuses := map[string]bool{}, map[int]bool{}
	for _, f := range api.Failures() {
		if words[f.Word] || statuses[f.Status] || f.Exit < 2 || f.Means == "" {
			t.Errorf("%s: got %+v beside others", f.Word, f)
		}
		words[f.Word], statuses[f.Status] = true, true
		for _, p := range []api.Problem{{Code: f.Word, Status: f.Status}, {Code: f.Word}, {Code: "newer", Status: f.Status}} {
			if got := api.FailureIn(p); got != f {
				t.Errorf("%+v: got %s, want %s", p, got.Word, f.Word)
			}
		}
	}
}

func TestFailures(t *testing.T) {
	for _, c := range []struct {
		err    error
		word   string
		status int
		exit   int
		resp   string
	}{
		{fmt.Errorf("load: %w", domain.NotFoundf("no job")), "not_found", 404, 4, "ERR"},
		{domain.Conflictf("x"), "conflict", 409, 5, "CONFLICT"},
		{domain.Invalidf("x"), "invalid", 400, 2, "ERR"},
		{domain.Forbiddenf("x"), "forbidden", 403, 3, "NOPERM"},
		{fmt.Errorf("x: %w", domain.ErrUnauthenticated), "unauthenticated", 401, 3, "WRONGPASS"},
		{domain.Unavailablef("x"), "unavailable", 503, 7, "UNAVAILABLE"},
		{domain.Limitf("x"), "limit", 422, 6, "ERR"},
		{domain.Exhaustedf("x"), "exhausted", 429, 6, "BUSY"},
		{context.Canceled, "unavailable", 503, 7, "UNAVAILABLE"},
		{errors.New("disk on fire"), "internal", 500, 70, "ERR"},
	} {
		f, listed := api.FailureOf(c.err)
		if f.Word != c.word || f.Status != c.status || f.Exit != c.exit || f.RESP != c.resp || listed != (c.word != "internal") {
			t.Errorf("%v: got %+v, %v", c.err, f, listed)
		}
		if named, at := api.FailureNamed(c.word), api.FailureAt(c.status); named != f || at != f {
			t.Errorf("%s: got %+v and %+v, want %+v", c.word, named, at, f)
		}
		if kind := api.KindOf(c.word); listed && !errors.Is(c.err, kind) && !errors.Is(c.err, context.Canceled) {
			t.Errorf("%s does not lead back to a kind: got %v", c.word, kind)
		}
	}
}

// TestNoAnswerHasWordsOfGo where something took too long: it says what to do.
func TestNoAnswerHasWordsOfGo(t *testing.T) {
	for _, err := range []error{context.DeadlineExceeded, fmt.Errorf("job:1:7: %w", context.DeadlineExceeded), context.Canceled,
		domain.Unavailablef("the archive: %v", context.DeadlineExceeded), domain.Unavailablef("the archive: %v", os.ErrDeadlineExceeded)} {
		got := api.DetailOf(err)
		if strings.Contains(got, "context") || strings.Contains(got, "i/o") || got == "" {
			t.Errorf("%v: got %q", err, got)
		}
		if says := strings.Contains(got, "ramet doctor"); says == errors.Is(err, domain.ErrUnavailable) {
			t.Errorf("%v: got %q, want what to do where nothing says what is away", err, got)
		}
	}
	if got := api.DetailOf(domain.Invalidf("%q", "context canceled")); got != `"context canceled"` {
		t.Errorf("what callers said themselves became %q", got)
	}
}
