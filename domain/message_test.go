package domain_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/domain"
)

func TestJobsThatNameEachOtherAreNumberedAnew(t *testing.T) {
	jobs := []domain.Job{{ID: 1}, {ID: 2, Step: "load"}, {ID: 3, Dependends: []domain.JobID{1, 2}}, {}, {}}
	if err := domain.NumberJobs(jobs, 2); err != nil {
		t.Fatal(err)
	}
	want := []domain.Job{{ID: 2, Step: "1"}, {ID: 3, Step: "load"}, {ID: 4, Dependends: []domain.JobID{2, 3}}, {ID: 5}, {ID: 6}}
	if diff := cmp.Diff(want, jobs); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Number 9 may be one of those that are drawn: it would depend on the wrong job.
func TestJobsThatNameWhatIsNotThereAreNotNumbered(t *testing.T) {
	for name, jobs := range map[string][]domain.Job{
		"two of one id":              {{ID: 1}, {ID: 1}},
		"needs what is not there":    {{ID: 1, Dependends: []domain.JobID{9}}},
		"needs one that has no id":   {{}, {ID: 1, Dependends: []domain.JobID{0}}},
		"needs, and has none itself": {{ID: 1}, {Dependends: []domain.JobID{9}}},
	} {
		if err := domain.NumberJobs(jobs, 9); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
