package flow_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/work"
)

// TestAWaitThatIsCutOffIsNoEnd: whoever waits while the node stops is not told
// that the flow has ended.
func TestAWaitThatIsCutOffIsNoEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		contexts := board.Batch{}
		if err := b.Commit(t.Context(), *contexts.Include(layout.Contexts, "1")); err != nil {
			t.Fatal(err)
		}
		e := flow.New(b, work.New(b, work.Config{}), flow.Config{})
		made, err := e.Submit(t.Context(), 1, []flow.Request{{Caller: 1, Plan: blueprint(step("a", "x"))}})
		if err != nil || made[0].Err != nil {
			t.Fatal(err, made)
		}
		ended := make(chan error, 1)
		go func() {
			_, err := e.Wait(t.Context(), 1, made[0].ID, nil)
			ended <- err
		}()
		synctest.Wait()
		b.Close()
		if err := <-ended; !errors.Is(err, domain.ErrUnavailable) {
			t.Errorf("got %v", err)
		}
	})
}
