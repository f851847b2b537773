package service_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/service"
)

// TestASilenceBeganBeforeTheLookThatFoundIt: where nobody has looked for long, that is said, with when
// the last answer came.
func TestASilenceBeganBeforeTheLookThatFoundIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var silent atomic.Bool
		a := service.New(service.Parts{Info: func() api.Info { return api.Info{} }, Board: func(ctx context.Context) error {
			if !silent.Load() {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		}})
		look := func(quiet bool, want string) {
			t.Helper()
			synctest.Wait() // the look before has ended
			silent.Store(quiet)
			if got := a.Health(t.Context()).Board; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		look(true, "the board gives no answer since 2000-01-01 00:00:00 UTC at the latest")
		look(false, "")
		time.Sleep(5 * time.Second)
		look(true, "the board gives no answer since 2000-01-01 00:00:10 UTC")
		look(true, "the board gives no answer since 2000-01-01 00:00:10 UTC")
		look(false, "")
		time.Sleep(5 * time.Minute)
		look(true, "the board gives no answer since 2000-01-01 00:05:20 UTC at the latest (it gave one at 2000-01-01 00:00:20 UTC)")
	})
}
