package archive_test

import (
	"errors"
	"testing"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/domain"
)

// Filters and cursors come from strangers: they make a plan, or are refused.
func FuzzPlan(f *testing.F) {
	f.Add("", "", "5.job:1:1", 1)
	f.Add("error", "exit code 7", "x", 501)
	f.Add("\xff\x00", "-", "9223372036854775808.k", -1)
	f.Fuzz(func(t *testing.T, status, text, cursor string, limit int) {
		p, err := archive.Query{Context: 7, Status: status, Text: text, Cursor: cursor, Limit: limit}.Plan()
		switch {
		case err != nil && !errors.Is(err, domain.ErrInvalid):
			t.Errorf("got %v, want invalid", err)
		case err == nil && (p.Limit < 1 || p.Limit > archive.MaxPage || (p.After == nil) != (cursor == "")):
			t.Errorf("got the plan %+v", p)
		case err == nil && p.After != nil:
			if again, err := (archive.Query{Context: 7, Cursor: p.After.String()}).Plan(); err != nil || *again.After != *p.After {
				t.Errorf("cursor %q read again: %+v, %v", cursor, again.After, err)
			}
		}
	})
}
