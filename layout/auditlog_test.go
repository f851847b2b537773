package layout_test

import (
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
			var b board.Batch
			layout.AppendAuditEntry(&b, c.entry)
			want := board.Op{Kind: board.OpAppend, Key: c.list, N: layout.AuditMost, Items: []string{c.line}}
			if diff := cmp.Diff([]board.Op{want}, b.Ops); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if back, ok := layout.DecodeAuditEntry(c.line); !ok || back != c.entry {
				t.Errorf("back: got %+v, %v", back, ok)
			}
		})
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
	if n := len(layout.EncodeAuditEntry(e)); n > 2500 {
		t.Errorf("a line has %d bytes", n)
	}
}
