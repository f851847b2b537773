package identity_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
)

// nodeKey is the key by which the node of the tests signs.
var nodeKey, _ = identity.NewKey()

// findings looks through a chain page by page, as a client does.
func findings(t *testing.T, l *identity.AuditLog, tenant domain.TenantID, outcome domain.AuditOutcome, trusted ...string) identity.AuditFindings {
	t.Helper()
	var v *identity.AuditVerifier
	for from := int64(0); ; {
		head, lines, next, err := l.Chain(t.Context(), tenant, outcome, from, 7)
		if err != nil {
			t.Fatal(err)
		}
		if v == nil {
			v = identity.NewAuditVerifier(tenant, outcome, head, trusted...)
		}
		for _, line := range lines {
			v.Line(line)
		}
		if from = next; from == 0 {
			return v.Done(head)
		}
	}
}

// chained is a board with an audit log, to which grants in context 7 add lines.
type chained struct {
	*testing.T
	board    *memboard.Board
	registry *identity.Registry
	log      *identity.AuditLog
	grants   int
}

func newChained(t *testing.T) *chained {
	b := newBoard(t)
	c := &chained{T: t, board: b, registry: newHouse(t, b)}
	c.registry.SetNode("n1", nodeKey)
	c.log = identity.NewAuditLog(c.registry, nil)
	return c
}

// act adds lines, each in a commit of its own.
func (c *chained) act(n int) {
	c.Helper()
	for range n {
		c.grants++
		actor := domain.ActorID(100 + c.grants)
		newActor(c.T, c.registry, actor)
		if _, _, err := c.registry.As(1).Grant(c.Context(), 7, actor, domain.Reader); err != nil {
			c.Fatal(err)
		}
	}
}

// lines are those of what was done in context 7.
func (c *chained) lines() []string {
	c.Helper()
	lines, err := c.board.List(c.Context(), 7, layout.AuditLog, 0, 1_000_000)
	if err != nil {
		c.Fatal(err)
	}
	return lines
}

// rewrite puts other lines in their place, as who has the board's password can.
func (c *chained) rewrite(lines []string, ops ...func(*board.Batch)) {
	c.Helper()
	b := board.Batch{Space: 7}
	b.Delete(layout.AuditLog).PushRight(layout.AuditLog, lines...)
	for _, op := range ops {
		op(&b)
	}
	if err := c.board.Commit(c.Context(), b); err != nil {
		c.Fatal(err)
	}
}

// TestWhoChangesTheAuditLogIsFound changes it in each way, and wants the line named.
func TestWhoChangesTheAuditLogIsFound(t *testing.T) {
	other, _ := identity.NewKey()
	head := func(seq int, hash string) func(*board.Batch) {
		return func(b *board.Batch) {
			b.Set(layout.AuditHead(layout.AuditLog), layout.EncodeAuditHead(domain.AuditHead{Seq: int64(seq), Hash: hash})...)
		}
	}
	for _, c := range []struct {
		name   string
		change func(c *chained, lines []string)
		want   []string // none: nothing is found
	}{
		{name: "nothing is changed", change: func(*chained, []string) {}},
		{name: "one word of a line is changed", want: []string{"line 5 is not as it was"}, change: func(c *chained, l []string) {
			l[4] = strings.Replace(l[4], `"reader"`, `"admin!"`, 1)
			c.rewrite(l)
		}},
		{name: "the last line is changed", want: []string{"line 10 is not as it was written", "line 10, the last, is not"}, change: func(c *chained, l []string) {
			l[9] = strings.Replace(l[9], `"actor":1`, `"actor":2`, 1)
			c.rewrite(l)
		}},
		{name: "a line is taken out", want: []string{"line 5 before line 6 is missing"}, change: func(c *chained, l []string) {
			c.rewrite(slices.Delete(l, 4, 5))
		}},
		{name: "the oldest are cut", want: []string{"lines 1 to 3 before line 4 are missing"}, change: func(c *chained, l []string) { c.rewrite(l[3:]) }},
		{name: "the newest are cut", want: []string{"lines 9 to 10 at the end are missing"}, change: func(c *chained, l []string) { c.rewrite(l[:8]) }},
		{name: "all are gone", want: []string{"lines 1 to 10 at the end are missing"}, change: func(c *chained, _ []string) {
			if err := c.board.Commit(c.Context(), *(&board.Batch{Space: 7}).Delete(layout.AuditLog)); err != nil {
				c.Fatal(err)
			}
		}},
		{name: "two are exchanged", want: []string{"line 4 before line 5 is missing", "line 4 stands behind line 5"}, change: func(c *chained, l []string) {
			l[3], l[4] = l[4], l[3]
			c.rewrite(l)
		}},
		{name: "a line without a number is put in", want: []string{"behind line 5 stands one that has no number"}, change: func(c *chained, l []string) {
			c.rewrite(slices.Insert(l, 5, `{"at_ms":1,"actor":1,"verb":"grant","object":"x","outcome":"done"}`))
		}},
		{name: "one that is no JSON is put in", want: []string{"behind line 10 stands one"}, change: func(c *chained, l []string) { c.rewrite(append(l, "x")) }},
		{name: "a line is added with a number, and the head moved on, without a key", want: []string{"line 11 is signed by no node"},
			change: func(c *chained, l []string) {
				line := layout.EncodeAuditLine(layout.AuditLine{AuditEntry: domain.AuditEntry{AtMs: 1, Outcome: domain.AuditDone, Seq: 11}, Prev: layout.AuditHash(l[9])})
				c.rewrite(append(l, line), head(11, layout.AuditHash(line)))
			}},
		{name: "all is written anew behind a change, without the key", want: []string{"line 5 is not as it was written: the signature"},
			change: func(c *chained, l []string) {
				for i := 4; i < len(l); i++ {
					line, _ := layout.DecodeAuditLine(l[i])
					line.Detail, line.Prev = "admin", layout.AuditHash(l[i-1])
					l[i] = layout.EncodeAuditLine(line)
				}
				c.rewrite(l, head(10, layout.AuditHash(l[9])))
			}},
		{name: "the log of another context stands there", want: []string{"line 1 is not as it was written: the signature"}, change: func(c *chained, _ []string) {
			for range 2 {
				if _, _, err := c.registry.As(1).CreateActor(c.Context(), domain.Actor{Pubkey: pubkey(c.T)}); err != nil {
					c.Fatal(err)
				}
			}
			lines, err := c.board.List(c.Context(), 0, layout.AuditLog, 0, 100)
			if err != nil {
				c.Fatal(err)
			}
			c.rewrite(lines, head(len(lines), layout.AuditHash(lines[len(lines)-1])))
		}},
		{name: "lines of before there were chains", change: func(c *chained, l []string) {
			c.rewrite(append([]string{`{"at_ms":1,"actor":1,"verb":"grant","object":"x","outcome":"done"}`, "x"}, l...))
		}},
		{name: "cut by who says so himself", want: []string{"the lines up to 3 were cut, and no node has signed for that"}, change: func(c *chained, l []string) {
			c.rewrite(l[3:], func(b *board.Batch) {
				b.Set(layout.AuditHead(layout.AuditLog), layout.EncodeAuditHead(domain.AuditHead{Seq: 10, Hash: layout.AuditHash(l[9]), Dropped: 3,
					Anchor: &domain.AuditAnchor{Seq: 3, Hash: layout.AuditHash(l[2])}})...)
			})
		}},
		{name: "cut with a signature of another", want: []string{"were cut, and the signature is not"}, change: func(c *chained, l []string) {
			c.rewrite(l[3:], func(b *board.Batch) {
				b.Set(layout.AuditHead(layout.AuditLog), layout.EncodeAuditHead(domain.AuditHead{Seq: 10, Hash: layout.AuditHash(l[9]), Dropped: 3,
					Anchor: &domain.AuditAnchor{Seq: 3, Hash: layout.AuditHash(l[2]), Key: other.Pubkey(), Signature: strings.Repeat("ab", 64)}})...)
			})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ch := newChained(t)
			ch.act(10)
			c.change(ch, ch.lines())
			found := findings(t, ch.log, 7, domain.AuditDone)
			if len(c.want) == 0 && len(found.Faults) > 0 {
				t.Errorf("found %+v in what nobody has changed", found.Faults)
			}
			for _, want := range c.want {
				if !slices.ContainsFunc(found.Faults, func(f identity.AuditFault) bool { return strings.Contains(f.Text, want) }) {
					t.Errorf("nothing says %q: %+v", want, found.Faults)
				}
			}
		})
	}
}

// TestEveryChangedByteIsFound changes each byte of a chain.
func TestEveryChangedByteIsFound(t *testing.T) {
	c := newChained(t)
	c.act(3)
	head, lines, _, err := c.log.Chain(t.Context(), 7, domain.AuditDone, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range lines {
		for at := range len(line) {
			v := identity.NewAuditVerifier(7, domain.AuditDone, head)
			for j, l := range lines {
				if j == i {
					l = l[:at] + string(rune(l[at]^1)) + l[at+1:]
				}
				v.Line(l)
			}
			if len(v.Done(head).Faults) == 0 {
				t.Fatalf("byte %d of line %d: nothing is found", at, i+1)
			}
		}
	}
}

func TestOnlyKeysThatAreToBeBelievedCount(t *testing.T) {
	c := newChained(t)
	c.act(2)
	other, _ := identity.NewKey()
	if f := findings(t, c.log, 7, domain.AuditDone, nodeKey.Pubkey(), other.Pubkey()); len(f.Faults) > 0 || f.Keys[nodeKey.Pubkey()] != "n1" {
		t.Errorf("got %+v", f)
	}
	if f := findings(t, c.log, 7, domain.AuditDone, other.Pubkey()); len(f.Faults) == 0 {
		t.Error("a key that is not believed counts")
	}
}

// TestNodesWriteOneChain lets three processes write at once.
func TestNodesWriteOneChain(t *testing.T) {
	c := newChained(t)
	const nodes, each = 3, 40
	var all sync.WaitGroup
	for n := range nodes {
		key, _ := identity.NewKey()
		r := identity.NewRegistry(c.board)
		r.SetNode(fmt.Sprint("node-", n), key)
		l := identity.NewAuditLog(r, nil)
		for range 4 {
			all.Go(func() {
				for i := range each / 4 {
					l.Record(domain.AuditEntry{Actor: 1, Verb: "cancel", Object: fmt.Sprint(i), Context: 7, Outcome: domain.AuditDone})
					if err := l.Flush(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	all.Wait()
	f := findings(t, c.log, 7, domain.AuditDone)
	if len(f.Faults) > 0 || f.Lines != nodes*each || f.Last != nodes*each || len(f.Keys) != nodes {
		t.Errorf("got %+v", f)
	}
}

// TestOldLinesAreCutAndSignedFor cuts by number and by age.
func TestOldLinesAreCutAndSignedFor(t *testing.T) {
	for _, c := range []struct {
		name  string
		keep  identity.AuditKeep
		first int64
	}{
		{"none is too old", identity.AuditKeep{Most: 100, For: time.Hour}, 1},
		{"too many", identity.AuditKeep{Most: 30}, 21},
		{"too old", identity.AuditKeep{For: 10*time.Hour + time.Minute}, 41},
		{"both", identity.AuditKeep{Most: 5, For: 10 * time.Hour}, 46},
		{"all are too old", identity.AuditKeep{For: time.Nanosecond}, 51},
	} {
		t.Run(c.name, func(t *testing.T) {
			ch := newChained(t)
			age := func(i int) time.Duration { return time.Duration(50-i) * time.Hour }
			if c.name == "none is too old" {
				age = func(int) time.Duration { return 0 }
			}
			for i := range 50 {
				ch.log.Record(domain.AuditEntry{AtMs: time.Now().Add(-age(i)).UnixMilli(), Actor: 1, Verb: "cancel", Context: 7, Outcome: domain.AuditDone})
			}
			if err := ch.log.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			ch.registry.SetAuditKeep(c.keep)
			for range 2 {
				if err := ch.registry.TrimAuditLog(t.Context(), 7); err != nil {
					t.Fatal(err)
				}
			}
			f := findings(t, ch.log, 7, domain.AuditDone)
			if len(f.Faults) > 0 || f.First != c.first || f.Last != 50 || f.Dropped != c.first-1 {
				t.Errorf("got %+v", f)
			}
			ch.act(3) // the chain goes on
			ch.registry.SetAuditKeep(identity.AuditKeep{})
			if f := findings(t, ch.log, 7, domain.AuditDone); len(f.Faults) > 0 || f.Last != 53 {
				t.Errorf("after three more: got %+v", f)
			}
		})
	}
}

// TestALogIsNeverMuchLongerThanItMayBe cuts while it is written, with lines of before
// there were chains in it.
func TestALogIsNeverMuchLongerThanItMayBe(t *testing.T) {
	c := newChained(t)
	c.registry.SetAuditKeep(identity.AuditKeep{Most: 100})
	old := make([]string, 900)
	for i := range old {
		old[i] = layout.EncodeAuditLine(layout.AuditLine{AuditEntry: domain.AuditEntry{AtMs: 1, Outcome: domain.AuditDone}})
	}
	if err := c.board.Commit(t.Context(), *(&board.Batch{Space: 7}).PushRight(layout.AuditLog, old...)); err != nil {
		t.Fatal(err)
	}
	for range 30 {
		for range 60 {
			c.log.Record(domain.AuditEntry{AtMs: 1, Actor: 1, Verb: "cancel", Context: 7, Outcome: domain.AuditDone})
		}
		if err := c.log.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	f := findings(t, c.log, 7, domain.AuditDone)
	if len(f.Faults) > 0 || f.Lines > 100+512+60 || f.Unchained > 0 || f.Dropped != 900+f.First-1 || f.Last != 1800 {
		t.Errorf("got %+v", f)
	}
}

// TestANodeSaysThatTheEndWasTakenAway cuts the newest line and moves the head back, which
// the chain alone cannot show.
func TestANodeSaysThatTheEndWasTakenAway(t *testing.T) {
	c := newChained(t)
	c.act(9)
	lines := c.lines()
	c.rewrite(lines[:6], func(b *board.Batch) {
		b.Set(layout.AuditHead(layout.AuditLog), layout.EncodeAuditHead(domain.AuditHead{Seq: 6, Hash: layout.AuditHash(lines[5])})...)
	})
	c.act(1)
	last := c.lines()
	e, ok := layout.DecodeAuditEntry(last[6])
	if !ok || e.Seq != 7 || !strings.Contains(e.Detail, "has seen line 9, and line 6 is the last now") {
		t.Errorf("got %s", last[6])
	}
	if f := findings(t, c.log, 7, domain.AuditDone); len(f.Faults) > 0 || f.Last != 8 {
		t.Errorf("got %+v", f)
	}
}

// TestAGuardOfAChangeIsStillItsOwn wants a conflict of the change itself to be told, and
// not to be tried again as one of the chain.
func TestAGuardOfAChangeIsStillItsOwn(t *testing.T) {
	c := newChained(t)
	c.act(1)
	if _, existing, err := c.registry.As(1).CreateTenant(t.Context(), domain.Tenant{ID: 7, Admins: []domain.ActorID{3}}); existing ||
		!errors.Is(err, domain.ErrConflict) {
		t.Errorf("got %v, %v", existing, err)
	}
	if n := len(c.lines()); n != 1 {
		t.Errorf("got %d lines, want 1", n)
	}
}

// BenchmarkAuditedCommit is what a change of rights costs with its line.
func BenchmarkAuditedCommit(b *testing.B) {
	on := memboard.Open()
	defer on.Close()
	r := identity.NewRegistry(on)
	r.SetNode("n1", nodeKey)
	l := identity.NewAuditLog(r, nil)
	for b.Loop() {
		l.Record(domain.AuditEntry{Actor: 1, Verb: "cancel", Object: "job:1:7", Outcome: domain.AuditDone})
		if err := l.Flush(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
