package identity_test

import (
	"context"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

func TestKeyFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "me.key")
	key, err := identity.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := identity.LoadKey(path); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("no file: got %v", err)
	}
	if err := identity.SaveKey(path, key); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v, want mode 0600", info.Mode(), err)
	}
	if err := identity.SaveKey(path, key); !errors.Is(err, domain.ErrConflict) {
		t.Errorf("a second save: got %v", err)
	}
	if err := identity.NameKey(path, 12); err != nil {
		t.Fatal(err)
	}
	got, err := identity.LoadKey(path)
	if err != nil || got.Actor != 12 || got.Pubkey() != key.Pubkey() {
		t.Errorf("got %+v, %v", got, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("after naming: got %v, %v, want mode 0600", info.Mode(), err)
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o660} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := identity.LoadKey(path); !errors.Is(err, domain.ErrForbidden) || !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("mode %o: got %v", mode, err)
		}
	}
}

func TestDamagedKeyFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "me.key")
	good := filepath.Join(t.TempDir(), "good.key")
	key, err := identity.NewKey()
	if err == nil {
		err = identity.SaveKey(good, key)
	}
	whole, err2 := os.ReadFile(good)
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	with := func(more string) string { return strings.Replace(string(whole), "{", "{"+more, 1) }
	seed := strings.Repeat("11", 32)
	for _, text := range []string{"", "{", "[]", `{"private_key":"zz"}`, `{"private_key":"` + seed + `"}`,
		`{"pubkey":"` + seed + `","private_key":"` + seed + `"}`, strings.Repeat(" ", 5000) + "{}",
		with(`"actor":7,`), with(`"Actor":7,`), with(`"private_key":"` + seed + `",`), string(whole) + "{}", string(whole) + strings.Repeat(" ", 5000)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := identity.LoadKey(path)
		if !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("%.60q: got %v", text, err)
		}
		if err != nil && strings.Contains(err.Error(), seed) {
			t.Errorf("%.60q: the error shows what stands there: %v", text, err)
		}
	}
	if err := os.WriteFile(path, []byte(with(`"of a later version":1,`)), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := identity.LoadKey(path); err != nil || got.Pubkey() != key.Pubkey() {
		t.Errorf("a field that is not known: got %v", err)
	}
}

// TestX25519 compares the key derived from the public half with that derived
// from the private one.
func TestX25519(t *testing.T) {
	for range 50 {
		key, err := identity.NewKey()
		if err != nil {
			t.Fatal(err)
		}
		private, err := key.X25519()
		if err != nil {
			t.Fatal(err)
		}
		got, err := identity.X25519Pubkey(key.Pubkey())
		if want := hex.EncodeToString(private.PublicKey().Bytes()); err != nil || got != want {
			t.Fatalf("got %s, %v, want %s", got, err, want)
		}
	}
}

func TestWeakKeysAreRefused(t *testing.T) {
	for _, bad := range []string{
		"",
		strings.Repeat("AA", 32),
		"01" + strings.Repeat("00", 31),        // the neutral point
		strings.Repeat("00", 32),               // order 4
		"ec" + strings.Repeat("ff", 30) + "7f", // order 2
		"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a", // order 8
		strings.Repeat("ff", 32), // y over the prime
	} {
		if _, err := identity.X25519Pubkey(bad); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("%q: got %v", bad, err)
		}
	}
}

func TestCreateKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "me.key")
	refused := domain.Forbiddenf("refused")
	if _, err := identity.CreateKey(path, func(string) (domain.ActorID, error) { return 0, refused }); !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the key of nobody stayed")
	}
	key, err := identity.CreateKey(path, func(string) (domain.ActorID, error) {
		if _, err := identity.LoadKey(path); err != nil {
			t.Errorf("registered before it was saved: %v", err)
		}
		return 12, nil
	})
	if err != nil || key.Actor != 12 || len(key.Mycelium()) != 64 {
		t.Errorf("got %+v, %v", key, err)
	}
	if got, err := identity.LoadKey(path); err != nil || got.Actor != 12 {
		t.Errorf("got %+v, %v", got, err)
	}
	asked := false
	_, err = identity.CreateKey(path, func(string) (domain.ActorID, error) { asked = true; return 13, nil })
	if !errors.Is(err, domain.ErrConflict) || asked {
		t.Errorf("over a file: got %v, asked %v", err, asked)
	}
}

// TestAKeyStaysWhoseRegistrationNobodyKnowsOf: it may be an actor's, and the next try goes on with it.
func TestAKeyStaysWhoseRegistrationNobodyKnowsOf(t *testing.T) {
	for _, lost := range []error{domain.Unavailablef("no answer"), context.Canceled, errors.New("an internal error")} {
		path := filepath.Join(t.TempDir(), "me.key")
		var asked []string
		register := func(id domain.ActorID, err error) func(string) (domain.ActorID, error) {
			return func(pubkey string) (domain.ActorID, error) { asked = append(asked, pubkey); return id, err }
		}
		_, err := identity.CreateKey(path, register(0, lost))
		if !errors.Is(err, lost) || !strings.Contains(err.Error(), path) {
			t.Errorf("%v: got %v, want the file named", lost, err)
		}
		// Whoever refuses it now may have taken it then.
		if _, err := identity.CreateKey(path, register(0, domain.Conflictf("actor 9 has it"))); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("%v, then refused: got %v", lost, err)
		}
		key, err := identity.CreateKey(path, register(9, nil))
		if err != nil || key.Actor != 9 || len(asked) != 3 || asked[0] != asked[2] {
			t.Errorf("%v: got %v, %v, asked for %v", lost, key.Actor, err, asked)
		}
		if got, err := identity.LoadKey(path); err != nil || got.Actor != 9 || got.Pubkey() != asked[0] {
			t.Errorf("%v: the file has %+v, %v", lost, got, err)
		}
	}
}

// TestTheKeyOfANodeBecomesNoActors, though it is no actor's either.
func TestTheKeyOfANodeBecomesNoActors(t *testing.T) {
	dir := t.TempDir()
	if _, err := identity.OpenKeyring(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{identity.NodeKeyFile, identity.BusKeyFile, identity.StreamKeyFile} {
		_, err := identity.CreateKey(filepath.Join(dir, name), func(string) (domain.ActorID, error) { t.Error("registered"); return 9, nil })
		if !errors.Is(err, domain.ErrConflict) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
