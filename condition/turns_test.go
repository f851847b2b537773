package condition_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/ramet-run/ramet/condition"
)

func TestOneConditionOfAContextAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turns condition.Turns
		first, err := turns.Take(t.Context(), 7)
		if err != nil {
			t.Fatal(err)
		}
		other, err := turns.Take(t.Context(), 8)
		if err != nil {
			t.Fatal(err)
		}
		other()
		begun := false
		go func() {
			done, err := turns.Take(t.Context(), 7)
			if err != nil {
				t.Error(err)
				return
			}
			begun = true
			done()
		}()
		synctest.Wait()
		if begun {
			t.Error("a second one of the context began before the first had ended")
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := turns.Take(gone, 7); !errors.Is(err, context.Canceled) {
			t.Errorf("somebody who has left: got %v", err)
		}
		first()
		synctest.Wait()
		if !begun {
			t.Error("the second did not begin after the first had ended")
		}
	})
}
