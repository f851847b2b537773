package domain_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/domain"
)

// TestARoutineOfNothing: 0 is not what stands for what is not said.
func TestARoutineOfNothing(t *testing.T) {
	for said, want := range map[string]string{"": "", `,"every":"1s","scale":100`: "",
		`,"every":"0s"`: "every 0 s: want 1 to 2592000", `,"every":2592001`: "every 2592001 s: want",
		`,"scale":0`: "scale 0: want 1 to 100", `,"scale":101`: "scale 101: want 1 to 100", `,"scale":-1`: "scale -1: want 1 to 100"} {
		var r domain.Routine
		if err := json.Unmarshal([]byte(`{"name":"sync","script":"x","script_type":"shell"`+said+`}`), &r); err != nil {
			t.Fatal(err)
		}
		switch err := r.Validate(); {
		case want == "" && err != nil:
			t.Errorf("%s: %v", said, err)
		case want != "" && (!errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: got %v, want a refusal with %q", said, err, want)
		}
		if said == "" && (r.EveryOr() != 60 || r.ScaleOr() != 1) {
			t.Errorf("unsaid: every %d s, %d instances", r.EveryOr(), r.ScaleOr())
		}
	}
}
