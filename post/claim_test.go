package post_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board/boardtest"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/bus/membus"
	"github.com/ramet-run/ramet/domain"
)

// Messages that came with an error of the claim are not dealt with: their leases
// run out, and they are done all the same.
func TestNothingIsBegunOfAClaimThatFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := membus.New(membus.Config{})
		a := newSiteOn(t, "alpha", boardtest.Blurting(t, memboard.Open(), 6), net.Join("alpha"))
		b := newSiteOn(t, "beta", boardtest.Blurting(t, memboard.Open(), 6), net.Join("beta"))
		meet(a, b)
		a.start("a/1")
		b.start("b/1")
		defer func() { a.stop(); b.stop() }()
		m := jobTo(b, "set x 1")
		m.CallerID = a.op
		_, err := a.post.Send(t.Context(), home, &m)
		a.must(err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if done, err := a.post.Wait(ctx, home, m.Key()); err != nil || done.Status != domain.MessageProcessed {
			t.Errorf("got %+v, %v", done, err)
		}
	})
}
