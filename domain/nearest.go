package domain

import (
	"cmp"
	"strings"
)

// Nearest is the known name that somebody may have meant by a wrong one: the
// same but for case and dashes, a slip of the fingers away, or its beginning;
// "" where there is none.
func Nearest(name string, known []string) string {
	return cmp.Or(slipped(name, known), begun(name, known))
}

// bare is a name without what people write differently.
func bare(s string) string { return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(s)) }

// slipped is the known name with the fewest slips; "" where each has more than
// a person makes: none in two letters, one in a short word, two in a long one.
func slipped(name string, known []string) string {
	most := 2
	switch {
	case len(name) < 3:
		most = 0
	case len(name) < 5:
		most = 1
	case len(name) > MaxNameBytes: // no name is longer, and this takes long
		return ""
	}
	best, name := "", bare(name)
	for _, k := range known {
		b := bare(k)
		if len(b) > len(name)+most || len(name) > len(b)+most || most < 0 {
			continue
		}
		if n := slips(name, b); n <= most {
			best, most = k, n-1
		}
	}
	return best
}

// begun is the known name that a wrong one begins, or goes on from.
func begun(name string, known []string) string {
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
