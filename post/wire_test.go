package post_test

import (
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/bus"
	"github.com/ramet-run/ramet/bus/membus"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/post"
	"github.com/ramet-run/ramet/work"
)

// This file lets others write what they like onto the bus of a site that knows
// two: alpha, whose operator has the right in beta's context 7, and carol, whose
// operator has none there.

// wire is beta, and what others may write to it.
type wire struct {
	*testing.T
	a, b, c *site
	eve     identity.Key // of a node that nobody knows
	bus     *membus.Bus  // hers
}

func onWire(t *testing.T, test func(w *wire)) {
	synctest.Test(t, func(t *testing.T) {
		net := membus.New(membus.Config{})
		w := &wire{T: t, a: newSite(t, "alpha", net.Join("alpha")), b: newSite(t, "beta", net.Join("beta")), c: newSite(t, "carol", net.Join("carol")),
			bus: net.Join("eve")}
		meet(w.a, w.b)
		guest := meet(w.c, w.b)
		_, _, err := w.b.registry.Revoke(t.Context(), annex, guest, domain.Admin)
		w.b.must(err)
		w.eve, err = identity.NewKey()
		w.b.must(err)
		w.b.start("b/1")
		time.Sleep(2 * time.Second) // rights are known for a second
		defer func() { w.b.stop(); _ = w.bus.Close() }()
		test(w)
	})
}

// message is a signed job of alpha's operator for beta's context 7, as change has it.
func (w *wire) message(change func(*domain.Message)) domain.Message {
	w.Helper()
	return w.messageOf(w.a.opKey, change)
}

func (w *wire) messageOf(k identity.Key, change func(*domain.Message)) domain.Message {
	w.Helper()
	now := domain.At(time.Now())
	m := domain.Message{ID: 5, CallerID: 1, ContextID: home, SrcContext: home, DstContext: annex, DstNode: w.b.post.Node(), MessageType: domain.MessageJob,
		MessageFormatType: domain.FormatText, CreatedAt: now, UpdatedAt: now, ExpiresAt: now + 3600, Status: domain.MessageDispatched,
		Job: domain.List[domain.Job]{{ID: 9, CallerID: 1, ContextID: annex, Script: "set x 1", ScriptType: "lines"}}}
	if change != nil {
		change(&m)
	}
	if err := identity.SignMessage(k, &m); err != nil {
		w.Fatal(err)
	}
	return m
}

// text is a message as it travels.
func (w *wire) text(m domain.Message) json.RawMessage {
	w.Helper()
	text, err := json.Marshal(m)
	if err != nil {
		w.Fatal(err)
	}
	return text
}

// parcel seals a parcel for beta.
func (w *wire) parcel(by identity.Key, p post.Parcel) []byte {
	w.Helper()
	text, err := post.Seal(by, w.b.post.Node(), time.Now(), p)
	if err != nil {
		w.Fatal(err)
	}
	return text
}

// brings is a parcel of alpha's node with messages.
func (w *wire) brings(messages ...domain.Message) []byte {
	w.Helper()
	var p post.Parcel
	for _, m := range messages {
		p.Messages = append(p.Messages, w.text(m))
	}
	return w.parcel(w.a.keys.Node, p)
}

// send writes onto beta's bus, and waits until beta has dealt with it.
func (w *wire) send(text []byte) {
	w.Helper()
	if err := w.bus.Send(w.Context(), "mem:beta", text); err != nil {
		w.Fatal(err)
	}
	time.Sleep(5 * time.Second)
}

// everything is all that beta's board has, but for the marks of messages that
// were refused for good.
func (w *wire) everything() map[string]string {
	w.Helper()
	all := map[string]string{}
	for _, in := range []board.Space{0, 1, 7, 8} {
		for cursor := ""; ; {
			keys, next, err := w.b.board.Keys(w.Context(), in, "", cursor, 1000)
			w.b.must(err)
			for _, key := range keys {
				if strings.HasPrefix(key, "ramet:seen:") || strings.HasPrefix(key, "ramet:routine") || strings.HasPrefix(key, "ramet:seq:") {
					continue
				}
				recs, errRec := w.b.board.Get(w.Context(), in, key)
				items, errList := w.b.board.List(w.Context(), in, key, 0, 1000)
				if errRec != nil && errList != nil {
					continue
				}
				text, _ := json.Marshal([]any{recs, items})
				all[strconv.Itoa(int(in))+" "+key] = string(text)
			}
			if cursor = next; cursor == "" {
				break
			}
		}
	}
	return all
}

// refuses sends something and checks that beta has stored nothing of it, has run
// nothing, and has counted it under these causes.
func (w *wire) refuses(text []byte, causes ...string) {
	w.Helper()
	before, runs, known := w.everything(), len(w.b.lines.ran()), len(w.b.refused.causes())
	w.send(text)
	if diff := cmp.Diff(before, w.everything()); diff != "" {
		w.Errorf("it left something (-before +after):\n%s", diff)
	}
	if n := len(w.b.lines.ran()); n != runs {
		w.Errorf("%d jobs ran", n-runs)
	}
	if diff := cmp.Diff(causes, w.b.refused.causes()[known:]); diff != "" {
		w.Errorf("refused as (-want +got):\n%s", diff)
	}
	if n := w.b.counts.all(); n != len(w.b.refused.causes()) {
		w.Errorf("%d refusals are counted, %d were told", n, len(w.b.refused.causes()))
	}
}

func TestForgedParcelsAreDropped(t *testing.T) {
	for _, c := range []struct {
		name  string
		make  func(w *wire) []byte
		cause string
	}{
		{"bytes of another program", func(*wire) []byte { return []byte("hello") }, "malformed"},
		{"a parcel that is cut short", func(w *wire) []byte { return w.brings(w.message(nil))[:200] }, "malformed"},
		{"only its head", func(w *wire) []byte { return w.brings(w.message(nil))[:70] }, "malformed"},
		{"the mark of a version before", func(w *wire) []byte { return append([]byte("ramet1"), w.brings(w.message(nil))[6:]...) }, "malformed"},
		{"another mark", func(w *wire) []byte { return append([]byte("ramet9"), w.brings(w.message(nil))[6:]...) }, "malformed"},
		{"no JSON in it", func(w *wire) []byte {
			return append(append([]byte(post.ParcelMark), signParcel(t, w.a.keys.Node, []byte("{"))...), '{')
		}, "malformed"},
		{"more things than a parcel may bring", func(w *wire) []byte {
			return w.parcel(w.a.keys.Node, post.Parcel{Messages: slices.Repeat([]json.RawMessage{[]byte("1")}, post.MaxParcelItems+1)})
		}, "malformed"},
		{"a name twice in what it brings", func(w *wire) []byte {
			message := append([]byte(`{"message":"x",`), w.text(w.message(func(m *domain.Message) { m.Message = "y" }))[1:]...)
			return w.parcel(w.a.keys.Node, post.Parcel{Messages: []json.RawMessage{message}})
		}, "malformed"},
		{"a bit of the signature turned", func(w *wire) []byte { t := w.brings(w.message(nil)); t[10] ^= 1; return t }, "forged"},
		{"a bit of the content turned", func(w *wire) []byte {
			t := w.brings(w.message(nil))
			t[slices.Index(t, '7')] ^= 1
			return t
		}, "forged"},
		{"in the name of another node", func(w *wire) []byte {
			p := post.Parcel{From: w.a.post.Node(), To: w.b.post.Node(), AtMs: time.Now().UnixMilli(), Messages: []json.RawMessage{w.text(w.message(nil))}}
			body, _ := json.Marshal(p)
			return append(append([]byte(post.ParcelMark), signParcel(t, w.eve, body)...), body...)
		}, "forged"},
		{"from beta itself, they say", func(w *wire) []byte {
			p := post.Parcel{From: w.b.post.Node(), To: w.b.post.Node(), AtMs: time.Now().UnixMilli()}
			body, _ := json.Marshal(p)
			return append(append([]byte(post.ParcelMark), signParcel(t, w.a.keys.Node, body)...), body...)
		}, "forged"},
		{"for another node", func(w *wire) []byte {
			text, _ := post.Seal(w.a.keys.Node, w.c.post.Node(), time.Now(), post.Parcel{Messages: []json.RawMessage{w.text(w.message(nil))}})
			return text
		}, "forged"},
		{"from long ago", func(w *wire) []byte {
			text, _ := post.Seal(w.a.keys.Node, w.b.post.Node(), time.Now().Add(-40*24*time.Hour), post.Parcel{Messages: []json.RawMessage{w.text(w.message(nil))}})
			return text
		}, "forged"},
		{"from the future", func(w *wire) []byte {
			text, _ := post.Seal(w.a.keys.Node, w.b.post.Node(), time.Now().Add(time.Hour), post.Parcel{Messages: []json.RawMessage{w.text(w.message(nil))}})
			return text
		}, "forged"},
		{"from a node that nobody knows", func(w *wire) []byte {
			return w.parcel(w.eve, post.Parcel{Messages: []json.RawMessage{w.text(w.message(nil))}})
		}, "wrong_node"},
	} {
		t.Run(c.name, func(t *testing.T) {
			onWire(t, func(w *wire) { w.refuses(c.make(w), c.cause) })
		})
	}
}

func TestForgedMessagesAreRefused(t *testing.T) {
	message := func(change func(w *wire, m *domain.Message)) func(w *wire) []byte {
		return func(w *wire) []byte { return w.brings(w.message(func(m *domain.Message) { change(w, m) })) }
	}
	by := func(key func(w *wire) identity.Key) func(w *wire) []byte {
		return func(w *wire) []byte { return w.brings(w.messageOf(key(w), nil)) }
	}
	for _, c := range []struct {
		name  string
		make  func(w *wire) []byte
		cause string
	}{
		{"no message at all", func(w *wire) []byte {
			return w.parcel(w.a.keys.Node, post.Parcel{Messages: []json.RawMessage{[]byte(`"x"`)}})
		}, "malformed"},
		{"of a type that is none", message(func(_ *wire, m *domain.Message) { m.MessageType = "order" }), "malformed"},
		{"without a number", message(func(_ *wire, m *domain.Message) { m.ID = 0 }), "malformed"},
		{"without a context of its own", message(func(_ *wire, m *domain.Message) { m.SrcContext, m.ContextID = 0, 0 }), "malformed"},
		{"for no context", message(func(_ *wire, m *domain.Message) { m.DstContext = 0 }), "malformed"},
		{"with two jobs of one id", message(func(_ *wire, m *domain.Message) { m.Job = append(m.Job, m.Job[0]) }), "malformed"},
		{"unsigned", func(w *wire) []byte { m := w.message(nil); m.Signature = ""; return w.brings(m) }, "forged"},
		{"signed in another way", func(w *wire) []byte { m := w.message(nil); m.Alg = "none"; return w.brings(m) }, "forged"},
		{"with the signature of another message", func(w *wire) []byte {
			m := w.message(nil)
			m.Signature = w.message(func(m *domain.Message) { m.ID++ }).Signature
			return w.brings(m)
		}, "forged"},
		{"in the name of somebody else", func(w *wire) []byte { m := w.messageOf(w.eve, nil); m.Pubkey = w.a.opKey.Pubkey(); return w.brings(m) }, "forged"},
		{"signed as a parcel is", func(w *wire) []byte {
			m := w.message(nil)
			m.Signature = ""
			m.Signature = hex.EncodeToString(signParcel(t, w.a.opKey, w.text(m)))
			return w.brings(m)
		}, "forged"},
		{"expired", message(func(_ *wire, m *domain.Message) { m.CreatedAt -= 7200; m.ExpiresAt = m.CreatedAt + 3600 }), "expired"},
		{"written in the future", message(func(_ *wire, m *domain.Message) { m.CreatedAt += 3600; m.ExpiresAt += 3600 }), "expired"},
		{"good for years", message(func(_ *wire, m *domain.Message) { m.ExpiresAt += 400 * 24 * 3600 }), "expired"},
		{"that ends before it begins", message(func(_ *wire, m *domain.Message) { m.ExpiresAt = m.CreatedAt - 1 }), "expired"},
		{"of an actor that nobody knows", by(func(w *wire) identity.Key { return w.eve }), "unknown_sender"},
		{"of an actor of another site", by(func(w *wire) identity.Key { return w.c.opKey }), "wrong_node"},
		{"of beta's own operator", by(func(w *wire) identity.Key { return w.b.opKey }), "wrong_node"},
		{"for the node of another site", message(func(w *wire, m *domain.Message) { m.DstNode = w.c.post.Node() }), "wrong_node"},
		{"for no node", message(func(_ *wire, m *domain.Message) { m.DstNode = "" }), "wrong_node"},
		{"into a context where its sender has no right", message(func(_ *wire, m *domain.Message) { m.DstContext = home }), "no_right"},
		{"into a context that there is not", message(func(_ *wire, m *domain.Message) { m.DstContext = 8 }), "no_right"},
		{"into the last context of all", message(func(_ *wire, m *domain.Message) { m.DstContext = 1<<32 - 1 }), "no_right"},
		{"to an addressee that nobody knows", message(func(w *wire, m *domain.Message) {
			m.MessageType, m.Job, m.DstPubkey = domain.MessageChat, nil, w.eve.Pubkey()
		}), "unknown_sender"},
		{"a result that nobody waits for", message(func(_ *wire, m *domain.Message) {
			m.MessageType, m.Job, m.ReplyTo = domain.MessageResult, nil, "message:1:1"
		}), "other"},
		{"a result into a context that there is not", message(func(_ *wire, m *domain.Message) {
			m.MessageType, m.Job, m.ReplyTo, m.DstContext = domain.MessageResult, nil, "message:1:1", 1<<32-1
		}), "other"},
	} {
		t.Run(c.name, func(t *testing.T) {
			onWire(t, func(w *wire) { w.refuses(c.make(w), c.cause) })
		})
	}
}

// Each field of a message in turn is altered after it was signed. What is signed
// makes it forged; what is not, because it is only said on the way, is not
// believed.
func TestAMessageIsTakenAsItWasSignedOrNotAtAll(t *testing.T) {
	onWire(t, func(w *wire) {
		sample := domain.Message{Message: "x", Timeout: 1, TimeoutAck: 1, TimeoutResult: 1, Topic: "runner1", Flow: "{}", DstActor: 3,
			DstPubkey: w.b.opKey.Pubkey(), ReplyTo: "message:1:2",
			ReplyDigest: "ab", Error: "e", Stage: "ack", Node: w.c.post.Node(), Origin: "message:77:77", Answer: "message:1:3", Receipt: "r", Pushes: 1,
			SentMs: 1, AckedMs: 1, EndedMs: 1,
			Logs: domain.List[domain.Log]{{Line: "l"}}, Status: domain.MessageProcessed, UpdatedAt: 1, ContextID: 8}
		var others, fields map[string]any
		for v, into := range map[*domain.Message]*map[string]any{&sample: &others, new(w.message(nil)): &fields} {
			if err := json.Unmarshal(w.text(*v), into); err != nil {
				t.Fatal(err)
			}
		}
		names := map[string]bool{}
		for _, m := range []map[string]any{others, fields} {
			for name := range m {
				names[name] = true
			}
		}
		id := domain.MessageID(100)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			id++
			m := w.message(func(m *domain.Message) { m.ID, m.Job[0].ID = id, domain.JobID(id) })
			var altered map[string]any
			if err := json.Unmarshal(w.text(m), &altered); err != nil {
				t.Fatal(err)
			}
			altered[name] = alter(altered[name], others[name])
			text, _ := json.Marshal(altered)
			runs, refused := len(w.b.lines.ran()), len(w.b.refused.causes())
			w.send(w.parcel(w.a.keys.Node, post.Parcel{Messages: []json.RawMessage{text}}))
			taken, causes := w.stored(m), w.b.refused.causes()[refused:]
			switch {
			case taken == nil && (len(causes) != 1 || len(w.b.lines.ran()) != runs):
				t.Errorf("%s altered: neither taken nor refused once: %v, %d ran", name, causes, len(w.b.lines.ran())-runs)
			case taken != nil && len(causes) > 0:
				t.Errorf("%s altered: taken and refused: %v", name, causes)
			case taken != nil:
				if diff := cmp.Diff(w.signedOnly(m), w.signedOnly(*taken)); diff != "" {
					t.Errorf("%s altered: taken as something else (-signed +stored):\n%s", name, diff)
				}
				if err := identity.VerifyMessage(taken); err != nil {
					t.Errorf("%s altered: %v", name, err)
				}
			}
		}
	})
}

// alter is another value for a field.
func alter(v, other any) any {
	switch v := v.(type) {
	case string:
		if v != "" {
			return v + "0"
		}
	case float64:
		return v + 1
	}
	return other
}

func (w *wire) signedOnly(m domain.Message) domain.Message {
	l := m.Signed()
	for i := range l.Job { // empty or missing, it is the same
		l.Job[i].EnvVars, l.Job[i].Result, l.Job[i].Prerequisites, l.Job[i].Dependends = nil, nil, nil, nil
	}
	l.Logs = nil
	return l
}

// stored is a message as beta has it; nil where it has not.
func (w *wire) stored(m domain.Message) *domain.Message {
	w.Helper()
	list, _, err := w.b.post.List(w.Context(), annex, post.Filter{Received: true}, "")
	w.b.must(err)
	for _, there := range list {
		whole, err := w.b.post.Show(w.Context(), annex, there.Key())
		w.b.must(err)
		if whole.Signature == m.Signature {
			return whole
		}
	}
	return nil
}

func TestAMessageThatComesAgainIsOne(t *testing.T) {
	onWire(t, func(w *wire) {
		m := w.message(nil)
		first := w.brings(m)
		for range 3 {
			w.send(first)          // the same parcel
			w.send(w.brings(m))    // another with the same content
			w.send(w.brings(m, m)) // twice in one
		}
		if w.b.counts.received.Load() != 1 || len(w.b.lines.ran()) != 1 {
			t.Errorf("received %d times, %d jobs ran", w.b.counts.received.Load(), len(w.b.lines.ran()))
		}
		if w.b.counts.replayed.Load() != 11 {
			t.Errorf("%d replays are counted, want 11", w.b.counts.replayed.Load())
		}
		// Also when its sender may not any more, and when its time has passed.
		guest, err := w.b.registry.ActorByKey(t.Context(), w.a.opKey.Pubkey())
		w.b.must(err)
		_, _, err = w.b.registry.Revoke(t.Context(), annex, guest.ID, domain.Admin)
		w.b.must(err)
		time.Sleep(2 * time.Second)
		w.send(w.brings(m))
		time.Sleep(61 * time.Minute)
		w.send(w.brings(m))
		if causes := w.b.refused.causes(); w.b.counts.received.Load() != 1 || len(causes) > 0 {
			t.Errorf("received %d times, refused as %v", w.b.counts.received.Load(), causes)
		}
		// And one that was refused stays refused when the right comes back.
		late := w.message(func(m *domain.Message) { m.ID++ })
		w.send(w.brings(late))
		_, _, err = w.b.registry.Grant(t.Context(), annex, guest.ID, domain.Admin)
		w.b.must(err)
		time.Sleep(2 * time.Second)
		w.send(w.brings(late))
		if diff := cmp.Diff([]string{"no_right", "no_right"}, w.b.refused.causes()); diff != "" || len(w.b.lines.ran()) != 1 {
			t.Errorf("%d jobs ran; refused as: %s", len(w.b.lines.ran()), diff)
		}
	})
}

// The sender of a message was told that it is refused, and holds a signed word of
// it. Who plays it again when the reason is gone has nothing done by it.
func TestARefusedMessageStaysRefused(t *testing.T) {
	onWire(t, func(w *wire) {
		zoe, err := identity.NewKey()
		w.b.must(err)
		stranger := w.messageOf(zoe, nil)
		early := w.message(func(m *domain.Message) {
			m.ID, m.CreatedAt, m.UpdatedAt, m.ExpiresAt = 7, m.CreatedAt+630, m.CreatedAt+630, m.ExpiresAt+630
		})
		both := w.brings(stranger, early)
		w.send(both)

		guest, _, err := w.b.registry.CreateActor(t.Context(), domain.Actor{Pubkey: zoe.Pubkey(),
			Address: domain.List[domain.Address]{domain.NodeAddress(w.a.keys.Node.Pubkey())}})
		w.b.must(err)
		_, _, err = w.b.registry.Grant(t.Context(), annex, guest.ID, domain.Admin)
		w.b.must(err)
		time.Sleep(time.Minute)
		w.send(both)
		got := w.b.refused.causes()
		slices.Sort(got[:min(2, len(got))])
		if len(got) != 4 || !slices.Equal(got[:2], []string{"expired", "unknown_sender"}) || w.b.counts.received.Load() != 0 || len(w.b.lines.ran()) != 0 {
			t.Errorf("refused as %v, %d taken, %d jobs ran", got, w.b.counts.received.Load(), len(w.b.lines.ran()))
		}
	})
}

// A site that has seen a message of another cannot have it refused by bringing it
// first.
func TestAMessageThatOthersBringFirstIsTaken(t *testing.T) {
	onWire(t, func(w *wire) {
		m := w.message(nil)
		w.send(w.parcel(w.c.keys.Node, post.Parcel{Messages: []json.RawMessage{w.text(m)}}))
		if diff := cmp.Diff([]string{"wrong_node"}, w.b.refused.causes()); diff != "" {
			t.Errorf("refused as: %s", diff)
		}
		w.send(w.brings(m))
		if len(w.b.lines.ran()) != 1 {
			t.Errorf("%d jobs ran, want 1", len(w.b.lines.ran()))
		}
	})
}

// Two organisations number their messages and jobs alike.
func TestIdsOfTwoOrganisationsDoNotMix(t *testing.T) {
	onWire(t, func(w *wire) {
		guest, err := w.b.registry.ActorByKey(t.Context(), w.c.opKey.Pubkey())
		w.b.must(err)
		_, _, err = w.b.registry.Grant(t.Context(), annex, guest.ID, domain.Admin)
		w.b.must(err)
		time.Sleep(2 * time.Second)
		w.send(w.brings(w.message(func(m *domain.Message) { m.Job[0].Script = "set of alpha" })))
		carols := w.messageOf(w.c.opKey, func(m *domain.Message) { m.Job[0].Script = "set of carol" })
		w.send(w.parcel(w.c.keys.Node, post.Parcel{Messages: []json.RawMessage{w.text(carols)}}))
		list, _, err := w.b.post.List(t.Context(), annex, post.Filter{Received: true}, "")
		w.b.must(err)
		got := map[string]string{}
		for _, m := range list {
			jobs, _, err := w.b.work.List(t.Context(), annex, work.Filter{Caller: m.CallerID}, "")
			w.b.must(err)
			for _, j := range jobs {
				whole, err := w.b.work.Show(t.Context(), annex, j.Key())
				w.b.must(err)
				got[m.Pubkey] = whole.Result["of"]
			}
		}
		if diff := cmp.Diff(map[string]string{w.a.opKey.Pubkey(): "alpha", w.c.opKey.Pubkey(): "carol"}, got); diff != "" {
			t.Error(diff)
		}
	})
}

// What a site says of messages that were sent to another is not believed.
func TestNobodyAnswersForOthers(t *testing.T) {
	onWire(t, func(w *wire) {
		// Beta waits for alpha, which does not run.
		m := domain.Message{CallerID: w.b.op, MessageType: domain.MessageJob, DstContext: annex, DstNode: w.a.post.Node(),
			Job: domain.List[domain.Job]{{Script: "x", ScriptType: "lines"}}}
		_, err := w.b.post.Send(t.Context(), home, &m)
		w.b.must(err)
		time.Sleep(10 * time.Second)
		now, err := w.b.post.Show(t.Context(), home, m.Key())
		w.b.must(err)
		digest, key := identity.Digest(now), m.Key().String()
		still := func(what string) {
			t.Helper()
			now, err := w.b.post.Show(t.Context(), home, m.Key())
			w.b.must(err)
			if now.Status != domain.MessageDispatched || len(now.Logs) > 0 {
				t.Errorf("%s: it is %s now, with %v", what, now.Status, now.Logs)
			}
		}
		lines := []domain.Log{{Job: m.Job[0].ID, N: 1, Line: "hello"}}
		result := func(change func(*domain.Message)) json.RawMessage {
			return w.text(w.messageOf(w.c.keys.Node, func(r *domain.Message) {
				r.MessageType, r.DstContext, r.ReplyTo, r.ReplyDigest = domain.MessageResult, home, key, digest
				r.Job = domain.List[domain.Job]{{ID: m.Job[0].ID, Status: domain.JobFinished}}
				if change != nil {
					change(r)
				}
			}))
		}
		for _, c := range []struct {
			name   string
			parcel post.Parcel
			causes []string
		}{
			{"an acknowledgement by another site",
				post.Parcel{Receipts: []post.Receipt{{Context: home, Key: key, Digest: digest, Status: domain.MessageAcknowledged}}}, []string{"forged"}},
			{"a refusal by another site", post.Parcel{Receipts: []post.Receipt{{Context: home, Key: key, Digest: digest, Status: domain.MessageError,
				Error: "no"}}}, []string{"forged"}},
			{"lines by another site", post.Parcel{Notes: []post.Note{{Context: home, Key: key, Digest: digest, Lines: lines}}}, []string{"forged"}},
			{"a result of another site", post.Parcel{Messages: []json.RawMessage{result(nil)}}, []string{"forged"}},
			{"a receipt for what there is not",
				post.Parcel{Receipts: []post.Receipt{{Context: home, Key: "message:1:99", Digest: digest, Status: domain.MessageError}}}, nil},
			{"a receipt in a context that there is not",
				post.Parcel{Receipts: []post.Receipt{{Context: 1<<32 - 1, Key: key, Digest: digest, Status: domain.MessageError}}}, nil},
			{"a receipt for no message", post.Parcel{Receipts: []post.Receipt{{Context: home, Key: "job:1:1", Digest: digest, Status: domain.MessageError}}}, nil},
			{"lines for what there is not", post.Parcel{Notes: []post.Note{{Context: home, Key: "message:1:99", Digest: digest, Lines: lines}}}, nil},
		} {
			known := len(w.b.refused.causes())
			w.send(w.parcel(w.c.keys.Node, c.parcel))
			if got := w.b.refused.causes()[known:]; !slices.Equal(got, c.causes) {
				t.Errorf("%s: refused as %v, want %v", c.name, got, c.causes)
			}
			still(c.name)
		}
		// Nor is alpha, of another message.
		other := strings.Repeat("0", 64)
		w.send(w.parcel(w.a.keys.Node, post.Parcel{
			Receipts: []post.Receipt{{Context: home, Key: key, Digest: other, Status: domain.MessageError}},
			Notes:    []post.Note{{Context: home, Key: key, Digest: other, Lines: lines}},
			Messages: []json.RawMessage{w.text(w.messageOf(w.a.keys.Node, func(r *domain.Message) {
				r.MessageType, r.DstContext, r.ReplyTo, r.ReplyDigest, r.Job = domain.MessageResult, home, key, other, nil
			}))},
		}))
		still("alpha, of another message")
		// An actor of the site is not the site.
		w.send(w.brings(w.message(func(r *domain.Message) {
			r.MessageType, r.DstContext, r.ReplyTo, r.ReplyDigest, r.Job = domain.MessageResult, home, key, digest, nil
		})))
		still("an actor of alpha")
		// Lines are taken for its own jobs only.
		w.send(w.parcel(w.a.keys.Node, post.Parcel{Notes: []post.Note{{Context: home, Key: key, Digest: digest,
			Lines: []domain.Log{{Job: 424242, N: 1, Line: "of another job"}}}}}))
		still("lines of a job that it has not")
		// Alpha itself is believed.
		w.send(w.parcel(w.a.keys.Node, post.Parcel{Receipts: []post.Receipt{{Context: home, Key: key, Digest: digest, Status: domain.MessageError, Error: "no"}}}))
		if now, err := w.b.post.Show(t.Context(), home, m.Key()); err != nil || now.Status != domain.MessageError {
			t.Errorf("alpha's refusal: got %+v, %v", now, err)
		}
	})
}

// A message is refused for its size before anybody reads it.
func TestMessagesThatAreTooLargeAreRefused(t *testing.T) {
	onWire(t, func(w *wire) {
		m := w.message(func(m *domain.Message) { m.Job[0].Script = strings.Repeat("x", domain.MaxSignedMessage) })
		text := w.brings(m)
		if len(text) <= domain.MaxSignedMessage || len(text) > bus.MaxParcel {
			t.Fatalf("the parcel has %d bytes", len(text))
		}
		w.refuses(text, "malformed")
		if _, err := post.Unseal(make([]byte, bus.MaxParcel+1), w.b.post.Node(), time.Now()); err == nil {
			t.Error("a parcel over the limit was read")
		}
		if recs, err := w.b.board.Get(t.Context(), 7, layout.Seen(identity.Digest(&m))); err != nil || recs[0] != nil {
			t.Errorf("it left a mark: %v, %v", recs, err)
		}
	})
}

// signParcel is the signature of a parcel's bytes.
func signParcel(t *testing.T, k identity.Key, body []byte) []byte {
	t.Helper()
	sig, err := identity.SignParcel(k, body)
	if err != nil {
		t.Fatal(err)
	}
	return sig
}
