package durable_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/durable"
	"github.com/ramet-run/ramet/internal/watched"
)

func TestAStepIsDoneOnceAndRememberedByItsPlace(t *testing.T) {
	m := &memory{}
	s := m.attempt()
	first := want(t, s, `{"do":"step","name":"charge"}`, `{"done":false,"n":1,"attempt":1}`)
	want(t, s, `{"do":"done","name":"charge","n":1,"value":{"paid":17}}`, `{"done":true}`)
	want(t, s, `{"do":"done","name":"charge","n":1,"value":{"paid":17}}`, `{"done":true}`) // told again
	second := want(t, s, `{"do":"step","name":"charge"}`, `{"done":false,"n":2,"attempt":1}`)
	if first.Key == second.Key || len(first.Key) != 36 {
		t.Fatalf("keys %q and %q: want two UUIDs", first.Key, second.Key)
	}
	s = m.attempt() // the process died in the second
	want(t, s, `{"do":"step","name":"charge"}`, `{"done":true,"value":{"paid":17},"n":1}`)
	again := want(t, s, `{"do":"step","name":"charge"}`, `{"done":false,"n":2,"attempt":1}`)
	if again.Key != second.Key {
		t.Fatalf("key %q of the second attempt, want %q as before", again.Key, second.Key)
	}
	want(t, s, `{"do":"done","name":"charge","n":2,"failure":{"kind":"Broke","text":"no money"}}`, `{"done":true}`)
	s = m.attempt()
	want(t, s, `{"do":"step","name":"charge"}`, `{"done":true,"value":{"paid":17},"n":1}`)
	want(t, s, `{"do":"step","name":"charge"}`, `{"done":true,"failure":{"kind":"Broke","text":"no money"},"n":2}`)
	if _, err := try(t, s, `{"do":"done","name":"other","n":1}`); !errors.Is(err, domain.ErrInvalid) {
		t.Fatalf("done of what was not begun: %v", err)
	}
}

func TestAFailedStepIsTriedAgainLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		s := m.attempt()
		want(t, s, `{"do":"step","name":"get"}`, `{"done":false,"n":1,"attempt":1}`)
		want(t, s, `{"do":"done","name":"get","n":1,"failure":{"text":"busy"},"retry_after_ms":200}`, `{"done":false,"again":true,"after_ms":200}`)
		want(t, s, `{"do":"step","name":"get","n":1}`, `{"done":false,"n":1,"attempt":2}`) // held
		want(t, s, `{"do":"done","name":"get","n":1,"failure":{"text":"busy"},"retry_after_ms":60000}`, `{"done":false,"again":true,"after_ms":60000}`)
		want(t, s, `{"do":"step","name":"get","n":1}`, `{"done":false,"suspend":true}`)
		if got := s.Suspended(); got == nil || got.Kind != "step" || got.Name != "get" || time.Until(got.Until()) != time.Minute {
			t.Fatalf("suspended: %+v", got)
		}
		time.Sleep(time.Minute)
		s = m.attempt()
		want(t, s, `{"do":"step","name":"get"}`, `{"done":false,"n":1,"attempt":3}`)
	})
}

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		s := m.attempt()
		want(t, s, `{"do":"sleep","name":"short","for_ms":300}`, `{"done":true}`)
		want(t, s, `{"do":"sleep","name":"long","for_ms":259200000}`, `{"done":false,"suspend":true}`)
		want(t, s, `{"do":"step","name":"after"}`, `{"done":false,"suspend":true}`) // nothing is begun any more
		time.Sleep(72*time.Hour - time.Minute)                                      // woken too early, by a lost lease say
		s = m.attempt()
		want(t, s, `{"do":"sleep","name":"short","for_ms":300}`, `{"done":true}`)
		want(t, s, `{"do":"sleep","name":"long","for_ms":259200000}`, `{"done":false,"suspend":true}`)
		if got := time.Until(s.Suspended().Until()); got != time.Minute {
			t.Fatalf("sleeps for another %v, want a minute", got)
		}
		time.Sleep(time.Minute)
		s = m.attempt()
		want(t, s, `{"do":"sleep","name":"short","for_ms":300}`, `{"done":true}`)
		want(t, s, `{"do":"sleep","name":"long","for_ms":259200000}`, `{"done":true}`)
		want(t, s, `{"do":"step","name":"after"}`, `{"done":false,"n":1,"attempt":1}`)
	})
}

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{signals: map[string][]string{"early": {`{"a":1}`}}}
		s := m.attempt()
		want(t, s, `{"do":"wait","name":"early"}`, `{"done":true,"value":{"a":1}}`)
		want(t, s, `{"do":"wait","name":"peek","signal":"late","timeout_ms":0}`, `{"done":true,"timed_out":true}`)
		want(t, s, `{"do":"wait","name":"late","timeout_ms":60000}`, `{"done":false,"suspend":true}`)
		if got := s.Suspended(); got == nil || len(got.Signals) != 1 || got.Signals[0] != "late" || time.Until(got.Until()) != time.Minute {
			t.Fatalf("suspended: %+v", got)
		}
		replay := func(s *durable.Script) {
			want(t, s, `{"do":"wait","name":"early"}`, `{"done":true,"value":{"a":1}}`)
			want(t, s, `{"do":"wait","name":"peek","signal":"late","timeout_ms":0}`, `{"done":true,"timed_out":true}`)
		}
		// It came in time, and is looked for late.
		m.signals["late"] = []string{`2`}
		time.Sleep(time.Hour)
		s = m.attempt()
		replay(s)
		want(t, s, `{"do":"wait","name":"late","timeout_ms":60000}`, `{"done":true,"value":2}`)
		want(t, s, `{"do":"wait","name":"never","timeout_ms":500}`, `{"done":true,"timed_out":true}`) // held
		s = m.attempt()
		m.signals["never"] = []string{`3`} // too late: it was remembered that it did not come
		replay(s)
		want(t, s, `{"do":"wait","name":"late","timeout_ms":60000}`, `{"done":true,"value":2}`)
		want(t, s, `{"do":"wait","name":"never","timeout_ms":500}`, `{"done":true,"timed_out":true}`)
	})
}

func TestASuspensionWaitsForTheStepsBesideIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		s := m.attempt()
		want(t, s, `{"do":"step","name":"slow"}`, `{"done":false,"n":1,"attempt":1}`)
		answers := make(chan durable.Answer, 2)
		for _, name := range []string{"nap", "nap"} {
			hour := int64(3600_000)
			s.Begin(t.Context(), durable.Request{Do: "sleep", Name: name, ForMs: &hour}, func(a durable.Answer, err error) {
				if err != nil {
					t.Error(err)
				}
				answers <- a
			})
		}
		synctest.Wait()
		if len(answers) != 0 {
			t.Fatal("asked to end while a step is being done")
		}
		time.Sleep(time.Minute)
		want(t, s, `{"do":"done","name":"slow","n":1,"value":1}`, `{"done":true}`)
		if a, b := <-answers, <-answers; !a.Suspend || !b.Suspend {
			t.Fatalf("got %+v and %+v, want both to suspend", a, b)
		}
		// The next attempt may ask for the sleeps first, or for the step.
		s = m.attempt()
		want(t, s, `{"do":"sleep","name":"nap","for_ms":1}`, `{"done":false,"suspend":true}`)
		s = m.attempt()
		want(t, s, `{"do":"step","name":"slow"}`, `{"done":true,"value":1,"n":1}`)
	})
}

func TestWhatIsDrawnIsRemembered(t *testing.T) {
	m := &memory{}
	ask3 := func() (all []string) {
		s := m.attempt()
		for _, do := range []string{"now", "random", "uuid", "random"} {
			all = append(all, string(ask(t, s, `{"do":"`+do+`"}`).Value))
		}
		return all
	}
	first, second := ask3(), ask3()
	if strings.Join(first, " ") != strings.Join(second, " ") || first[1] == first[3] {
		t.Fatalf("drew %v, then %v", first, second)
	}
}

func TestDrift(t *testing.T) {
	do := func(s *durable.Script, name string) error {
		a, err := s.Do(t.Context(), durable.Request{Do: "step", Name: name})
		if err == nil && !a.Done {
			_, err = s.Do(t.Context(), durable.Request{Do: "done", Name: name, N: a.N, Value: []byte(`1`)})
		}
		return err
	}
	begun := func() *memory {
		m := &memory{}
		s := m.attempt()
		for _, name := range []string{"a", "b", "c"} {
			if err := do(s, name); err != nil {
				t.Fatal(err)
			}
		}
		return m
	}
	for _, c := range []struct{ name, asks, says string }{
		{"the same goes on", "a b c d", ""},
		{"a new step before what was done", "a x", `asks for step "x" where its history has step "b" (place 2 of 3)`},
		{"a step is left out", "a c", `asks for step "c" where its history has step "b"`},
		{"another order", "b", `asks for step "b" where its history has step "a"`},
		{"one more of the same name", "a a", `asks for step "a" (the 2. of that name) where its history has step "b"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var err error
			stopped := 0
			s := durable.NewScript(begun(), "seed", func(bool) { stopped++ })
			for _, name := range strings.Fields(c.asks) {
				if err = do(s, name); err != nil {
					break
				}
			}
			if c.says == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if !errors.Is(err, durable.ErrDrift) || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("got %v, want drift: %s", err, c.says)
			}
			if stopped != 1 || !errors.Is(s.Failed(), durable.ErrDrift) || do(s, "a") == nil {
				t.Fatal("the script was not stopped")
			}
		})
	}
}

func TestVersion(t *testing.T) {
	m := &memory{}
	s := m.attempt()
	want(t, s, `{"do":"version","name":"mail","n":2}`, `{"done":true,"value":2}`)
	ask(t, s, `{"do":"now"}`)
	s = m.attempt()
	want(t, s, `{"do":"version","name":"new","n":1}`, `{"done":true,"value":0}`) // it ran past here before
	want(t, s, `{"do":"version","name":"mail","n":3}`, `{"done":true,"value":2}`)
	if _, err := try(t, s, `{"do":"version","name":"mail","n":1}`); !errors.Is(err, domain.ErrConflict) {
		t.Fatalf("an older script: %v", err)
	}
	ask(t, s, `{"do":"now"}`)
	want(t, s, `{"do":"version","name":"new","n":1}`, `{"done":true,"value":0}`) // as in its first round
	want(t, s, `{"do":"version","name":"newer","n":1}`, `{"done":true,"value":1}`)
}

func TestAHistoryHasLimits(t *testing.T) {
	watched.Large(t)
	m := &memory{}
	for i := range durable.MaxSteps {
		item, _ := durable.Encode(durable.Event{Kind: "now", N: int64(i + 1), Value: []byte("1")})
		m.items = append(m.items, item)
	}
	s := m.attempt()
	for range durable.MaxSteps {
		ask(t, s, `{"do":"now"}`)
	}
	if _, err := try(t, s, `{"do":"now"}`); !errors.Is(err, domain.ErrLimit) {
		t.Fatalf("event %d: %v, want a limit", durable.MaxSteps+1, err)
	}
	m = &memory{}
	s = m.attempt()
	big := `"` + strings.Repeat("<", durable.MaxAnswer-2) + `"`
	for i := 1; ; i++ {
		ask(t, s, `{"do":"step","name":"x"}`)
		_, err := try(t, s, fmt.Sprintf(`{"do":"done","name":"x","n":%d,"value":%s}`, i, big))
		if errors.Is(err, domain.ErrLimit) && i > 60 {
			break
		} else if err != nil || i > 70 {
			t.Fatalf("answer %d: %v", i, err)
		}
	}
	long := `{"do":"done","name":"x","n":1,"value":"` + strings.Repeat("x", durable.MaxAnswer) + `"}`
	if _, err := durable.ParseRequest([]byte(long)); !errors.Is(err, domain.ErrLimit) {
		t.Fatalf("an answer over the limit: %v", err)
	}
}

func TestUntil(t *testing.T) {
	m := &memory{}
	s := m.attempt()
	for i := 1; i <= 3; i++ {
		ask(t, s, `{"do":"step","name":"mail"}`)
		ask(t, s, fmt.Sprintf(`{"do":"done","name":"mail","n":%d}`, i))
	}
	for step, n := range map[string]int{"mail": 0, "mail#1": 0, "mail#3": 2} {
		if items, err := durable.Until(m.items, step); err != nil || len(items) != n {
			t.Errorf("until %s: %d events, %v; want %d", step, len(items), err, n)
		}
	}
	if _, err := durable.Until(m.items, "mali"); !errors.Is(err, domain.ErrNotFound) || !strings.Contains(err.Error(), `"mail"`) {
		t.Errorf("until what is not there: %v", err)
	}
}

// TestWhateverHappensAStepIsRememberedOnce runs random scripts that are killed at any
// point, whose commits are lost before and after they were made, until they end. A step
// that was acknowledged is never done again, each has one key, and every attempt sees the
// same answers.
func TestWhateverHappensAStepIsRememberedOnce(t *testing.T) {
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) { killed(t, seed) })
	}
}

func killed(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	m := &memory{signals: map[string][]string{}}
	m.lose = func() string { return []string{"", "", "", "", "", "before", "after"}[rng.IntN(7)] }
	program := make([]int, 1+rng.IntN(12))
	for i := range program {
		program[i] = rng.IntN(6)
	}
	acked, keys, seen := map[string]string{}, map[string]string{}, map[int]string{}
	effect := 0
	for attempt := 1; ; attempt++ {
		if attempt > 2000 {
			t.Fatalf("seed %d: does not end", seed)
		}
		s := m.attempt()
		dies := rng.IntN(3 * len(program))
		// do asks as a helper does: again, where the board did not answer.
		do := func(r durable.Request) (durable.Answer, bool) {
			for {
				if dies--; dies < 0 {
					return durable.Answer{}, false
				}
				a, err := s.Do(t.Context(), r)
				switch {
				case errors.Is(err, domain.ErrUnavailable):
					continue
				case err != nil:
					t.Fatalf("seed %d, attempt %d: %+v: %v", seed, attempt, r, err)
				case a.Suspend:
					time.Sleep(time.Until(s.Suspended().Until()))
					return a, false
				}
				return a, true
			}
		}
		ended := true
		for i, op := range program {
			name := []string{"a", "b"}[i%2]
			var a durable.Answer
			ok := false
			ms := int64(5000)
			switch op {
			case 0:
				a, ok = do(durable.Request{Do: "sleep", Name: name, ForMs: &ms})
			case 1:
				m.signals[name] = append(m.signals[name], fmt.Sprint(attempt))
				a, ok = do(durable.Request{Do: "wait", Name: name, TimeoutMs: &ms})
			case 2:
				a, ok = do(durable.Request{Do: "uuid"})
			default:
				a, ok = do(durable.Request{Do: "step", Name: name})
				id := fmt.Sprintf("%s#%d", name, a.N)
				if ok && !a.Done {
					if was := acked[id]; was != "" {
						t.Fatalf("seed %d: step %s is done again", seed, id)
					}
					if was := keys[id]; was != "" && was != a.Key {
						t.Fatalf("seed %d: step %s has the keys %s and %s", seed, id, was, a.Key)
					}
					keys[id] = a.Key
					effect++
					a.Value = []byte(fmt.Sprint(effect))
					if _, ok = do(durable.Request{Do: "done", Name: name, N: a.N, Value: a.Value}); ok {
						acked[id] = string(a.Value)
					}
				} else if ok && acked[id] != "" && acked[id] != string(a.Value) {
					t.Fatalf("seed %d: step %s was acknowledged as %s and is remembered as %s", seed, id, acked[id], a.Value)
				}
			}
			if !ok {
				ended = false
				break
			}
			if was, known := seen[i]; known && was != string(a.Value) {
				t.Fatalf("seed %d: place %d was answered %s, then %s", seed, i, was, a.Value)
			}
			seen[i] = string(a.Value)
		}
		if ended {
			return
		}
	}
}

// elsewhere is a store whose clock is another machine's.
type elsewhere struct {
	durable.Store
	ahead time.Duration
}

func (e elsewhere) Now() time.Time { return time.Now().Add(e.ahead) }

// TestASleepIsCountedByTheStoresClock has a script sleep where the clock of its machine
// is an hour off from the one that has it go on.
func TestASleepIsCountedByTheStoresClock(t *testing.T) {
	for _, ahead := range []time.Duration{time.Hour, -time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			store := elsewhere{&memory{}, ahead}
			s := durable.NewScript(store, "seed", func(bool) {})
			want(t, s, `{"do":"sleep","name":"long","for_ms":60000}`, `{"done":false,"suspend":true}`)
			if sus := s.Suspended(); sus == nil || !sus.Until().Equal(store.Now().Add(time.Minute)) {
				t.Errorf("got %+v, want until a minute from %v", sus, store.Now())
			}
		})
	}
}

// ahead is the history of a job on a board whose time is an hour ahead of this machine's.
type ahead struct{ *memory }

func (ahead) Now() time.Time { return time.Now().Add(time.Hour) }

func TestNowIsTheTimeThatSleepsAreCountedBy(t *testing.T) {
	s := durable.NewScript(ahead{&memory{}}, "7/job:1:2/100", func(bool) {})
	from := time.Now().Add(time.Hour).UnixMilli()
	var now int64
	if err := json.Unmarshal(ask(t, s, `{"do":"now"}`).Value, &now); err != nil || now < from {
		t.Errorf("got %d, %v, want %d or later", now, err, from)
	}
}
