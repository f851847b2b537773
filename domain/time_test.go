package domain_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/domain"
)

func TestSpansOfTime(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "90": 90 * time.Second, "90s": 90 * time.Second, "1h30m": 90 * time.Minute, "4294967295": 4294967295 * time.Second, "1.5m": 90 * time.Second,
		"": -1, "-1": -1, "-1s": -1, "1.5s": -1, "4294967296": -1, "soon": -1, "2000000h": -1,
		"2d": 48 * time.Hour, "1d12h": 36 * time.Hour, "0d": 0, "d": -1, "-1d": -1, "1d-1h": -1, "1h1d": -1, "1.5d": -1, "99999d": -1, "49711d": -1,
	} {
		got, err := domain.ParseSpan(text)
		if want < 0 {
			if !errors.Is(err, domain.ErrInvalid) {
				t.Errorf("%q: got %v, %v", text, got, err)
			}
		} else if err != nil || got.Time() != want {
			t.Errorf("%q: got %v, %v, want %v", text, got.Time(), err, want)
		}
	}
}

func TestInstants(t *testing.T) {
	for text, want := range map[string]domain.Instant{
		"0": 0, "1769824800000": 1769824800000, "2026-01-31T02:00:00Z": 1769824800000, "2026-01-31T03:00:00.5+01:00": 1769824800500,
		"": -1, "-1": -1, "1.5": -1, "2026-01-31": -1, "253402300800000": -1, "1969-12-31T23:59:59Z": -1, "tomorrow": -1,
	} {
		got, err := domain.ParseInstant(text)
		if want < 0 {
			if !errors.Is(err, domain.ErrInvalid) {
				t.Errorf("%q: got %v, %v", text, got, err)
			}
		} else if err != nil || got != want {
			t.Errorf("%q: got %v, %v, want %v", text, got, err, want)
		}
	}
}

func TestTheNearestName(t *testing.T) {
	known := []string{"needs", "name", "max_parallel", "on_error", "id"}
	for name, want := range map[string]string{
		"need": "needs", "maxParallel": "max_parallel", "onerror": "on_error", "on-error": "on_error", "max": "max_parallel", "nmae": "name",
		"ID": "id", "ix": "", "x": "", "": "", "something": "", strings.Repeat("n", 10_000): "",
	} {
		if got := domain.Nearest(name, known); got != want {
			t.Errorf("%.20q: got %q, want %q", name, got, want)
		}
	}
}
