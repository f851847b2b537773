package layout_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

func TestAuditLines(t *testing.T) {
	for _, c := range []struct {
		name  string
		entry domain.AuditEntry
		list  string
		line  string
	}{
		{name: "what was done", list: "ramet:audit",
			entry: domain.AuditEntry{AtMs: 1000, Actor: 1, Verb: "grant", Object: "actor:2", Context: 7, Outcome: domain.AuditDone, Detail: "reader", Node: "n1"},
			line:  `{"at_ms":1000,"actor":1,"verb":"grant","object":"actor:2","context":7,"outcome":"done","detail":"reader","node":"n1"}`},
		{name: "what was denied, many times", list: "ramet:audit:denied",
			entry: domain.AuditEntry{AtMs: 1000, Actor: 4, Verb: "read", Object: "jobs", Outcome: domain.AuditDenied, Count: 9},
			line:  `{"at_ms":1000,"actor":4,"verb":"read","object":"jobs","outcome":"denied","count":9}`},
		{name: "what was not believed", list: "ramet:audit:denied",
			entry: domain.AuditEntry{AtMs: 1000, Verb: "authenticate", Object: "http", Outcome: domain.AuditRefused},
			line:  `{"at_ms":1000,"actor":0,"verb":"authenticate","object":"http","outcome":"refused"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := layout.AuditLogList(c.entry.Outcome); got != c.list {
				t.Errorf("list: got %s, want %s", got, c.list)
			}
			if got := layout.EncodeAuditLine(layout.AuditLine{AuditEntry: c.entry}); got != c.line {
				t.Errorf("got %s, want %s", got, c.line)
			}
			if back, ok := layout.DecodeAuditEntry(c.line); !ok || back != c.entry {
				t.Errorf("back: got %+v, %v", back, ok)
			}
		})
	}
	linked := layout.AuditLine{AuditEntry: domain.AuditEntry{AtMs: 1000, Outcome: domain.AuditDone, Seq: 7}, Prev: "ab", Key: "cd", Signature: "ef"}
	want := `{"at_ms":1000,"actor":0,"verb":"","object":"","outcome":"done","seq":7,"prev":"ab","key":"cd","sig":"ef"}`
	if got := layout.EncodeAuditLine(linked); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if back, ok := layout.DecodeAuditLine(want); !ok || back != linked {
		t.Errorf("back: got %+v, %v", back, ok)
	}
	if _, ok := layout.DecodeAuditEntry("no JSON"); ok {
		t.Error("a line of somebody else is taken for ours")
	}
}

// TestALineIsNeverLong: many of them are read at once.
func TestALineIsNeverLong(t *testing.T) {
	worst := strings.Repeat("\"", 10_000)
	e := domain.AuditEntry{AtMs: 1 << 60, Actor: 1<<32 - 1, Verb: worst, Object: worst, Context: 1<<32 - 1, Outcome: domain.AuditRefused,
		Detail: worst, Node: "n", Count: 1 << 60}
	l := layout.AuditLine{AuditEntry: e.Cut(), Prev: strings.Repeat("a", 64), Key: strings.Repeat("a", 64), Signature: strings.Repeat("a", 128)}
	if n := len(layout.EncodeAuditLine(l)); n > 3000 {
		t.Errorf("a line has %d bytes", n)
	}
}

// TestAHeadIsReadBack holds the record of a chain's end.
func TestAHeadIsReadBack(t *testing.T) {
	for _, h := range []domain.AuditHead{
		{Seq: 3, Hash: "ab"},
		{Seq: 0, Dropped: 4},
		{Seq: 9, Hash: "ab", Dropped: 4, Anchor: &domain.AuditAnchor{Seq: 2, Hash: "cd", AtMs: 5, Node: "n1", Key: "ef", Signature: "01"}},
	} {
		got, err := layout.DecodeAuditHead(layout.AuditLog, layout.EncodeAuditHead(h))
		if diff := cmp.Diff(h, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
	for _, f := range []board.Field{{Name: "seq", Value: "x"}, {Name: "dropped", Value: "-1"}, {Name: "anchor", Value: "x"}} {
		if _, err := layout.DecodeAuditHead(layout.AuditLog, board.Record{f}); !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), f.Name) {
			t.Errorf("%v: got %v", f, err)
		}
	}
}
