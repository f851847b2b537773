package secret

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tink-crypto/tink-go/v2/tink"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/encryption"
	"github.com/ramet-run/ramet/internal/room"
	"github.com/ramet-run/ramet/internal/whole"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/listing"
)

// EnvironmentPrefix begins the node's environment variables that are secrets of contexts:
// RAMET_SECRET_7_DB_URL is DB_URL, or db-url, of context 7.
const EnvironmentPrefix = "RAMET_SECRET_"

// KeyFile is the node's own key in its data folder.
const KeyFile = "secrets.key"

const (
	// commandFresh is how long what a command printed is taken as read: it is not run for
	// each of a thousand jobs.
	commandFresh = 10 * time.Second
	// maxFresh bounds how many of them are remembered.
	maxFresh = 1000
)

// Config says where a node has secrets from. The zero Config has the environment alone.
type Config struct {
	// Dir is a folder of files <context>/<NAME>. Default: none.
	Dir string
	// Command prints a secret; {context} and {name} in an argument stand for whose and
	// which. Default: none.
	Command []string
	// Key is the operator's secret that seals those on the board, and Keys are the
	// operator's secrets.
	Key  string
	Keys encryption.Secrets
	// KeyFile is the node's own key, which seals where there is no Key. It is made when it
	// is needed. Default: none.
	KeyFile string
	// Shared says that other nodes have the board, too: KeyFile is neither made nor seals
	// there, and opens what came from a board that the node had for itself.
	Shared bool
	// Logger takes what a person running it should know. Default: none.
	Logger *slog.Logger
}

// Vault has the secrets of contexts. It is safe for concurrent use.
type Vault struct {
	board board.Board
	rooms *room.Room
	cfg   Config

	told    sync.Map // files that were warned of
	mu      sync.Mutex
	fresh   map[string]printed
	missing missing
}

// printed is what a command gave for one secret.
type printed struct {
	value string
	at    time.Time
}

// New returns the secrets of the contexts on b.
func New(b board.Board, cfg Config) *Vault {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Vault{board: b, rooms: room.New(b, "secret"), cfg: cfg, fresh: map[string]printed{}}
}

// Read returns secrets of a context by their names.
//
// Errors: [domain.ErrNotFound] for one that there is not, [domain.ErrInvalid] for one that
// its source does not give or that cannot be opened, each with what to do; those of the board.
func (v *Vault) Read(ctx context.Context, tenant domain.TenantID, names []string) (map[string]string, error) {
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = layout.Secret(name)
	}
	recs, err := v.board.Get(ctx, layout.SpaceOf(tenant), keys...)
	if err != nil {
		return nil, err
	}
	values := make(map[string]string, len(names))
	for i, name := range names {
		value, err := v.value(ctx, tenant, name, recs[i])
		if err == nil {
			if err = domain.ValidateSecret(value); err != nil {
				err = domain.Invalidf("secret %s of context %d: %v", name, tenant, err)
			}
		}
		if err != nil {
			return nil, err
		}
		values[name] = value
	}
	return values, nil
}

// value looks for one secret in each source.
func (v *Vault) value(ctx context.Context, tenant domain.TenantID, name string, rec board.Record) (string, error) {
	if rec != nil {
		return v.open(ctx, tenant, name, rec)
	}
	if value, there := os.LookupEnv(variable(tenant, name)); there {
		return value, nil
	}
	if v.cfg.Dir != "" {
		value, err := v.file(tenant, name)
		if !errors.Is(err, fs.ErrNotExist) {
			return value, wrap(tenant, name, err)
		}
	}
	if len(v.cfg.Command) > 0 {
		value, err := v.print(ctx, tenant, name)
		return value, wrap(tenant, name, err)
	}
	return "", domain.NotFoundf("context %d has no secret %s: set it with `ramet secret set %s --context %d`, or give the node that runs the job %s",
		tenant, name, name, tenant, variable(tenant, name))
}

func wrap(tenant domain.TenantID, name string, err error) error {
	if err == nil {
		return nil
	}
	return domain.Invalidf("secret %s of context %d: %v", name, tenant, err)
}

// variable is the node's environment variable that is a secret.
func variable(tenant domain.TenantID, name string) string {
	return EnvironmentPrefix + strconv.FormatUint(uint64(tenant), 10) + "_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// folder is where a context's files lie.
func (v *Vault) folder(tenant domain.TenantID) string {
	return filepath.Join(v.cfg.Dir, strconv.FormatUint(uint64(tenant), 10))
}

func (v *Vault) file(tenant domain.TenantID, name string) (string, error) {
	path := filepath.Join(v.folder(tenant), name)
	value, err := ReadFile(path, func(mode fs.FileMode) {
		if _, told := v.told.LoadOrStore(path, true); !told {
			v.cfg.Logger.Warn("file with a secret is open to its group", "file", path, "mode", mode.String())
		}
	})
	return domain.SecretText(value), err
}

// print has the command print a secret, unless it has just done so.
func (v *Vault) print(ctx context.Context, tenant domain.TenantID, name string) (string, error) {
	key := variable(tenant, "") + name
	v.mu.Lock()
	last, known := v.fresh[key]
	v.mu.Unlock()
	if known && time.Since(last.at) < commandFresh {
		return last.value, nil
	}
	fill := strings.NewReplacer("{context}", strconv.FormatUint(uint64(tenant), 10), "{name}", name)
	command := slices.Clone(v.cfg.Command)
	for i := 1; i < len(command); i++ {
		command[i] = fill.Replace(command[i])
	}
	value, err := Run(ctx, command, withoutSecrets(os.Environ()))
	if err != nil {
		return "", err
	}
	value = domain.SecretText(value)
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.fresh) >= maxFresh {
		clear(v.fresh)
	}
	v.fresh[key] = printed{value, time.Now()}
	return value, nil
}

// withoutSecrets is the node's environment for a command, which prints one secret and needs
// no other.
func withoutSecrets(environ []string) []string {
	return slices.DeleteFunc(environ, func(pair string) bool { return strings.HasPrefix(pair, EnvironmentPrefix) })
}

// Set seals a secret of a context and puts it on the board, over one of that name.
//
// Errors: [domain.ErrInvalid] for a name or value; [domain.ErrConflict] where there is no key
// to seal with, [domain.ErrLimit] where the context has too many; those of the board.
func (v *Vault) Set(ctx context.Context, tenant domain.TenantID, name, value string, by domain.ActorID) (domain.Secret, error) {
	s := domain.Secret{Name: name, Source: domain.SecretSealed, SetMs: time.Now().UnixMilli(), By: by}
	if err := domain.ValidateName("secret", name); err != nil {
		return s, err
	}
	if err := domain.ValidateSecret(value); err != nil {
		return s, domain.Invalidf("secret %s: %v", name, err)
	}
	full := func(ctx context.Context) error { return v.room(ctx, tenant, name) }
	if err := full(ctx); err != nil { // before anything is sealed, and before others of the context are made to wait
		return s, err
	}
	sealed, err := v.Seal(ctx, place(tenant, name), value)
	if err != nil {
		return s, err
	}
	b := board.Batch{Space: layout.SpaceOf(tenant)}
	b.Set(layout.Secret(name),
		board.Field{Name: layout.SecretSealed, Value: sealed.Text},
		board.Field{Name: layout.SecretKey, Value: sealed.Key},
		board.Field{Name: layout.SecretSetMs, Value: strconv.FormatInt(s.SetMs, 10)},
		board.Field{Name: layout.SecretBy, Value: strconv.FormatUint(uint64(by), 10)})
	return s, v.rooms.Make(ctx, b, full)
}

// room refuses one secret more than a context may have. It counts names and opens nothing. One
// that is set over another is none more.
func (v *Vault) room(ctx context.Context, tenant domain.TenantID, name string) error {
	space := layout.SpaceOf(tenant)
	there, err := board.Readable(v.board.GetFields(ctx, space, []string{layout.SecretSetMs}, layout.Secret(name)))
	if err != nil || there[0] != nil {
		return err
	}
	n, err := listing.Count(ctx, v.board, space, layout.SecretPrefix, domain.MaxSecretsOf, nil)
	if err == nil && n >= domain.MaxSecretsOf {
		err = domain.Limitf("context %d has %d secrets, which is the limit; delete some", tenant, n)
	}
	return err
}

// Sealed is a text that lies on the board so that the nodes alone can read it.
type Sealed struct {
	Text string // encrypted, in base64
	Key  string // the operator's secret with which it is; "": the node's own key
}

// Seal encrypts a text that belongs to a place, such as a secret of a context. It opens
// nowhere else.
//
// Errors: [domain.ErrConflict] where there is no key to seal with, [domain.ErrUnavailable].
func (v *Vault) Seal(ctx context.Context, place, value string) (Sealed, error) {
	key, err := v.key(ctx, v.cfg.Key, true)
	if err != nil {
		return Sealed{}, err
	}
	sealed, err := key.Encrypt([]byte(value), []byte(place))
	if err != nil {
		return Sealed{}, domain.Unavailablef("seal the %s: %v", place, err)
	}
	return Sealed{base64.StdEncoding.EncodeToString(sealed), v.cfg.Key}, nil
}

// Open reads what Seal has sealed for the place.
//
// Errors: [domain.ErrConflict] where the key is not here, [domain.ErrInvalid] where it does not
// open with it.
func (v *Vault) Open(ctx context.Context, place string, s Sealed) (string, error) {
	key, err := v.key(ctx, s.Key, false)
	if err != nil {
		return "", err
	}
	return opened(key, place, s)
}

// opened is what is sealed with a key.
//
// Errors: [domain.ErrInvalid].
func opened(key tink.AEAD, place string, s Sealed) (string, error) {
	sealed, err := base64.StdEncoding.DecodeString(s.Text)
	if err == nil {
		sealed, err = key.Decrypt(sealed, []byte(place))
	}
	if err != nil {
		return "", domain.Invalidf("it does not open with this node's key%s: it was sealed with another, or changed; set it again", named(s.Key))
	}
	return string(sealed), nil
}

// place binds a sealed value to its context and name.
func place(tenant domain.TenantID, name string) string {
	return fmt.Sprintf("ramet secret of context %d: %s", tenant, name)
}

// open reads what Set has sealed.
func (v *Vault) open(ctx context.Context, tenant domain.TenantID, name string, rec board.Record) (string, error) {
	value, err := v.Open(ctx, place(tenant, name), sealedIn(rec))
	return value, wrap(tenant, name, err)
}

func sealedIn(rec board.Record) Sealed {
	return Sealed{rec.Get(layout.SecretSealed), rec.Get(layout.SecretKey)}
}

func named(key string) string {
	if key == "" {
		return ""
	}
	return " " + key
}

// key is the key of that name; "" is the node's own, which may be made.
//
// Errors: [domain.ErrConflict] where there is none.
func (v *Vault) key(ctx context.Context, name string, make bool) (tink.AEAD, error) {
	if name != "" {
		if v.cfg.Keys == nil {
			return nil, domain.Conflictf("this node has no secret %s in its config file", name)
		}
		text, err := v.cfg.Keys.Read(ctx, name)
		if err != nil {
			return nil, err
		}
		return encryption.ParseKey(name, text)
	}
	if v.cfg.KeyFile == "" || v.cfg.Shared && make {
		return nil, domain.Conflictf("nodes that share a board need a key that all of them have: make one with `openssl rand -base64 32`, " +
			"name it under secrets in each node's config file, and name that secret as context_secrets.key")
	}
	text, err := v.readKey(false)
	switch {
	case errors.Is(err, fs.ErrNotExist) && make:
		if err := v.mayMakeKey(ctx); err != nil {
			return nil, err
		}
		text, err = v.readKey(true)
	case errors.Is(err, fs.ErrNotExist) && v.cfg.Shared:
		return nil, domain.Conflictf("the key that sealed it, %s of a node that had its board for itself, is not in this node's data folder, and in no backup: "+
			"copy it from that node's data folder, or set it again", KeyFile)
	case errors.Is(err, fs.ErrNotExist):
		return nil, domain.Conflictf("the key that sealed it, %s, is not in this node's data folder, and in no backup: "+
			"copy it from that node's data folder, or from where a copy is kept; if there is none, %s, and set it again", KeyFile, v.another())
	}
	if err != nil {
		return nil, domain.Unavailablef("the node's key for secrets: %v", err)
	}
	return encryption.ParseKey(KeyFile, strings.TrimSpace(text))
}

// readKey reads the node's own key; one that there is not is made, where that is wanted.
func (v *Vault) readKey(make bool) (string, error) {
	v.mu.Lock() // nobody reads half a key
	defer v.mu.Unlock()
	text, err := ReadFile(v.cfg.KeyFile, func(fs.FileMode) {})
	if errors.Is(err, fs.ErrNotExist) && make {
		return makeKey(v.cfg.KeyFile)
	}
	return text, err
}

// another says how a key is made that cannot open what is there.
func (v *Vault) another() string {
	return "make another with `(umask 077; openssl rand -base64 32 > '" + v.cfg.KeyFile + "')`"
}

// mayMakeKey refuses a new key of the node's own while something lies on the board that only the one before
// opens: whoever has lost that is to know before there is one which looks like it.
//
// Errors: [domain.ErrConflict].
func (v *Vault) mayMakeKey(ctx context.Context) error {
	v.mu.Lock()
	last := v.missing
	v.mu.Unlock()
	if last.err != nil && time.Since(last.at) < missingFresh {
		return last.err
	}
	where, err := v.sealedByNode(ctx)
	if err != nil || where == "" {
		return err
	}
	err = domain.Conflictf("%s is not in this node's data folder, and only that key opens what was sealed before (%s, for one): copy it there from where a copy "+
		"is kept, for no backup has it (a restored node needs that of the node of which the backup is); if there is none, %s: then nothing opens what was sealed "+
		"before, which `ramet doctor` names, and all of that must be set and rotated again", KeyFile, where, v.another())
	v.mu.Lock()
	defer v.mu.Unlock()
	v.missing = missing{err, time.Now()}
	return err
}

// missing is why no key is made.
type missing struct {
	err error
	at  time.Time
}

// missingFresh is how long that is taken as seen: strangers who ask for webhooks that there are not ask for it,
// too.
const missingFresh = 2 * time.Second

// sealedByNode names something on the board that a node's own key has sealed; "" where there is nothing.
func (v *Vault) sealedByNode(ctx context.Context) (string, error) {
	for after := ""; ; {
		contexts, err := v.board.Members(ctx, 0, layout.Contexts, after, sealedPage)
		if err != nil || len(contexts) == 0 {
			return "", err
		}
		for _, name := range contexts {
			tenant, err := domain.ParseTenantID(name)
			if err != nil {
				continue
			}
			for _, prefix := range []string{layout.SecretPrefix, layout.WebhookPrefix} {
				if key, err := v.firstSealed(ctx, tenant, prefix); err != nil || key != "" {
					return strings.TrimPrefix(key, "ramet:") + " of context " + name, err
				}
			}
		}
		after = contexts[len(contexts)-1]
	}
}

// sealedPage is how many contexts and secrets are looked at once.
const sealedPage = 500

// firstSealed is the key of the first record of a context that a node's own key has sealed.
func (v *Vault) firstSealed(ctx context.Context, tenant domain.TenantID, prefix string) (string, error) {
	space := layout.SpaceOf(tenant)
	fields := []string{layout.SecretSealed, layout.SecretKey, layout.WebhookSecret, layout.WebhookSecretKey}
	for cursor := ""; ; {
		keys, next, err := v.board.Keys(ctx, space, prefix, cursor, sealedPage)
		if err != nil {
			return "", err
		}
		recs, err := board.Readable(v.board.GetFields(ctx, space, fields, keys...))
		if err != nil {
			return "", err
		}
		for i, rec := range recs {
			if layout.SealedByNode(keys[i], rec) {
				return keys[i], nil
			}
		}
		if cursor = next; cursor == "" {
			return "", nil
		}
	}
}

// makeKey makes the node's own key. It is on the disk before anything is sealed with it.
func makeKey(path string) (string, error) {
	text := encryption.NewKEK()
	return text, whole.Create(path, []byte(text+"\n"), 0o600)
}

// Delete takes a secret off the board.
//
// Errors: [domain.ErrNotFound]; those of the board.
func (v *Vault) Delete(ctx context.Context, tenant domain.TenantID, name string) error {
	if err := domain.ValidateName("secret", name); err != nil {
		return err
	}
	recs, err := v.board.Get(ctx, layout.SpaceOf(tenant), layout.Secret(name))
	switch {
	case err != nil:
		return err
	case recs[0] == nil:
		return domain.NotFoundf("context %d has no secret %s on the board", tenant, name)
	}
	b := board.Batch{Space: layout.SpaceOf(tenant)}
	b.Delete(layout.Secret(name))
	return v.board.Commit(ctx, b)
}

// List lists a context's secrets by name: those on the board, and those that this node has
// besides. What a command would print nobody knows.
//
// Errors: those of the board.
func (v *Vault) List(ctx context.Context, tenant domain.TenantID) ([]domain.Secret, error) {
	list, err := v.sealed(ctx, tenant)
	if err != nil {
		return nil, err
	}
	prefix := variable(tenant, "")
	for _, pair := range os.Environ() {
		if name, _, _ := strings.Cut(pair, "="); strings.HasPrefix(name, prefix) && len(name) > len(prefix) {
			list = append(list, domain.Secret{Name: name[len(prefix):], Source: domain.SecretEnvironment})
		}
	}
	if v.cfg.Dir != "" {
		files, _ := os.ReadDir(v.folder(tenant)) // a context without a folder has none
		for _, f := range files {
			if domain.ValidateName("secret", f.Name()) == nil && !f.IsDir() {
				list = append(list, domain.Secret{Name: f.Name(), Source: domain.SecretFile})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b domain.Secret) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// sealed are those on the board. Each key is read once for all of them.
func (v *Vault) sealed(ctx context.Context, tenant domain.TenantID) (list []domain.Secret, err error) {
	space := layout.SpaceOf(tenant)
	type read struct {
		key tink.AEAD
		err error
	}
	keys := map[string]read{}
	opens := func(name string, s Sealed) error {
		k, known := keys[s.Key]
		if !known {
			k.key, k.err = v.key(ctx, s.Key, false)
			keys[s.Key] = k
		}
		if k.err != nil {
			return k.err
		}
		_, err := opened(k.key, place(tenant, name), s)
		return err
	}
	err = listing.All(ctx, v.board, space, layout.SecretPrefix, domain.MaxSecretsOf, func(key string, rec board.Record, err error) {
		if err != nil { // a foreign program's key, which is no secret
			return
		}
		set, _ := strconv.ParseInt(rec.Get(layout.SecretSetMs), 10, 64)
		by, _ := strconv.ParseUint(rec.Get(layout.SecretBy), 10, 32)
		s := domain.Secret{Name: strings.TrimPrefix(key, layout.SecretPrefix), Source: domain.SecretSealed, SetMs: set, By: domain.ActorID(by)}
		if err := opens(s.Name, sealedIn(rec)); err != nil {
			s.Locked = err.Error()
		}
		list = append(list, s)
	})
	return list, err
}
