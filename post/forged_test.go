package post_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/bus/membus"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

// TestOneMessageIsOneMessage: the spelling of a signature makes no other message
// of it.
func TestOneMessageIsOneMessage(t *testing.T) {
	k, err := identity.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	m := domain.Message{ID: 1, CallerID: 1, MessageType: domain.MessageChat, Message: "x"}
	if err := identity.SignMessage(k, &m); err != nil {
		t.Fatal(err)
	}
	if err := identity.VerifyMessage(&m); err != nil {
		t.Fatal(err)
	}
	upper := m
	upper.Signature = strings.ToUpper(m.Signature)
	if identity.VerifyMessage(&upper) == nil {
		t.Error("a signature in upper case was taken")
	}
	upper = m
	upper.Pubkey = strings.ToUpper(m.Pubkey)
	if identity.VerifyMessage(&upper) == nil {
		t.Error("a key in upper case was taken")
	}
}

// TestEveryFieldOfAMessageIsSigned alters each field in turn.
func TestEveryFieldOfAMessageIsSigned(t *testing.T) {
	k, err := identity.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	m := domain.Message{ID: 1, CallerID: 2, SrcContext: 3, ContextID: 3, Message: "x", MessageType: domain.MessageJob, MessageFormatType: domain.FormatText,
		Timeout: 1, TimeoutAck: 2, TimeoutResult: 3, Job: domain.List[domain.Job]{{ID: 1, Script: "a", ScriptType: "shell"}}, CreatedAt: 5, DstContext: 6,
		DstPubkey: "p", DstNode: "n", Topic: "runner1", ReplyTo: "message:1:2", ReplyDigest: "d", Flow: "{}", ExpiresAt: 9}
	if err := identity.SignMessage(k, &m); err != nil {
		t.Fatal(err)
	}
	// What becomes of it on its way is not signed; all else is.
	free := map[string]bool{"status": true, "updated_at": true, "logs": true, "dst_actor": true, "context_id": true, "error": true, "stage": true,
		"node": true, "answer": true, "receipt": true, "pushes": true, "sent_ms": true, "acked_ms": true, "ended_ms": true, "origin": true,
		"signature": true, "alg": true}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	altered := 0
	for name, v := range fields {
		if free[name] {
			continue
		}
		other := map[string]any{}
		for n, w := range fields {
			other[n] = w
		}
		switch w := v.(type) {
		case string:
			other[name] = w + "y"
		case float64:
			other[name] = w + 1
		case []any:
			other[name] = []any{}
		}
		text, err := json.Marshal(other)
		if err != nil {
			t.Fatal(err)
		}
		var changed domain.Message
		if err := json.Unmarshal(text, &changed); err != nil {
			t.Fatal(err)
		}
		if identity.VerifyMessage(&changed) == nil {
			t.Errorf("%s was altered, and the signature is good", name)
		}
		altered++
	}
	if altered < 15 {
		t.Errorf("only %d fields were altered", altered)
	}
}

// TestAMessageForNoNodeIsNotCarriedElsewhere: what was written for a context of
// its own board names that board's node.
func TestAMessageForNoNodeIsNotCarriedElsewhere(t *testing.T) {
	bubble(t, membus.Config{}, func(t *testing.T, _ *membus.Network, a, _ *site) {
		m := a.send(domain.Message{MessageType: domain.MessageJob, DstContext: annex, Job: domain.List[domain.Job]{{Script: "set x 1", ScriptType: "lines"}}})
		if m.DstNode != a.post.Node() {
			t.Errorf("a message within the board is for node %q", m.DstNode)
		}
		a.wait(m)
	})
}

// TestAResultThatCannotBeWrittenEndsTheJob: a name over the board's limit must
// not keep a flow for ever.
func TestAResultThatCannotBeWrittenEndsTheJob(t *testing.T) {
	bubble(t, membus.Config{}, func(t *testing.T, _ *membus.Network, a, _ *site) {
		long := "params." + strings.Repeat("x", 300)
		f := a.flow(&domain.Blueprint{Name: "long", Steps: []domain.Step{{Name: "there", Script: "set " + long + " 1", ScriptType: "lines", At: "7@beta"}}})
		if f.Status != domain.FlowError {
			t.Errorf("got %s: %v", f.Status, f.Result)
		}
	})
}

// TestLogLinesFromElsewhereAreBounded: however much a site sends.
func TestLogLinesFromElsewhereAreBounded(t *testing.T) {
	bubble(t, membus.Config{}, func(t *testing.T, _ *membus.Network, a, b *site) {
		var script strings.Builder
		for range 60 {
			script.WriteString("shout 30000\nsleep 2s\n")
		}
		m := a.send(jobTo(b, script.String()))
		time.Sleep(90 * time.Second)
		logs, err := a.post.Logs(t.Context(), home, m.Key())
		a.must(err)
		size := 0
		for _, l := range logs {
			size += len(l.Line)
		}
		if size == 0 || size > 1<<20 {
			t.Errorf("%d bytes of log are kept", size)
		}
		a.wait(m)
	})
}
