package identity

import (
	"cmp"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/intake"
)

// Files of the keys by which a node logs in to NATS servers, in its data folder.
const (
	BusKeyFile    = "link-bus.key"
	StreamKeyFile = "link-stream.key"
)

// LinkKey logs a node in to NATS servers, and does nothing else: it signs what
// servers choose, so it is no actor's key, and nothing that it signs says
// anything of messages, parcels or tokens. It is made at random and does not
// follow from any other key. There is one for the bus and one for the streams: a
// server could pass on the nonce of another, and the signature to it.
type LinkKey struct{ private ed25519.PrivateKey }

// linkFile is how it lies in a file, mode 0600. Its names are others than those
// of an actor's key, so that neither can be taken for the other.
type linkFile struct {
	Link string `json:"link"`
	// Seed is the Ed25519 seed, 64 hex digits.
	Seed string `json:"link_seed"`
}

// NewLinkKey makes one.
//
// Errors: [domain.ErrUnavailable].
func NewLinkKey() (LinkKey, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return LinkKey{}, domain.Unavailablef("make a key: %v", err)
	}
	return LinkKey{private}, nil
}

// Pubkey is its public half: 64 lower-case hex digits.
func (k LinkKey) Pubkey() string { return hex.EncodeToString(k.private.Public().(ed25519.PublicKey)) }

// SignNonce signs what a plain NATS server wants to be signed.
//
// Errors: [domain.ErrInvalid] for what no NATS server asks for.
func (k LinkKey) SignNonce(nonce []byte) ([]byte, error) { return sign(k.private, aNonce, nonce) }

// SignLogin is the log-in to the server inside another node, which is one of
// those named, by their public keys: a signature for one is of no use at any
// other, who may have sent us that other's nonce.
//
// Errors: [domain.ErrInvalid] for what no NATS server asks for.
func (k LinkKey) SignLogin(nodes []string, nonce []byte) ([]byte, error) {
	if err := CheckNonce(nonce); err != nil {
		return nil, err
	}
	return sign(k.private, aLogin, login(nodes, nonce))
}

// CheckNonce refuses what no NATS server sends as a nonce.
//
// Errors: [domain.ErrInvalid].
func CheckNonce(nonce []byte) error {
	_, err := aNonce.text(nonce)
	return err
}

// VerifyLogin reports whether the holder of a link key, 64 hex digits, has
// signed such a log-in.
func VerifyLogin(link string, nodes []string, nonce, signature []byte) bool {
	return isNonce(nonce) && signed(link, aLogin, login(nodes, nonce), signature)
}

// login is what is signed of a log-in: one line each.
func login(nodes []string, nonce []byte) []byte {
	return []byte(string(nonce) + "\n" + strings.Join(nodes, "\n"))
}

// LoadLinkKey reads the file of a link key.
//
// Errors: as of [LoadKey].
func LoadLinkKey(path string) (LinkKey, error) {
	text, err := readKey(path)
	if err != nil {
		return LinkKey{}, err
	}
	var f linkFile
	if intake.Read(text, &f, intake.Limits{Bytes: maxKeyFile}) != nil { // which says what stands there, and that may be the key
		return LinkKey{}, domain.Invalidf("%q is no link key: `ramet node rekey` makes a new one", path)
	}
	seed, err := hex.DecodeString(f.Seed)
	if err != nil || len(seed) != ed25519.SeedSize {
		return LinkKey{}, domain.Invalidf("link key %q: link_seed: want 64 hex digits; `ramet node rekey` makes a new one", path)
	}
	k := LinkKey{ed25519.NewKeyFromSeed(seed)}
	if f.Link != k.Pubkey() {
		return LinkKey{}, domain.Invalidf("link key %q is damaged: its public half does not belong to its seed; `ramet node rekey` makes a new one", path)
	}
	return k, nil
}

// ensureLinkKey reads the file of a link key, and makes it where there is none.
func ensureLinkKey(path string) (LinkKey, error) {
	k, err := LoadLinkKey(path)
	if errors.Is(err, domain.ErrNotFound) {
		return renewLinkKey(path)
	}
	return k, err
}

// renewLinkKey makes a new key in place of that in a file.
func renewLinkKey(path string) (LinkKey, error) {
	k, err := NewLinkKey()
	if err != nil {
		return LinkKey{}, err
	}
	text, err := json.MarshalIndent(linkFile{k.Pubkey(), hex.EncodeToString(k.private.Seed())}, "", "  ")
	if err != nil {
		return LinkKey{}, err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".ramet-key-*") // mode 0600
	if err != nil {
		return LinkKey{}, domain.Unavailablef("write key file %q: %v", path, err)
	}
	_, err = f.Write(append(text, '\n'))
	err = errors.Join(cmp.Or(err, f.Sync()), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return LinkKey{}, domain.Unavailablef("write key file %q: %v", path, err)
	}
	return k, nil
}

// RenewLinks makes new keys for the links of the node of a data folder, which
// uses them from its next start on.
//
// Errors: [domain.ErrUnavailable].
func RenewLinks(dataDir string) (bus, stream LinkKey, err error) {
	if bus, err = renewLinkKey(filepath.Join(dataDir, BusKeyFile)); err == nil {
		stream, err = renewLinkKey(filepath.Join(dataDir, StreamKeyFile))
	}
	return bus, stream, err
}
