package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
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
		best = cmp.Or(nearest(name, known), completion(name, known))
	}
	if best == "" {
		return "; known are " + strings.Join(known, ", ")
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// bare is a name without what people write differently.
func bare(s string) string { return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(s)) }

// nearest is the known name with the fewest slips; "" where each has more than
// a person makes: one in a short word, two in a long one.
func nearest(name string, known []string) string {
	most := 2
	switch {
	case len(name) < 5:
		most = 1
	case len(name) > 64: // no field's name is, and this takes long
		return ""
	}
	best := ""
	for _, k := range known {
		if n := slips(bare(name), bare(k)); n <= most {
			best, most = k, n-1
		}
	}
	return best
}

// completion is the known name that a wrong one begins, or goes on from.
func completion(name string, known []string) string {
	p := bare(name)
	for _, k := range known {
		if q := bare(k); len(p) > 2 && len(q) > 2 && (strings.HasPrefix(q, p) || strings.HasPrefix(p, q)) {
			return k
		}
	}
	return ""
}

// slips counts the letters that were left out, added, mistyped or swapped with
// the next one to make b of a.
//
// Source: the optimal string alignment distance (Damerau, Levenshtein).
func slips(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			mistyped := last[j-1]
			if a[i-1] != b[j-1] {
				mistyped++
			}
			row[j] = min(last[j]+1, row[j-1]+1, mistyped)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
