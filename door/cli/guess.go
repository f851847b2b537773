package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// otherNames are what other programs call the fields of a job.
var otherNames = map[string]string{
	"env": "env_vars", "type": "script_type", "depends_on": "dependends", "needs": "dependends", "caller": "caller_id", "path": "file",
}

// guess is a hint at the known name that is nearest to a wrong one: the same
// but for case and dashes, a slip of the fingers away, or its beginning.
func guess(name string, known []string) string {
	best := otherNames[name]
	if !slices.Contains(known, best) {
		best = domain.Nearest(name, known)
	}
	if best == "" {
		return "; known are " + strings.Join(known, ", ")
	}
	return fmt.Sprintf("; did you mean %q?", best)
}
