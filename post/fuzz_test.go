package post_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/post"
)

// fuzzKey is one key for all runs of a fuzz test: what it finds is found again.
func fuzzKey(f *testing.F, name string) identity.Key {
	f.Helper()
	seed := sha256.Sum256([]byte(name))
	public := ed25519.NewKeyFromSeed(seed[:]).Public().(ed25519.PublicKey)
	path := filepath.Join(f.TempDir(), "key")
	if err := os.WriteFile(path, fmt.Appendf(nil, `{"pubkey":"%x","private_key":"%x"}`, public, seed), 0o600); err != nil {
		f.Fatal(err)
	}
	k, err := identity.LoadKey(path)
	if err != nil {
		f.Fatal(err)
	}
	return k
}

// Whatever comes over a bus is no parcel, or one that was sealed for this node.
func FuzzUnseal(f *testing.F) {
	node, other := fuzzKey(f, "node"), fuzzKey(f, "other")
	now := time.Unix(1_800_000_000, 0)
	for _, p := range []post.Parcel{
		{},
		{Messages: []json.RawMessage{[]byte(`{"id":1}`), []byte(`1`)}},
		{Receipts: []post.Receipt{{Context: 1, Key: "message:1:1", Status: domain.MessageAcknowledged}}},
		{Notes: []post.Note{{Context: 1, Key: "message:1:1", Lines: []domain.Log{{Line: "x", N: 1}}}}},
	} {
		text, err := post.Seal(other, node.Pubkey(), now, p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(post.ParcelMark))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := post.Unseal(text, node.Pubkey(), now)
		if err != nil {
			// What is in it is looked at all the same: a node that is a peer's may
			// have sealed it.
			again, errSeal := post.Seal(other, node.Pubkey(), now, post.Parcel{Messages: []json.RawMessage{text}})
			if errSeal != nil {
				return // no JSON
			}
			if p, err = post.Unseal(again, node.Pubkey(), now); err != nil {
				return // too large
			}
		}
		if p.To != node.Pubkey() {
			t.Errorf("taken, but it is for %q", p.To)
		}
		for _, l := range p.Messages {
			_, _ = post.ReadMessage(l, p.From)
		}
	})
}

// Whatever a message is, it does not break who reads it; and one that is good stays
// so, with the same name, when it is stored and sent on.
func FuzzSignedMessage(f *testing.F) {
	actor := fuzzKey(f, "actor")
	at := domain.UnixTime(1_800_000_000)
	for _, m := range []domain.Message{
		{ID: 1, CallerID: 1, SrcContext: 1, DstContext: 7, MessageType: domain.MessageChat, Message: "h\u2028i <b>&amp;", DstPubkey: actor.Pubkey(),
			CreatedAt: at, ExpiresAt: at + 60},
		{ID: 2, CallerID: 1, SrcContext: 1, DstContext: 7, MessageType: domain.MessageJob, Topic: "runner1", CreatedAt: at, ExpiresAt: at + 60,
			Job: domain.List[domain.Job]{{ID: 1, Script: "x", ScriptType: "lines", EnvVars: map[string]string{"A": "\x00\ufffd"},
				Dependends: []domain.JobID{2}, Params: map[string]string{"p": "1"}}, {ID: 2}}},
		{ID: 3, CallerID: 1, SrcContext: 1, DstContext: 7, MessageType: domain.MessageResult, ReplyTo: "message:1:1",
			Logs: domain.List[domain.Log]{{Line: "l", N: 3, Job: 1}}, CreatedAt: at, ExpiresAt: at + 60},
		{ID: 4, CallerID: 1, SrcContext: 1, DstContext: 7, MessageType: domain.MessageJob, Flow: `{"plan":{"name":"x"}}`, CreatedAt: at, ExpiresAt: at + 60},
	} {
		if err := identity.SignMessage(actor, &m); err != nil {
			f.Fatal(err)
		}
		text, err := json.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := post.ReadMessage(text, actor.Pubkey())
		if err != nil {
			return
		}
		// Nobody can sign what comes out of a fuzzer; its sender might have.
		if identity.VerifyMessage(m) != nil && identity.SignMessage(actor, m) != nil {
			return
		}
		if err := identity.VerifyMessage(m); err != nil {
			t.Fatalf("signed, but: %v", err)
		}
		_ = post.CheckMessage(m)
		name := identity.Digest(m)
		// As it lies on the receiver's board.
		stored := *m
		stored.Origin, stored.CallerID, stored.ID, stored.ContextID, stored.Status = m.Key().String(), 9, 77, m.DstContext, domain.MessageAcknowledged
		if m.CallerID == 0 && m.ID == 0 {
			return // has no key to be stored by; refused before
		}
		there, err := layout.DecodeMessage(stored.Key(), record(layout.EncodeMessage(&stored)))
		if err != nil {
			t.Fatalf("stored, but cannot be read: %v", err)
		}
		there.ContextID = stored.ContextID
		if m.ID != 0 { // a key of number 0 is none
			if err := identity.VerifyMessage(there); err != nil {
				t.Errorf("stored, but: %v", err)
			}
		}
		if got := identity.Digest(there); got != name {
			t.Errorf("stored, it is %s, was %s", got, name)
		}
		// As it is sent on.
		again, err := json.Marshal(m.Signed())
		if err != nil {
			t.Fatal(err)
		}
		second, err := post.ReadMessage(again, actor.Pubkey())
		if err != nil {
			if len(again) > domain.MaxSignedMessage {
				return
			}
			t.Fatalf("written, but cannot be read: %v", err)
		}
		if identity.Digest(second) != name || identity.VerifyMessage(second) != nil {
			t.Errorf("sent on, it is another message: %s", again)
		}
	})
}

// record is what fields make.
func record(fields []board.Field) board.Record { return slices.Clone(fields) }
