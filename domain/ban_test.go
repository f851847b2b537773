package domain_test

import (
	"errors"
	"testing"
	"time"

	"github.com/ramet-run/ramet/domain"
)

func TestBanLevelsCover(t *testing.T) {
	for _, c := range []struct {
		level, does domain.BanLevel
		want        bool
	}{
		{domain.BanPick, domain.BanPick, true},
		{domain.BanPick, domain.BanCreate, false},
		{domain.BanCreate, domain.BanPick, true},
		{domain.BanCreate, domain.BanSubmit, false},
		{domain.BanSubmit, domain.BanPick, true},
		{domain.BanSubmit, domain.BanCreate, true},
		{domain.BanSubmit, domain.BanExec, false},
		{domain.BanExec, domain.BanOccupy, false},
		{domain.BanOccupy, domain.BanExec, true},
		{domain.BanOccupy, domain.BanPick, false},
	} {
		if got := c.level.Covers(c.does); got != c.want {
			t.Errorf("%s covers %s: got %v, want %v", c.level, c.does, got, c.want)
		}
	}
}

func TestBanScopesAreReadAsWritten(t *testing.T) {
	for text, words := range map[string]string{
		"all":                       "all",
		"1:context":                 "context",
		"7:context":                 "context --context 7",
		"1:blueprint:nightly":       "blueprint nightly",
		"7:flow:33":                 "flow 33 --context 7",
		"0:type:shell":              "type shell --everywhere",
		"7:type:shell":              "type shell --context 7",
		"0:routine:auditor":         "routine auditor --everywhere",
		"7:saga:order":              "saga order --context 7",
		"1:effect:http://a:8080/x:": "effect http://a:8080/x:",
	} {
		s, err := domain.ParseBanScope(text)
		if err != nil || s.String() != text || s.Words() != words {
			t.Errorf("%s: got %+v, %q, %v, want %q", text, s, s.Words(), err, words)
		}
	}
	for _, text := range []string{"", "all:x", "0:all", "0:context", "7:context:x", "07:context", "7:flow:x", "7:flow:033", "0:flow:3",
		"0:blueprint:b", "0:saga:order",
		"7:type:Shell", "7:type:", "7:thing:x", "7"} {
		if s, err := domain.ParseBanScope(text); err == nil {
			t.Errorf("%q: got %+v, want an error", text, s)
		}
	}
}

func TestBansThatAreWrong(t *testing.T) {
	good := domain.Ban{BanScope: domain.BanScope{Kind: domain.BanAll}, Level: domain.BanPick, Reason: "x"}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*domain.Ban){
		"no reason":               func(b *domain.Ban) { b.Reason = "" },
		"a long reason":           func(b *domain.Ban) { b.Reason = string(make([]byte, 1001)) },
		"a routine's level":       func(b *domain.Ban) { b.Level = domain.BanExec },
		"no level":                func(b *domain.Ban) { b.Level = "" },
		"an end before the epoch": func(b *domain.Ban) { b.UntilMs = -1 },
		"no such kind":            func(b *domain.Ban) { b.Kind = "x" },
		"submit of a flow": func(b *domain.Ban) {
			b.BanScope = domain.BanScope{Kind: domain.BanFlow, Context: 1, Name: "3"}
			b.Level = domain.BanSubmit
		},
	} {
		b := good
		change(&b)
		if err := b.Validate(); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestABanIsInForceUntilItsEnd(t *testing.T) {
	end := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	b := domain.Ban{UntilMs: end.UnixMilli()}
	if !b.InForce(end.Add(-time.Millisecond)) || b.InForce(end) {
		t.Error("want it in force before its end and not at it")
	}
	if !(domain.Ban{}).InForce(end) {
		t.Error("want one without an end in force")
	}
}
