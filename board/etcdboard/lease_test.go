package etcdboard_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
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
			claim := func(item string, lease time.Duration) (token int64) {
				commit(t, one, in(sp).PushLeft("queue:v", item))
				a := ask(1, "one")
				a.Lease = lease
				got, err := one.Claim(t.Context(), a)
				if err != nil || len(got) != 1 {
					t.Fatal(got, err)
				}
				return got[0].Token
			}
			token := claim("job:1", 10*time.Minute)
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
			token = claim("job:2", board.MinLease)
			list, err := two.Expired(t.Context(), 10, time.Minute)
			if err != nil || len(list) != 1 || list[0].Item != "job:2" {
				t.Fatalf("after its time: got %v %v, want that of job:2", list, err)
			}
			commit(t, two, in(sp).Lapsed("job:2", token).Release("job:2").PushRight("queue:v", "job:2"))
		})
	}
}
