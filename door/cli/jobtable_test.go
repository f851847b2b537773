package cli

import (
	"strings"
	"testing"

	"github.com/ramet-run/ramet/domain"
)

// A cancel that is asked for is not one that is done.
func TestJobTableTellsHowFarACancelIs(t *testing.T) {
	for status, want := range map[domain.JobStatus]string{
		domain.JobStarted: "to be cancelled asked for by 7: it is to stop; `ramet job explain` says whether it was told",
		domain.JobError:   "cancelled by 7",
	} {
		var out strings.Builder
		rows := newTable(&out)
		jobTable(rows, &domain.Job{ID: 1, CallerID: 1, Status: status, Cancel: "7"})
		if err := rows.flush(); err != nil || !strings.Contains(strings.Join(strings.Fields(out.String()), " "), want) {
			t.Errorf("%s: got %v\n%s, want %q", status, err, &out, want)
		}
	}
}
