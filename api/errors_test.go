package api_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

func TestFailures(t *testing.T) {
	for _, c := range []struct {
		err    error
		word   string
		status int
		exit   int
	}{
		{fmt.Errorf("load: %w", domain.NotFoundf("no job")), "not_found", 404, 4},
		{domain.Conflictf("x"), "conflict", 409, 5},
		{domain.Invalidf("x"), "invalid", 400, 2},
		{domain.Forbiddenf("x"), "forbidden", 403, 3},
		{fmt.Errorf("x: %w", identity.ErrUnauthenticated), "unauthenticated", 401, 3},
		{domain.Unavailablef("x"), "unavailable", 503, 7},
		{domain.Exhaustedf("x"), "exhausted", 429, 6},
		{context.Canceled, "unavailable", 503, 7},
		{errors.New("disk on fire"), "internal", 500, 70},
	} {
		f, listed := api.FailureOf(c.err)
		if f.Word != c.word || f.Status != c.status || f.Exit != c.exit || listed != (c.word != "internal") {
			t.Errorf("%v: got %+v, %v", c.err, f, listed)
		}
		if exit := api.ExitCode(c.word); exit != c.exit {
			t.Errorf("%s: got exit code %d, want %d", c.word, exit, c.exit)
		}
		if kind := api.KindOf(c.word); listed && !errors.Is(c.err, kind) && !errors.Is(c.err, context.Canceled) {
			t.Errorf("%s does not lead back to a kind: got %v", c.word, kind)
		}
	}
}

func TestUnlistedErrorsShowARequestID(t *testing.T) {
	var log bytes.Buffer
	a := api.New(api.Parts{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	p := a.ProblemOf(api.WithRequestID(t.Context(), "r-1"), errors.New("open /secret/path: disk on fire"))
	if strings.Contains(p.Detail, "secret") || !strings.Contains(p.Detail, "r-1") || p.RequestID != "r-1" {
		t.Errorf("got %+v", p)
	}
	if !strings.Contains(log.String(), "request_id=r-1") || !strings.Contains(log.String(), "/secret/path") {
		t.Errorf("log: got %s", log.String())
	}
}
