package identity

import (
	"crypto/ecdh"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/intake"
)

// OperatorKeyFile is the operator's key in a node's data folder.
const OperatorKeyFile = "operator.key"

// maxKeyFile bounds what is read as a key file, in bytes.
const maxKeyFile = 4 << 10

// Key is an actor's private key. The zero Key is none.
type Key struct {
	// Actor is whose key it is; 0 as long as it is not registered.
	Actor   domain.ActorID
	private ed25519.PrivateKey
}

// keyFile is how a key lies in a file, mode 0600.
type keyFile struct {
	Actor  domain.ActorID `json:"actor"`
	Pubkey string         `json:"pubkey"`
	// PrivateKey is the Ed25519 seed, 64 hex digits.
	PrivateKey string `json:"private_key"`
}

// NewKey makes a key that belongs to nobody yet.
func NewKey() (Key, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return Key{}, domain.Unavailablef("make a key: %v", err)
	}
	return Key{private: private}, nil
}

// Pubkey is the public key as records have it: 64 lower-case hex digits.
func (k Key) Pubkey() string { return hex.EncodeToString(k.public()) }

func (k Key) public() ed25519.PublicKey { return k.private.Public().(ed25519.PublicKey) }

// X25519 is the key for agreeing on secrets that belongs to this one: what a
// Mycelium daemon takes as its private key.
//
// Source: RFC 8032, 5.1.5: the secret scalar of Ed25519 is that of X25519.
func (k Key) X25519() (*ecdh.PrivateKey, error) {
	h := sha512.Sum512(k.private.Seed())
	return ecdh.X25519().NewPrivateKey(h[:32]) // it clamps the scalar itself
}

// Mycelium is the public half of X25519 in hex: the key by which a Mycelium
// network knows the actor.
func (k Key) Mycelium() string {
	u, err := X25519Pubkey(k.Pubkey())
	if err != nil {
		panic("BUG: a key of our own making is weak: " + err.Error())
	}
	return u
}

// Token is [Mint] from now on.
func (k Key) Token(audience string, life time.Duration) (string, error) {
	return Mint(k, audience, time.Now(), life)
}

// fieldPrime is 2^255 - 19.
var fieldPrime = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255), big.NewInt(19))

// X25519Pubkey derives the X25519 public key (64 hex digits) from an Ed25519
// one: the same point on the Montgomery curve, u = (1+y)/(1-y).
//
// Errors: [domain.ErrInvalid] for a key of the wrong form, and for the few
// points of small order, under which anybody's signature would be good.
//
// Source: RFC 7748, 4.1.
func X25519Pubkey(pubkey string) (string, error) {
	if err := domain.ValidatePubkey(pubkey); err != nil {
		return "", err
	}
	raw, err := hex.DecodeString(pubkey)
	if err != nil {
		return "", domain.Invalidf("pubkey %q: %v", pubkey, err)
	}
	slices.Reverse(raw) // little-endian on the wire
	raw[0] &= 0x7f      // the sign of x
	y := new(big.Int).SetBytes(raw)
	// Public data only, so big.Int's varying time tells nobody anything.
	one := big.NewInt(1)
	below := new(big.Int).Sub(one, y)
	below.Mod(below, fieldPrime)
	if y.Cmp(fieldPrime) >= 0 || below.Sign() == 0 {
		return "", errWeakKey(pubkey)
	}
	u := new(big.Int).Add(one, y)
	u.Mul(u, below.ModInverse(below, fieldPrime)).Mod(u, fieldPrime)
	out := u.FillBytes(make([]byte, 32))
	slices.Reverse(out)
	if smallOrder(out) {
		return "", errWeakKey(pubkey)
	}
	return hex.EncodeToString(out), nil
}

func errWeakKey(pubkey string) error {
	return domain.Invalidf("pubkey %q is no usable Ed25519 key: make one with `ramet actor new`", pubkey)
}

// smallOrder reports whether u is a point that crypto/ecdh refuses to agree
// with, because every secret gives the same result.
func smallOrder(u []byte) bool {
	public, err := ecdh.X25519().NewPublicKey(u)
	if err != nil {
		return true
	}
	private, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		return true
	}
	_, err = private.ECDH(public)
	return err != nil
}

// LoadKey reads a key file.
//
// Errors: [domain.ErrNotFound]; [domain.ErrInvalid] for a file that is no key
// file; [domain.ErrForbidden] for one that others than its owner may read.
func LoadKey(path string) (Key, error) {
	text, err := readKey(path)
	if err != nil {
		return Key{}, err
	}
	return parseKey(path, text)
}

// ParseKey reads the text of a key file that somebody has shown.
//
// Errors: [domain.ErrInvalid], without any of the text.
func ParseKey(text []byte) (Key, error) { return parseKey("what was shown", text) }

// readKey reads a file that holds a private key, with the errors of [LoadKey].
func readKey(path string) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, domain.NotFoundf("key file %q does not exist; make one with `ramet actor new`", path)
	} else if err != nil {
		return nil, domain.Unavailablef("open key file %q: %v", path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, domain.Unavailablef("look at key file %q: %v", path, err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" { // there it says nothing: lists of rights do
		return nil, domain.Forbiddenf("key file %q can be used by others (mode %04o): run `chmod 600 %s`, and make a new key if somebody may "+
			"have read it", path, mode, path)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err != nil {
		return nil, domain.Unavailablef("read key file %q: %v", path, err)
	}
	return text, nil
}

func parseKey(path string, text []byte) (Key, error) {
	var kf keyFile
	if intake.Read(text, &kf, intake.Limits{Bytes: maxKeyFile}) != nil { // which says what stands there, and that may be the key
		return Key{}, domain.Invalidf("%q is no key file: want the JSON that `ramet actor new` writes, each name once", path)
	}
	seed, err := hex.DecodeString(kf.PrivateKey)
	if err != nil || len(seed) != ed25519.SeedSize {
		return Key{}, domain.Invalidf("key file %q: private_key: want 64 hex digits", path)
	}
	k := Key{Actor: kf.Actor, private: ed25519.NewKeyFromSeed(seed)}
	if kf.Pubkey != k.Pubkey() {
		return Key{}, domain.Invalidf("key file %q is damaged: its pubkey does not belong to its private_key", path)
	}
	return k, nil
}

// SaveKey writes a key file with mode 0600, and never over another file.
//
// Errors: [domain.ErrConflict] when there is a file; [domain.ErrUnavailable].
func SaveKey(path string, k Key) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return domain.Conflictf("key file %q exists and is not overwritten; choose another name", path)
	} else if err != nil {
		return domain.Unavailablef("make key file %q: %v", path, err)
	}
	if err := writeKey(f, k); err != nil {
		os.Remove(path)
		return domain.Unavailablef("write key file %q: %v", path, err)
	}
	return nil
}

// NameKey writes into an existing key file whose key it is, once the board has
// given the actor its number.
//
// Errors: as of [LoadKey]; [domain.ErrUnavailable].
func NameKey(path string, actor domain.ActorID) error {
	k, err := LoadKey(path)
	if err != nil {
		return err
	}
	k.Actor = actor
	f, err := os.CreateTemp(filepath.Dir(path), ".ramet-key-*") // mode 0600
	if err != nil {
		return domain.Unavailablef("write key file %q: %v", path, err)
	}
	if err = writeKey(f, k); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return domain.Unavailablef("write key file %q: %v", path, err)
	}
	return nil
}

// writeKey writes, syncs and closes: a key that is registered and then lost in
// a power cut could not be made again.
func writeKey(f *os.File, k Key) error {
	text, err := json.MarshalIndent(keyFile{k.Actor, k.Pubkey(), hex.EncodeToString(k.private.Seed())}, "", "  ")
	if err == nil {
		_, err = f.Write(append(text, '\n'))
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// CreateKey makes a key, asks register whose it is, and keeps it in a new
// file. The file comes first: the key of a registered actor is never lost, not
// even in a crash between the two. Where register refuses, no file stays; where
// nobody knows whether it did, the file does, and the next call goes on with it.
//
// Errors: those of [SaveKey] and of register.
func CreateKey(path string, register func(pubkey string) (domain.ActorID, error)) (Key, error) {
	k, err := LoadKey(path)
	left := err == nil && k.Actor == 0 && !slices.Contains([]string{NodeKeyFile, BusKeyFile, StreamKeyFile}, filepath.Base(path))
	if !left { // SaveKey says what is wrong with another file that is there
		if k, err = NewKey(); err == nil {
			err = SaveKey(path, k)
		}
		if err != nil {
			return Key{}, err
		}
	}
	k.Actor, err = register(k.Pubkey())
	switch {
	case err == nil:
		return k, NameKey(path, k.Actor)
	case left || !refused(err):
		return Key{}, fmt.Errorf("%w; its key stays in %q, and the same command goes on with that", err, path)
	}
	return Key{}, errors.Join(err, os.Remove(path))
}

// refused reports whether an error says for certain that nothing was done.
func refused(err error) bool {
	for _, kind := range []error{domain.ErrInvalid, domain.ErrForbidden, domain.ErrNotFound, domain.ErrConflict, domain.ErrExhausted, domain.ErrLimit} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}
