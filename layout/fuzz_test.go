package layout_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// Any client of the store writes these records: whatever a field has, a decoder
// reads it or says what is wrong.
func FuzzDecode(f *testing.F) {
	for _, seed := range [][2]string{{"script", "echo hi"}, {"env_vars", `{"a":"b"}`}, {"env_vars", `{"a":1}`}, {"result", "(unreadable"},
		{"dependends", "[1,-2]"},
		{"retries", "256"}, {"status", "?"}, {"needs", `{"a":{}}`}, {"state", "{"}, {"steps", "[{}]"}, {"job", `[{"id":1}]`}, {"logs", "[null]"},
		{"definition", "null"}, {"counts", "{}"}, {"exit_code", "1e9"}, {"serves", "[{}]"}, {"card", "{}"}, {"unreadable", "x"}, {"created_at", "99999999999"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, name, value string) {
		r := board.Record{{Name: name, Value: value}}
		job, err := layout.DecodeJob(domain.JobKey{Caller: 1, ID: 1}, r)
		errs := []error{err}
		if err == nil {
			// What was read is written and read as the same.
			again, err := layout.DecodeJob(job.Key(), layout.EncodeJob(job))
			if name == "attempt" || name == "lease_owner" || name == "parked" || job.Status == "" {
				again = job // the board's own, or not there
			}
			if diff := cmp.Diff(job, again, cmpopts.EquateEmpty()); err != nil || diff != "" {
				t.Errorf("written and read again: %v (-was +is):\n%s", err, diff)
			}
		}
		note := func(_ any, err error) { errs = append(errs, err) }
		note(layout.DecodeMessage(domain.MessageKey{Caller: 1, ID: 1}, r))
		note(layout.DecodeFlow("flow:1", r))
		note(layout.DecodeSaga("7", "parcel", "17", r))
		note(layout.DecodeSchedule("ramet:schedule:s", r))
		note(layout.DecodeRoutine("ramet:routine:r", r))
		note(layout.DecodeRunner("runner:1", r))
		note(layout.DecodeNode("ramet:node:n", r))
		note(layout.DecodePeer("ramet:peer:p", r))
		note(layout.DecodeTenant("context:7", r))
		note(layout.DecodeActor("actor:1", r))
		note(layout.DecodeBan("ramet:ban:b", r))
		note(layout.DecodeVersion("ramet:blueprint:b:1", r))
		note(layout.DecodeObject("m", 1, r))
		note(layout.DecodeIndexes("m", value))
		layout.DecodeInstance(r)
		layout.DecodeLog(value)
		layout.DecodeAuditEntry(value)
		for _, err := range errs {
			if err != nil && !errors.Is(err, domain.ErrInvalid) {
				t.Errorf("got %v, want invalid", err)
			}
		}
	})
}
