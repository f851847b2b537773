package saga

import "testing"

// TestManyRefusedCommandsAreSaidToBeAtLeastSoMany, as they are counted up to a bound.
func TestManyRefusedCommandsAreSaidToBeAtLeastSoMany(t *testing.T) {
	for n, want := range map[int]string{2: "2", refusedMost - 1: "999", refusedMost: "at least 1000", refusedMost + 499: "at least 1499"} {
		if got := refusedText(n); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
}
