package identity_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/identity"
)

func TestKeysOfAFolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		save := func(name string) identity.Key {
			k, err := identity.NewKey()
			if err == nil {
				k.Actor = 12
				err = identity.SaveKey(filepath.Join(dir, name), k)
			}
			if err != nil {
				t.Fatal(err)
			}
			return k
		}
		ring, err := identity.OpenKeyring(dir)
		if err != nil {
			t.Fatal(err)
		}
		has := func(k identity.Key) bool {
			got, found := ring.Key(k.Pubkey())
			return found && got.Pubkey() == k.Pubkey()
		}
		if !has(ring.Node) {
			t.Error("the node's own key is missing")
		}
		// At the first start the operator's key is made a moment later.
		if op := save(identity.OperatorKeyFile); !has(op) {
			t.Error("the operator's key is not found")
		}
		if err := os.Mkdir(filepath.Join(dir, identity.KeysFolder), 0o700); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(identity.KeysFolder, "bob.key")
		bob := save(name)
		time.Sleep(time.Second)
		if !has(bob) {
			t.Error("a key that was entrusted is not found")
		}
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		if has(bob) {
			t.Error("a key that was taken away is still there")
		}
		// The node is the same after a restart.
		again, err := identity.OpenKeyring(dir)
		if err != nil || again.Node.Pubkey() != ring.Node.Pubkey() {
			t.Errorf("got another node, %v", err)
		}
	})
}
