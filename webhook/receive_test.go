package webhook_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/encryption"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/secret"
	"github.com/ramet-run/ramet/webhook"
)

const (
	tenant = domain.TenantID(7)
	given  = "0123456789abcdef"
)

// rig is webhooks on a board of one node, whose key is in a folder.
type rig struct {
	*testing.T
	b     *memboard.Board
	hooks *webhook.Store
}

func newRig(t *testing.T) *rig {
	b := memboard.Open()
	t.Cleanup(func() { b.Close() })
	return &rig{t, b, webhook.New(b, secret.New(b, secret.Config{KeyFile: t.TempDir() + "/key"}), nil)}
}

func (r *rig) create(w domain.Webhook) *domain.Webhook {
	r.Helper()
	if w.Scheme == "" {
		w.Scheme = domain.WebhookGitHub
	}
	w.Name, w.Blueprint = "deploy", "deploy"
	made, _, err := r.hooks.Create(r.Context(), tenant, w, given, 12)
	if err != nil {
		r.Fatal(err)
	}
	return made
}

// signed is a delivery as GitHub signs it.
func signed(key, body string, more ...string) webhook.Delivery {
	m := hmac.New(sha256.New, []byte(key))
	m.Write([]byte(body))
	h := http.Header{}
	h.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(m.Sum(nil)))
	for i := 0; i < len(more); i += 2 {
		h.Set(more[i], more[i+1])
	}
	return webhook.Delivery{Header: h, Body: []byte(body)}
}

// send sends a delivery, and writes down what became of it as the node does.
func (r *rig) send(d webhook.Delivery) (webhook.Asked, error) {
	r.Helper()
	a, err := r.hooks.Receive(r.Context(), tenant, "deploy", d)
	r.hooks.Settle(r.Context(), tenant, a, err)
	return a, err
}

func (r *rig) show() *domain.Webhook {
	r.Helper()
	w, err := r.hooks.Show(r.Context(), tenant, "deploy")
	if err != nil {
		r.Fatal(err)
	}
	return w
}

// commit makes a "flow" by what a delivery asks for.
func (r *rig) commit(a webhook.Asked, id domain.FlowID) error {
	b := board.Batch{Space: layout.SpaceOf(tenant)}
	b.Set(domain.FlowKey(id), board.Field{Name: "status", Value: "started"})
	a.Request.Also(&b, id)
	return r.b.Commit(r.Context(), b)
}

func TestADeliveryAsksForAFlow(t *testing.T) {
	r := newRig(t)
	r.create(domain.Webhook{Version: 3, When: `headers["x-github-event"] == "push"`,
		Params: map[string]string{"ref": "body.ref", "all": "body", "none": "body.nothing", "event": `headers["x-github-event"]`, "n": "body.n + 1",
			"token": `headers["authorization"]`}})
	a, err := r.send(signed(given, `{"ref":"main","n":2}`, "X-GitHub-Event", "push", "Authorization", "Bearer hidden"))
	if err != nil {
		t.Fatal(err)
	}
	q := a.Request
	want := map[string]string{"ref": "main", "all": `{"n":2,"ref":"main"}`, "event": "push", "n": "3"}
	if q.Blueprint != "deploy" || q.Version != 3 || q.Caller != 12 || !strings.HasPrefix(q.Trigger, "deploy.") || len(q.Params) != len(want) {
		t.Errorf("got %+v", q)
	}
	for name, value := range want {
		if q.Params[name] != value {
			t.Errorf("param %s is %q, want %q", name, q.Params[name], value)
		}
	}
	if err := r.commit(a, 5); err != nil {
		t.Fatal(err)
	}
	if a, err := r.send(signed(given, `{}`, "X-GitHub-Event", "ping")); err != nil || a.Request != nil {
		t.Errorf("a ping: got %+v, %v", a, err)
	}
	for body, bad := range map[string]string{`{"n":"x"}`: "", `[1]`: "params.", `{"n":[]}`: "params.n", "\xff": "UTF-8"} {
		if _, err := r.send(signed(given, body, "X-GitHub-Event", "push")); bad != "" && (!errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), bad)) {
			t.Errorf("%q: got %v", body, err)
		}
	}
	if s := r.show().State; s.Started != 1 || s.LastFlow != 5 || s.LastMs == 0 || s.Ignored != 1 || s.Refused != 3 {
		t.Errorf("got %+v", s)
	}
}

func TestStrangersAreToldNothing(t *testing.T) {
	r := newRig(t)
	r.create(domain.Webhook{Paused: true, PerMinute: 1})
	wrong := signed("another secret...", `{}`)
	var texts []string
	for _, at := range []struct {
		tenant domain.TenantID
		name   string
	}{{tenant, "deploy"}, {tenant, "nothing"}, {99, "deploy"}, {0, ""}, {tenant, "no name!"}, {tenant, strings.Repeat("x", 300)}} {
		a, err := r.hooks.Receive(t.Context(), at.tenant, at.name, wrong)
		if !errors.Is(err, domain.ErrUnauthenticated) {
			t.Fatalf("%v: got %v", at, err)
		}
		texts = append(texts, err.Error())
		r.hooks.Settle(t.Context(), at.tenant, a, err)
	}
	for _, text := range texts {
		if text != texts[0] {
			t.Errorf("got %q and %q", texts[0], text)
		}
	}
	// Who owns it learns why.
	if s := r.show().State; s.Refused != 1 || !strings.Contains(s.LastError, "the signature is wrong") {
		t.Errorf("got %+v", s)
	}
	// No record was made for what there is not.
	for _, space := range []board.Space{7, 99, 0} {
		keys, _, err := r.b.Keys(t.Context(), space, layout.WebhookPrefix, "", 10)
		if want := map[bool]int{true: 1}[space == 7]; err != nil || len(keys) != want {
			t.Errorf("space %d has %v, %v", space, keys, err)
		}
	}
}

func TestStrangersUseUpNoRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.create(domain.Webhook{PerMinute: 6})
		for range 50 {
			if _, err := r.send(signed("another secret...", `{}`)); !errors.Is(err, domain.ErrUnauthenticated) {
				t.Fatal(err)
			}
		}
		if _, err := r.send(signed(given, `1`)); err != nil {
			t.Fatal(err)
		}
		often := (*webhook.TooOften)(nil)
		if _, err := r.send(signed(given, `2`)); !errors.As(err, &often) || often.After <= 0 || often.After > 10*time.Second {
			t.Fatalf("got %v", err)
		}
		time.Sleep(often.After)
		if _, err := r.send(signed(given, `2`)); err != nil {
			t.Errorf("after %v: %v", often.After, err)
		}
	})
}

// TestReplaysUseUpNoRate: who has seen one delivery sends it over and over, and new ones are
// taken all the same.
func TestReplaysUseUpNoRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.create(domain.Webhook{PerMinute: 6})
		seen := signed(given, `1`)
		if _, err := r.send(seen); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		often := (*webhook.TooOften)(nil)
		for i := range 50 {
			if _, err := r.send(seen); i > 0 && !errors.As(err, &often) {
				t.Fatalf("replay %d: got %v", i, err)
			}
		}
		if _, err := r.send(signed(given, `2`)); err != nil {
			t.Errorf("a new one: %v", err)
		}
	})
}

// TestRefusalsAreNotWrittenAsTheyCome counts the commits that strangers cause.
func TestRefusalsAreNotWrittenAsTheyCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.create(domain.Webhook{})
		events, err := r.b.Watch(t.Context(), layout.SpaceOf(tenant), layout.WebhookPrefix)
		if err != nil {
			t.Fatal(err)
		}
		written := 0
		for range 100 {
			_, _ = r.send(signed("another secret...", `{}`))
			synctest.Wait()
			for more := true; more; {
				select {
				case <-events:
					written++
				default:
					more = false
				}
			}
		}
		if written == 0 || written > 4 {
			t.Errorf("a hundred refusals were written %d times", written)
		}
		if n := r.show().State.Refused; n != 100 {
			t.Errorf("%d refusals are counted", n)
		}
	})
}

// What a stranger sends does not stand for what is wrong with the deliveries of those who have the secret.
func TestStrangersDoNotHideWhatIsWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.create(domain.Webhook{Params: map[string]string{"n": "body.n + 1"}})
		wrong := signed(given, `{"n":{}}`)
		wrong.Body = []byte(`{"n":1}`)
		_, _ = r.send(wrong)
		time.Sleep(time.Minute)
		if s := r.show().State; s.RefusedMs == 0 || s.ProvenRefused() {
			t.Errorf("of a stranger alone: %+v", s)
		}
		_, _ = r.send(signed(given, `{"n":{}}`))
		time.Sleep(time.Minute)
		cause := r.show().State.LastError
		for range 5 {
			_, _ = r.send(wrong)
			time.Sleep(time.Minute)
		}
		if s := r.show().State; !s.ProvenRefused() || s.LastError != cause || strings.Contains(cause, "signature") || s.Refused != 7 {
			t.Errorf("after strangers: %+v, want %q", s, cause)
		}
	})
}

// TestWhatNobodyCouldLookAtIsNotProven: while a node lacks the key of a secret, whoever sends is a stranger.
func TestWhatNobodyCouldLookAtIsNotProven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.create(domain.Webhook{Params: map[string]string{"n": "body.n + 1"}})
		_, _ = r.send(signed(given, `{"n":{}}`))
		time.Sleep(time.Minute)
		cause := r.show().State.LastError
		whole := r.hooks
		r.hooks = webhook.New(r.b, secret.New(r.b, secret.Config{KeyFile: t.TempDir() + "/key"}), nil)
		if _, err := r.send(signed(given, `{"n":1}`)); !errors.Is(err, domain.ErrUnavailable) {
			t.Errorf("got %v", err)
		}
		time.Sleep(time.Minute)
		r.hooks = whole
		if s := r.show().State; !s.ProvenRefused() || s.LastError != cause || s.Refused != 2 {
			t.Errorf("got %+v, want %q", s, cause)
		}
	})
}

func TestRotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.create(domain.Webhook{})
		w, fresh, err := r.hooks.Rotate(t.Context(), tenant, "deploy", "", time.Hour)
		if err != nil || w.State.OldUntilMs != time.Now().Add(time.Hour).UnixMilli() {
			t.Fatalf("got %+v, %v", w, err)
		}
		want := func(when string, key string, ok bool) {
			t.Helper()
			if _, err := r.send(signed(key, when)); (err == nil) != ok {
				t.Errorf("%s: got %v", when, err)
			}
		}
		want("both", given, true)
		want("both", fresh, true)
		time.Sleep(time.Hour)
		want("later", given, false)
		want("later", fresh, true)
		_, last, err := r.hooks.Rotate(t.Context(), tenant, "deploy", "", 0)
		if err != nil {
			t.Fatal(err)
		}
		want("at once", fresh, false)
		want("at once", last, true)
		rec, err := r.b.Get(t.Context(), 7, layout.Webhook("deploy"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range rec[0] {
			for _, s := range []string{given, fresh, last} {
				if strings.Contains(f.Value, s) {
					t.Errorf("%s has a secret: %s", f.Name, f.Value)
				}
			}
		}
		if _, _, err := r.hooks.Rotate(t.Context(), tenant, "deploy", "short", 0); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("got %v", err)
		}
		if _, _, err := r.hooks.Rotate(t.Context(), tenant, "deploy", "", 31*24*time.Hour); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("got %v", err)
		}
	})
}

// TestASecretOfAnotherWebhookOpensNothing: whoever may write to the store could copy one.
// TestRotationAfterTheKeyIsLost: the new secret is taken at once, and nothing is said of the one
// before, which nobody can check; so also where a program of before has kept that.
func TestRotationAfterTheKeyIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.create(domain.Webhook{})
		var listed board.Batch
		if err := r.b.Commit(t.Context(), *listed.Include(layout.Contexts, "7")); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		restored := func() { r.hooks = webhook.New(r.b, secret.New(r.b, secret.Config{KeyFile: dir + "/key"}), nil) }
		heals := func(when, fresh string) {
			t.Helper()
			if _, err := r.send(signed(fresh, when)); err != nil {
				t.Errorf("%s: the new secret: got %v", when, err)
			}
			if _, err := r.send(signed(given, when)); !errors.Is(err, domain.ErrUnauthenticated) {
				t.Errorf("%s: the one before: got %v", when, err)
			}
			if err := r.hooks.Opens(t.Context(), tenant, "deploy"); err != nil {
				t.Errorf("%s: %v", when, err)
			}
		}
		was, err := r.b.Get(t.Context(), 7, layout.Webhook("deploy"))
		if err != nil {
			t.Fatal(err)
		}
		restored()
		if err := r.hooks.Opens(t.Context(), tenant, "deploy"); err == nil {
			t.Error("it opens without its key")
		}
		if _, err := r.hooks.Receive(t.Context(), tenant, "nothing", signed(given, "{}")); !errors.Is(err, domain.ErrUnauthenticated) {
			t.Errorf("a stranger: got %v", err)
		}
		if _, _, err := r.hooks.Rotate(t.Context(), tenant, "deploy", "", 24*time.Hour); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("a key was made in place of the one that is lost: got %v", err)
		}
		if err := os.WriteFile(dir+"/key", []byte(encryption.NewKEK()), 0o600); err != nil {
			t.Fatal(err)
		}
		w, fresh, err := r.hooks.Rotate(t.Context(), tenant, "deploy", "", 24*time.Hour)
		if err != nil || w.State.OldUntilMs != 0 {
			t.Fatalf("got %+v, %v", w, err)
		}
		heals("rotated", fresh)
		kept := &board.Batch{Space: 7}
		kept.Set(layout.Webhook("deploy"), board.Field{Name: layout.WebhookOldSecret, Value: was[0].Get(layout.WebhookSecret)},
			board.Field{Name: "old_until_ms", Value: strconv.FormatInt(time.Now().Add(time.Minute).UnixMilli(), 10)})
		if err := r.b.Commit(t.Context(), *kept); err != nil {
			t.Fatal(err)
		}
		heals("kept by another program", fresh)
		time.Sleep(time.Hour)
		heals("later", fresh)
	})
}

func TestASecretOfAnotherWebhookOpensNothing(t *testing.T) {
	r := newRig(t)
	r.create(domain.Webhook{})
	rec, err := r.b.Get(t.Context(), 7, layout.Webhook("deploy"))
	if err != nil {
		t.Fatal(err)
	}
	b := board.Batch{Space: 8}
	b.Set(layout.Webhook("deploy"), rec[0]...)
	if err := r.b.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if _, err := r.hooks.Receive(t.Context(), 8, "deploy", signed(given, `{}`)); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}

// locking is a vault whose key goes away and comes back.
type locking struct {
	webhook.Sealer
	away atomic.Bool
}

func (l *locking) Open(ctx context.Context, place string, s secret.Sealed) (string, error) {
	if l.away.Load() {
		return "", domain.Conflictf("the key is not here")
	}
	return l.Sealer.Open(ctx, place, s)
}

// TestALostSecretIsLoggedOnce: whoever knows the address may send as often as he likes.
func TestALostSecretIsLoggedOnce(t *testing.T) {
	r := newRig(t)
	var log bytes.Buffer
	vault := &locking{Sealer: secret.New(r.b, secret.Config{KeyFile: t.TempDir() + "/key"})}
	r.hooks = webhook.New(r.b, vault, slog.New(slog.NewTextHandler(&log, nil)))
	r.create(domain.Webhook{})
	for range 2 {
		vault.away.Store(true)
		for range 50 {
			if _, err := r.send(signed(given, `{}`)); !errors.Is(err, domain.ErrUnavailable) {
				t.Fatalf("got %v", err)
			}
		}
		vault.away.Store(false)
		for range 3 {
			if _, err := r.send(signed(given, `{}`)); err != nil {
				t.Fatal(err)
			}
		}
	}
	text := log.String()
	if lost, back := strings.Count(text, "level=ERROR"), strings.Count(text, "can be read again"); lost != 2 || back != 2 {
		t.Errorf("got %d lines of a lost secret and %d that it is back, want 2 and 2:\n%s", lost, back, text)
	}
}

// TestADeletedWebhookStartsNothing: it goes between what a delivery asks and the flow, and no
// record of it comes back.
func TestADeletedWebhookStartsNothing(t *testing.T) {
	r := newRig(t)
	r.create(domain.Webhook{})
	a, err := r.send(signed(given, `{}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.hooks.Delete(t.Context(), tenant, "deploy"); err != nil {
		t.Fatal(err)
	}
	if err := r.commit(a, 5); !errors.Is(err, domain.ErrConflict) {
		t.Errorf("got %v", err)
	}
	r.hooks.Settle(t.Context(), tenant, a, domain.Conflictf("gone"))
	if _, err := r.hooks.Show(t.Context(), tenant, "deploy"); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

func TestUpdate(t *testing.T) {
	r := newRig(t)
	w := r.create(domain.Webhook{})
	a, err := r.send(signed(given, `{}`))
	if err == nil {
		err = r.commit(a, 5)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.Paused, w.Summary = true, "not now"
	if w, err = r.hooks.Update(t.Context(), tenant, *w, 13); err != nil || w.CallerID != 13 || w.State.Started != 1 {
		t.Fatalf("got %+v, %v", w, err)
	}
	if _, err := r.send(signed(given, `{}`)); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	w.Scheme = domain.WebhookToken
	if _, err := r.hooks.Update(t.Context(), tenant, *w, 13); !errors.Is(err, domain.ErrConflict) {
		t.Errorf("got %v", err)
	}
	w.Scheme, w.Params = domain.WebhookGitHub, map[string]string{"ref": "bdy.ref"}
	if _, err := r.hooks.Update(t.Context(), tenant, *w, 13); !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), "params.ref") {
		t.Errorf("got %v", err)
	}
}

func TestAContextHasOnlySoManyWebhooks(t *testing.T) {
	r := newRig(t)
	var wg sync.WaitGroup
	var made atomic.Int32
	for i := range domain.MaxWebhooksOf + 100 { // all at once
		wg.Go(func() {
			_, _, err := r.hooks.Create(t.Context(), tenant, domain.Webhook{Name: "w" + strconv.Itoa(i), Blueprint: "b"}, "", 1)
			if err == nil {
				made.Add(1)
			} else if !errors.Is(err, domain.ErrLimit) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := made.Load(); n != domain.MaxWebhooksOf {
		t.Errorf("%d were made", n)
	}
	if _, _, err := r.hooks.Create(t.Context(), tenant, domain.Webhook{Name: "more", Blueprint: "b"}, "", 1); !errors.Is(err, domain.ErrLimit) {
		t.Errorf("got %v", err)
	}
	if list, err := r.hooks.List(t.Context(), tenant); err != nil || len(list) != domain.MaxWebhooksOf {
		t.Errorf("got %d, %v", len(list), err)
	}
}

// TestSharedNodesWithoutAKey cannot make one, and tell strangers nothing of that.
func TestSharedNodesWithoutAKey(t *testing.T) {
	b := memboard.Open()
	defer b.Close()
	hooks := webhook.New(b, secret.New(b, secret.Config{}), nil)
	if _, _, err := hooks.Create(t.Context(), tenant, domain.Webhook{Name: "w", Blueprint: "b"}, "", 1); !errors.Is(err, domain.ErrConflict) {
		t.Errorf("got %v", err)
	}
	if _, err := hooks.Receive(t.Context(), tenant, "w", signed(given, "")); !errors.Is(err, domain.ErrUnauthenticated) {
		t.Errorf("got %v", err)
	}
}

// BenchmarkReceive compares what a wrong signature costs with what an unknown name does.
func BenchmarkReceive(b *testing.B) {
	mem := memboard.Open()
	defer mem.Close()
	hooks := webhook.New(mem, secret.New(mem, secret.Config{KeyFile: b.TempDir() + "/key"}), nil)
	ctx := context.Background()
	if _, _, err := hooks.Create(ctx, tenant, domain.Webhook{Name: "deploy", Blueprint: "b"}, "", 1); err != nil {
		b.Fatal(err)
	}
	h := http.Header{}
	for name, value := range map[string]string{"webhook-id": "a", "webhook-timestamp": "1",
		"webhook-signature": "v1," + base64.StdEncoding.EncodeToString(make([]byte, 32))} {
		h.Set(name, value)
	}
	d := webhook.Delivery{Header: h, Body: make([]byte, 64<<10)}
	for _, name := range []string{"deploy", "unknown"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := hooks.Receive(ctx, tenant, name, d); !errors.Is(err, domain.ErrUnauthenticated) {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestWhatIsGatheredIsWrittenAtTheEnd of a node: the next one counts on from there.
func TestWhatIsGatheredIsWrittenAtTheEnd(t *testing.T) {
	r := newRig(t)
	r.create(domain.Webhook{})
	for range 3 {
		if _, err := r.send(signed("another secret", "{}")); !errors.Is(err, domain.ErrUnauthenticated) {
			t.Fatalf("got %v", err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := r.hooks.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := r.send(signed("another secret", "{}")); err == nil { // one that the door still answers
		t.Fatal("a wrong signature is taken")
	}
	next := webhook.New(r.b, secret.New(r.b, secret.Config{KeyFile: t.TempDir() + "/key"}), nil)
	w, err := next.Show(t.Context(), tenant, "deploy")
	if err != nil || w.State.Refused != 4 {
		t.Errorf("the next node counts %+v, %v; want 4 refused", w, err)
	}
}

// behind is a board whose time is two hours behind this machine's.
type behind struct{ *memboard.Board }

func (b behind) Now() time.Time { return b.Board.Now().Add(-2 * time.Hour) }

// TestInstantsOfAWebhookAreOfTheBoardsTime: other nodes hold them against each other, and doctor against it.
func TestInstantsOfAWebhookAreOfTheBoardsTime(t *testing.T) {
	b := behind{memboard.Open()}
	r := &rig{t, b.Board, webhook.New(b, secret.New(b, secret.Config{KeyFile: t.TempDir() + "/key"}), nil)}
	r.create(domain.Webhook{})
	_, _ = r.send(signed("another secret...", `{}`))
	a, err := r.send(signed(given, `{}`))
	if err == nil {
		err = r.commit(a, 1)
	}
	if err != nil {
		t.Fatal(err)
	}
	w := r.show()
	for name, ms := range map[string]int64{"made": w.State.MadeMs, "refused": w.State.RefusedMs, "last": w.State.LastMs} {
		if b.Now().Sub(time.UnixMilli(ms)).Abs() > time.Hour {
			t.Errorf("%s at %v, and it is %v", name, time.UnixMilli(ms), b.Now())
		}
	}
}
