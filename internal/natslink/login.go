package natslink

import (
	"encoding/base64"
	"encoding/hex"
	"os"
	"slices"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

// This file is all the ways in which a node logs in to a NATS server. Servers
// choose what is signed, and not all of them mean well: nothing but a nonce is,
// by a key that is good for nothing else. To the server inside a node, the
// log-in names that node, so that it cannot be passed on.

// Key logs a node in.
type Key = identity.LinkKey

// maxNodes bounds the nodes that one log-in names: those of one site.
const maxNodes = domain.MaxPeerNodes

// claimHead begins what stands before the signature in a log-in to a node's
// server: whose it is and for whom. NATS has no field of its own for that, and
// clears the others where it knows no JWTs.
const claimHead = "ramet-link/1 "

// ToServer logs in to a plain NATS server, as its user with the nkey of k.
//
// Errors: [domain.ErrInvalid].
func ToServer(k Key) (nats.Option, error) {
	user, err := User(k.Pubkey())
	if err != nil {
		return nil, err
	}
	return nats.Nkey(user, k.SignNonce), nil
}

// ToNode logs in to the server inside a node.
//
// Errors: [domain.ErrInvalid].
func ToNode(k Key, node string) (nats.Option, error) {
	user, err := User(k.Pubkey())
	if err != nil {
		return nil, err
	}
	return nats.Nkey(user, func(nonce []byte) ([]byte, error) { return Prove(k, []string{node}, nonce) }), nil
}

// ToSite logs a link in to the server inside a node of another site; nodes are
// those that it may be.
func ToSite(k Key, nodes func() ([]string, error)) server.SignatureHandler {
	return func(nonce []byte) (string, []byte, error) {
		to, err := nodes()
		if err != nil {
			return "", nil, err
		}
		proof, err := Prove(k, to, nonce)
		return "", proof, err
	}
}

// Prove is what is sent as signature to the server inside one of some nodes: the
// claim, a line feed, and the signature.
//
// Errors: [domain.ErrInvalid] for what is no nonce.
func Prove(k Key, nodes []string, nonce []byte) ([]byte, error) {
	sig, err := k.SignLogin(nodes, nonce)
	if err != nil {
		return nil, err
	}
	return append([]byte(claimHead+k.Pubkey()+" "+strings.Join(nodes, ",")+"\n"), sig...), nil
}

// Admit reads a log-in to the server inside the node self, and returns the link
// key of who has proved to have it.
//
// Errors: [domain.ErrForbidden] with what to do.
func Admit(c server.ClientAuthentication, self string) (link string, err error) {
	opts := c.GetOpts()
	proof, err := base64.RawURLEncoding.DecodeString(opts.Sig)
	text, ours := strings.CutPrefix(string(proof), claimHead)
	switch {
	case err == nil && ours:
	case opts.Nkey != "" && opts.Sig != "":
		key, _ := KeyOf(opts.Nkey)
		return "", domain.Forbiddenf("%s logs in as to a plain NATS server, or is of an earlier version: it must have the version of this one, and name "+
			"this node as key=%s in the URL of its bus or streams", who(key), self)
	default:
		return "", domain.Forbiddenf("it has no link key")
	}
	head, sig, _ := strings.Cut(text, "\n")
	link, rest, _ := strings.Cut(head, " ")
	nodes := strings.Split(rest, ",")
	if len(nodes) > maxNodes || !validKey(link) {
		return "", domain.Forbiddenf("its log-in is malformed")
	}
	if !identity.VerifyLogin(link, nodes, c.GetNonce(), []byte(sig)) {
		return "", domain.Forbiddenf("its signature is wrong")
	}
	if !slices.Contains(nodes, self) {
		return "", domain.Forbiddenf("the log-in of link key %s is for another node than this: somebody passes it on, or the key= of its link is wrong; "+
			"that of this node is %s", link, self)
	}
	return link, nil
}

// SignedNonce says whether the holder of the nkey by which somebody logs in has
// signed our nonce, as to a plain server.
func SignedNonce(c server.ClientAuthentication) bool {
	opts := c.GetOpts()
	sig, err := base64.RawURLEncoding.DecodeString(opts.Sig)
	if err != nil || len(c.GetNonce()) == 0 {
		return false
	}
	key, err := nkeys.FromPublicKey(opts.Nkey)
	return err == nil && key.Verify(c.GetNonce(), sig) == nil
}

func who(key string) string {
	if key == "" {
		return "it"
	}
	return "who has the key " + key
}

// validKey says whether s is 64 lower-case hex digits.
func validKey(s string) bool {
	raw, err := hex.DecodeString(s)
	return err == nil && len(raw) == 32 && s == strings.ToLower(s)
}

// User is how NATS writes a public key: "U…".
//
// Errors: [domain.ErrInvalid].
func User(key string) (string, error) {
	if !validKey(key) {
		return "", domain.Invalidf("key %q: want 64 lower-case hex digits", key)
	}
	raw, _ := hex.DecodeString(key)
	text, err := nkeys.Encode(nkeys.PrefixByteUser, raw)
	if err != nil {
		return "", domain.Invalidf("key %q: %v", key, err)
	}
	return string(text), nil
}

// KeyOf is the key that NATS writes as u, in hex.
func KeyOf(u string) (string, bool) {
	raw, err := nkeys.Decode(nkeys.PrefixByteUser, []byte(u))
	if err != nil || len(raw) != 32 {
		return "", false
	}
	return hex.EncodeToString(raw), true
}

// FromCreds logs in with a file of NATS credentials.
//
// Errors: those of [domain.FileErrorf]; [domain.ErrInvalid].
func FromCreds(file string) (nats.Option, error) {
	read := func() (string, nkeys.KeyPair, error) {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", nil, domain.FileErrorf(err, "NATS credentials: %v", err)
		}
		user, errUser := nkeys.ParseDecoratedJWT(text)
		pair, errPair := nkeys.ParseDecoratedUserNKey(text)
		if errUser != nil || errPair != nil {
			return "", nil, domain.Invalidf("NATS credentials %q: want a file with a user's JWT and seed, as `nsc generate creds` writes it", file)
		}
		return user, pair, nil
	}
	if _, _, err := read(); err != nil {
		return nil, err
	}
	return nats.UserJWT( // read anew each time: it may have been renewed
		func() (string, error) {
			user, _, err := read()
			return user, err
		},
		func(nonce []byte) ([]byte, error) {
			_, pair, err := read()
			if err != nil {
				return nil, err
			}
			return signNonce(pair, nonce)
		}), nil
}

// FromSeed logs in with the file of an nkey's seed.
//
// Errors: those of [domain.FileErrorf]; [domain.ErrInvalid].
func FromSeed(file string) (nats.Option, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, domain.FileErrorf(err, "NATS log-in: %v", err)
	}
	pair, err := nkeys.ParseDecoratedNKey(text)
	if err != nil {
		return nil, errSeed(file)
	}
	user, err := pair.PublicKey()
	if err != nil || !nkeys.IsValidPublicUserKey(user) {
		return nil, errSeed(file)
	}
	return nats.Nkey(user, func(nonce []byte) ([]byte, error) { return signNonce(pair, nonce) }), nil
}

func errSeed(file string) error {
	return domain.Invalidf("NATS nkey file %q holds no seed of a user", file)
}

// signNonce signs with a key that an operator has given: what holds for ours
// holds for it.
func signNonce(pair nkeys.KeyPair, nonce []byte) ([]byte, error) {
	if err := identity.CheckNonce(nonce); err != nil {
		return nil, err
	}
	return pair.Sign(nonce)
}
