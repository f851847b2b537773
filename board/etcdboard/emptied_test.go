package etcdboard_test

import (
	"errors"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ramet-run/ramet/board/etcdboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/etcdtest"
)

// TestANodeNoticesThatItsKeysWereDeleted takes nothing from its memory, gives no number
// out again, and acknowledges nothing, whatever it is asked first.
func TestANodeNoticesThatItsKeysWereDeleted(t *testing.T) {
	server := etcdtest.Start(t, "--unsafe-no-fsync")
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{server.Addr()}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for name, first := range map[string]func(b *etcdboard.Board) error{
		"a read":   func(b *etcdboard.Board) error { _, err := b.Get(t.Context(), sp, "r"); return err },
		"a write":  func(b *etcdboard.Board) error { return b.Commit(t.Context(), *in(sp).Set("new", field("b", "new"))) },
		"a number": func(b *etcdboard.Board) error { _, err := b.Next(t.Context(), sp, "n", 1); return err },
		"a claim":  func(b *etcdboard.Board) error { _, err := b.Claim(t.Context(), ask(1, "n")); return err },
	} {
		t.Run(name, func(t *testing.T) {
			prefix := strings.ReplaceAll(name, " ", "-")
			url := etcdtest.URL(prefix, server)
			b, idle := open(t, url), open(t, url)
			commit(t, b, in(sp).Set("r", field("a", "1")).PushLeft("queue:v", "job:1:1"))
			if n := next(t, b, sp, "n"); n != 1 {
				t.Fatalf("got %d", n)
			}
			if _, err := idle.Get(t.Context(), sp, "r"); err != nil { // it has seen that there is a board
				t.Fatal(err)
			}
			if _, err := client.Delete(t.Context(), prefix+"/", clientv3.WithPrefix()); err != nil {
				t.Fatal(err)
			}
			told := func(what string, err error) {
				t.Helper()
				if !errors.Is(err, domain.ErrUnavailable) || !strings.Contains(err.Error(), "its keys were deleted") {
					t.Errorf("%s: got %v, want that the keys were deleted", what, err)
				}
			}
			told(name, first(b))
			_, err := b.Get(t.Context(), sp, "r")
			told("a read after that", err)
			told("a write after that", b.Commit(t.Context(), *in(sp).Set("r", field("b", "new"))))
			_, err = idle.Next(t.Context(), sp, "n", 1)
			told("another node", err)
			anew := open(t, url) // which whoever accepts the loss does
			commit(t, anew, in(sp).Set("r", field("a", "2")))
			told("a node that knew the old one, of a new one", idle.Commit(t.Context(), *in(sp).Set("r", field("b", "new"))))
		})
	}
}
