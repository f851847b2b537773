package work

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// This file has which of the lines that a worker numbers are in the log of its attempt: where an answer is
// lost they come again, and requests that are made beside each other overtake each other.

// seenWindow is how far behind the highest number a line may come that has not come yet. A record has a bit for each,
// so that it is of one size in whatever order they come.
const seenWindow = 1_000

// logSeen is what has come of the lines of an attempt.
type logSeen struct {
	last int64
	// missing has a bit for each of the last seenWindow numbers, that of n at n % seenWindow: it has not come.
	missing [seenWindow / 8]byte
}

// parseSeen reads what [logSeen.text] wrote of an attempt; of another nothing has come.
func parseSeen(text string, attempt int64) (s logSeen) {
	of, rest, _ := strings.Cut(text, ":")
	last, missing, _ := strings.Cut(rest, ":")
	n, err := strconv.ParseInt(last, 10, 64)
	if err != nil || of != strconv.FormatInt(attempt, 10) {
		return s
	}
	s.last = n
	if bits, err := base64.RawStdEncoding.DecodeString(missing); err == nil && len(bits) == len(s.missing) {
		copy(s.missing[:], bits)
	}
	return s
}

// text is <attempt>:<last>, and behind another colon in base64 the bits of those that are missing, if there are any.
func (s *logSeen) text(attempt int64) string {
	text := fmt.Sprintf("%d:%d", attempt, s.last)
	if s.missing != ([len(s.missing)]byte{}) {
		text += ":" + base64.RawStdEncoding.EncodeToString(s.missing[:])
	}
	return text
}

// bit is where the bit of a number lies.
func (s *logSeen) bit(n int64) (in *byte, mask byte) {
	n %= seenWindow
	return &s.missing[n/8], 1 << (n % 8)
}

// take notes a number, and reports whether it had not come. Lines without one are all new.
func (s *logSeen) take(n int64) bool {
	if n <= 0 {
		return true
	}
	for between := max(s.last+1, n-seenWindow+1); between < n; between++ {
		in, mask := s.bit(between)
		*in |= mask
	}
	in, mask := s.bit(n)
	fresh := n > s.last || n > s.last-seenWindow && *in&mask != 0
	if fresh {
		s.last = max(s.last, n)
		*in &^= mask
	}
	return fresh
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
