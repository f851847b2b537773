package redisboard_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/boardtest"
	"github.com/ramet-run/ramet/board/redisboard"
	"github.com/ramet-run/ramet/internal/redistest"
	"github.com/ramet-run/ramet/internal/watched"
)

// These tests load the very files of users that operators are given.

// withUsers starts a server with one of the files of deploy/redis.
func withUsers(t testing.TB, file string) *redistest.Server {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "redis", file))
	if err != nil {
		t.Fatal(err)
	}
	acl := filepath.Join(t.TempDir(), "users.acl")
	if err := os.WriteFile(acl, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return redistest.Start(t, "databases 1100", "appendonly yes", "appendfsync always", "notify-keyspace-events EKghlsx", "aclfile "+acl)
}

func openAsNode(t testing.TB, s *redistest.Server, cfg redisboard.Config) *redisboard.Board {
	t.Helper()
	b, err := redisboard.Open(t.Context(), strings.Replace(s.URL(), "://", "://ramet:change-me-node@", 1), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// TestBoardAsItsUser runs the suite as the node's user, which the server may not
// have kept from anything.
func TestBoardAsItsUser(t *testing.T) {
	watched.Again(t)
	boardtest.Run(t, boardtest.Factory{
		Open: func(t *testing.T) board.Board {
			s := withUsers(t, "users-db.acl")
			t.Cleanup(func() { notDenied(t, s) }) // runs before the server ends
			return openAsNode(t, s, byDB)
		},
	})
}

// notDenied asks the server whom it kept from what.
func notDenied(t *testing.T, s *redistest.Server) {
	t.Helper()
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{s.Addr()}, Username: "admin", Password: "change-me-admin",
		DisableCache: true, ForceSingleClient: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	log, err := c.Do(context.Background(), c.B().Arbitrary("ACL", "LOG").Build()).ToArray()
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range log {
		facts, err := entry.AsStrMap()
		if what := facts["object"]; what != "client|setinfo" && what != "client|tracking" { // the library does without
			t.Errorf("the node's user was kept from %q (%v, %v)", what, facts, err)
		}
	}
}

// asUser is a client of one of the users.
func asUser(t *testing.T, s *redistest.Server, user, password string) func(args ...string) string {
	t.Helper()
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{s.Addr()}, Username: user, Password: password, DisableCache: true,
		ForceSingleClient: true, PipelineMultiplex: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return func(args ...string) string {
		m, err := c.Do(t.Context(), c.B().Arbitrary(args...).Build()).ToMessage()
		switch {
		case err != nil && strings.HasPrefix(err.Error(), "NOPERM"):
			return "NOPERM"
		case err != nil:
			return err.Error()
		}
		return m.String()
	}
}

func TestUsersMayDoTheirPartOnly(t *testing.T) {
	for _, tc := range []struct {
		file, prefix string
		cfg          redisboard.Config
	}{{"users-db.acl", "", byDB}, {"users-prefix.acl", "ctx:7:", byPrefix}} {
		t.Run(tc.file, func(t *testing.T) {
			s := withUsers(t, tc.file)
			openAsNode(t, s, tc.cfg)
			users := map[string]func(...string) string{
				"producer": asUser(t, s, "producer-12", "change-me-producer"),
				"runner":   asUser(t, s, "runner-v", "change-me-runner"),
				"reader":   asUser(t, s, "reader-7", "change-me-reader"),
			}
			if tc.prefix == "" {
				for name, do := range users {
					if got := do("SELECT", "7"); got == "NOPERM" {
						t.Errorf("%s may not come to its database", name)
					}
					if got := do("SELECT", "8"); got != "NOPERM" {
						t.Errorf("%s in another database: %s", name, got)
					}
				}
			}
			p := tc.prefix
			// Not even in a context of others, where they are known by keys.
			other := "ctx:8:"
			for _, c := range []struct {
				who     string
				command []string
				may     bool
			}{
				{"producer", []string{"HSET", p + "job:12:1", "script", "x", "script_type", "v"}, true},
				{"producer", []string{"LPUSH", p + "queue:v", "job:12:1"}, true},
				{"producer", []string{"HGETALL", p + "job:12:1"}, true},
				{"producer", []string{"HSET", p + "job:13:1", "script", "x"}, false},
				{"producer", []string{"HGETALL", p + "job:13:1"}, false},
				{"producer", []string{"HSET", p + "flow:3", "jobs", "[1]"}, false},
				{"producer", []string{"HSET", p + "context:7", "admins", "[12]"}, false},
				{"producer", []string{"HSET", "actor:12", "pubkey", "00"}, false},
				{"producer", []string{"LRANGE", p + "queue:v", "0", "-1"}, false},
				{"producer", []string{"RPOP", p + "queue:v"}, false},
				{"producer", []string{"DEL", p + "job:12:1"}, false},
				// A record where a list is wanted, or the other way round, would stop everybody's queue.
				{"producer", []string{"HSET", p + "queue:shell", "a", "b"}, false},
				{"producer", []string{"LPUSH", p + "job:12:2", "x"}, false},
				{"runner", []string{"HSET", p + "queue:v:p1", "a", "b"}, false},
				{"runner", []string{"RPOP", p + "job:12:1"}, false},
				{"producer", []string{"LPUSH", p + "msg_out", "message:12:1"}, false},
				{"producer", []string{"LPUSH", p + "rhai_tasks:friends", "x"}, false},
				{"producer", []string{"HSET", p + "ramet:limits", "max", "0"}, false},
				{"producer", []string{"ZADD", "ramet:alarms", "1", "7|x"}, false},
				{"producer", []string{"HSET", other + "job:12:1", "script", "x"}, false},
				{"producer", []string{"LPUSH", other + "queue:v", "job:12:1"}, false},
				{"producer", []string{"KEYS", "*"}, false},
				{"producer", []string{"SCAN", "0"}, false},
				{"producer", []string{"FLUSHALL"}, false},
				{"producer", []string{"CONFIG", "GET", "*"}, false},
				{"producer", []string{"EVAL", "return 1", "0"}, false},
				{"producer", []string{"ACL", "LIST"}, false},
				{"producer", []string{"MONITOR"}, false},
				{"producer", []string{"PUBLISH", "ramet:wake", "x"}, false},

				{"runner", []string{"BRPOP", p + "queue:v", "1"}, true},
				{"runner", []string{"HGETALL", p + "job:12:1"}, true},
				{"runner", []string{"HSET", p + "job:12:1", "status", "finished", "result", "{}"}, true},
				{"runner", []string{"BRPOP", p + "queue:python", "1"}, false},
				{"runner", []string{"HSET", p + "flow:3", "status", "finished"}, false},
				{"runner", []string{"HGETALL", p + "context:7"}, false},
				{"runner", []string{"HGETALL", other + "job:12:1"}, false},
				{"runner", []string{"LPUSH", p + "queue:v", "job:12:2"}, false},
				{"runner", []string{"DEL", p + "job:12:1"}, false},
				{"runner", []string{"EVALSHA", "x", "0"}, false},

				{"reader", []string{"HGETALL", p + "job:12:1"}, true},
				{"reader", []string{"LRANGE", p + "queue:v", "0", "-1"}, true},
				{"reader", []string{"HSET", p + "job:12:1", "status", "error"}, false},
				{"reader", []string{"LPUSH", p + "queue:v", "job:12:1"}, false},
				{"reader", []string{"HGETALL", "actor:1"}, false},
				{"reader", []string{"HGETALL", other + "job:12:1"}, false},
				{"reader", []string{"SCAN", "0"}, false},
			} {
				if got := users[c.who](c.command...); (got != "NOPERM") != c.may || c.may && strings.Contains(got, "ERR") {
					t.Errorf("%s: %v: got %s, want it allowed: %v", c.who, c.command, got, c.may)
				}
			}
		})
	}
}
