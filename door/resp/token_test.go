package resp_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
)

// elsewhere is another node on the rig's board, where things are taken away.
func (r *rig) elsewhere() *identity.Registry { return identity.NewRegistry(r.board) }

// reads begins to read what comes next; it has what came once that is there.
func (c *conn) reads() <-chan any {
	got := make(chan any, 1)
	go func() {
		v, err := readAnswer(c.r)
		if err != nil {
			v = err
		}
		got <- v
	}()
	return got
}

// TestWhatIsOpenEndsWithinASecond takes away at another node by what a
// connection, a wait and a subscription are open, three seconds after they began.
func TestWhatIsOpenEndsWithinASecond(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(r *rig) error
		word string
		idle bool // a connection that waits for nothing ends, too
	}{
		{"all tokens are revoked", func(r *rig) error { return r.elsewhere().RevokeTokens(r.Context(), executor) }, "NOAUTH", true},
		{"the actor has another key", func(r *rig) error {
			key, err := identity.NewKey()
			if err != nil {
				return err
			}
			_, err = r.elsewhere().UpdateActor(r.Context(), executor, domain.ActorChange{Pubkey: key.Pubkey()})
			return err
		}, "NOAUTH", true},
		{"the actor is gone", func(r *rig) error {
			var b board.Batch
			return r.board.Commit(r.Context(), *b.Delete(layout.Actor(executor)))
		}, "NOAUTH", true},
		{"the role is taken away", func(r *rig) error {
			_, _, err := r.elsewhere().Revoke(r.Context(), 7, executor, "")
			return err
		}, "NOPERM", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				idle, waits, hears := r.as(executor), r.as(executor), r.as(executor)
				hears.want("[subscribe news 1]", "SUBSCRIBE", "news")
				waits.send("BLPOP", "q", "0")
				time.Sleep(3 * time.Second)
				synctest.Wait()
				popped, told := waits.reads(), hears.reads()
				if err := tt.do(r); err != nil {
					t.Fatal(err)
				}
				begun := time.Now()
				for name, got := range map[string]<-chan any{"the pop": popped, "the subscription": told} {
					if e, is := (<-got).(reply); !is || string(e[:6]) != tt.word || time.Since(begun) > time.Second {
						t.Errorf("%s: after %v got %v", name, time.Since(begun), e)
					}
				}
				hears.closed()
				synctest.Wait() // what is open ends one by one, in no order
				if !tt.idle {
					idle.refused("NOPERM", "GET", "x")
					return
				}
				waits.refused("NOAUTH", "PING")
				idle.refused("NOAUTH", "PING")
				// It is let go, as every stranger who does not say who he is.
				begun = time.Now()
				idle.closed()
				if d := time.Since(begun); d > 11*time.Second {
					t.Errorf("it was let go after %v", d)
				}
			})
		})
	}
}

// TestOneTokenIsRevokedAndAnotherGoesOn: of the same actor.
func TestOneTokenIsRevokedAndAnotherGoesOn(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		bad, good := r.token(executor), r.token(executor)
		a, b := r.connect(), r.connect()
		a.want("OK", "AUTH", bad)
		b.want("OK", "AUTH", good)
		p, err := identity.Verifier{Node: "nina", Holder: r.registry.Holder}.Verify(t.Context(), bad)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.elsewhere().RevokeToken(t.Context(), executor, p.Token); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		a.refused("NOAUTH token was revoked", "PING")
		a.refused("WRONGPASS token was revoked", "AUTH", bad)
		b.want("PONG", "PING")
		a.want("OK", "AUTH", good)
		a.want("PONG", "PING")
	})
}

// TestANarrowedTokenAtTheDoor holds keys to the scope of the token.
func TestANarrowedTokenAtTheDoor(t *testing.T) {
	r := newRig(t)
	if _, _, err := r.registry.CreateTenant(t.Context(), domain.Tenant{ID: 8, Admins: []domain.ActorID{admin}}); err != nil {
		t.Fatal(err)
	}
	with := func(s domain.Scope) *conn {
		t.Helper()
		token, err := identity.MintFor(r.keys[admin], "nina", time.Now(), time.Hour, identity.Claims{Scope: s})
		if err != nil {
			t.Fatal(err)
		}
		c := r.connect()
		c.want("OK", "AUTH", token)
		return c
	}
	whole := r.as(admin)
	whole.want("OK", "SET", "mine", "1")
	whole.want("3", "HSET", "job:10:5", "script", "x", "script_type", "shell", "env_vars", `{"A":"secret"}`)

	one := with(domain.Scope{Contexts: []domain.TenantID{7}})
	one.refused("NOPERM", "SELECT", "8")
	one.want("OK", "SELECT", "7")
	one.want("OK", "SET", "mine", "2")

	reads := with(domain.Scope{ReadOnly: true})
	reads.want("OK", "SELECT", "7")
	reads.want("2", "GET", "mine")
	for _, cmd := range [][]string{{"SET", "mine", "3"}, {"DEL", "mine"}, {"LPUSH", "queue:shell", "job:10:5"}, {"RPOP", "queue:shell"}, {"BLPOP", "list", "1"},
		{"HSET", "job:10:5", "status", "finished"}, {"EXPIRE", "mine", "1"}, {"PUBLISH", "c", "x"}, {"GETDEL", "mine"}, {"LMOVE", "a", "b", "LEFT", "LEFT"}} {
		reads.refused("", cmd...)
	}
	reads.want("OK", "MULTI")
	reads.want("QUEUED", "SET", "mine", "3")
	if got := show(reads.do("EXEC")); got == "[OK]" {
		t.Errorf("in a MULTI: got %s", got)
	}
	reads.want("2", "GET", "mine")

	jobs := with(domain.Scope{Groups: []string{"job"}})
	jobs.want("OK", "SELECT", "7")
	jobs.want("x", "HGET", "job:10:5", "script")
	jobs.want("1", "LPUSH", "queue:shell", "job:10:5")
	for _, cmd := range [][]string{{"GET", "mine"}, {"SET", "mine", "3"}, {"HGET", "flow:1", "id"}, {"LRANGE", "rhai_tasks:c", "0", "-1"},
		{"LRANGE", "msg_in", "0", "-1"},
		{"HGET", "context:7", "admins"}, {"HGETALL", "saga:7:a:b"}, {"SUBSCRIBE", "c"}, {"PUBLISH", "c", "x"}, {"HGETALL", "ramet:limits"},
		{"BLPOP", "mine", "queue:shell", "1"}} {
		jobs.refused("NOPERM", cmd...)
	}
	jobs.want("[job:10:5]", "KEYS", "job:*") // and only what it may read is named
	if got := show(jobs.do("KEYS", "*")); got != "[job:10:5 queue:shell]" && got != "[queue:shell job:10:5]" {
		t.Errorf("got %s", got)
	}

	keys := with(domain.Scope{Groups: []string{"key"}})
	keys.want("OK", "SELECT", "7")
	keys.want("2", "GET", "mine")
	keys.refused("NOPERM", "HGET", "job:10:5", "script")
	// What the node keeps is no key of the caller's own: logs, the audit log.
	for _, cmd := range [][]string{{"LRANGE", "ramet:logs:job:10:5", "0", "-1"}, {"LRANGE", "ramet:audit", "0", "-1"}, {"HGETALL", "ramet:limits"},
		{"TYPE", "ramet:finished"}, {"EXISTS", "ramet:checkpoint:job:10:5"}} {
		keys.refused("NOPERM", cmd...)
	}
	keys.want("[]", "KEYS", "ramet:*")
}
