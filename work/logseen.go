package work

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// This file has which of the lines that a worker numbers are in the log of its attempt: where an answer is
// lost they come again, and requests that are made beside each other overtake each other.

const (
	// seenWindow is how far behind the highest number a line may come that has not come yet.
	seenWindow = 1_000
	// seenGaps is how many stretches of such numbers are remembered, the newest: each costs some bytes of the record.
	seenGaps = 32
)

// logSeen is what has come of the lines of an attempt: all numbers up to last, but those in open.
type logSeen struct {
	last int64
	open []gap // in order
}

// gap are numbers that have not come, both among them.
type gap struct{ from, to int64 }

// parseSeen reads what [logSeen.text] wrote of an attempt; of another nothing has come.
func parseSeen(text string, attempt int64) (s logSeen) {
	of, rest, _ := strings.Cut(text, ":")
	last, gaps, _ := strings.Cut(rest, ":")
	n, err := strconv.ParseInt(last, 10, 64)
	if err != nil || of != strconv.FormatInt(attempt, 10) {
		return s
	}
	s.last = n
	for _, text := range strings.Split(gaps, ",") {
		var g gap
		if _, err := fmt.Sscanf(text, "%d-%d", &g.from, &g.to); err == nil {
			s.open = append(s.open, g)
		}
	}
	return s
}

// text is <attempt>:<last>, and behind another colon the gaps, if there are any.
func (s *logSeen) text(attempt int64) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%d:%d", attempt, s.last)
	for i, g := range s.open {
		sep := ","
		if i == 0 {
			sep = ":"
		}
		fmt.Fprintf(&text, "%s%d-%d", sep, g.from, g.to)
	}
	return text.String()
}

// take notes a number, and reports whether it had not come. Lines without one are all new.
func (s *logSeen) take(n int64) bool {
	if n <= 0 {
		return true
	}
	if n > s.last {
		if n > s.last+1 {
			s.open = append(s.open, gap{s.last + 1, n - 1})
		}
		s.last = n
		s.forget()
		return true
	}
	for i, g := range s.open {
		if n < g.from || n > g.to {
			continue
		}
		var rest []gap
		if n > g.from {
			rest = append(rest, gap{g.from, n - 1})
		}
		if n < g.to {
			rest = append(rest, gap{n + 1, g.to})
		}
		s.open = slices.Replace(slices.Clone(s.open), i, i+1, rest...)
		s.forget()
		return true
	}
	return false
}

// forget drops what lies before the window, and the oldest gaps where there are too many.
func (s *logSeen) forget() {
	first := s.last - seenWindow + 1
	s.open = slices.DeleteFunc(slices.Clone(s.open), func(g gap) bool { return g.to < first })
	if len(s.open) > 0 {
		s.open[0].from = max(s.open[0].from, first)
	}
	s.open = s.open[max(0, len(s.open)-seenGaps):]
}

// unseen are those lines of an attempt that are not in its log.
//
// Errors: [domain.ErrInvalid] for a number that no worker can have come to: what follows with the right ones
// would be taken for seen.
func (s logSeen) unseen(lines []domain.LogLine) (fresh []domain.LogLine, err error) {
	for i, l := range lines {
		if l.N-s.last > domain.MaxLogGap {
			return nil, domain.Invalidf("line %d: n is %d, and the last that came is %d: want the next, and at most %d more where lines are missing",
				i+1, l.N, s.last, int64(domain.MaxLogGap))
		}
	}
	for _, l := range lines { // s is a copy, and what it becomes is for them alone
		if s.take(l.N) {
			fresh = append(fresh, l)
		}
	}
	return fresh, nil
}
