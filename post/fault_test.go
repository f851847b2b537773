package post_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/bus/membus"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/post"
	"github.com/ramet-run/ramet/queue"
	"github.com/ramet-run/ramet/work"
)

// This file has what the simulation found, each for itself.

// snare is a board of which one commit, the first that matches, is not made or
// has something happen before or after it.
type snare struct {
	board.Board
	mu            sync.Mutex
	match         func(board.Op) bool
	before, after func() // none: it is not made
}

func newSnare() *snare {
	s := &snare{}
	s.Board = faultboard.New(memboard.Open(), faultboard.Config{
		Before: func(_ context.Context, c faultboard.Call) error {
			s.mu.Lock()
			before, hit := s.before, s.after == nil && s.hit(c)
			if hit {
				s.match = nil
			}
			s.mu.Unlock()
			if hit && before != nil {
				before()
			} else if hit {
				return domain.Unavailablef("snared")
			}
			return nil
		},
		After: func(_ context.Context, c faultboard.Call) error {
			s.mu.Lock()
			after, hit := s.after, s.hit(c)
			if hit {
				s.match = nil
			}
			s.mu.Unlock()
			if hit && after != nil {
				after()
			}
			return nil
		},
	})
	return s
}

func (s *snare) hit(c faultboard.Call) bool {
	return s.match != nil && c.Batch != nil && slices.ContainsFunc(c.Batch.Ops, s.match)
}

// set lays the snare.
func (s *snare) set(match func(board.Op) bool, after func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.match, s.before, s.after = match, nil, after
}

// hold lays it so that something happens before the commit.
func (s *snare) hold(match func(board.Op) bool, before func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.match, s.before, s.after = match, before, nil
}

func (s *snare) sprung() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.match == nil
}

// setsField matches a write of a field on records of a kind.
func setsField(prefix, name string) func(board.Op) bool {
	return func(op board.Op) bool {
		return op.Kind == board.OpSet && strings.HasPrefix(op.Key, prefix) && slices.ContainsFunc(op.Fields, func(f board.Field) bool { return f.Name == name })
	}
}

// snared runs a test of two sites, alpha on a board with a snare.
func snared(t *testing.T, test func(t *testing.T, snare *snare, a, b *site)) {
	synctest.Test(t, func(t *testing.T) {
		net, s := membus.New(membus.Config{}), newSnare()
		a, b := newSiteOn(t, "alpha", s, net.Join("alpha")), newSite(t, "beta", net.Join("beta"))
		meet(a, b)
		a.start("a/1")
		b.start("b/1")
		defer func() { a.stop(); b.stop() }()
		test(t, s, a, b)
	})
}

func TestTwoMessagesWithTheSameJobsAreBothAnswered(t *testing.T) {
	bubble(t, membus.Config{}, func(t *testing.T, _ *membus.Network, a, b *site) {
		var sent []*domain.Message
		for _, from := range []domain.TenantID{home, annex} {
			m := jobTo(b, "sleep 1s\nset x 1")
			m.CallerID, m.Job[0].ID = a.op, 5
			_, err := a.post.Send(t.Context(), from, &m)
			a.must(err)
			sent = append(sent, &m)
		}
		for _, m := range sent {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			done, err := a.post.Wait(ctx, m.SrcContext, m.Key())
			a.must(err)
			if done.Status != domain.MessageProcessed {
				t.Errorf("%+v", done)
			}
		}
		if len(b.lines.ran()) != 2 {
			t.Errorf("%d jobs ran, want one of each message", len(b.lines.ran()))
		}
	})
}

func TestAForeignMessageIsOneThoughItsSenderCrashes(t *testing.T) {
	snared(t, func(t *testing.T, snare *snare, a, b *site) {
		snare.set(setsField(layout.MessagePrefix, layout.MessageSentMs), nil) // the bus has it by then
		key := domain.MessageKey{Caller: a.op, ID: 101}
		// The job takes a while, so that the result cannot overtake the word that the message was sent.
		a.write(key.String(), "id", "101", "caller_id", "1", "context_id", "1", "message_type", "job", "dst_context", "7", "dst_node", b.post.Node(),
			"job", `[{"id":2001,"caller_id":1,"context_id":7,"script":"sleep 5s\\nset x 9","script_type":"lines"}]`)
		a.push(queue.MsgOut, key.String())
		done := a.wait(&domain.Message{CallerID: a.op, ID: 101})
		if done.Status != domain.MessageProcessed || !snare.sprung() {
			t.Fatalf("got %+v", done)
		}
		if b.counts.received.Load() != 1 || len(b.lines.ran()) != 1 {
			t.Errorf("it was received %d times, and %d jobs ran", b.counts.received.Load(), len(b.lines.ran()))
		}
	})
}

func TestAForeignMessageWaitsForANodeThatCanSign(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := membus.New(membus.Config{})
		a, b := newSite(t, "alpha", net.Join("alpha")), newSite(t, "beta", net.Join("beta"))
		meet(a, b)
		b.start("b/1")
		keyless := newSiteOn(t, "alpha2", a.board, net.Join("alpha2"))
		keyless.start("a2/1")
		key := domain.MessageKey{Caller: a.op, ID: 101}
		a.write(key.String(), "id", "101", "caller_id", "1", "context_id", "1", "message_type", "job", "dst_context", "7", "dst_node", b.post.Node(),
			"job", `[{"id":2001,"caller_id":1,"context_id":7,"script":"set x 9","script_type":"lines"}]`)
		a.push(queue.MsgOut, key.String())
		time.Sleep(time.Minute)
		x, err := keyless.post.Explain(t.Context(), home, key)
		if err != nil || !strings.HasPrefix(x.Text, "nobody has signed it: this node cannot sign for actor 1: ") {
			t.Errorf("explain: got %q, %v", x.Text, err)
		}
		keyless.stop()
		a.start("a/1")
		if done := a.wait(&domain.Message{CallerID: a.op, ID: 101}); done.Status != domain.MessageProcessed {
			t.Errorf("got %+v", done)
		}
		// Where no node can, it ends.
		a.stop()
		keyless.start("a2/2")
		a.write("message:1:102", "id", "102", "caller_id", "1", "context_id", "1", "message_type", "chat", "message", "x", "dst_context", "7",
			"dst_node", b.post.Node(), "dst_pubkey", b.opKey.Pubkey())
		a.push(queue.MsgOut, "message:1:102")
		if done := a.wait(&domain.Message{CallerID: a.op, ID: 102}); done.Status != domain.MessageError || !strings.Contains(done.Error, "cannot sign") {
			t.Errorf("got %+v", done)
		}
		keyless.stop()
		b.stop()
	})
}

// The time-out of a message and its result come at the same instant: it ends by
// one of the two, and its job with it.
func TestAMessageEndsOneWay(t *testing.T) {
	snared(t, func(t *testing.T, snare *snare, a, b *site) {
		m := jobTo(b, "sleep 30s\nset x 1")
		m.TimeoutResult = 20
		sent := a.send(m)
		snare.set(setsField("", layout.JobErrorText), func() { // the first step of the end by time-out
			time.Sleep(time.Minute) // the result comes meanwhile
		})
		done := a.wait(sent)
		time.Sleep(5 * time.Minute)
		j, err := a.work.Show(t.Context(), home, domain.JobKey{Caller: a.op, ID: sent.Job[0].ID})
		a.must(err)
		done, err = a.post.Show(t.Context(), home, done.Key())
		a.must(err)
		if !snare.sprung() || (done.Status == domain.MessageProcessed) != (j.Status == domain.JobFinished) {
			t.Errorf("the message is %s (%s), its job %s (%s, %s)", done.Status, done.Error, j.Status, j.Reason, j.Error)
		}
	})
}

// Between the end of a message and that of its jobs its board is away, or its
// node dies.
func TestTheJobsOfAnEndedMessageEndToo(t *testing.T) {
	half := setsField(layout.JobPrefix, layout.JobFinishedMs)
	away := func(snare *snare, _ *site) (after func()) {
		snare.set(half, nil)
		return func() {}
	}
	dies := func(snare *snare, a *site) (after func()) {
		dead, faults := make(chan struct{}), snare.Board.(*faultboard.Board)
		snare.hold(half, func() { faults.Cut(); close(dead) })
		return func() {
			<-dead
			a.stop()
			faults.Heal()
			a.must(a.board.Void(a.Context(), "a/"))
			a.start("a/2")
		}
	}
	cases := []struct {
		name    string
		befalls func(*snare, *site) (after func())
		timeout uint32 // of the result, seconds
		want    domain.JobStatus
		within  time.Duration
	}{
		{"by the answer, which comes again, where the board was away", away, 0, domain.JobFinished, 5 * time.Second},
		{"by the answer, which comes again, where the node died", dies, 0, domain.JobFinished, 5 * time.Second},
		{"by an alarm where no answer came and the board was away", away, 20, domain.JobError, 15 * time.Second},
		{"by an alarm where no answer came and the node died", dies, 20, domain.JobError, 15 * time.Second},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			snared(t, func(t *testing.T, snare *snare, a, b *site) {
				after := c.befalls(snare, a)
				m := jobTo(b, "sleep 30s\nset x 1")
				m.TimeoutResult = c.timeout
				sent := a.send(m)
				after()
				done := a.wait(sent) // which is when the job has ended as well
				j, err := a.work.Show(t.Context(), home, domain.JobKey{Caller: a.op, ID: sent.Job[0].ID})
				a.must(err)
				if took := time.Duration(j.FinishedMs-done.EndedMs) * time.Millisecond; !snare.sprung() || j.Status != c.want || took > c.within {
					t.Errorf("the message is %s, its job %s after %v; want %s within %v", done.Status, j.Status, took, c.want, c.within)
				}
				synctest.Wait() // until the answer is filed
				live, err := a.board.Live(t.Context(), board.Space(home), board.LiveItem{}, 10)
				if err != nil || len(live) > 0 {
					t.Errorf("unfinished is %v, %v", live, err)
				}
			})
		})
	}
}

func TestItIsExplainedThatTheJobsOfAnEndedMessageEndNext(t *testing.T) {
	snared(t, func(t *testing.T, snare *snare, a, b *site) {
		snare.set(setsField(layout.JobPrefix, layout.JobFinishedMs), nil)
		m := jobTo(b, "sleep 30s")
		m.TimeoutResult = 20
		sent := a.send(m)
		time.Sleep(25 * time.Second)
		x, err := a.post.Explain(t.Context(), home, sent.Key())
		if want := "it has ended: error; the records here of its jobs end next"; err != nil || x.Text != want || x.LateMs == 0 {
			t.Errorf("got %+v, %v; want %q, and when", x, err, want)
		}
	})
}

// The last job of a message ends while a supervisor looks at it that need not.
func TestAMessageWhoseLastJobEndsWhileItIsLeasedIsAnswered(t *testing.T) {
	snared(t, func(t *testing.T, snare *snare, a, _ *site) {
		m := a.send(domain.Message{MessageType: domain.MessageJob, DstContext: annex,
			Job: domain.List[domain.Job]{{Script: "sleep 30s\nset x 1", ScriptType: "lines"}}})
		time.Sleep(10 * time.Second)
		there, _, err := a.post.List(t.Context(), annex, post.Filter{Received: true}, "")
		a.must(err)
		key := there[0].Key().String()
		snare.hold(func(op board.Op) bool { return op.Kind == board.OpRelease && op.Key == key }, func() { time.Sleep(25 * time.Second) })
		b := board.Batch{Space: board.Space(annex)}
		a.must(a.board.Commit(t.Context(), *b.PushLeft(queue.MsgIn, key))) // as when a lease ran out
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		done, err := a.post.Wait(ctx, home, m.Key())
		if err != nil || done.Status != domain.MessageProcessed || !snare.sprung() {
			t.Errorf("got %+v, %v", done, err)
		}
	})
}

func TestAResultIsFiledThoughItsNodeCrashes(t *testing.T) {
	snared(t, func(t *testing.T, snare *snare, a, b *site) {
		snare.set(func(op board.Op) bool { return op.Key == layout.Inbox(a.op) }, nil)
		a.wait(a.send(jobTo(b, "set x 1")))
		time.Sleep(5 * time.Minute)
		inbox, err := a.post.Inbox(t.Context(), home, a.op, 0, 10)
		a.must(err)
		if len(inbox) != 1 || !snare.sprung() {
			t.Errorf("got %+v", inbox)
		}
	})
}

func TestAJobThatCannotBeSentEndsThoughItsNodeCrashes(t *testing.T) {
	snared(t, func(t *testing.T, snare *snare, a, b *site) {
		a.stop()
		receipts, err := a.work.Submit(t.Context(), home, []*domain.Job{{CallerID: a.op, Script: "set x 1", ScriptType: "lines", At: "7@beta"}})
		a.must(err)
		a.must(receipts[0].Err)
		a.must(a.post.RemovePeer(t.Context(), "beta"))
		snare.set(setsField(layout.JobPrefix, layout.JobFinishedMs), nil)
		a.start("a/2")
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		j, err := a.work.Wait(ctx, home, receipts[0].Key)
		a.must(err)
		if j.Status != domain.JobError || j.Reason != domain.ReasonRefused || !snare.sprung() {
			t.Errorf("got %+v", j)
		}
	})
}

func TestAResultWaitsForAPeerThatIsGoneForAWhile(t *testing.T) {
	bubble(t, membus.Config{}, func(t *testing.T, _ *membus.Network, a, b *site) {
		m := a.send(jobTo(b, "sleep 10s\nset x 1"))
		time.Sleep(5 * time.Second)
		card, err := a.post.Card(t.Context(), a.name)
		a.must(err)
		b.must(b.post.RemovePeer(t.Context(), "alpha"))
		time.Sleep(time.Minute)
		_, err = b.post.AddPeer(t.Context(), card)
		b.must(err)
		if done := a.wait(m); done.Status != domain.MessageProcessed {
			t.Errorf("got %+v", done)
		}
	})
}

// What is said of a board that hardly answers is not that its messages are stuck.
func TestAnAuditThatCannotReadRepairsNothing(t *testing.T) {
	bubble(t, membus.Config{}, func(t *testing.T, _ *membus.Network, a, b *site) {
		m := a.send(jobTo(b, "sleep 10m\nset x 1"))
		time.Sleep(5 * time.Minute)
		bad := faultboard.New(b.board, faultboard.Config{Seed: 1, Refuse: 0.2})
		registry, w := identity.NewRegistry(bad), work.New(bad, work.Config{})
		e := post.New(bad, post.Config{Keys: b.keys, Registry: registry, Access: identity.NewAccess(registry, nil), Work: w, Flows: flow.New(bad, w, flow.Config{})})
		looked := 0
		for range 100 {
			found, err := e.Audit(t.Context(), annex, 0)
			if err == nil {
				looked += found.Looked
			}
			if len(found.Repaired) > 0 {
				t.Fatalf("found %+v", found)
			}
		}
		if looked == 0 {
			t.Error("no audit came to its end")
		}
		a.wait(m)
	})
}

// Log lines that overtake each other stand in their order in the end, and those
// that got lost come with the result.
func TestLogLinesThatOvertakeEachOtherStandInTheirOrder(t *testing.T) {
	onWire(t, func(w *wire) {
		m := domain.Message{CallerID: w.b.op, MessageType: domain.MessageJob, DstContext: annex, DstNode: w.a.post.Node(),
			Job: domain.List[domain.Job]{{Script: "x", ScriptType: "lines"}}}
		_, err := w.b.post.Send(t.Context(), home, &m)
		w.b.must(err)
		time.Sleep(10 * time.Second)
		key, digest, id := m.Key().String(), identity.Digest(&m), m.Job[0].ID
		line := func(n int, text string) domain.Log {
			return domain.Log{Job: id, N: n, AtMs: int64(100 - n), Line: text}
		}
		note := func(lines ...domain.Log) {
			w.send(w.parcel(w.a.keys.Node, post.Parcel{Notes: []post.Note{{Context: home, Key: key, Digest: digest, Lines: lines}}}))
		}
		w.send(w.parcel(w.a.keys.Node, post.Parcel{Receipts: []post.Receipt{{Context: home, Key: key, Digest: digest, Status: domain.MessageAcknowledged}}}))
		note(line(3, "three"), line(4, "four"))
		note(line(1, "one"), line(2, "two"))
		note(line(4, "four"), line(5, "five"))
		result := w.messageOf(w.a.keys.Node, func(r *domain.Message) {
			r.CallerID, r.MessageType, r.DstContext, r.ReplyTo, r.ReplyDigest = 3_000_000_001, domain.MessageResult, home, key, digest
			r.Job = domain.List[domain.Job]{{ID: id, Status: domain.JobFinished}}
			r.Logs = domain.List[domain.Log]{line(1, "one"), line(2, "two"), line(3, "three"), line(4, "four"), line(5, "five"), line(6, "six")}
		})
		w.send(w.brings(result))
		done := w.b.wait(&m)
		var lines []string
		for _, l := range done.Logs {
			lines = append(lines, l.Line)
		}
		if diff := cmp.Diff([]string{"one", "two", "three", "four", "five", "six"}, lines); diff != "" {
			t.Error(diff)
		}
	})
}

// unsafe is a board whose claims give what is not on the disk yet: it keeps
// account of what has been claimed and not followed by a commit.
type unsafe struct {
	board.Board
	mu      sync.Mutex
	claimed map[string]bool
}

func (u *unsafe) Claim(ctx context.Context, ask board.Ask) ([]board.Claimed, error) {
	got, err := u.Board.Claim(ctx, ask)
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, c := range got {
		u.claimed[c.Item] = true
	}
	return got, err
}

func (u *unsafe) Commit(ctx context.Context, b board.Batch) error {
	u.mu.Lock()
	before := maps.Clone(u.claimed)
	u.mu.Unlock()
	err := u.Board.Commit(ctx, b)
	u.mu.Lock()
	defer u.mu.Unlock()
	for item := range before {
		delete(u.claimed, item)
	}
	return err
}

// watched is a bus that looks into what it is given.
type watched struct {
	*membus.Bus
	look func(post.Parcel)
}

func (w watched) Send(ctx context.Context, to domain.Address, body []byte) error {
	var p post.Parcel
	if err := json.Unmarshal(body[len(post.ParcelMark)+ed25519.SignatureSize:], &p); err == nil {
		w.look(p)
	}
	return w.Bus.Send(ctx, to, body)
}

func TestAMessageLeavesWhenItsRecordIsDurable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net, u := membus.New(membus.Config{}), &unsafe{Board: memboard.Open(), claimed: map[string]bool{}}
		messages := 0
		a := newSiteOn(t, "alpha", u, watched{net.Join("alpha"), func(p post.Parcel) {
			for _, text := range p.Messages {
				var m domain.Message
				if err := json.Unmarshal(text, &m); err != nil {
					t.Error(err)
				}
				u.mu.Lock()
				if messages++; u.claimed[m.Key().String()] {
					t.Errorf("%s left before anything was committed after its claim", m.Key())
				}
				u.mu.Unlock()
			}
		}})
		b := newSite(t, "beta", net.Join("beta"))
		meet(a, b)
		a.start("a/1")
		b.start("b/1")
		a.wait(a.send(jobTo(b, "set x 1")))
		a.wait(a.send(domain.Message{MessageType: domain.MessageChat, Message: "x", DstContext: annex, DstNode: b.post.Node(), DstPubkey: b.opKey.Pubkey()}))
		a.stop()
		b.stop()
		if messages != 2 {
			t.Errorf("%d messages left", messages)
		}
	})
}

// The numbers of a sender are taken, one after the other, by messages it sent
// before: of another context, or from before its board lost its last moment.
func TestALongRunOfTakenNumbersIsPassed(t *testing.T) {
	onWire(t, func(w *wire) {
		guest, err := w.b.registry.ActorByKey(t.Context(), w.a.opKey.Pubkey())
		w.b.must(err)
		var b board.Batch
		for id := range domain.MessageID(400) {
			for _, caller := range []domain.ActorID{guest.ID, w.b.op} {
				b.Set(domain.MessageKey{Caller: caller, ID: id + 1}.String(), board.Field{Name: layout.MessageStatus, Value: "processed"})
			}
		}
		b.Space = board.Space(annex)
		w.b.must(w.b.board.Commit(t.Context(), b))
		w.send(w.brings(w.message(nil)))
		if causes := w.b.refused.causes(); w.b.counts.received.Load() != 1 || len(causes) > 0 {
			t.Errorf("received %d, refused %v", w.b.counts.received.Load(), causes)
		}
		m := domain.Message{CallerID: w.b.op, MessageType: domain.MessageChat, Message: "x", DstActor: w.b.op, DstContext: annex}
		if _, err := w.b.post.Send(t.Context(), annex, &m); err != nil {
			t.Errorf("its own: %v", err)
		}
	})
}

// A store that evicts keys took the message's record: nobody but the auditor could say so.
func TestTheAuditTellsOfAMessageWhoseRecordIsGone(t *testing.T) {
	bubble(t, membus.Config{}, func(t *testing.T, _ *membus.Network, a, _ *site) {
		a.stop() // its own auditor would find it
		key := domain.MessageKey{Caller: 12, ID: 7}.String()
		a.must(a.board.Commit(t.Context(), *(&board.Batch{Space: layout.SpaceOf(home)}).Live(key, time.Now())))
		time.Sleep(2 * time.Minute)
		found, err := a.post.Audit(t.Context(), home, 0)
		if err != nil || len(found.Stuck) != 1 || found.Stuck[0].Key != key || !strings.Contains(found.Stuck[0].Text, "record was gone") {
			t.Errorf("got %+v, %v", found, err)
		}
	})
}

// A list where one message was is its own trouble: the audit names it, and goes on.
func TestAStrangeKeyKeepsNoOtherMessageFromItsAudit(t *testing.T) {
	bubble(t, membus.Config{}, func(t *testing.T, _ *membus.Network, a, _ *site) {
		a.stop() // its own auditor would find them
		strange, lost := domain.MessageKey{Caller: 12, ID: 7}.String(), domain.MessageKey{Caller: 12, ID: 8}.String()
		b := board.Batch{Space: layout.SpaceOf(home)}
		a.must(a.board.Commit(t.Context(), *b.Live(strange, time.Now()).Live(lost, time.Now()).PushLeft(strange, "x")))
		time.Sleep(2 * time.Minute)
		found, err := a.post.Audit(t.Context(), home, 0)
		named := map[string]bool{}
		for _, f := range found.Stuck {
			named[f.Key] = true
		}
		if err != nil || !named[strange] || !named[lost] {
			t.Errorf("got %+v, %v, want both named", found, err)
		}
	})
}
