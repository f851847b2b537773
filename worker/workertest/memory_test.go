package workertest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/worker"
	"github.com/ramet-run/ramet/worker/workertest"
)

func Example() {
	order := worker.Typed(func(ctx context.Context, job *worker.Job, cents int) (string, error) {
		paid, err := worker.Step(ctx, job, "charge", func(context.Context, worker.StepAttempt) (int, error) { return cents, nil })
		if err != nil {
			return "", err
		}
		if err := job.Sleep(ctx, "grace", 72*time.Hour); err != nil {
			return "", err
		}
		by, err := worker.Wait[string](ctx, job, "click", 0)
		return fmt.Sprintf("%s paid %d", by, paid), err
	})
	m := &workertest.Memory{Signals: map[string][]any{"click": {"ada"}}}
	ran, err := m.Run(context.Background(), order, 17)
	fmt.Println(ran.Result["value"], err, m.Steps())
	// Output: ada paid 17 <nil> [step charge sleep grace wait click]
}

// did are what a function did, in order.
type did []string

func (d *did) want(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(*d, want) {
		t.Errorf("got %q, want %q", *d, want)
	}
}

func TestAFunctionIsCalledAgainFromItsTop(t *testing.T) {
	var d did
	h := worker.Typed(func(ctx context.Context, job *worker.Job, _ any) (time.Duration, error) {
		d = append(d, fmt.Sprintf("call %d", job.Attempt))
		before, err := job.Now(ctx)
		if err != nil {
			return 0, err
		}
		if _, err := worker.Step(ctx, job, "pay", func(_ context.Context, s worker.StepAttempt) (any, error) {
			d = append(d, fmt.Sprintf("pay %d", s.Attempt))
			if s.Attempt < 3 {
				return nil, worker.RetryAfter(time.Duration(s.Attempt)*time.Second, errors.New("busy"))
			}
			return nil, nil
		}); err != nil {
			return 0, err
		}
		job.Logf("paid")
		if err := job.Sleep(ctx, "nap", time.Millisecond); err != nil {
			return 0, err
		}
		if _, err := worker.Wait[any](ctx, job, "never", time.Hour); !errors.Is(err, worker.ErrTimedOut) {
			return 0, fmt.Errorf("got %w, want that it did not come", err)
		}
		if err := job.SleepUntil(ctx, "long", before.Add(48*time.Hour)); err != nil {
			return 0, err
		}
		after, err := job.Now(ctx)
		return after.Sub(before), err
	})
	var m workertest.Memory
	ran, err := m.Run(t.Context(), h, nil)
	if err != nil {
		t.Fatal(err)
	}
	// A second is short: it is waited for without ending the function; two are not.
	d.want(t, "call 1", "pay 1", "pay 2", "call 2", "pay 3", "call 3", "call 4")
	if took, err := time.ParseDuration(ran.Result["value"] + "ns"); err != nil || took < 48*time.Hour {
		t.Errorf("it took %v by its own clock (%v), want 48 hours", took, err)
	}
	if len(ran.Log) != 3 || m.Now().Before(time.Now().Add(47*time.Hour)) {
		t.Errorf("got %v at %v", ran.Log, m.Now())
	}
}

func TestWhatAFunctionRemembersOutlivesItsFailure(t *testing.T) {
	var d did
	broken := true
	h := worker.Typed(func(ctx context.Context, job *worker.Job, _ any) (string, error) {
		key, err := worker.Step(ctx, job, "pay", func(_ context.Context, s worker.StepAttempt) (string, error) {
			d = append(d, "pay")
			return s.Key, nil
		})
		if err == nil && broken {
			return "", errors.New("the program breaks")
		}
		return key, err
	})
	var m workertest.Memory
	if _, err := m.Run(t.Context(), h, nil); err == nil || err.Error() != "the program breaks" {
		t.Fatal(err)
	}
	broken = false
	if ran, err := m.Run(t.Context(), h, nil); err != nil || len(ran.Result["value"]) != 36 {
		t.Errorf("got %v, %v", ran, err)
	}
	d.want(t, "pay")
}

func TestWhatOthersDoComesAsTheTestSays(t *testing.T) {
	h := worker.Typed(func(ctx context.Context, job *worker.Job, _ any) (string, error) {
		if err := job.WaitFor(ctx, "data", "file:in.csv", 0); err != nil {
			return "", err
		}
		ends, err := job.Gather(ctx, worker.Call{Name: "one", Blueprint: "b"}, worker.Call{Name: "two", Script: "s"})
		if err != nil {
			return "", err
		}
		d, err := job.Approval(ctx, "pay", worker.Approval{Text: "Pay?"}, 0)
		if err != nil {
			return "", err
		}
		_, err = job.Approval(ctx, "again", worker.Approval{}, time.Hour)
		if !errors.Is(err, worker.ErrTimedOut) {
			return "", fmt.Errorf("got %w, want that it did not come", err)
		}
		_, err = job.Call(ctx, worker.Call{Name: "bad", Script: "s"})
		return fmt.Sprintf("%v %t %s %v %v", ends, d.Approved, d.By, d.Answers, err), nil
	})
	m := workertest.Memory{
		Calls: func(c worker.Call) (map[string]string, error) {
			if c.Name == "bad" {
				return nil, errors.New("no luck")
			}
			return map[string]string{"of": c.Name}, nil
		},
		Decide: func(name string, asked worker.Approval) (worker.Decision, bool) {
			return worker.Decision{Approved: true, By: "9", Answers: map[string]string{"text": asked.Text}}, name == "pay"
		},
		Met: func(p string) bool { return p == "file:in.csv" },
	}
	ran, err := m.Run(t.Context(), h, nil)
	want := `[map[of:one] map[of:two]] true 9 map[text:Pay?] step "bad": no luck`
	if err != nil || ran.Result["value"] != want {
		t.Errorf("got  %s, %v\nwant %s", ran.Result["value"], err, want)
	}
}

func TestWhatNeverComesIsNamed(t *testing.T) {
	for want, f := range map[string]func(context.Context, *worker.Job) error{
		`wait "click" waits for the signal click`: func(ctx context.Context, job *worker.Job) error {
			_, err := worker.Wait[any](ctx, job, "click", 0)
			return err
		},
		`wait "data" waits for the prerequisite file:in.csv`: func(ctx context.Context, job *worker.Job) error {
			return job.WaitFor(ctx, "data", "file:in.csv", 0)
		},
		`call "bill" waits for the end of what it has called`: func(ctx context.Context, job *worker.Job) error {
			_, err := job.Call(ctx, worker.Call{Name: "bill", Blueprint: "b"})
			return err
		},
	} {
		h := worker.Typed(func(ctx context.Context, job *worker.Job, _ any) (any, error) { return nil, f(ctx, job) })
		m := workertest.Memory{Met: func(string) bool { return false }}
		if _, err := m.Run(t.Context(), h, nil); !errors.Is(err, worker.ErrSuspended) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestAFunctionThatAsksForSomethingElseIsFound(t *testing.T) {
	calls := 0
	h := worker.Typed(func(ctx context.Context, job *worker.Job, _ any) (any, error) {
		calls++
		if _, err := worker.Step(ctx, job, fmt.Sprint("step ", calls), func(context.Context, worker.StepAttempt) (any, error) { return nil, nil }); err != nil {
			return nil, err
		}
		return nil, job.Sleep(ctx, "nap", time.Hour)
	})
	if _, err := workertest.Run(t.Context(), h, nil); !errors.Is(err, domain.ErrConflict) || !strings.Contains(err.Error(), `step "step 2"`) {
		t.Errorf("got %v, want what differs", err)
	}
}
