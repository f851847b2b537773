package etcdboard_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ramet-run/ramet/internal/etcdtest"
)

// addUsers does what deploy/etcd/users.sh has etcdctl do.
func addUsers(t *testing.T, c *clientv3.Client) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "etcd", "users.sh"))
	if err != nil {
		t.Fatal(err)
	}
	done := 0
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) == 0 || f[0] != "etcdctl" {
			continue
		}
		switch strings.Join(f[1:min(3, len(f))], " ") {
		case "user add":
			name, password, _ := strings.Cut(f[3], ":")
			_, err = c.UserAdd(t.Context(), name, password)
		case "user grant-role":
			_, err = c.UserGrantRole(t.Context(), f[3], f[4])
		case "role add":
			_, err = c.RoleAdd(t.Context(), f[3])
		case "role grant-permission": // ramet --prefix=true readwrite ramet/
			_, err = c.RoleGrantPermission(t.Context(), f[3], f[6], clientv3.GetPrefixRangeEnd(f[6]), clientv3.PermissionType(clientv3.PermReadWrite))
		case "auth enable":
			_, err = c.AuthEnable(t.Context())
		default:
			t.Fatalf("the test does not know %q", line)
		}
		if err != nil {
			t.Fatal(line, err)
		}
		done++
	}
	if done == 0 {
		t.Fatal("the file has no commands")
	}
}

// TestTheUserOfDeploy works with a board as the user that operators are given.
func TestTheUserOfDeploy(t *testing.T) {
	server := etcdtest.Start(t, "--unsafe-no-fsync")
	addUsers(t, client(t, server))
	b := open(t, "etcd://ramet:change-me-node@"+server.Addr()+"/ramet")
	commit(t, b, in(sp).Absent("job:1:1").Set("job:1:1", field("script", "x")).PushLeft("queue:v", "job:1:1").SetAlarm("a", time.Now()))
	events, err := b.Watch(t.Context(), sp, "job:")
	if err != nil {
		t.Fatal(err)
	}
	got, err := b.Claim(t.Context(), ask(1, "n/1"))
	if err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	commit(t, b, in(sp).Held("job:1:1", "n/1", got[0].Token).Set("job:1:1", field("status", "finished")).Release("job:1:1"))
	<-events
	if due, err := b.Due(t.Context(), 10, 0); err != nil || len(due) != 1 {
		t.Error(due, err)
	}
	if keys, _, err := b.Keys(t.Context(), sp, "job:", "", 10); err != nil || len(keys) != 1 {
		t.Error(keys, err)
	}

	theirs, err := clientv3.New(clientv3.Config{Endpoints: []string{server.Addr()}, Username: "ramet", Password: "change-me-node"})
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	if _, err := theirs.Get(t.Context(), "others/x"); err == nil {
		t.Error("it reads what is not the board's")
	}
	if _, err := theirs.Put(t.Context(), "others/x", "1"); err == nil {
		t.Error("it writes what is not the board's")
	}
}
