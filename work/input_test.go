package work

import (
	"encoding/json"
	"testing"

	"github.com/ramet-run/ramet/domain"
)

// Who reads input.pack.start is not to fail at the first pack.
func TestTheInputHasWhatIsZero(t *testing.T) {
	in, err := new(Engine).inputOf(t.Context(), 1, &domain.Job{Shard: "0/8", Pack: "0:0-0"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(in)
	if want := `{"params":{},"needs":{},"shard":{"index":0,"total":8},"pack":{"id":0,"start":0,"end":0}}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}
