package console

// Inside the package: pages have what these make within much else.

import (
	"bytes"
	"context"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestCommandsAreQuotedForAShell(t *testing.T) {
	v := &visit{}
	for word, want := range map[string]string{"nightly": "nightly", "a b": "'a b'", "x; rm -rf /": "'x; rm -rf /'", "it's": `'it'\''s'`, "": "''",
		"$(id)": "'$(id)'", "a\nb": "'a?b'", "flow.retried > 0": "'flow.retried > 0'"} {
		if got := v.command(word); got != "ramet "+want {
			t.Errorf("%q: got %s", word, got)
		}
	}
}

func TestSpans(t *testing.T) {
	for ms, want := range map[int64]string{0: "0 ms", 999: "999 ms", 1500: "1.5 s", 59_999: "59 s", 61_000: "1 m 01 s", 599_999: "9 m 59 s", 725_000: "12 m",
		3_700_000: "1 h 01 m", 3 * 86_400_000: "3 d"} {
		if got := momentOf(1_000_000_000_000-ms, time.UnixMilli(1_000_000_000_000)).Ago; got != want {
			t.Errorf("%d ms: got %s, want %s", ms, got, want)
		}
	}
}

func TestSentencesAboutSteps(t *testing.T) {
	for want, steps := range map[string][]string{"Step a runs.": {"a"}, "Steps a and b run.": {"a", "b"}, "Steps a, b, c and d run.": {"a", "b", "c", "d"},
		"Steps a, b, c and 2 others run.": {"a", "b", "c", "d", "e"}} {
		if got := named(steps, "runs", "run"); got != want {
			t.Errorf("%v: got %s, want %s", steps, got, want)
		}
	}
}

func TestAnActionIsKnownByWhatItDoes(t *testing.T) {
	replay := action{Post: "/console/c/7/letters/list/many?cause=a&kind=event&to_ms=5", Fields: []field{{"act", "replay"}}}
	later, drop, other := replay, replay, replay
	later.Post = "/console/c/7/letters/list/many?cause=a&kind=event&to_ms=9"
	drop.Fields = []field{{"act", "drop"}}
	other.Post = "/console/c/7/letters/list/many?cause=b&kind=event&to_ms=5"
	if replay.Mark() != later.Mark() {
		t.Errorf("%q became %q as time went by", replay.Mark(), later.Mark())
	}
	if replay.Mark() == drop.Mark() || replay.Mark() == other.Mark() || drop.Mark() == other.Mark() {
		t.Errorf("%q, %q and %q are taken for each other", replay.Mark(), drop.Mark(), other.Mark())
	}
}

func TestKeysAndNamesStayAsTheyAreWritten(t *testing.T) {
	for text, want := range map[string]string{"exit code 3": "Exit code 3", "job:1:2 has not ended": "job:1:2 has not ended", "n1/a decides": "n1/a decides",
		"élan fehlt": "Élan fehlt", "gone: x": "Gone: x", "": "", "started_at is odd": "started_at is odd", "1 job waits": "1 job waits"} {
		if got := upper(text); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for text, want := range map[string]string{"Exit code 3": "exit code 3", "ENOENT at x": "ENOENT at x", "Élan": "élan", "": ""} {
		if got := lower(text); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestWhatStandsBetweenBackticksIsCode: and what others wrote among it is no markup.
func TestWhatStandsBetweenBackticksIsCode(t *testing.T) {
	for text, want := range map[string]string{"run `ramet ban lift x` then": "run <code>ramet ban lift x</code> then", "no code": "no code",
		"`<b>` & `": "<code>&lt;b&gt;</code> &amp; `", "`": "`", "``": "<code></code>"} {
		if got := coded(text); string(got.(written)) != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

// TestAPageIsWrittenWhoeverHasGone: that its reader went away is no fault of a page, and no line in the log.
func TestAPageIsWrittenWhoeverHasGone(t *testing.T) {
	gone, leave := context.WithCancel(t.Context())
	leave()
	var log, text bytes.Buffer
	v := &visit{console: &Console{cfg: Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}}}
	v.r = httptest.NewRequestWithContext(gone, "GET", "/console/", nil)
	if !v.written(&text, (&page{Title: "a", Body: nothing{}}).frame()) || !strings.HasSuffix(text.String(), "</html>") || log.Len() > 0 {
		t.Errorf("got %q, and in the log %q", text.String(), log.String())
	}
}
