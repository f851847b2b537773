package effect_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
)

// aCall is one of context 7.
func aCall(id string) effect.Call {
	return effect.Call{Tenant: 7, TenantName: "acme", CommandID: id, Effect: "pay", Payload: json.RawMessage(`{"amount":12}`), Attempt: 1}
}

func TestHowCallsEnd(t *testing.T) {
	for _, c := range []struct {
		name  string
		meets error
		call  func(*effect.Call)
		check func(err error) bool
		want  string
	}{
		{"it is done", nil, nil, func(err error) bool { return err == nil }, ""},
		{"it is refused", &effect.Refused{Cause: "no", Answer: json.RawMessage(`{"a":1}`)}, nil, func(err error) bool {
			var r *effect.Refused
			return errors.As(err, &r) && string(r.Answer) == `{"a":1}`
		}, "no"},
		{"it fails", errors.New("away"), nil, func(err error) bool { return !errors.Is(err, domain.ErrInvalid) }, "away"},
		{"it fails, and says when to ask again", &effect.RetryAfter{Err: errors.New("busy"), After: time.Hour}, nil, func(err error) bool {
			var r *effect.RetryAfter
			return errors.As(err, &r) && r.After == time.Hour
		}, "busy"},
		{"there is no answer in time", context.DeadlineExceeded, nil, func(err error) bool {
			return errors.Is(err, context.DeadlineExceeded)
		}, "no answer within 30s"},
		{"there is no such effect", nil, func(c *effect.Call) {
			c.Effect = "pya"
		}, func(err error) bool { return errors.Is(err, domain.ErrNotFound) }, `no effect "pya"`},
		{"it is not for this context", nil, func(c *effect.Call) {
			c.Tenant = 8
		}, func(err error) bool { return errors.As(err, new(*effect.Refused)) }, "not for context 8"},
		{"the payload is too long", nil, func(c *effect.Call) { c.Payload = make(json.RawMessage, domain.MaxWorkBytes+1) },
			func(err error) bool { return errors.As(err, new(*effect.Refused)) }, "the limit is"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				w, _ := r.start(r.set(func(d *effect.Definition) { d.Contexts = []domain.TenantID{7} }))
				r.fake.meets(func(context.Context, effect.Call) error { return c.meets })
				call := aCall("c-1")
				if c.call != nil {
					c.call(&call)
				}
				answer, err := w.Call(r.Context(), call, nil)
				if !c.check(err) || err != nil && !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want %q", err, c.want)
				}
				tried := c.call == nil
				if s := w.List(r.Context())[0]; s.Calls != 0 || s.Called != map[bool]uint64{true: 1}[tried] || (s.Error != "") != (tried && c.want != "") {
					t.Errorf("told of as %+v", s)
				}
				if want := `{"ok":true}`; (err == nil) != (string(answer) == want) {
					t.Errorf("got the answer %s, %v", answer, err)
				}
			})
		})
	}
}

// TestAnEffectThatIsWellAgain: it failed last until a call goes well, whoever makes either.
func TestAnEffectThatIsWellAgain(t *testing.T) {
	bubble(t, func(r *rig) {
		w, _ := r.start(r.set())
		after(time.Second)
		r.fake.meets(func(context.Context, effect.Call) error { return effect.Refusedf("no luck") })
		if _, err := w.Call(r.Context(), aCall("c-1"), nil); err == nil {
			t.Fatal("it went well")
		}
		if is, _ := w.List(r.Context())[0].Stands(); is != domain.EffectFailedLast {
			t.Errorf("after a call that failed it stands %s", is)
		}
		r.fake.meets(func(context.Context, effect.Call) error { return nil })
		r.ask("c1")
		after(time.Second)
		if s := w.List(r.Context())[0]; s.Error != "no luck" || !s.Well {
			t.Errorf("after a command that went well it is told of as %+v", s)
		} else if is, _ := s.Stands(); is != domain.EffectReady {
			t.Errorf("after a command that went well it stands %s", is)
		}
	})
}

// TestACallKeepsItsSetOpen: a set that is replaced is closed when its last call
// has ended, and one that waits does not hold it.
func TestACallKeepsItsSetOpen(t *testing.T) {
	bubble(t, func(r *rig) {
		w, _ := r.start(r.set())
		hung, release := make(chan struct{}), make(chan struct{})
		r.fake.meets(func(context.Context, effect.Call) error { close(hung); <-release; return nil })
		ended := make(chan error, 1)
		go func() { _, err := w.Call(context.Background(), aCall("c-1"), nil); ended <- err }()
		<-hung
		changed := w.Changed()
		other := newFake()
		if err := w.Use(r.open(other, effect.Definition{Name: "pay", Kind: "fake"},
			effect.Definition{Name: "mail", Kind: "fake", Contexts: []domain.TenantID{7}})); err != nil {
			t.Fatal(err)
		}
		<-changed
		if got := w.Kinds(); len(got) != 2 || got["mail"] != "fake" {
			t.Errorf("got %v", got)
		}
		if got := w.Reserved(); len(got) != 1 || len(got["mail"]) != 1 {
			t.Errorf("got %v reserved, want mail for context 7", got)
		}
		synctest.Wait()
		if r.fake.isClosed() {
			t.Error("it was closed under a call")
		}
		close(release)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if !r.fake.isClosed() {
			t.Error("it is open still")
		}
		if _, err := w.Call(r.Context(), aCall("c-2"), nil); err != nil || other.asked("c-2") != 1 {
			t.Errorf("got %v, %d calls", err, other.asked("c-2"))
		}
	})
}

// TestAWorkerForCallsOnly is one of a node without streams.
func TestAWorkerForCallsOnly(t *testing.T) {
	bubble(t, func(r *rig) {
		w := effect.NewWorker(nil, r.board, r.set(), r.cfg)
		if _, err := w.Call(r.Context(), aCall("c-1"), nil); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil || !r.fake.isClosed() {
			t.Errorf("got %v, closed: %v", err, r.fake.isClosed())
		}
	})
}

func TestACallWaitsForABanAndTellsWhyOnce(t *testing.T) {
	bubble(t, func(r *rig) {
		w, _ := r.start(r.set())
		scope := domain.BanScope{Kind: domain.BanEffect, Context: 7, Name: "pay"}
		if _, err := r.bans.Set(r.Context(), domain.Ban{BanScope: scope, Level: domain.BanPick, By: 1, Reason: "audit"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(r.Context(), time.Hour)
		defer cancel()
		var why []string
		if _, err := w.Call(ctx, aCall("c-1"), func(text string) { why = append(why, text) }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the context's end", err)
		}
		if len(why) != 1 || !strings.Contains(why[0], "audit") || r.fake.asked("c-1") != 0 {
			t.Errorf("got %q and %d calls", why, r.fake.asked("c-1"))
		}
		if _, err := r.bans.Lift(r.Context(), scope); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Call(r.Context(), aCall("c-1"), nil); err != nil {
			t.Error(err)
		}
	})
}
