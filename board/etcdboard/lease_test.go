package etcdboard_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board/etcdboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/etcdtest"
)

// TestLeasesHoldOnNodesWhoseClocksDisagree has a node hold leases, and another
// whose clock is an hour off: it takes none of them for run out that holds, and
// sees soon that one has.
func TestLeasesHoldOnNodesWhoseClocksDisagree(t *testing.T) {
	server := etcdtest.Start(t, "--unsafe-no-fsync")
	for i, skew := range []time.Duration{-time.Hour, time.Hour} {
		t.Run(skew.String(), func(t *testing.T) {
			url := etcdtest.URL(fmt.Sprint("skew", i), server)
			one := open(t, url)
			two, err := etcdboard.OpenSkewed(t.Context(), url, etcdboard.Config{}, skew)
			if err != nil {
				t.Fatal(err)
			}
			defer two.Close()
			commit(t, one, in(sp).PushLeft("queue:v", "job:1"))
			a := ask(1, "one")
			a.Lease = 2 * time.Second
			got, err := one.Claim(t.Context(), a)
			if err != nil || len(got) != 1 {
				t.Fatal(got, err)
			}
			token := got[0].Token
			if _, err := one.Occupy(t.Context(), sp, "routine", "one", time.Minute); err != nil {
				t.Fatal(err)
			}
			if list, err := two.Expired(t.Context(), 10, 0); err != nil || len(list) > 0 {
				t.Errorf("run out are %v %v, want none", list, err)
			}
			if err := two.Commit(t.Context(), *in(sp).Lapsed("job:1", token).Release("job:1")); !errors.Is(err, domain.ErrConflict) {
				t.Errorf("take a lease away that holds: got %v, want a conflict", err)
			}
			if _, err := two.Occupy(t.Context(), sp, "routine", "two", time.Minute); !errors.Is(err, domain.ErrConflict) {
				t.Errorf("occupy what is occupied: got %v, want a conflict", err)
			}
			list, err := two.Expired(t.Context(), 10, 20*time.Second)
			if err != nil || len(list) != 1 {
				t.Fatalf("after its time: got %v %v, want the lease", list, err)
			}
			commit(t, two, in(sp).Lapsed("job:1", token).Release("job:1").PushRight("queue:v", "job:1"))
		})
	}
}
