package encryptedboard_test

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/boardtest"
	"github.com/ramet-run/ramet/board/encryptedboard"
	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/encryption"
	"github.com/ramet-run/ramet/layout"
)

// house is the context of the tests.
const house = domain.TenantID(7)

// source is a source of secrets whose keys a test gives and takes.
type source struct {
	mu   sync.Mutex
	keys map[string]string
}

func (s *source) Read(_ context.Context, name string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if key, ok := s.keys[name]; ok {
		return key, nil
	}
	return "", domain.Unavailablef("secret %s: it is not there", name)
}

func (s *source) set(name, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys[name] = key; key == "" {
		delete(s.keys, name)
	}
}

// rig is a board with two nodes on it, each with a source of its own.
type rig struct {
	*testing.T
	plain       board.Board
	one, two    board.Board
	keys, keys2 *encryption.Keys
	has, has2   *source
}

func open(t *testing.T) *rig {
	r := &rig{T: t, plain: memboard.Open(), has: &source{keys: map[string]string{}}, has2: &source{keys: map[string]string{}}}
	t.Cleanup(func() { r.plain.Close() })
	key := encryption.NewKEK()
	r.has.set("kek", key)
	r.has2.set("kek", key)
	r.keys, r.keys2 = r.node(r.has), r.node(r.has2)
	r.one, r.two = encryptedboard.New(r.plain, r.keys), encryptedboard.New(r.plain, r.keys2)
	return r
}

func (r *rig) node(has *source) *encryption.Keys {
	k, err := encryption.Open(r.Context(), r.plain, has, slog.New(slog.DiscardHandler))
	if err != nil {
		r.Fatal(err)
	}
	return k
}

func (r *rig) encrypt() {
	r.Helper()
	if _, err := r.keys.Encrypt(r.Context(), house, "kek", 1); err != nil {
		r.Fatal(err)
	}
}

func (r *rig) commit(b board.Board, batch *board.Batch) {
	r.Helper()
	batch.Space = board.Space(house)
	if err := b.Commit(r.Context(), *batch); err != nil {
		r.Fatal(err)
	}
}

func (r *rig) get(b board.Board, key string) board.Record {
	r.Helper()
	recs, err := b.Get(r.Context(), board.Space(house), key)
	if err != nil {
		r.Fatal(err)
	}
	return recs[0]
}

func job(script string) *board.Batch {
	return new(board.Batch).Set("job:1:1", board.Field{Name: layout.JobScript, Value: script}, board.Field{Name: layout.JobStatus, Value: "dispatched"},
		board.Field{Name: layout.JobErrorText, Value: "it broke"})
}

func TestAnEncryptedContextLiesUnreadableAndReadsAsItWas(t *testing.T) {
	r := open(t)
	r.encrypt()
	logs := layout.Logs(domain.JobKey{Caller: 1, ID: 1})
	r.commit(r.one, job("echo tea").PushLeft("queue:shell", "job:1:1").Append(logs, 10, "a line", "another"))
	if got := r.get(r.plain, "job:1:1"); !encryption.Sealed(got.Get("script")) || got.Get("status") != "dispatched" {
		t.Errorf("got %q on the board, want the script encrypted and the status plain", got)
	}
	items, err := r.plain.List(t.Context(), board.Space(house), logs, 0, 9)
	if err != nil || len(items) != 2 || !encryption.Sealed(items[0]) {
		t.Errorf("got %q, %v on the board, want encrypted lines", items, err)
	}
	// The other node has not heard of it yet: what bears the mark lets it ask.
	if got := r.get(r.two, "job:1:1").Get("script"); got != "echo tea" {
		t.Errorf("got the script %q", got)
	}
	if items, err = r.two.List(t.Context(), board.Space(house), logs, 0, 9); err != nil || len(items) != 2 || items[1] != "another" {
		t.Errorf("got %q, %v", items, err)
	}
	claimed, err := r.two.Claim(t.Context(), board.Ask{Queues: []board.Queue{{Lists: []string{"queue:shell"}}}, Max: 1, Owner: "o", Lease: time.Minute})
	if err != nil || len(claimed) != 1 || claimed[0].Record.Get("script") != "echo tea" {
		t.Errorf("got %+v, %v", claimed, err)
	}
	// A guard by a plain value holds, and a wrong one is told as it was asked for.
	r.commit(r.one, new(board.Batch).Equal("job:1:1", "script", "echo tea").ItemAt(logs, -1, "another").
		Set("job:1:1", board.Field{Name: "result", Value: `{"a":"b"}`}))
	bad := board.Batch{Space: board.Space(house)}
	bad.Absent("job:9:9").Equal("job:1:1", "script", "echo milk")
	for _, err := range []error{r.one.Commit(t.Context(), bad), r.one.CommitEach(t.Context(), []board.Batch{bad})[0]} {
		var failed *board.GuardError
		if !errors.As(err, &failed) || failed.Index != 1 || failed.Guard.Value != "echo milk" {
			t.Errorf("got %v, want the guard on the script", err)
		}
	}
}

func TestCiphertextsCannotBeMoved(t *testing.T) {
	r := open(t)
	r.encrypt()
	r.commit(r.one, job("echo tea"))
	other := domain.TenantID(8)
	if _, err := r.keys.Encrypt(t.Context(), other, "kek", 1); err != nil {
		t.Fatal(err)
	}
	script := r.get(r.plain, "job:1:1").Get("script")
	for _, c := range []struct {
		name, key, field, value string
		space                   domain.TenantID
	}{
		{"into another field", "job:1:2", "result", script, house},
		{"into another record", "job:1:2", "script", script, house},
		{"into another context", "job:1:1", "script", script, other},
		{"changed", "job:1:2", "script", script[:len(script)-1] + string(script[len(script)-1]^1), house},
		{"cut", "job:1:2", "script", script[:len(encryption.Mark)+3], house},
		{"a mark with nothing behind it", "job:1:2", "script", encryption.Mark, house},
	} {
		b := board.Batch{Space: board.Space(c.space)}
		b.Set(c.key, board.Field{Name: c.field, Value: c.value}, board.Field{Name: "script_type", Value: "shell"})
		if err := r.plain.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		recs, err := r.one.Get(t.Context(), b.Space, c.key)
		if err != nil {
			t.Fatal(err)
		}
		if got := recs[0].Get(c.field); !strings.HasPrefix(got, encryption.Unreadable) {
			t.Errorf("%s: got %q, want that it does not open", c.name, got)
		}
		key, _ := domain.ParseJobKey(c.key)
		if _, err := layout.DecodeJob(key, recs[0]); !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), "does not open") {
			t.Errorf("%s: the job decodes with %v, want a refusal that says why", c.name, err)
		}
	}
}

func TestANodeWithoutTheKeyServesTheRest(t *testing.T) {
	r := open(t)
	r.encrypt()
	r.commit(r.one, job("echo tea").PushLeft("queue:shell", "job:1:1"))
	r.has2.set("kek", "")
	locked := r.node(r.has2)
	two := encryptedboard.New(r.plain, locked)
	other := board.Batch{Space: 9}
	other.Set("job:1:1", board.Field{Name: "script", Value: "x"}).PushLeft("queue:shell", "job:1:1")
	if err := two.Commit(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	ask := board.Ask{Queues: []board.Queue{{Lists: []string{"queue:shell"}}}, Max: 5, Owner: "o", Lease: time.Minute}
	claimed, err := two.Claim(t.Context(), ask)
	if err != nil || len(claimed) != 1 || claimed[0].Space != 9 {
		t.Errorf("got %+v, %v, want the job of the other context only", claimed, err)
	}
	_, err = two.Get(t.Context(), board.Space(house), "job:1:1")
	if !errors.Is(err, domain.ErrUnavailable) || !strings.Contains(err.Error(), `encrypted with the key "kek"`) {
		t.Errorf("got %v, want that the key is missing", err)
	}
	write := job("echo milk")
	write.Space = board.Space(house)
	if err := two.Commit(t.Context(), *write); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("got %v of a write, want that the key is missing", err)
	}
	// What is no payload can be done: alarms, leases, states.
	recs, err := two.GetFields(t.Context(), board.Space(house), layout.JobLine, "job:1:1")
	if err != nil || recs[0].Get("status") != "dispatched" || !strings.HasPrefix(recs[0].Get("error"), encryption.Unreadable) {
		t.Errorf("got %q, %v, want the line with an error that says that it cannot be read", recs, err)
	}
	r.commit(two, new(board.Batch).Set("job:1:1", board.Field{Name: "status", Value: "started"}))
	if err := locked.Check(); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("got the check %v", err)
	}
	r.has2.set("kek", encryption.NewKEK())
	if c, err := locked.Refresh(t.Context(), house); err != nil || !strings.Contains(c.Locked, "another key") {
		t.Errorf("got %+v, %v with a wrong key", c, err)
	}
	key, _ := r.has.Read(t.Context(), "kek")
	r.has2.set("kek", key)
	if _, err := locked.Refresh(t.Context(), house); err != nil {
		t.Fatal(err)
	}
	if claimed, err = two.Claim(t.Context(), ask); err != nil || len(claimed) != 1 || claimed[0].Record.Get("script") != "echo tea" {
		t.Errorf("got %+v, %v once the key is there", claimed, err)
	}
}

func TestAClaimThatWaitsHearsThatItsContextIsLocked(t *testing.T) {
	r := open(t)
	r.has2.set("kek", "")
	locked := r.node(r.has2)
	two := encryptedboard.New(r.plain, locked)
	ask := board.Ask{Queues: []board.Queue{{Lists: []string{"queue:shell"}}}, Max: 5, Owner: "o", Lease: time.Minute, Wait: time.Minute}
	got := make(chan []board.Claimed)
	go func(ask board.Ask) {
		claimed, _ := two.Claim(t.Context(), ask) // what it has not got is looked at below
		got <- claimed
	}(ask)
	era := locked.Era()
	r.encrypt()
	if _, err := locked.Refresh(t.Context(), house); err != nil {
		t.Fatal(err)
	}
	<-era.Done()
	ask.Owner, ask.Wait = "one", 10*time.Second
	r.commit(r.one, job("echo tea").PushLeft("queue:shell", "job:1:1"))
	if claimed, err := r.one.Claim(t.Context(), ask); err != nil || len(claimed) != 1 {
		t.Errorf("got %+v, %v, want what the other node must not take", claimed, err)
	}
	other := board.Batch{Space: 9}
	if err := two.Commit(t.Context(), *other.PushLeft("queue:shell", "job:1:1")); err != nil {
		t.Fatal(err)
	}
	if claimed := <-got; len(claimed) != 1 || claimed[0].Space != 9 {
		t.Errorf("got %+v, want the job of the other context", claimed)
	}
}

func TestRekeyAndDecryptWriteTheBoardAnew(t *testing.T) {
	r := open(t)
	logs := layout.Logs(domain.JobKey{Caller: 1, ID: 1})
	r.commit(r.one, job("echo tea").Append(logs, 10, "one", "two").Expire(logs, time.Hour))
	r.encrypt()
	r.sweep()
	first := encryption.KeyOf(r.get(r.plain, "job:1:1").Get("script"))
	if first == 0 {
		t.Fatal("what was plain before is plain still")
	}
	if _, err := r.keys.Rekey(t.Context(), house, 1); err != nil {
		t.Fatal(err)
	}
	if got := r.get(r.two, "job:1:1").Get("script"); got != "echo tea" {
		t.Errorf("got %q of an older key", got)
	}
	r.sweep()
	if got := encryption.KeyOf(r.get(r.plain, "job:1:1").Get("script")); got == first || got == 0 {
		t.Errorf("got the key %d, want another than %d", got, first)
	}
	stats, err := r.plain.Stat(t.Context(), board.Space(house), logs)
	if err != nil || stats[0].Expires.IsZero() {
		t.Errorf("got %+v, %v, want that the log still expires", stats, err)
	}
	if got := r.get(r.two, "job:1:1").Get("script"); got != "echo tea" {
		t.Errorf("got %q of a key that the node had not heard of", got)
	}
	if e, err := r.keys.Decrypt(t.Context(), house, 1); err != nil || e.On {
		t.Fatal(e, err)
	}
	r.sweep()
	if got := r.get(r.plain, "job:1:1"); got.Get("script") != "echo tea" || got.Get("error") != "it broke" {
		t.Errorf("got %q after encryption was turned off", got)
	}
	if items, err := r.plain.List(t.Context(), board.Space(house), logs, 0, 9); err != nil || strings.Join(items, " ") != "one two" {
		t.Errorf("got %q, %v", items, err)
	}
	if _, err := r.keys.Rekey(t.Context(), house, 1); !errors.Is(err, domain.ErrConflict) {
		t.Errorf("got %v, want that it is not encrypted", err)
	}
}

// A node that dies anywhere while the board is written anew leaves all of it
// readable, and the next pass goes on.
func TestASweepMayDieAnywhere(t *testing.T) {
	r := open(t)
	r.encrypt()
	for i := range 10 {
		key := domain.JobKey{Caller: 1, ID: domain.JobID(i + 1)}
		r.commit(r.one, new(board.Batch).Set(key.String(), board.Field{Name: "script", Value: "echo " + key.String()}).Append(layout.Logs(key), 9, "a", "b"))
	}
	if _, err := r.keys.Rekey(t.Context(), house, 1); err != nil {
		t.Fatal(err)
	}
	for dies := range 12 {
		n := 0
		lost := faultboard.New(r.plain, faultboard.Config{After: func(context.Context, faultboard.Call) error {
			if n++; n > dies {
				return domain.Unavailablef("the node is gone")
			}
			return nil
		}})
		k, err := encryption.Open(t.Context(), lost, r.has, nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = k.Sweep(t.Context(), time.Now().Add(time.Minute)) // dies, or has nothing left to do
		for i := range 10 {
			key := domain.JobKey{Caller: 1, ID: domain.JobID(i + 1)}
			if got := r.get(r.two, key.String()).Get("script"); got != "echo "+key.String() {
				t.Fatalf("after %d commits: got the script %q", dies, got)
			}
			if items, err := r.two.List(t.Context(), board.Space(house), layout.Logs(key), 0, 9); err != nil || strings.Join(items, "") != "ab" {
				t.Fatalf("after %d commits: got the log %q, %v", dies, items, err)
			}
		}
	}
	r.sweep()
}

// sweep goes through the board until nothing is to be written.
func (r *rig) sweep() {
	r.Helper()
	for range 5 {
		if err := r.keys.Sweep(r.Context(), time.Now().Add(time.Minute)); err != nil {
			r.Fatal(err)
		}
		if e, _, err := r.keys.Encryption(r.Context(), house); err != nil || e.Swept {
			if err != nil || e.Left > 0 {
				r.Fatal(e, err)
			}
			return
		}
	}
	r.Fatal("the board is never as it is to be")
}

func TestARecordOfKeysCannotBeForged(t *testing.T) {
	r := open(t)
	r.encrypt()
	write := func(fields ...board.Field) {
		var b board.Batch
		if err := r.plain.Commit(t.Context(), *b.Set(layout.Encryption(house), fields...)); err != nil {
			t.Fatal(err)
		}
	}
	// Turned off by somebody who has only the store.
	write(board.Field{Name: layout.EncryptionOn, Value: "false"}, board.Field{Name: layout.EncryptionRevision, Value: "9"})
	if c := r.node(r.has).Of(house); c.Locked == "" {
		t.Error("a node took encryption for turned off by a field of the record")
	}
	var b board.Batch
	if err := r.plain.Commit(t.Context(), *b.Delete(layout.Encryption(house))); err != nil {
		t.Fatal(err)
	}
	if c, err := r.keys.Refresh(t.Context(), house); err != nil || c == nil || !c.On {
		t.Errorf("got %+v, %v of a record that is gone, want what was known", c, err)
	}
}

func TestWhatIsNoKeyIsRefused(t *testing.T) {
	r := open(t)
	r.has.set("weak", "a passphrase of thirty-two bytes")
	for name, want := range map[string]error{"weak": domain.ErrInvalid, "none": domain.ErrUnavailable} {
		if _, err := r.keys.Encrypt(t.Context(), house, name, 1); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", name, err, want)
		} else if strings.Contains(err.Error(), "passphrase of") {
			t.Errorf("%s: the error tells the secret: %v", name, err)
		}
	}
	if r.keys.Of(house) != nil {
		t.Error("a context got a record all the same")
	}
}

// The whole contract holds through the wrapper, while every space is encrypted.
func TestBoard(t *testing.T) {
	boardtest.Run(t, boardtest.Factory{Open: func(t *testing.T) board.Board {
		has := &source{keys: map[string]string{"kek": encryption.NewKEK()}}
		apart := memboard.Open() // the suite lists what space 0 has
		t.Cleanup(func() { apart.Close() })
		keys, err := encryption.Open(t.Context(), apart, has, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range domain.TenantID(16) {
			if _, err := keys.Encrypt(t.Context(), i+1, "kek", 1); err != nil {
				t.Fatal(strconv.Itoa(int(i)), err)
			}
		}
		return encryptedboard.New(memboard.Open(), keys)
	}})
}

// A script may begin as what is sealed does, and be nothing of the kind: who reads
// it when its context is encrypted is told so, and everything else goes on.
func TestWhatOnlyLooksSealedHarmsNothingElse(t *testing.T) {
	r := open(t)
	for i, text := range []string{"", "\n", "AQAA", strings.Repeat("\n", 8), "A\n\n\n\n\n\n\n\n", "AQ==\n\n\n\n"} {
		b := board.Batch{Space: board.Space(house)}
		b.Set(domain.JobKey{Caller: 1, ID: domain.JobID(i + 2)}.String(), board.Field{Name: "script", Value: encryption.Mark + text})
		if err := r.plain.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	r.commit(r.one, job("echo tea"))
	r.encrypt()
	if err := r.keys.Sweep(t.Context(), time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if e, _, err := r.keys.Encryption(t.Context(), house); err != nil || !e.Swept || e.Left != 6 {
		t.Errorf("got %+v, %v, want that six values stayed as they were", e, err)
	}
	for i := range 6 {
		key := domain.JobKey{Caller: 1, ID: domain.JobID(i + 2)}.String()
		if recs, err := r.two.Get(t.Context(), board.Space(house), key); err == nil && encryption.KeyOf(recs[0].Get("script")) != 0 {
			t.Errorf("%s: %q has a key", key, recs[0].Get("script"))
		}
	}
	if got := r.get(r.two, "job:1:1").Get("script"); got != "echo tea" || encryption.KeyOf(r.get(r.plain, "job:1:1").Get("script")) == 0 {
		t.Errorf("got %q", got)
	}
}
