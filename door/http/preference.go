package http

import (
	"iter"
	"strconv"
	"strings"
)

// preferences are the members of a header in which a caller says what it would take,
// such as Accept, each with its weight from 0 (not at all) to 1: in lower case, without
// other parameters. A weight that is no number counts as 1.
//
// Source: RFC 9110, section 12.4.2.
func preferences(header []string) iter.Seq2[string, float64] {
	return func(yield func(string, float64) bool) {
		for _, line := range header {
			for member := range strings.SplitSeq(line, ",") {
				name, parameters, _ := strings.Cut(member, ";")
				if name = strings.ToLower(strings.TrimSpace(name)); name != "" && !yield(name, weightOf(parameters)) {
					return
				}
			}
		}
	}
}

func weightOf(parameters string) float64 {
	for p := range strings.SplitSeq(parameters, ";") {
		if name, value, _ := strings.Cut(strings.TrimSpace(p), "="); strings.EqualFold(name, "q") {
			if weight, err := strconv.ParseFloat(value, 64); err == nil && weight >= 0 {
				return weight
			}
		}
	}
	return 1
}
