package effect

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/hide"
	"github.com/ramet-run/ramet/secret"
)

const (
	// secretFresh is how long a secret is taken as read: a changed one is used
	// soon, and a command is not run for each of a thousand calls.
	secretFresh = 10 * time.Second
	// mostHidden bounds how many values are looked for in what goes out; those
	// read last are kept.
	mostHidden = 200
)

// SecretSource says where a secret comes from: one of the three.
type SecretSource struct {
	Env string `yaml:"env"` // an environment variable of the node
	// File is a path. The file may not be readable by all users of the machine.
	File string `yaml:"file"`
	// Command prints it. Only its output counts.
	Command []string `yaml:"command"`
}

// String says it for people.
func (s SecretSource) String() string {
	switch {
	case s.Env != "":
		return "environment variable " + s.Env
	case s.File != "":
		return "file " + s.File
	case len(s.Command) > 0:
		return "command " + s.Command[0]
	}
	return "nowhere"
}

func (s SecretSource) validate(name string) error {
	n := 0
	for _, there := range []bool{s.Env != "", s.File != "", len(s.Command) > 0} {
		if there {
			n++
		}
	}
	if n != 1 || len(s.Command) > 0 && s.Command[0] == "" {
		return domain.Invalidf("secret %s: want one of env: VARIABLE, file: PATH, command: [PROGRAM, ARGUMENT, ...]", name)
	}
	return nil
}

// Secrets are what the operator's sources have. They are read when they are
// used, kept for seconds, and hidden in what goes out. A nil *Secrets has none.
// It is safe for concurrent use.
type Secrets struct {
	log  *slog.Logger
	told sync.Map // files that were warned of

	mu      sync.Mutex
	sources map[string]SecretSource
	read    map[string]*readSecret
	// hidden are values in the order in which they were read, and hide takes
	// them out of a text; nil: it is to be made.
	hidden []string
	hide   atomic.Pointer[strings.Replacer]
}

// readSecret is one secret as it was read last.
type readSecret struct {
	mu    sync.Mutex // so that one goroutine reads it
	value string
	at    time.Time
}

// NewSecrets returns secrets of these sources by name.
//
// Errors: [domain.ErrInvalid].
func NewSecrets(sources map[string]SecretSource, log *slog.Logger) (*Secrets, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Secrets{log: log}
	return s, s.Use(sources)
}

// Use takes other sources in place of those before.
//
// Errors: [domain.ErrInvalid]; those before stay then.
func (s *Secrets) Use(sources map[string]SecretSource) error {
	for name, source := range sources {
		if err := domain.ValidateName("secret", name); err != nil {
			return err
		}
		if err := source.validate(name); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sources, s.read = maps.Clone(sources), map[string]*readSecret{}
	return nil
}

// Names are those there are.
func (s *Secrets) Names() []string {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.sources))
}

// Known returns an error where there is no secret of that name.
//
// Errors: [domain.ErrInvalid].
func (s *Secrets) Known(name string) error {
	names := s.Names()
	if slices.Contains(names, name) {
		return nil
	}
	hint := ""
	if near := domain.Nearest(name, names); near != "" {
		hint = "; did you mean " + near + "?"
	}
	return domain.Invalidf("secret %s: no such one under secrets in the config file%s", name, hint)
}

// Read returns a secret: without the spaces and line ends around it.
//
// Errors: [domain.ErrUnavailable] where its source has it not now,
// [domain.ErrInvalid] where there is no source of that name.
func (s *Secrets) Read(ctx context.Context, name string) (string, error) {
	if err := s.Known(name); err != nil {
		return "", err
	}
	s.mu.Lock()
	source := s.sources[name]
	r := s.read[name]
	if r == nil {
		r = &readSecret{}
		s.read[name] = r
	}
	s.mu.Unlock()

	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.at.IsZero() && time.Since(r.at) < secretFresh {
		return r.value, nil
	}
	value, err := s.load(ctx, source)
	if err != nil {
		return "", domain.Unavailablef("secret %s: %v", name, err)
	}
	s.Hide(value)
	r.value, r.at = value, time.Now()
	return value, nil
}

// load asks the source. Errors do not say what it printed.
func (s *Secrets) load(ctx context.Context, source SecretSource) (value string, err error) {
	switch {
	case source.Env != "":
		value = os.Getenv(source.Env)
	case source.File != "":
		value, err = s.loadFile(source.File)
	default:
		value, err = secret.Run(ctx, source.Command, s.environment())
	}
	if err != nil {
		return "", err
	}
	if value = strings.TrimSpace(value); value == "" {
		return "", errors.New(source.String() + " is empty")
	}
	return value, nil
}

// environment is the node's for a command that prints one secret: without those
// that are variables.
func (s *Secrets) environment() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := map[string]bool{}
	for _, source := range s.sources {
		own[source.Env] = source.Env != ""
	}
	return slices.DeleteFunc(os.Environ(), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return own[name] || strings.HasPrefix(name, secret.EnvironmentPrefix)
	})
}

func (s *Secrets) loadFile(path string) (string, error) {
	return secret.ReadFile(path, func(mode fs.FileMode) {
		if _, told := s.told.LoadOrStore(path, true); !told {
			s.log.Warn("file with a secret is open to its group", "file", path, "mode", mode.String())
		}
	})
}

// Hide lets Redact take out a value that is as secret as what it was made of,
// such as user and password in base64.
func (s *Secrets) Hide(value string) {
	if s == nil || len(value) < hide.Least {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.hidden, value); i >= 0 { // one that is in use outlasts those that are not any more
		s.hidden = append(slices.Delete(s.hidden, i, i+1), value)
		return
	}
	s.hidden = append(s.hidden, value)
	if over := len(s.hidden) - mostHidden; over > 0 {
		s.hidden = slices.Delete(s.hidden, 0, over)
	}
	s.hide.Store(nil)
}

// replacer takes the values out of a text, in each of their forms.
func (s *Secrets) replacer() *strings.Replacer {
	if r := s.hide.Load(); r != nil {
		return r
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// Longer ones first: a secret may begin with another.
	longest := slices.Clone(s.hidden)
	slices.SortStableFunc(longest, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, v := range longest {
		for _, form := range hide.Forms(v) {
			pairs = append(pairs, form, "(hidden)")
		}
	}
	r := strings.NewReplacer(pairs...)
	s.hide.Store(r)
	return r
}

// Redact takes the secrets that were read out of a text.
func (s *Secrets) Redact(text string) string {
	if s == nil {
		return text
	}
	return s.replacer().Replace(text)
}
