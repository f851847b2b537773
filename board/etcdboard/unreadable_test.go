package etcdboard_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/etcdtest"
	"github.com/ramet-run/ramet/internal/testwait"
)

// TestAValueThatCannotBeReadHarmsNobodyElse writes malformed values into every room of a
// board that is in use: it is named, all else goes on, and it can be discarded.
func TestAValueThatCannotBeReadHarmsNobodyElse(t *testing.T) {
	server := etcdtest.Start(t, "--unsafe-no-fsync")
	url, c := etcdtest.URL("strange", server), client(t, server)
	b := open(t, url)
	items := make([]string, 200) // in several segments
	for i := range items {
		items[i] = fmt.Sprint("job:", i)
	}
	commit(t, b, in(sp).PushLeft("queue:v", items...).PushLeft("gone", items...).Set("kept", field("a", "1")).
		Set("rec", field("a", "1")).SetAlarm("bell", time.Now()))
	if _, err := b.Next(t.Context(), sp, "seq", 3); err != nil {
		t.Fatal(err)
	}
	resp, err := c.Get(t.Context(), "strange/l/1/queue:v\x00", clientv3.WithPrefix())
	if err != nil || len(resp.Kvs) < 3 {
		t.Fatal(resp, err)
	}
	first, middle, last := resp.Kvs[0], resp.Kvs[1], resp.Kvs[len(resp.Kvs)-1]
	keys := []string{"strange/k/1/rec", "strange/k/1/gone", "strange/a/1/bell", "strange/c/1/seq", "strange/e/1/kept",
		string(first.Key), string(middle.Key), string(last.Key)}
	for _, key := range keys {
		if _, err := c.Put(t.Context(), key, "\xff\xff"); err != nil {
			t.Fatal(err)
		}
	}
	names := func() (names []string) {
		t.Helper()
		list, err := b.Unreadable(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range list {
			names = append(names, u.Name)
		}
		return names
	}
	testwait.Until(t, "all are named", func() bool { return len(names()) == len(keys) })

	commit(t, b, in(sp).Equal("kept", "a", "1").Set("kept", field("a", "2")).PushRight("queue:v", "job:new").PushLeft("queue:v", "job:last"))
	refused := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), "cannot be read") {
			t.Errorf("%s: got %v, want invalid: it cannot be read", what, err)
		}
	}
	refused("set", b.Commit(t.Context(), *in(sp).Set("rec", field("b", "1"))))
	refused("push", b.Commit(t.Context(), *in(sp).PushLeft("gone", "x")))
	_, err = b.Next(t.Context(), sp, "seq", 1)
	refused("next", err)
	if s, err := b.Stat(t.Context(), sp, "rec", "kept"); err != nil || s[0].Kind != board.KindOther || s[1].Kind != board.KindRecord {
		t.Errorf("stat: got %v %v", s, err)
	}
	seen := map[string]bool{}
	for range len(items) + 2 {
		got, err := b.Claim(t.Context(), ask(40, "me"))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range got {
			seen[c.Item] = true
		}
	}
	if !seen["job:new"] || !seen["job:last"] || len(seen) < 60 {
		t.Errorf("%d items were claimed, want those of the segment that is left, and the new ones", len(seen))
	}
	other := open(t, url) // a node that comes now goes on, too
	for _, name := range names() {
		if err := other.Discard(t.Context(), name); err != nil {
			t.Errorf("discard %q: %v", name, err)
		}
	}
	if left := names(); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
	if err := b.Discard(t.Context(), "strange/k/1/kept"); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("discard what can be read: got %v, want not found", err)
	}
	commit(t, b, in(sp).Absent("rec").Absent("gone").Set("rec", field("b", "1")).PushLeft("gone", "x"))
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}
