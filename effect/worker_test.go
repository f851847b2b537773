package effect_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/stream"
)

func TestACommandIsDoneAndItsResultTold(t *testing.T) {
	bubble(t, func(r *rig) {
		r.cfg.Keep = time.Hour
		r.start(r.set())
		r.ask("c1")
		after(time.Second)
		got := r.one()
		want := domain.EffectResult{TenantID: "7", CommandID: "c1", EffectName: "pay", ResultType: domain.ResultSucceeded, Payload: json.RawMessage(`{"ok":true}`),
			Timestamp: got.Timestamp, Attempts: 1, Metadata: map[string]string{"correlation_id": "order-1", "saga": "order", "step": "pay",
				"trace_id": "4bf92f3577b34da6a3ce929d0e0e4736", "causation_id": "c1"}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		wantCall := effect.Call{Tenant: 7, TenantName: "7", CommandID: "c1", Effect: "pay", Payload: json.RawMessage(`{"amount":12}`),
			Metadata: command("").Metadata, Attempt: 1}
		if diff := cmp.Diff(wantCall, r.fake.lastCall()); diff != "" {
			t.Error(diff)
		}
		m := r.mark("c1")
		told, ok := m.Outcome()
		if m.Status != effect.MarkDone || !ok || cmp.Diff(told, got) != "" {
			t.Errorf("got the mark %+v", m)
		}
		r.drained()
		after(2 * time.Hour)
		if _, err := effect.CommandMark(r.Context(), r.board, 7, "7", "c1"); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("got %v of a mark after its time", err)
		}
	})
}

func TestACommandWithoutContextIsOfTheDefaultOne(t *testing.T) {
	bubble(t, func(r *rig) {
		r.start(r.set())
		c := command("c1")
		c.TenantID = ""
		r.publish(message(c))
		after(time.Second)
		if got := r.one(); got.ResultType != domain.ResultSucceeded || r.fake.lastCall().Tenant != 1 || r.fake.lastCall().TenantName != "" {
			t.Errorf("got %+v of the call %+v", got, r.fake.lastCall())
		}
	})
}

func TestACommandThatComesTwiceIsDoneOnce(t *testing.T) {
	bubble(t, func(r *rig) {
		release := make(chan struct{})
		r.fake.meets(func(context.Context, effect.Call) error { <-release; return nil })
		r.start(r.set())
		r.ask("c1", "c1") // while the first is at it
		after(time.Second)
		close(release)
		after(time.Minute)
		r.ask("c1") // and afterwards
		after(time.Minute)
		r.one()
		if n := r.fake.asked("c1"); n != 1 {
			t.Errorf("got %d calls, want 1", n)
		}
		r.drained()
	})
}

func TestAttempts(t *testing.T) {
	failing := errors.New("no luck")
	hang := func(ctx context.Context, _ effect.Call) error { <-ctx.Done(); return ctx.Err() }
	times := func(n int, err error) func(context.Context, effect.Call) error {
		return func(_ context.Context, c effect.Call) error {
			if c.Attempt <= n {
				return err
			}
			return nil
		}
	}
	for _, tc := range []struct {
		name   string
		meets  func(context.Context, effect.Call) error
		change func(*effect.Definition)
		want   domain.ResultType
		error  string
		calls  int
		// between is when the result comes.
		from, to time.Duration
	}{
		{name: "a failure is tried again after a pause", meets: times(1, failing), want: domain.ResultSucceeded, calls: 2, from: time.Second, to: 2 * time.Second},
		{name: "pauses are doubled", meets: times(4, failing), want: domain.ResultSucceeded, calls: 5, from: 15 * time.Second, to: 19 * time.Second},
		{name: "up to the longest", meets: times(4, failing), change: func(d *effect.Definition) { d.MaxBackoff = 2 * time.Second },
			want: domain.ResultSucceeded, calls: 5, from: 7 * time.Second, to: 9 * time.Second},
		{name: "attempts end", meets: times(99, failing), want: domain.ResultFailed, error: "no luck", calls: 5, from: 15 * time.Second, to: 19 * time.Second},
		{name: "one attempt", meets: times(99, failing), change: func(d *effect.Definition) {
			d.Attempts = 1
		}, want: domain.ResultFailed, error: "no luck", calls: 1, to: time.Second},
		{name: "a target that hangs", meets: hang, change: func(d *effect.Definition) { d.Timeout, d.Attempts = 10*time.Second, 2 },
			want: domain.ResultTimedOut, error: "no answer within 10s", calls: 2, from: 21 * time.Second, to: 22 * time.Second},
		{name: "a refusal is final", meets: times(99, effect.Refusedf("card expired")), want: domain.ResultFailed, error: "card expired", calls: 1, to: time.Second},
		{name: "a refusal within an error too", meets: times(99, fmt.Errorf("call: %w", effect.Refusedf("card expired"))), want: domain.ResultFailed,
			error: "card expired", calls: 1, to: time.Second},
		{name: "the target says when", meets: times(1, &effect.RetryAfter{Err: failing, After: time.Minute}), want: domain.ResultSucceeded, calls: 2,
			from: time.Minute, to: 62 * time.Second},
		{name: "but not a year", meets: times(1, &effect.RetryAfter{Err: failing, After: 365 * 24 * time.Hour}), want: domain.ResultSucceeded, calls: 2,
			from: time.Hour, to: 61 * time.Minute},
		{name: "it is given up on after some time", meets: times(99, failing), change: func(d *effect.Definition) { d.Attempts, d.GiveUp = 1000, 10*time.Second },
			want: domain.ResultFailed, error: "no luck", calls: 5, from: 10 * time.Second, to: 20 * time.Second},
		{name: "a provider that panics has failed", meets: func(context.Context, effect.Call) error {
			panic("oh")
		}, change: func(d *effect.Definition) { d.Attempts = 1 },
			want: domain.ResultFailed, error: "BUG: provider of kind fake panics: oh", calls: 1, to: time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				r.fake.meets(tc.meets)
				r.start(r.set(func(d *effect.Definition) {
					d.Breaker = 1000
					if tc.change != nil {
						tc.change(d)
					}
				}))
				began := time.Now()
				r.ask("c1")
				after(2 * time.Hour)
				got := r.one()
				at, err := time.Parse(time.RFC3339Nano, got.Timestamp)
				if err != nil {
					t.Fatal(err)
				}
				if took := at.Sub(began); took < tc.from || took > tc.to {
					t.Errorf("it ended after %v, want %v to %v", took, tc.from, tc.to)
				}
				if got.ResultType != tc.want || !strings.Contains(got.Error, tc.error) || (tc.error == "") != (got.Error == "") || got.Attempts != tc.calls {
					t.Errorf("got %+v, want %s with %q after %d attempts", got, tc.want, tc.error, tc.calls)
				}
				if n := r.fake.asked("c1"); n != tc.calls {
					t.Errorf("got %d calls, want %d", n, tc.calls)
				}
				r.drained()
			})
		})
	}
}

func TestAMarkTellsHowFarACommandIs(t *testing.T) {
	bubble(t, func(r *rig) {
		r.fake.meets(func(context.Context, effect.Call) error { return errors.New("no luck") })
		r.start(r.set(func(d *effect.Definition) { d.Backoff = time.Minute }))
		began := time.Now()
		r.ask("c1")
		after(time.Second)
		m := r.mark("c1")
		next := time.UnixMilli(m.NextMs).Sub(began)
		if m.Status != effect.MarkTrying || m.Attempts != 1 || m.Error != "no luck" || next < time.Minute || next > 73*time.Second {
			t.Errorf("got %+v, next after %v", m, next)
		}
	})
}

func TestWhatCannotBeTriedBecomesADeadLetter(t *testing.T) {
	good := string(message(command("c1")).Data)
	for _, tc := range []struct {
		name, subject, data string
		tenant              string // of the dead letter
		id, cause           string
	}{
		{"no JSON", "tenant.7.effect.pay.c1", "rubbish", "7", "c1", "no JSON object"},
		{"nothing", "tenant.7.effect.pay.c1", "", "7", "c1", "no JSON object"},
		{"a list", "tenant.7.effect.pay.c1", "[]", "7", "c1", "no JSON object"},
		{"null is empty", "tenant.7.effect.pay.c1", "null", "7", "c1", `tenant_id is "" in the data and "7" in the subject`},
		{"another command", "tenant.7.effect.pay.c2", good, "7", "c2", `command_id is "c1" in the data and "c2" in the subject`},
		{"another context", "tenant.8.effect.pay.c1", good, "8", "c1", `tenant_id is "7" in the data and "8" in the subject`},
		{"no context in the subject", "effect.pay.c1", good, "", "c1", `tenant_id is "7" in the data`},
		{"another effect", "tenant.7.effect.pay.c1", strings.Replace(good, `"pay"`, `"loot"`, 1), "7", "c1", `effect_name is "loot"`},
		{"a context that there is not", "tenant.666.effect.pay.c1", strings.Replace(good, `"7"`, `"666"`, 1), "none", "c1", `there is no context "666"`},
		{"an id that is a path", "tenant.7.effect.pay./etc/passwd", good, "7", "WORKFLOW_COMMANDS.1", "command id"},
		{"an id with a colon, which parts keys", "tenant.7.effect.pay.a:b", good, "7", "WORKFLOW_COMMANDS.1", "command id"},
		{"an id that is too long", "tenant.7.effect.pay." + strings.Repeat("x", 101), good, "7", "WORKFLOW_COMMANDS.1", "command id"},
		{"too much payload", "tenant.7.effect.pay.c1", strings.Replace(good, "12", `"`+strings.Repeat("x", domain.MaxWorkBytes)+`"`, 1), "7", "c1",
			"the payload has"},
		{"too much metadata", "tenant.7.effect.pay.c1", strings.Replace(good, "order-1", strings.Repeat("x", 17<<10), 1), "7", "c1", "metadata of"},
		{"data that is hard to keep", "tenant.7.effect.pay.c1", strings.Repeat("\x01", stream.MaxData), "7", "c1", "no JSON object"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				r.start(r.set())
				r.publish(stream.Message{Stream: domain.WorkflowCommands, Subject: tc.subject, Data: []byte(tc.data)})
				r.ask("good") // others go on
				after(time.Minute)
				space, tenant := map[string]uint32{"7": 7, "8": 8, "": 1, "none": 0}[tc.tenant], tc.tenant
				if tenant == "none" {
					tenant = ""
				}
				deadLetters := r.dead(boardSpace(space), tenant)
				if len(deadLetters) != 1 {
					t.Fatalf("got %d dead letters, want 1: %+v", len(deadLetters), deadLetters)
				}
				d := deadLetters[0]
				if d.ID != tc.id || !strings.Contains(d.Cause, tc.cause) || d.Effect != "pay" || d.Subject != tc.subject || d.Attempts != 1 || d.Seq != 1 {
					t.Errorf("got %+v, want id %s, cause %q", d, tc.id, tc.cause)
				}
				if !strings.HasPrefix(tc.data, d.Data) || len(d.Data) == 0 && tc.data != "" {
					t.Errorf("got the data %.60q, want that of %.60q", d.Data, tc.data)
				}
				if got := r.one(); got.CommandID != "good" {
					t.Errorf("got the result of %s, want that of the good one", got.CommandID)
				}
				r.drained()
			})
		})
	}
}

// TestAMarkOfTheWrongKindSpoilsItsCommandOnly has a list where one command's mark
// would be, among others that come with it.
func TestAMarkOfTheWrongKindSpoilsItsCommandOnly(t *testing.T) {
	bubble(t, func(r *rig) {
		key := layout.SagaKeys{Tenant: "7"}.Done("c3")
		b := board.Batch{Space: 7}
		if err := r.board.Commit(t.Context(), *b.PushLeft(key, "x")); err != nil {
			t.Fatal(err)
		}
		for i := range 8 {
			r.ask(fmt.Sprint("c", i))
		}
		r.start(r.set())
		after(time.Minute)
		deadLetters := r.dead(7, "7")
		if len(deadLetters) != 1 || deadLetters[0].ID != "c3" || !strings.Contains(deadLetters[0].Cause, key) {
			t.Errorf("got %d dead letters, %+v, want one, of c3, that names %s", len(deadLetters), deadLetters, key)
		}
		for i := range 8 {
			if id := fmt.Sprint("c", i); r.fake.wasApplied(id) == (id == "c3") {
				t.Errorf("%s: was it done? %v", id, id == "c3")
			}
		}
	})
}

func TestWhatTheBrokerGivesUpOnBecomesADeadLetter(t *testing.T) {
	bubble(t, func(r *rig) {
		// A worker that takes commands and does nothing with them.
		q, err := r.log.Work(r.Context(), stream.Shared{Durable: effect.Durable("pay"), Stream: domain.WorkflowCommands,
			Subjects: effect.Subjects("pay"), MaxDeliver: 2, AckWait: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		r.ask("c1")
		for range 2 {
			if _, err := q.Next(r.Context(), 1); err != nil {
				t.Fatal(err)
			}
			after(2 * time.Second)
		}
		r.start(r.set())
		after(time.Minute)
		deadLetters := r.dead(7, "7")
		if len(deadLetters) != 1 || deadLetters[0].ID != "c1" || deadLetters[0].Attempts != 2 || deadLetters[0].Saga != "order" ||
			deadLetters[0].Correlation != "order-1" ||
			deadLetters[0].Data != string(message(command("c1")).Data) || deadLetters[0].Trace == "" {
			t.Errorf("got %+v", deadLetters)
		}
	})
}

// TestWhatAPersonGivesUpOnHasAResult: who asked for it would wait for ever.
func TestWhatAPersonGivesUpOnHasAResult(t *testing.T) {
	whole := string(message(command("c1")).Data)
	for name, data := range map[string]string{"the letter is whole": whole, "the letter was cut": whole[:len(whole)/2]} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				m := message(command("c1"))
				d := &domain.DeadLetter{Kind: domain.DeadEffect, ID: "c1", Saga: "order", Correlation: "order-1", Effect: "pay",
					Cause: "it was given out too often", Subject: m.Subject, Data: data}
				for range 2 {
					if err := effect.GiveUp(r.Context(), r.log, r.board, 7, d); err != nil {
						t.Fatal(err)
					}
				}
				got := r.one()
				if got.ResultType != domain.ResultFailed || got.CommandID != "c1" || got.Metadata[domain.MetaSaga] != "order" ||
					got.Metadata[domain.MetaCorrelation] != "order-1" || !strings.Contains(got.Error, "given out too often") {
					t.Errorf("got %+v", got)
				}
				r.ask("c1") // the stream has it still
				r.start(r.set())
				after(time.Minute)
				if n := r.fake.asked("c1"); n != 0 || r.mark("c1").Status != effect.MarkDone {
					t.Errorf("asked %d times, mark %+v", n, r.mark("c1"))
				}
				r.drained()
			})
		})
	}
}

func TestAContextThatMayNotUseAnEffect(t *testing.T) {
	bubble(t, func(r *rig) {
		r.start(r.set(func(d *effect.Definition) { d.Contexts = []domain.TenantID{8} }))
		r.ask("c1")
		after(time.Second)
		if got := r.one(); got.ResultType != domain.ResultFailed || !strings.Contains(got.Error, "not for this context") || r.fake.asked("c1") != 0 {
			t.Errorf("got %+v after %d calls", got, r.fake.asked("c1"))
		}
	})
}

func TestTenantsThatCannotBeLookedUpWait(t *testing.T) {
	bubble(t, func(r *rig) {
		var well atomic.Bool
		r.cfg.Tenant = func(ctx context.Context, name string) (domain.TenantID, error) {
			if !well.Load() {
				return 0, domain.Unavailablef("the board is away")
			}
			return tenants(ctx, name)
		}
		_, stop := r.start(r.set())
		r.ask("c1")
		after(time.Minute)
		stop()
		well.Store(true)
		r.fake = newFake()
		r.start(r.set())
		after(2 * time.Minute)
		if got := r.one(); got.ResultType != domain.ResultSucceeded || len(r.dead(7, "7")) != 0 {
			t.Errorf("got %+v", got)
		}
	})
}

// hugeLog is the log of a broker that takes messages of 10 MB.
type hugeLog struct{ stream.Log }

func (l hugeLog) Work(ctx context.Context, c stream.Shared) (stream.Queue, error) {
	q, err := l.Log.Work(ctx, c)
	return hugeQueue{q}, err
}

type hugeQueue struct{ stream.Queue }

func (q hugeQueue) Next(ctx context.Context, most int) ([]stream.Delivery, error) {
	list, err := q.Queue.Next(ctx, most)
	for i := range list {
		list[i] = hugeDelivery{list[i]}
	}
	return list, err
}

type hugeDelivery struct{ stream.Delivery }

func (d hugeDelivery) Message() stream.Message {
	m := d.Delivery.Message()
	if strings.HasSuffix(m.Subject, ".huge") {
		m.Data = bytes.Repeat([]byte("<"), 10<<20)
	}
	return m
}

func TestACommandOfTenMegabytes(t *testing.T) {
	bubble(t, func(r *rig) {
		w := effect.NewWorker(hugeLog{r.log}, r.board, r.set(), r.cfg)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		r.wg.Go(func() { _ = w.Run(ctx) })
		r.ask("huge", "good")
		after(time.Minute)
		deadLetters := r.dead(7, "7")
		if len(deadLetters) != 1 || deadLetters[0].ID != "huge" || !strings.Contains(deadLetters[0].Cause, "10485760 bytes") ||
			len(deadLetters[0].Data) > domain.MaxEventBytes {
			t.Errorf("got %d letters: %.300v", len(deadLetters), deadLetters)
		}
		if got := r.one(); got.CommandID != "good" {
			t.Errorf("got the result of %s", got.CommandID)
		}
		cancel()
	})
}

// TestABoardThatWasAwayHoldsNothingUp has the board go away for a moment, when a
// command has been tried often: that says nothing of the board.
func TestABoardThatWasAwayHoldsNothingUp(t *testing.T) {
	bubble(t, func(r *rig) {
		b := faultboard.New(r.board, faultboard.Config{})
		r.board = b
		var failed atomic.Int64
		r.fake.meets(func(context.Context, effect.Call) error {
			if failed.Add(1) <= 10 {
				return errors.New("no")
			}
			return nil
		})
		r.start(r.set(func(d *effect.Definition) {
			d.Attempts, d.Backoff, d.MaxBackoff, d.Breaker = 100, 100*time.Millisecond, 100*time.Millisecond, 100
		}))
		r.ask("c1")
		for failed.Load() < 10 {
			time.Sleep(10 * time.Millisecond)
		}
		b.Cut()
		after(2 * time.Second)
		b.Heal()
		after(10 * time.Second)
		if got := r.one(); got.ResultType != domain.ResultSucceeded {
			t.Errorf("got %+v", got)
		}
	})
}
