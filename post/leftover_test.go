package post_test

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/bus/membus"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/post"
	"github.com/ramet-run/ramet/queue"
)

// kept are the keys that stay on a board whatever is sent: a few for each
// context and caller, however much they send.
func kept(key string) bool {
	return strings.HasPrefix(key, "ramet:seq:") || key == layout.Trimmed
}

// keys are those of the contexts, as "7/message:1:2", but those that are kept.
func (s *site) keysLeft() []string {
	s.Helper()
	left := map[string]bool{}
	for _, in := range []domain.TenantID{home, annex} {
		for cursor := ""; ; {
			keys, next, err := s.board.Keys(s.Context(), board.Space(in), "", cursor, 1000)
			s.must(err)
			for _, k := range keys {
				if !kept(k) {
					left[strconv.Itoa(int(in))+"/"+k] = true
				}
			}
			if cursor = next; cursor == "" {
				break
			}
		}
		live, err := s.board.Live(s.Context(), board.Space(in), board.LiveItem{}, 1000)
		s.must(err)
		for _, l := range live {
			left[strconv.Itoa(int(in))+"/unfinished/"+l.Item] = true
		}
	}
	return slices.Sorted(maps.Keys(left))
}

// clear archives and prunes what has ended, as the routines do. It returns the
// keys of the messages that the archive got, and how often.
func (s *site) clear() map[string]int {
	s.Helper()
	archived := map[string]int{}
	s.must(s.work.SetArchive(s.Context(), "", "disk"))
	for _, in := range []domain.TenantID{home, annex} {
		for {
			l, err := s.work.Backlog(s.Context(), in)
			s.must(err)
			if l.Waiting == 0 {
				break
			}
			ended, covered, err := s.work.Ended(s.Context(), l, 256)
			s.must(err)
			for _, e := range ended {
				if e.Message != nil {
					archived[strconv.Itoa(int(in))+"/"+e.Key()]++
				}
			}
			s.must(s.work.MarkArchived(s.Context(), l, covered))
		}
		_, err := s.work.Prune(s.Context(), in, time.Now().Add(time.Second))
		s.must(err)
	}
	return archived
}

// takeAll empties the inboxes of an actor.
func (s *site) takeAll(actor domain.ActorID) (n int) {
	s.Helper()
	for _, in := range []domain.TenantID{home, annex} {
		list, err := s.post.Inbox(s.Context(), in, actor, 0, 200)
		s.must(err)
		for _, m := range list {
			_, err := s.post.Take(s.Context(), in, actor, m.Key())
			s.must(err)
			n++
		}
	}
	return n
}

// TestNothingOfAMessageIsLeft lets messages end in every way there is: after
// that each is in the archive once, and no key of them is on any board.
func TestNothingOfAMessageIsLeft(t *testing.T) {
	bubble(t, membus.Config{}, func(t *testing.T, net *membus.Network, a, b *site) {
		before := map[*site][]string{a: a.keysLeft(), b: b.keysLeft()}
		sent := 0
		end := func(m domain.Message, want domain.MessageStatus, stage domain.Stage) {
			t.Helper()
			sent++
			m.Timeout, m.TimeoutAck, m.TimeoutResult = cmp.Or(m.Timeout, 60), 60, cmp.Or(m.TimeoutResult, 600)
			if done := a.wait(a.send(m)); done.Status != want || done.Stage != stage {
				t.Errorf("got %s %q: %s, want %s %q", done.Status, done.Stage, done.Error, want, stage)
			}
		}
		chat := domain.Message{MessageType: domain.MessageChat, Message: "good morning", DstPubkey: a.opKey.Pubkey()}
		abroad := domain.Message{MessageType: domain.MessageMail, Message: "dear all", DstContext: annex, DstNode: b.post.Node(), DstPubkey: b.opKey.Pubkey()}
		order := domain.Message{MessageType: domain.MessageJob, DstContext: annex, DstNode: b.post.Node(),
			Flow: `{"plan":{"name":"there","steps":[{"name":"one","script":"say hi","script_type":"lines"}]}}`}
		here := domain.Message{MessageType: domain.MessageJob, DstContext: annex, Job: domain.List[domain.Job]{{Script: "say hi\nsleep 10s", ScriptType: "lines"}}}
		nowhere := jobTo(b, "set x 1")
		nowhere.DstContext = 99
		for _, m := range []domain.Message{chat, abroad, order, here, jobTo(b, "say hi\nsleep 10s\nsay ho"), jobTo(b, "fail badly")} {
			end(m, domain.MessageProcessed, "")
		}
		end(nowhere, domain.MessageError, "")
		late := jobTo(b, "sleep 1h")
		late.TimeoutResult = 60
		end(late, domain.MessageError, domain.StageResult)
		net.Cut("alpha", "beta")
		late = jobTo(b, "set x 1")
		late.Timeout = 30
		end(late, domain.MessageError, domain.StageDelivery)
		net.Heal()

		// What other programs write, also what is no message.
		a.write("message:1:500", "id", "500", "caller_id", "1", "context_id", "1", "message_type", "chat", "message", "hi", "dst_actor", "1", "timeout",
			"60", "timeout_ack", "60")
		a.push(queue.MsgOut, "message:1:500")
		sent++
		for _, list := range []string{queue.MsgOut, queue.MsgIn, queue.PostPush, queue.PostResult, queue.PostLogs, queue.PostJobs} {
			for _, item := range []string{"rubbish", "message:1:9999", "job:1:9999", "ramet:notes:message:1:9999"} {
				a.push(list, item)
			}
			time.Sleep(time.Second) // virtual: each list by itself, or the next one would clear up after it
		}
		time.Sleep(26 * time.Hour) // until every message has expired, and its mark of having been seen
		if n := a.takeAll(a.op) + b.takeAll(b.op); n == 0 {
			t.Error("nothing was in the inboxes")
		}
		got := a.clear()
		for key, n := range got {
			if n != 1 {
				t.Errorf("%s is %d times in the archive", key, n)
			}
		}
		for key := range b.clear() {
			got["beta:"+key] = 1
		}
		if len(got) <= 2*sent {
			t.Errorf("got %d messages in the archives, want more than those %d, each with a copy at its receiver", len(got), sent)
		}
		for s, want := range before {
			if diff := gocmp.Diff(want, s.keysLeft()); diff != "" {
				t.Errorf("%s: what is left (-want +got):\n%s", s.name, diff)
			}
		}
	})
}

// TestNothingIsLeftWhereNobodyAnswers: the bus takes messages, and loses all.
func TestNothingIsLeftWhereNobodyAnswers(t *testing.T) {
	bubble(t, membus.Config{Loss: 1}, func(t *testing.T, net *membus.Network, a, b *site) {
		before := a.keysLeft()
		late := jobTo(b, "set x 1")
		late.Timeout, late.TimeoutAck = 30, 60
		if done := a.wait(a.send(late)); done.Stage != domain.StageAck {
			t.Fatalf("got %+v", done)
		}
		time.Sleep(time.Hour) // until the last push would have been
		a.clear()
		if diff := gocmp.Diff(before, a.keysLeft()); diff != "" {
			t.Errorf("what is left (-want +got):\n%s", diff)
		}
	})
}

// fill puts so many messages into the inbox of the operator, in context 1.
func (s *site) fill(n int) {
	s.Helper()
	length, err := s.board.Len(s.Context(), board.Space(home), layout.Inbox(s.op))
	s.must(err)
	items := make([]string, 0, board.MaxOps)
	for i := length[0]; i < n; i++ {
		if items = append(items, "message:99:"+strconv.Itoa(i+1)); len(items) == cap(items) || i == n-1 {
			b := board.Batch{Space: board.Space(home)}
			s.must(s.board.Commit(s.Context(), *b.PushLeft(layout.Inbox(s.op), items...)))
			items = items[:0]
		}
	}
}

func TestAnInboxThatNobodyReadsHasABound(t *testing.T) {
	bubble(t, membus.Config{}, func(t *testing.T, _ *membus.Network, a, b *site) {
		length := func() int {
			t.Helper()
			time.Sleep(time.Second) // virtual: until it is filed
			n, err := a.board.Len(t.Context(), board.Space(home), layout.Inbox(a.op))
			a.must(err)
			return n[0]
		}
		chat := func() *domain.Message {
			t.Helper()
			return a.wait(a.send(domain.Message{MessageType: domain.MessageChat, Message: "hi", DstPubkey: a.opKey.Pubkey()}))
		}
		a.fill(post.MaxInbox / 2)
		if done := a.wait(a.send(jobTo(b, "set x 1"))); done.Status != domain.MessageProcessed || done.Answer == "" {
			t.Errorf("got %+v, want that the job is answered all the same", done)
		}
		if n := length(); n != post.MaxInbox/2 {
			t.Errorf("got %d messages, want that the result is not filed", n)
		}
		if done := chat(); done.Status != domain.MessageProcessed {
			t.Errorf("got %+v, want that there is room for a message", done)
		}
		if n := length(); n != post.MaxInbox/2+1 {
			t.Errorf("got %d messages, want the message too", n)
		}
		a.fill(post.MaxInbox)
		if done := chat(); done.Status != domain.MessageError || !strings.Contains(done.Error, "full") {
			t.Errorf("got %+v, want that it is refused", done)
		}
		if n := length(); n != post.MaxInbox {
			t.Errorf("got %d messages, want %d at the most", n, post.MaxInbox)
		}
		archived := a.clear()
		if len(archived) != 4 { // the job, its result, a message that was sent, one that was refused
			t.Errorf("got %v archived, want four: the message in the inbox not yet", archived)
		}
	})
}

// TestAMessageEndsWhenItIsTaken: however long it was in the inbox, its reader
// finds it on the board and in the archive for as long as any other.
func TestAMessageEndsWhenItIsTaken(t *testing.T) {
	bubble(t, membus.Config{}, func(t *testing.T, _ *membus.Network, a, _ *site) {
		a.wait(a.send(domain.Message{MessageType: domain.MessageChat, Message: "hi", DstPubkey: a.opKey.Pubkey()}))
		time.Sleep(2 * time.Hour)
		archived := a.clear()
		list, err := a.post.Inbox(t.Context(), home, a.op, 0, 10)
		a.must(err)
		if len(list) != 1 || list[0].Message != "hi" || len(archived) != 1 {
			t.Fatalf("got %+v in the inbox and %v in the archive, want it there still, and in the archive what was sent", list, archived)
		}
		key := list[0].Key()
		_, err = a.post.Take(t.Context(), home, a.op, key)
		a.must(err)
		l, err := a.work.Backlog(t.Context(), home)
		a.must(err)
		ended, covered, err := a.work.Ended(t.Context(), l, 10)
		a.must(err)
		if len(ended) != 1 || ended[0].Key() != key.String() || time.Since(time.UnixMilli(ended[0].Message.EndedMs)) > time.Minute {
			t.Errorf("got %+v, want that it has ended just now", ended)
		}
		a.must(a.work.MarkArchived(t.Context(), l, covered))
		_, err = a.work.Prune(t.Context(), home, time.Now().Add(-time.Hour))
		a.must(err)
		if m, err := a.post.Show(t.Context(), home, key); err != nil || m.Message != "hi" {
			t.Errorf("just taken: got %+v, %v", m, err)
		}
	})
}

func TestTheLogOfAMessageHasABound(t *testing.T) {
	bubble(t, membus.Config{}, func(t *testing.T, _ *membus.Network, a, b *site) {
		m := a.send(jobTo(b, strings.Repeat("say x\n", domain.MaxMessageLogs+500)+"sleep 1m"))
		time.Sleep(30 * time.Second)
		n, err := a.board.Len(t.Context(), board.Space(home), layout.MessageLog(m.Key()))
		a.must(err)
		if n[0] != domain.MaxMessageLogs {
			t.Errorf("got %d lines while it runs, want the last %d", n[0], domain.MaxMessageLogs)
		}
		if done := a.wait(m); len(done.Logs) != domain.MaxMessageLogs {
			t.Errorf("got %d lines at its end, want the last %d", len(done.Logs), domain.MaxMessageLogs)
		}
	})
}
