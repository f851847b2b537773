package secret_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/encryption"
	"github.com/ramet-run/ramet/internal/testmount"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/secret"
)

const tenant = domain.TenantID(7)

// rig is a board, and what nodes on it have.
type rig struct {
	*testing.T
	board  board.Board
	folder string
}

func newRig(t *testing.T) *rig {
	b := memboard.Open()
	t.Cleanup(func() { b.Close() })
	return &rig{t, b, t.TempDir()}
}

// own is a node that has the board for itself.
func (r *rig) own() *secret.Vault {
	return secret.New(r.board, secret.Config{KeyFile: filepath.Join(r.folder, secret.KeyFile)})
}

func (r *rig) set(v *secret.Vault, name, value string) {
	r.Helper()
	if _, err := v.Set(r.Context(), tenant, name, value, 10); err != nil {
		r.Fatal(err)
	}
}

// want reads a secret. "" is that there is an error of that kind, with that text.
func (r *rig) want(v *secret.Vault, of domain.TenantID, name, value string, kind error, text string) {
	r.Helper()
	got, err := v.Read(r.Context(), of, []string{name})
	switch {
	case kind == nil && (err != nil || got[name] != value):
		r.Errorf("%s of context %d: got %q, %v, want %q", name, of, got[name], err, value)
	case kind != nil && (!errors.Is(err, kind) || !strings.Contains(err.Error(), text)):
		r.Errorf("%s of context %d: got %q, %v, want an error with %q", name, of, got[name], err, text)
	}
}

// keys are an operator's secrets.
type keys map[string]string

func (k keys) Read(_ context.Context, name string) (string, error) {
	if k[name] == "" {
		return "", domain.Invalidf("secret %s: no such one", name)
	}
	return k[name], nil
}

func TestASecretOnTheBoardIsSealedForItsContextAndName(t *testing.T) {
	r := newRig(t)
	v := r.own()
	r.set(v, "db", "hunter2")
	r.want(v, tenant, "db", "hunter2", nil, "")
	r.want(r.own(), tenant, "db", "hunter2", nil, "") // after a new start
	r.want(v, 8, "db", "", domain.ErrNotFound, "ramet secret set db --context 8")

	recs, err := r.board.Get(t.Context(), 7, layout.Secret("db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range recs[0] {
		if strings.Contains(f.Value, "hunter2") {
			t.Errorf("field %s has the value", f.Name)
		}
	}
	// Whoever may write to the store puts it under another name, and into another context.
	for space, name := range map[board.Space]string{7: "other", 8: "db"} {
		b := board.Batch{Space: space}
		b.Set(layout.Secret(name), recs[0]...)
		if err := r.board.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		r.want(v, domain.TenantID(space), name, "", domain.ErrInvalid, "does not open")
	}
	if err := v.Delete(t.Context(), tenant, "db"); err != nil {
		t.Fatal(err)
	}
	r.want(v, tenant, "db", "", domain.ErrNotFound, "context 7 has no secret db")
	if err := v.Delete(t.Context(), tenant, "db"); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("deleted twice: got %v", err)
	}
}

func TestTheNodesOwnKeyIsForItAlone(t *testing.T) {
	r := newRig(t)
	r.set(r.own(), "db", "hunter2")
	path := filepath.Join(r.folder, secret.KeyFile)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("got %v, %v", info, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	r.want(r.own(), tenant, "db", "", domain.ErrInvalid, "is not in this node's data folder")
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("reading made a key: %v", err)
	}
}

// TestNoKeyIsMadeInPlaceOfOneThatIsLost: whoever has lost it is told, and has to insist.
func TestNoKeyIsMadeInPlaceOfOneThatIsLost(t *testing.T) {
	for _, lost := range []string{layout.Secret("db"), layout.Webhook("deploy")} {
		r := newRig(t)
		path := filepath.Join(r.folder, secret.KeyFile)
		var listed board.Batch
		listed.Include(layout.Contexts, "1", "7", "9")
		sealed := board.Batch{Space: 7}
		sealed.Set(layout.Webhook("another"), board.Field{Name: layout.WebhookSecret, Value: "x"}, board.Field{Name: layout.WebhookSecretKey, Value: "disk"})
		sealed.Set(lost, board.Field{Name: layout.SecretSealed, Value: "x"}, board.Field{Name: layout.WebhookSecret, Value: "x"})
		for _, b := range []board.Batch{listed, sealed} {
			if err := r.board.Commit(t.Context(), b); err != nil {
				t.Fatal(err)
			}
		}
		v := r.own()
		for range 2 {
			_, err := v.Set(t.Context(), 9, "new", "hunter2", 10)
			if !errors.Is(err, domain.ErrConflict) || !strings.Contains(err.Error(), "openssl rand -base64 32 > '"+path+"'") ||
				!strings.Contains(err.Error(), strings.TrimPrefix(lost, "ramet:")+" of context 7") {
				t.Errorf("got %v", err)
			}
		}
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("it made a key: %v", err)
		}
		if err := os.WriteFile(path, []byte(encryption.NewKEK()+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		r.set(v, "new", "hunter2")
	}
	r := newRig(t)
	var listed board.Batch
	if err := r.board.Commit(t.Context(), *listed.Include(layout.Contexts, "7")); err != nil {
		t.Fatal(err)
	}
	r.set(r.own(), "db", "hunter2") // the first there is
}

// TestTheNodesOwnKeyOpensOnABoardThatItSharesNow: a board that was moved to Redis has what was
// sealed before, and who lists secrets is told where it does not open.
func TestTheNodesOwnKeyOpensOnABoardThatItSharesNow(t *testing.T) {
	r := newRig(t)
	r.set(r.own(), "db", "hunter2")
	path := filepath.Join(r.folder, secret.KeyFile)
	moved := secret.New(r.board, secret.Config{KeyFile: path, Shared: true})
	r.want(moved, tenant, "db", "hunter2", nil, "")
	if _, err := moved.Set(t.Context(), tenant, "db", "hunter3", 1); !errors.Is(err, domain.ErrConflict) || !strings.Contains(err.Error(), "context_secrets.key") {
		t.Errorf("sealed with a key that the others lack: got %v", err)
	}
	elsewhere := secret.New(r.board, secret.Config{KeyFile: filepath.Join(t.TempDir(), secret.KeyFile), Shared: true})
	for _, c := range []struct {
		v      *secret.Vault
		locked string
	}{{moved, ""}, {elsewhere, "copy it from that node's data folder"}} {
		list, err := c.v.List(t.Context(), tenant)
		if err != nil || len(list) != 1 || !strings.Contains(list[0].Locked, c.locked) || (c.locked == "") != (list[0].Locked == "") {
			t.Errorf("got %+v, %v, want %q", list, err, c.locked)
		}
	}
}

// TestAFullDiskLeavesNoHalfKey, in whose place no other would be made.
func TestAFullDiskLeavesNoHalfKey(t *testing.T) {
	if !testmount.Own(t) {
		return
	}
	r := newRig(t)
	disk := filepath.Join(r.folder, "disk")
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	testmount.Small(t, disk, "64k")
	full, err := os.Create(filepath.Join(disk, "full"))
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = full.Write(make([]byte, 4<<10))
	}
	v := secret.New(r.board, secret.Config{KeyFile: filepath.Join(disk, secret.KeyFile)})
	if _, err := v.Set(t.Context(), tenant, "db", "hunter2", 10); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("on a full disk: got %v", err)
	}
	if err := errors.Join(full.Close(), os.Remove(full.Name())); err != nil {
		t.Fatal(err)
	}
	r.set(v, "db", "hunter2")
	r.want(v, tenant, "db", "hunter2", nil, "")
}

func TestNodesThatShareABoardShareAKey(t *testing.T) {
	r := newRig(t)
	none := secret.New(r.board, secret.Config{})
	if _, err := none.Set(t.Context(), tenant, "db", "hunter2", 1); !errors.Is(err, domain.ErrConflict) || !strings.Contains(err.Error(), "context_secrets.key") {
		t.Errorf("without a key: got %v", err)
	}
	both := keys{"disk": encryption.NewKEK(), "next": encryption.NewKEK()}
	one := secret.New(r.board, secret.Config{Key: "disk", Keys: both})
	two := secret.New(r.board, secret.Config{Key: "next", Keys: both})
	r.set(one, "db", "hunter2")
	r.want(two, tenant, "db", "hunter2", nil, "") // its record says which key
	r.set(two, "db", "hunter3")
	r.want(one, tenant, "db", "hunter3", nil, "")
	r.want(secret.New(r.board, secret.Config{Key: "disk", Keys: keys{"disk": both["disk"]}}), tenant, "db", "", domain.ErrInvalid, "secret next")
	r.want(none, tenant, "db", "", domain.ErrInvalid, "no secret next in its config file")
	r.want(secret.New(r.board, secret.Config{Keys: keys{"next": "a passphrase"}}), tenant, "db", "", domain.ErrInvalid, "is no key")
}

func TestWhereSecretsComeFrom(t *testing.T) {
	r := newRig(t)
	dir := filepath.Join(r.folder, "secrets")
	if err := os.MkdirAll(filepath.Join(dir, "7"), 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string, mode os.FileMode) {
		if err := os.WriteFile(filepath.Join(dir, "7", name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("RAMET_SECRET_7_DB_URL", "from-env")
	t.Setenv("RAMET_SECRET_71_DB_URL", "of another context")
	t.Setenv("RAMET_SECRET_7_SHORT", "abc")
	write("db-url", "from-file", 0o600)
	write("file", "from-file\r\n", 0o600)
	write("open", "from-file", 0o644)
	write("large", strings.Repeat("x", secret.MaxBytes+1), 0o600)
	count := filepath.Join(r.folder, "count")
	v := secret.New(r.board, secret.Config{Dir: dir, KeyFile: filepath.Join(r.folder, "key"), Command: []string{"/bin/sh", "-c",
		`echo "$RAMET_SECRET_7_DB_URL$1 of $2"; echo x >> ` + count + `; case $2 in bad) echo from-command >&2; exit 4;; endless) exec yes;; esac`, "sh",
		"{context}", "{name}"}})

	r.want(v, tenant, "db-url", "from-env", nil, "")
	r.want(v, tenant, "file", "from-file", nil, "")
	r.want(v, tenant, "open", "", domain.ErrInvalid, "chmod 600")
	r.want(v, tenant, "large", "", domain.ErrInvalid, "larger than 64 KiB")
	r.want(v, tenant, "short", "", domain.ErrInvalid, "want at least 4")
	for range 3 { // a command is not run each time, and finds no secret of the environment
		r.want(v, tenant, "other", "7 of other", nil, "")
	}
	if text, _ := os.ReadFile(count); string(text) != "x\n" {
		t.Errorf("the command was run %d times", len(text)/2)
	}
	r.want(v, tenant, "bad", "", domain.ErrInvalid, "command /bin/sh: exit status 4")
	r.want(v, tenant, "endless", "", domain.ErrInvalid, "command /bin/sh")
	r.set(v, "db-url", "sealed") // what an admin of the context sets goes first
	r.want(v, tenant, "db-url", "sealed", nil, "")

	list, err := v.List(t.Context(), tenant)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range list {
		got = append(got, s.Name+" "+s.Source)
	}
	want := []string{"DB_URL environment", "SHORT environment", "db-url sealed", "db-url file", "file file", "large file", "open file"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the list (-want +got):\n%s", diff)
	}
}

// reads counts what is read of a board, and of an operator's keys.
type reads struct {
	board.Board
	keys
	records, opened atomic.Int64
}

func (b *reads) Get(ctx context.Context, space board.Space, keys ...string) ([]board.Record, error) {
	b.records.Add(int64(len(keys)))
	return b.Board.Get(ctx, space, keys...)
}

func (b *reads) Read(ctx context.Context, name string) (string, error) {
	b.opened.Add(1)
	return b.keys.Read(ctx, name)
}

// fill has the context have n secrets that nobody can open.
func (r *rig) fill(n int) {
	r.Helper()
	for i := range n {
		b := board.Batch{Space: layout.SpaceOf(tenant)}
		b.Set(layout.Secret(fmt.Sprintf("s%d", i)), board.Field{Name: layout.SecretSealed, Value: "x"}, board.Field{Name: layout.SecretKey, Value: "kek"})
		if err := r.board.Commit(r.Context(), b); err != nil {
			r.Fatal(err)
		}
	}
}

func TestARefusedSecretOpensNothing(t *testing.T) {
	r := newRig(t)
	r.fill(domain.MaxSecretsOf)
	b := &reads{Board: r.board, keys: keys{"kek": encryption.NewKEK()}}
	v := secret.New(b, secret.Config{Key: "kek", Keys: b})
	for _, c := range []struct {
		name, value string
		kind        error
	}{{"more", "hunter2", domain.ErrLimit}, {"a b", "hunter2", domain.ErrInvalid}, {"more", "x", domain.ErrInvalid}} {
		if _, err := v.Set(t.Context(), tenant, c.name, c.value, 1); !errors.Is(err, c.kind) {
			t.Errorf("%q: got %v, want %v", c.name, err, c.kind)
		}
	}
	if records, opened := b.records.Load(), b.opened.Load(); records != 0 || opened != 0 {
		t.Errorf("what was refused read %d records and %d times a key, want none", records, opened)
	}
	if _, err := v.Set(t.Context(), tenant, "s1", "hunter2", 1); err != nil {
		t.Errorf("over one that there is: %v", err)
	}
	if records, opened := b.records.Load(), b.opened.Load(); records != 0 || opened != 1 {
		t.Errorf("one that was set read %d records and %d times a key, want 0 and 1", records, opened)
	}
	b.opened.Store(0)
	if list, err := v.List(t.Context(), tenant); err != nil || len(list) != domain.MaxSecretsOf || b.opened.Load() != 1 {
		t.Errorf("the list of %d, %v, read a key %d times, want once", len(list), err, b.opened.Load())
	}
}

func TestNoMoreSecretsAreSetThanThereIsRoomFor(t *testing.T) {
	r := newRig(t)
	const free, makers = 10, 40
	r.fill(domain.MaxSecretsOf - free)
	nodes := []*secret.Vault{r.own(), r.own()}
	r.set(nodes[0], "s0", "hunter2") // the key of the folder is made
	var wg sync.WaitGroup
	errs := make([]error, makers)
	for i := range errs {
		wg.Go(func() { _, errs[i] = nodes[i%2].Set(t.Context(), tenant, fmt.Sprintf("new%d", i), "hunter2", 1) })
		wg.Go(func() { _, _ = nodes[i%2].Set(t.Context(), tenant, "s1", "hunter2", 1) }) // is none more
	}
	wg.Wait()
	set := 0
	for _, err := range errs {
		if err == nil {
			set++
		} else if !errors.Is(err, domain.ErrLimit) {
			t.Errorf("got %v", err)
		}
	}
	if list, err := nodes[0].List(t.Context(), tenant); err != nil || set != free || len(list) != domain.MaxSecretsOf {
		t.Errorf("%d were set, and there are %d, %v; want %d and %d", set, len(list), err, free, domain.MaxSecretsOf)
	}
}

func TestWhatIsNoSecretIsRefused(t *testing.T) {
	r := newRig(t)
	v := r.own()
	for _, c := range []struct{ name, value, text string }{
		{"a b", "hunter2", `"a b"`},
		{"../db", "hunter2", "secret"},
		{"db", "abc", "want at least 4"},
		{"db", strings.Repeat("x", domain.MaxSecretBytes+1), "the limit is 65536"},
		{"db", "hunter\x002", "NUL"},
	} {
		_, err := v.Set(t.Context(), tenant, c.name, c.value, 1)
		if !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "hunter") {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
}
