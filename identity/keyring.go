package identity

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// Names in a node's data folder.
const (
	// NodeKeyFile is the node's own key: it signs parcels, and is how others
	// know the node.
	NodeKeyFile = "node.key"
	// KeysFolder holds the keys of actors who let the node sign for them.
	KeysFolder = "keys"
)

const (
	// keyringEvery is how often the folder is looked at again.
	keyringEvery = 2 * time.Second
	// keyringMiss is the same when a key is asked for that is not there.
	keyringMiss = 200 * time.Millisecond
)

// maxKeys bounds the keys of a folder.
const maxKeys = 10_000

// Keyring is the keys that a node may sign with: its own, the operator's where
// it has it, and those of actors who entrusted it with theirs. It is safe for
// concurrent use.
type Keyring struct {
	dir  string
	Node Key
	// Bus and Stream log the node in to NATS servers.
	Bus, Stream LinkKey

	mu     sync.Mutex
	looked time.Time
	keys   map[string]Key // by public key
}

// OpenKeyring reads a node's keys from its data folder, and makes the node's
// own, and those of its links, at the first start.
//
// Errors: [domain.ErrForbidden] for a key file that others may read;
// [domain.ErrInvalid] for one that is damaged; [domain.ErrUnavailable].
func OpenKeyring(dataDir string) (*Keyring, error) {
	path := filepath.Join(dataDir, NodeKeyFile)
	key, err := LoadKey(path)
	if errors.Is(err, domain.ErrNotFound) {
		if key, err = NewKey(); err == nil {
			err = SaveKey(path, key)
		}
	}
	if err != nil {
		return nil, err
	}
	r := &Keyring{dir: dataDir, Node: key}
	if r.Bus, err = ensureLinkKey(filepath.Join(dataDir, BusKeyFile)); err != nil {
		return nil, err
	}
	if r.Stream, err = ensureLinkKey(filepath.Join(dataDir, StreamKeyFile)); err != nil {
		return nil, err
	}
	err = r.look()
	r.looked = time.Time{} // at the first start the operator's key comes right after
	return r, err
}

// Key finds the key of an actor by its public half.
func (r *Keyring) Key(pubkey string) (Key, bool) {
	if pubkey == r.Node.Pubkey() {
		return r.Node, true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	k, found := r.keys[pubkey]
	old := time.Since(r.looked)
	if old >= keyringEvery || !found && old >= keyringMiss {
		// A damaged file takes its own key away, no other.
		_ = r.look()
		k, found = r.keys[pubkey]
	}
	return k, found
}

// look reads all key files; r.mu is held, or nobody else has r yet.
func (r *Keyring) look() error {
	r.looked = time.Now()
	keys := map[string]Key{}
	files := []string{filepath.Join(r.dir, OperatorKeyFile)}
	entries, err := os.ReadDir(filepath.Join(r.dir, KeysFolder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return domain.Unavailablef("read the folder of keys: %v", err)
	}
	for _, e := range entries[:min(len(entries), maxKeys)] {
		if strings.HasSuffix(e.Name(), ".key") {
			files = append(files, filepath.Join(r.dir, KeysFolder, e.Name()))
		}
	}
	var bad error
	for _, f := range files {
		k, err := LoadKey(f)
		switch {
		case err == nil:
			keys[k.Pubkey()] = k
		case !errors.Is(err, domain.ErrNotFound):
			bad = errors.Join(bad, err)
		}
	}
	r.keys = keys
	return bad
}

// firstNode is where the numbers of nodes as actors begin: those of people stay
// small and without gaps.
const firstNode = 3_000_000_000

// EnsureNode registers a node's key as an actor, at the given nodes: results of
// work that others sent to it are signed by it. One that is there stays as it is.
func (r *Registry) EnsureNode(ctx context.Context, pubkey string, at ...domain.Address) (domain.Actor, error) {
	for {
		there, err := r.ActorByKey(ctx, pubkey)
		if err == nil || !errors.Is(err, domain.ErrNotFound) {
			return there, err
		}
		n, err := r.board.Next(ctx, 0, layout.Seq("node", 0), 1)
		if err != nil {
			return domain.Actor{}, err
		}
		made, _, err := r.CreateActor(ctx, domain.Actor{ID: domain.ActorID(firstNode + n), Pubkey: pubkey, Address: at})
		if !errors.Is(err, domain.ErrConflict) {
			return made, err
		}
		// The number is taken, or another start of ours was first.
	}
}
