package testwait_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/internal/testwait"
)

// judge is a test that can fail without failing its own.
type judge struct {
	testing.TB
	said string
}

func (j *judge) Helper()                         {}
func (j *judge) Fatal(args ...any)               { j.said = fmt.Sprint(args...); panic(j) }
func (j *judge) Fatalf(form string, args ...any) { j.Fatal(fmt.Sprintf(form, args...)) }

// verdict is what it failed with, and when.
func verdict(t *testing.T, do func(testing.TB)) (said string, after time.Duration) {
	j, began := &judge{TB: t}, time.Now()
	defer func() {
		if r := recover(); r != nil && r != any(j) {
			panic(r)
		}
		said, after = j.said, time.Since(began)
	}()
	do(j)
	return
}

func TestALogTells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log testwait.Log
		go func() {
			for range 3 {
				time.Sleep(time.Second)
				fmt.Fprintln(&log, "here it is, and here")
			}
		}()
		if said, after := verdict(t, func(tb testing.TB) { log.Await(tb, "here", 3) }); said != "" || after != 2*time.Second {
			t.Errorf("it failed with %q after %v, want no failure after 2s", said, after)
		}
		if said, _ := verdict(t, func(tb testing.TB) { log.Await(tb, "here", 1) }); said != "" {
			t.Errorf("what is there is not found: %s", said)
		}
		if said, _ := verdict(t, func(tb testing.TB) { log.Await(tb, "there", 1) }); !strings.Contains(said, "here it is") {
			t.Errorf("it failed with %q, want the log", said)
		}
	})
}

func TestItIsLookedAtAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := time.Now().Add(10 * time.Second)
		is := func() bool { return !time.Now().Before(late) }
		if said, after := verdict(t, func(tb testing.TB) { testwait.Until(tb, "ten seconds", is) }); said != "" || after != 10*time.Second {
			t.Errorf("it failed with %q after %v, want no failure after 10s", said, after)
		}
		never := func() bool { return false }
		if said, _ := verdict(t, func(tb testing.TB) { testwait.Until(tb, "the impossible", never) }); !strings.Contains(said, "the impossible") {
			t.Errorf("it failed with %q, want what did not come", said)
		}
		if said, _ := verdict(t, func(tb testing.TB) { testwait.Nil(tb, func() error { return errors.New("away") }) }); said != "away" {
			t.Errorf("it failed with %q, want the last error", said)
		}
	})
}
