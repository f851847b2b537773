package work

import (
	"fmt"
	"strings"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// The keys of a result by which a script that ended badly says whether and when it is to
// be tried again.
const (
	keyRetry      = "retry"
	retryNever    = "never"
	keyRetryAfter = "retry_after" // a span: 90, 90s, 5m
)

// saidOfNext is what a script that ended badly says of its next attempt.
type saidOfNext struct {
	never bool          // it would end the same
	after time.Duration // it wants at least this pause
	// strange is for the job's error where it says what nobody knows: to take that for
	// "never" could lose work, to be silent would be tried 255 times.
	strange string
}

// saysOf reads it from the script's result.
func saysOf(result map[string]string) (s saidOfNext) {
	switch word := strings.TrimSpace(result[keyRetry]); word {
	case "":
	case retryNever:
		s.never = true
		return s
	default:
		s.strange = fmt.Sprintf(" (its result says retry=%.40q, which says nothing: want %s", word, retryNever)
		if near := domain.Nearest(word, []string{retryNever}); near != "" {
			s.strange += fmt.Sprintf("; did you mean %q?", near)
		}
		s.strange += ")"
	}
	if text := strings.TrimSpace(result[keyRetryAfter]); text != "" {
		span, err := domain.ParseSpan(text)
		if err != nil {
			s.strange += fmt.Sprintf(" (its result says retry_after=%.40q, which says nothing: want whole seconds, as 90, 90s or 5m)", text)
		}
		s.after = span.Time()
	}
	return s
}
