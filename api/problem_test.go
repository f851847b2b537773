package api_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

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
