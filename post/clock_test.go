package post_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board/boardtest"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

// TestAMessageIsGoodByTheBoardsClock has a node whose own clock is an hour off take in what
// another node has signed, whose clock is right, and which is good for two minutes.
func TestAMessageIsGoodByTheBoardsClock(t *testing.T) {
	for _, by := range []time.Duration{-time.Hour, time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSiteOn(t, "alpha", boardtest.Ahead(memboard.Open(), by))
				s.start("a/1")
				defer s.stop()
				now := s.board.Now()
				m := domain.Message{ID: 101, CallerID: s.op, ContextID: home, SrcContext: home, DstContext: annex, MessageType: domain.MessageJob,
					MessageFormatType: domain.FormatText, Job: domain.List[domain.Job]{{ID: 2001, CallerID: s.op, Script: "set x 1", ScriptType: "lines"}},
					CreatedAt: domain.At(now), ExpiresAt: domain.At(now.Add(2 * time.Minute))}
				s.must(identity.SignMessage(s.opKey, &m))
				_, err := s.post.Send(s.Context(), home, &m)
				s.must(err)
				if done := s.wait(&m); done.Status != domain.MessageProcessed {
					t.Errorf("got %s %q, want it processed", done.Status, done.Error)
				}
				unsigned := s.send(domain.Message{MessageType: domain.MessageChat, Message: "hello", DstContext: annex, DstActor: s.op, Timeout: 60, TimeoutAck: 60})
				if off := unsigned.CreatedAt.Time().Sub(s.board.Now()); off.Abs() > time.Minute {
					t.Errorf("it was written %v off the board's clock", off)
				}
				if took := time.Duration(s.counts.longest.Load()); took < 0 || took > time.Minute {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}
