package turns_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/ramet-run/ramet/internal/turns"
)

func TestOneOfAContextAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var line turns.Turns
		first, err := line.Take(t.Context(), 7)
		if err != nil {
			t.Fatal(err)
		}
		other, err := line.Take(t.Context(), 8)
		if err != nil {
			t.Fatal(err)
		}
		other()
		begun := false
		go func() {
			done, err := line.Take(t.Context(), 7)
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
		if _, err := line.Take(gone, 7); !errors.Is(err, context.Canceled) {
			t.Errorf("somebody who has left: got %v", err)
		}
		first()
		synctest.Wait()
		if !begun {
			t.Error("the second did not begin after the first had ended")
		}
	})
}
