package natslink_test

import (
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/internal/natslink"
)

// asking is who logs in to a server.
type asking struct {
	server.ClientAuthentication
	opts  server.ClientOpts
	nonce string
}

func (a *asking) GetOpts() *server.ClientOpts { return &a.opts }
func (a *asking) GetNonce() []byte            { return []byte(a.nonce) }

// fuzzLink is one key for all runs of a fuzz test: what it finds is found again.
func fuzzLink(f *testing.F) natslink.Key {
	f.Helper()
	path := filepath.Join(f.TempDir(), "link.key")
	// The seed 0101…01 and its public half.
	const text = `{"link":"8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c",` +
		`"link_seed":"0101010101010101010101010101010101010101010101010101010101010101"}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		f.Fatal(err)
	}
	k, err := identity.LoadLinkKey(path)
	if err != nil {
		f.Fatal(err)
	}
	return k
}

// FuzzAdmit: nobody comes in with a log-in that its key has not made for this node
// and this nonce: not with that for another node, for another nonce, nor with any
// text that is put together of them.
func FuzzAdmit(f *testing.F) {
	k := fuzzLink(f)
	self, other := strings.Repeat("ab", 32), strings.Repeat("cd", 32)
	const nonce, earlier = "abcdefghijklmno", "0123456789abcdo"
	prove := func(nodes []string, nonce string) string {
		proof, err := natslink.Prove(k, nodes, []byte(nonce))
		if err != nil {
			f.Fatal(err)
		}
		return string(proof)
	}
	good := map[string]bool{prove([]string{self}, nonce): true, prove([]string{other, self}, nonce): true}
	for proof := range good {
		f.Add([]byte(proof))
		f.Add([]byte(proof + "\n"))
		f.Add([]byte(strings.Replace(proof, self, self+","+self, 1)))
		f.Add([]byte(strings.Replace(proof, ",", "\n", 1)))
		f.Add([]byte(strings.ToUpper(proof)))
	}
	for _, proof := range []string{prove([]string{other}, nonce), prove([]string{self}, earlier)} {
		f.Add([]byte(proof))
		f.Add([]byte(strings.Replace(proof, other, self, 1)))
	}
	f.Add([]byte("ramet-link/1 "))
	f.Fuzz(func(t *testing.T, proof []byte) {
		a := &asking{nonce: nonce, opts: server.ClientOpts{Sig: base64.RawURLEncoding.EncodeToString(proof)}}
		link, err := natslink.Admit(a, self)
		switch {
		case err == nil && (!good[string(proof)] || link != k.Pubkey()):
			t.Errorf("%q comes in as %s", proof, link)
		case err != nil && good[string(proof)]:
			t.Errorf("%q: %v", proof, err)
		case err != nil && !errors.Is(err, domain.ErrForbidden):
			t.Errorf("%q: got %v, want one of kind forbidden", proof, err)
		}
	})
}
