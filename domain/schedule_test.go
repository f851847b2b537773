package domain_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/ramet-run/ramet/domain"
)

func TestScheduleDefaults(t *testing.T) {
	s := domain.Schedule{Name: "s", Blueprint: "b", Every: 60}
	if s.Window() != time.Hour || s.OverlapOr() != domain.OverlapSkip {
		t.Errorf("got %v and %v, want an hour and skip", s.Window(), s.OverlapOr())
	}
	none := domain.Span(0)
	s.CatchUp = &none
	if s.Window() != domain.LateNotMissed {
		t.Errorf("got %v, want %v", s.Window(), domain.LateNotMissed)
	}
	at := time.Date(2026, 3, 29, 3, 0, 0, 0, time.FixedZone("", 7200))
	if got, want := s.TriggerAt(at), "s-20260329010000"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestOffsets(t *testing.T) {
	for text, want := range map[string]domain.Offset{`-90`: -90, `"-24h"`: -86400, `"1h30m"`: 5400, `0`: 0} {
		var got domain.Offset
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s: got %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{`"--1h"`, `"1.5s"`, `""`, `"-"`, `"day"`} {
		var got domain.Offset
		if err := json.Unmarshal([]byte(text), &got); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("%s: got %d, %v, want invalid", text, got, err)
		}
	}
}
