package effecttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/ramet-run/ramet/effect"
)

// Run is the suite.
func Run(t *testing.T, cfg Config) {
	for _, tc := range []struct {
		name string
		skip string
		test func(*rig)
	}{
		{"an effect is done once, with its key", "", testDone},
		{"each attempt has the same key", "", testSameKey},
		{"what was done without an answer is not done twice", first(cfg.Features.NotOnce, cfg.Features.NoHang), testOnce},
		{"a refusal is one, with what the target said", cfg.Features.NoRefusal, testRefused},
		{"a failure may be tried again", "", testAgain},
		{"a call ends with its context", cfg.Features.NoHang, testCancel},
		{"a call whose context has ended does nothing", "", testEnded},
		{"a target that is away may be back", cfg.Features.NoAway, testAway},
		{"a long answer is cut and says so", cfg.Features.NoAnswer, testAnswer},
		{"secrets are in no error", "", testSecret},
		{"strange payloads are done or refused, and harm nothing", cfg.Features.NoBadPayload, testPayloads},
		{"many at once", "", testConcurrent},
		{"check does no effect", "", testCheck},
		{"a closed provider does nothing", "", testClosed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.skip != "" {
				t.Skip(tc.skip)
			}
			p, target := cfg.Open(t)
			r := &rig{T: t, cfg: cfg, p: p, target: target}
			defer r.close()
			tc.test(r)
		})
	}
}

func first(reasons ...string) string {
	for _, r := range reasons {
		if r != "" {
			return r
		}
	}
	return ""
}

type rig struct {
	*testing.T
	cfg    Config
	p      effect.Provider
	target Target
	closed bool
}

func (r *rig) close() {
	r.Helper()
	if r.closed {
		return
	}
	r.closed = true
	if err := r.p.Close(); err != nil {
		r.Errorf("close: %v", err)
	}
}

// call is an attempt with a key.
func (r *rig) call(key string, attempt int) effect.Call {
	return effect.Call{Tenant: 7, TenantName: "7", CommandID: key, Effect: "tested", Payload: r.cfg.Payload, Attempt: attempt,
		Metadata: map[string]string{"correlation_id": "order-1", "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736"}}
}

// do is a call that succeeds.
func (r *rig) do(key string, attempt int) json.RawMessage {
	r.Helper()
	answer, err := r.p.Do(bounded(r.T), r.call(key, attempt))
	if err != nil {
		r.Fatalf("attempt %d of %s: got %v, want no error", attempt, key, err)
	}
	if len(answer) > 0 && !json.Valid(answer) {
		r.Fatalf("got the answer %q, want JSON", answer)
	}
	return answer
}

// counts compares what came to the target.
func (r *rig) counts(key string, asked, applied int) {
	r.Helper()
	if a, d := r.target.Asked(key), r.target.Applied(key); a != asked || d != applied {
		r.Errorf("%s: got %d calls and %d applied, want %d and %d", key, a, d, asked, applied)
	}
}

func refused(err error) bool {
	var r *effect.Refused
	return errors.As(err, &r)
}

func testDone(r *rig) {
	r.do("018f5b1e-0000-7000-8000-000000000001", 1)
	r.counts("018f5b1e-0000-7000-8000-000000000001", 1, 1)
	r.do("018f5b1e-0000-7000-8000-000000000002", 1)
	r.counts("018f5b1e-0000-7000-8000-000000000002", 1, 1)
	if target := r.p.Target(); target == "" || strings.Contains(target, Secret) {
		r.Errorf("got the target %q, want one without secrets", target)
	}
}

func testSameKey(r *rig) {
	const key = "018f5b1e-0000-7000-8000-000000000003"
	r.target.Fail(2, false)
	for attempt := 1; attempt <= 2; attempt++ {
		if _, err := r.p.Do(bounded(r.T), r.call(key, attempt)); err == nil {
			r.Fatal("got no error of a target that fails")
		}
	}
	r.do(key, 3)
	r.counts(key, 3, 1)
}

func testOnce(r *rig) {
	const key = "018f5b1e-0000-7000-8000-000000000004"
	arrived, release := r.target.Hang(true)
	defer release()
	ctx, cancel := context.WithCancel(bounded(r.T))
	go func() { <-arrived; cancel() }()
	if _, err := r.p.Do(ctx, r.call(key, 1)); err == nil || refused(err) {
		r.Fatalf("got %v of a call without an answer, want an error after which it is tried again", err)
	}
	release()
	r.do(key, 2)
	if n := r.target.Applied(key); n != 1 {
		r.Errorf("got it applied %d times, want once", n)
	}
}

func testRefused(r *rig) {
	const key = "018f5b1e-0000-7000-8000-000000000005"
	r.target.Fail(1, true)
	_, err := r.p.Do(bounded(r.T), r.call(key, 1))
	var no *effect.Refused
	if !errors.As(err, &no) || no.Cause == "" {
		r.Fatalf("got %v, want a refusal with its cause", err)
	}
	if len(no.Answer) > 0 && !json.Valid(no.Answer) {
		r.Errorf("got the answer %q, want JSON", no.Answer)
	}
	r.do("018f5b1e-0000-7000-8000-000000000006", 1)
}

func testAgain(r *rig) {
	r.target.Fail(1, false)
	_, err := r.p.Do(bounded(r.T), r.call("018f5b1e-0000-7000-8000-000000000007", 1))
	if err == nil || refused(err) {
		r.Fatalf("got %v, want an error after which it is tried again", err)
	}
}

func testCancel(r *rig) {
	arrived, release := r.target.Hang(false)
	defer release()
	ctx, cancel := context.WithCancel(bounded(r.T))
	go func() { <-arrived; cancel() }()
	_, err := r.p.Do(ctx, r.call("018f5b1e-0000-7000-8000-000000000008", 1))
	if ctx.Err() == nil || err == nil || refused(err) {
		r.Fatalf("got %v, want an error after which it is tried again", err)
	}
	release()
	r.do("018f5b1e-0000-7000-8000-000000000009", 1)
}

func testEnded(r *rig) {
	const key = "018f5b1e-0000-7000-8000-00000000000a"
	ctx, cancel := context.WithCancel(r.Context())
	cancel()
	if _, err := r.p.Do(ctx, r.call(key, 1)); err == nil || refused(err) {
		r.Errorf("got %v, want an error after which it is tried again", err)
	}
	if n := r.target.Applied(key); n != 0 {
		r.Errorf("got it applied %d times", n)
	}
}

func testAway(r *rig) {
	const key = "018f5b1e-0000-7000-8000-00000000000b"
	back := r.target.Away()
	_, err := r.p.Do(bounded(r.T), r.call(key, 1))
	if err == nil || refused(err) {
		r.Errorf("got %v of a target that is away, want an error after which it is tried again", err)
	}
	if err := r.p.Check(bounded(r.T), 7); err == nil {
		r.Error("check finds nothing wrong with a target that is away")
	}
	back()
	r.do(key, 2)
	if n := r.target.Applied(key); n != 1 {
		r.Errorf("got it applied %d times, want once", n)
	}
}

func testAnswer(r *rig) {
	for _, size := range []int{1, 10_000, effect.MaxAnswer - 1, effect.MaxAnswer, effect.MaxAnswer + 1, 3 * effect.MaxAnswer} {
		r.target.Answer(size)
		answer := r.do(fmt.Sprintf("018f5b1e-0000-7000-8000-%012d", size), 1)
		switch cut := strings.Contains(string(answer), `"truncated":true`); {
		case len(answer) > effect.MaxAnswer:
			r.Errorf("got %d bytes of an answer of %d, want at most %d", len(answer), size, effect.MaxAnswer)
		case size > effect.MaxAnswer && !cut:
			r.Errorf("the answer of %d bytes does not say that it was cut", size)
		case size <= 10_000 && (cut || len(answer) < size):
			r.Errorf("got %d bytes of an answer of %d, cut: %v", len(answer), size, cut)
		}
	}
}

func testSecret(r *rig) {
	look := func(what string, err error) {
		r.Helper()
		if err == nil {
			return
		}
		if text := fmt.Sprintf("%v %+v %q", err, err, err.Error()); strings.Contains(text, Secret) {
			r.Errorf("%s: the secret is in the error %q", what, text)
		}
	}
	do := func(what string) {
		r.Helper()
		_, err := r.p.Do(bounded(r.T), r.call("018f5b1e-0000-7000-8000-00000000000c", 1))
		look(what, err)
	}
	r.target.Fail(1, false)
	do("a target that fails")
	if r.cfg.Features.NoRefusal == "" {
		r.target.Fail(1, true)
		do("a target that refuses")
	}
	if r.cfg.Features.NoAway == "" {
		back := r.target.Away()
		do("a target that is away")
		look("check of a target that is away", r.p.Check(bounded(r.T), 7))
		back()
	}
	if text := fmt.Sprintf("%v %+v", r.p, r.p); strings.Contains(text, Secret) {
		r.Error("a printed provider shows the secret")
	}
}

func testPayloads(r *rig) {
	for i, payload := range []string{"", "null", "true", "17", `""`, `[]`, `{}`, `{"":""}`,
		`{"id":"a\r\nX-Evil: 1","email":"a@b\r\nBcc: c@d","path":"../../x?y#z","sql":"'; drop table effects; --"}`,
		`{"a":` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + `}`,
		`{"big":"` + strings.Repeat("x", 200<<10) + `"}`,
	} {
		key := fmt.Sprintf("018f5b1e-0000-7000-8000-0000000001%02d", i)
		call := r.call(key, 1)
		call.Payload = json.RawMessage(payload)
		answer, err := r.p.Do(bounded(r.T), call)
		switch {
		case err != nil && !refused(err):
			r.Errorf("payload %.60q: got %v, want it done, or refused for good", payload, err)
		case err == nil && len(answer) > 0 && !json.Valid(answer):
			r.Errorf("payload %.60q: got the answer %.60q, want JSON", payload, answer)
		}
	}
	r.do("018f5b1e-0000-7000-8000-000000000200", 1)
	r.counts("018f5b1e-0000-7000-8000-000000000200", 1, 1)
}

func testConcurrent(r *rig) {
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			key := fmt.Sprintf("018f5b1e-0000-7000-8000-0000000003%02d", i)
			if _, err := r.p.Do(bounded(r.T), r.call(key, 1)); err != nil {
				r.Errorf("%s: %v", key, err)
			}
			r.counts(key, 1, 1)
		})
	}
	wg.Wait()
}

func testCheck(r *rig) {
	if err := r.p.Check(bounded(r.T), 7); err != nil {
		r.Errorf("check of a target that is there: %v", err)
	}
	if n := r.target.Asked(""); n != 0 {
		r.Errorf("check asked the target %d times for an effect", n)
	}
}

func testClosed(r *rig) {
	const key = "018f5b1e-0000-7000-8000-00000000000d"
	r.close()
	if _, err := r.p.Do(bounded(r.T), r.call(key, 1)); err == nil {
		r.Error("a closed provider did it")
	}
	if n := r.target.Applied(key); n != 0 {
		r.Errorf("got it applied %d times", n)
	}
}
