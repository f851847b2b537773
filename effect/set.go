package effect

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/intake"
)

// MaxEffects bounds the effects of a node: each has a consumer.
const MaxEffects = 1_000

// Set is the effects of a config, opened.
type Set struct {
	effects map[string]*opened
	secrets *Secrets

	mu     sync.Mutex
	owned  bool
	holds  int // the owner's, and one of each who uses it
	closed bool
}

// opened is one effect.
type opened struct {
	Definition // with Target filled in
	provider   Provider
}

// OpenSet opens the effects of definitions with the kinds there are. Its owner
// closes it: a worker that it is given to.
//
// Errors: [domain.ErrInvalid] naming the effect and its field.
func OpenSet(definitions []Definition, kinds map[domain.EffectKind]Open, host Host) (*Set, error) {
	if len(definitions) > MaxEffects {
		return nil, domain.Invalidf("there are %d effects, the limit is %d", len(definitions), MaxEffects)
	}
	s := &Set{effects: map[string]*opened{}, secrets: host.Secrets, owned: true, holds: 1}
	for _, d := range definitions {
		if s.effects[d.Name] != nil {
			_ = s.Close()
			return nil, domain.Invalidf("effect %q is there twice", d.Name)
		}
		e, err := open(d, kinds, host)
		if err != nil {
			_ = s.Close()
			return nil, err
		}
		s.effects[e.Name] = e
	}
	return s, nil
}

func open(d Definition, kinds map[domain.EffectKind]Open, host Host) (*opened, error) {
	d, err := d.Filled()
	if err != nil {
		return nil, err
	}
	openKind := kinds[d.Kind]
	if openKind == nil {
		words := make([]string, 0, len(kinds))
		for k := range kinds {
			words = append(words, string(k))
		}
		slices.Sort(words)
		return nil, d.Errorf("kind", "is %q: want %s", d.Kind, strings.Join(words, ", "))
	}
	if err := secretsKnown(d, d.Options, host.Secrets); err != nil {
		return nil, err
	}
	p, err := openKind(d, host)
	if err != nil {
		return nil, err
	}
	d.Target = domain.PlainText(cmp.Or(d.Target, p.Target(), d.Name), maxTarget)
	return &opened{d, p}, nil
}

// secretsKnown looks for secrets in options, wherever they stand.
func secretsKnown(d Definition, options any, secrets *Secrets) error {
	switch v := options.(type) {
	case map[string]any:
		if name, ok := v["secret"].(string); ok && len(v) == 1 {
			return d.secretKnown(name, secrets)
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if err := secretsKnown(d, v[name], secrets); err != nil {
				return err
			}
		}
	case []any:
		for _, one := range v {
			if err := secretsKnown(d, one, secrets); err != nil {
				return err
			}
		}
	case string:
		for _, m := range secretRef.FindAllStringSubmatch(v, -1) {
			if err := d.secretKnown(m[1], secrets); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d Definition) secretKnown(name string, secrets *Secrets) error {
	if err := secrets.Known(name); err != nil {
		return fmt.Errorf("effect %q: %w", d.Name, err)
	}
	return nil
}

// Names are the effects there are.
func (s *Set) Names() []string { return slices.Sorted(maps.Keys(s.effects)) }

// hold keeps the set open until release. The caller knows that it is open.
func (s *Set) hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds++
}

// release gives up a hold. The last one closes the providers.
func (s *Set) release() error {
	s.mu.Lock()
	s.holds--
	last := s.holds == 0 && !s.closed // calls may come after the end of a worker
	s.closed = s.closed || last
	s.mu.Unlock()
	if !last {
		return nil
	}
	var errs []error
	for _, name := range s.Names() {
		if err := s.effects[name].provider.Close(); err != nil {
			errs = append(errs, fmt.Errorf("close effect %q: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// Close is the owner's: providers are closed when nobody uses the set any more,
// which may be later. A second Close does nothing.
func (s *Set) Close() error {
	s.mu.Lock()
	owned := s.owned
	s.owned = false
	s.mu.Unlock()
	if !owned {
		return nil
	}
	return s.release()
}

// ParseDefinitions reads definitions from YAML: one, a list, or several
// documents of either. where names the text in errors.
//
// Errors: [domain.ErrInvalid].
func ParseDefinitions(where string, text []byte) ([]Definition, error) {
	docs, err := intake.ParseAll(text, intake.Limits{Bytes: maxDefinitions})
	if err != nil {
		return nil, domain.Invalidf("%s: %v", where, err)
	}
	var list []Definition
	for _, doc := range docs {
		err := intake.Unique(doc)
		if err == nil && doc.Content[0].Kind == yaml.SequenceNode {
			var some []Definition
			err = doc.Decode(&some)
			list = append(list, some...)
		} else if err == nil {
			var one Definition
			err = doc.Decode(&one)
			list = append(list, one)
		}
		if err != nil {
			return nil, domain.Invalidf("%s: %s", where, plain(err))
		}
	}
	return list, nil
}

// maxDefinitions bounds a text of definitions in bytes.
const maxDefinitions = 4 << 20

// ReadDefinitions reads the files of a folder that end in .yaml or .yml, in
// the order of their names.
//
// Errors: those of [domain.FileErrorf]; [domain.ErrInvalid] naming the file.
func ReadDefinitions(dir string) ([]Definition, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, domain.FileErrorf(err, "folder of effects: %v", err)
	}
	var list []Definition
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if ext := filepath.Ext(path); ext != ".yaml" && ext != ".yml" {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, domain.FileErrorf(err, "file of effects: %v", err)
		}
		some, err := ParseDefinitions(path, text)
		if err != nil {
			return nil, err
		}
		list = append(list, some...)
	}
	return list, nil
}
