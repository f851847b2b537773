package effect

import (
	"bytes"
	"cmp"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/ramet-run/ramet/domain"
)

// What is chosen where a [Definition] says nothing.
const (
	DefaultTimeout      = 30 * time.Second
	DefaultAttempts     = 5
	DefaultBackoff      = time.Second
	DefaultMaxBackoff   = 5 * time.Minute
	DefaultMaxInFlight  = 16
	DefaultBreaker      = 5
	DefaultBreakerPause = 10 * time.Second
	DefaultGiveUp       = 24 * time.Hour
)

// The same for kinds that wait for our own work.
const (
	ownTimeout     = 24 * time.Hour
	ownMaxInFlight = 1_000
	maxOwnTimeout  = 30 * 24 * time.Hour
)

// Limits of a [Definition].
const (
	MaxTimeout  = 24 * time.Hour // of an attempt; see maxOwnTimeout
	MaxAttempts = 1_000
	maxInFlight = 10_000
	maxTarget   = domain.MaxBanName // a target can be banned
)

// Definition is one effect as the operator wrote it: the part that all kinds
// have. What a kind has beside it is that driver's.
type Definition struct {
	// Name is 1 to 64 letters, digits, '_' and '-'; a letter or '_' first.
	Name string            `yaml:"name"`
	Kind domain.EffectKind `yaml:"kind"`
	// Summary is for people.
	Summary string `yaml:"summary"`
	// Target names what breaker and cap are kept for. Default: what the kind
	// makes of its address, so that effects on one server share them.
	Target string `yaml:"target"`
	// Contexts that may use it. None: all.
	Contexts []domain.TenantID `yaml:"contexts"`
	// Timeout bounds one attempt. Default: 30s; 24h for job and flow.
	Timeout time.Duration `yaml:"timeout"`
	// Attempts is how often it is tried. Default: 5. Backoff is the first pause
	// between two, doubled each time up to MaxBackoff. Defaults: 1s, 5m.
	Attempts   int           `yaml:"attempts"`
	Backoff    time.Duration `yaml:"backoff"`
	MaxBackoff time.Duration `yaml:"max_backoff"`
	// GiveUp is how long after its first failure a command is given up on,
	// however few its attempts: a target whose breaker is open is not asked.
	// Default: 24h.
	GiveUp time.Duration `yaml:"give_up"`
	// MaxInFlight is how many calls to the target are made at once by this
	// node. Default: 16; 1,000 for job and flow. Effects on one target share
	// the least of theirs.
	MaxInFlight int `yaml:"max_in_flight"`
	// Breaker opens after so many failures in a row, and lets one call through
	// after BreakerPause. Defaults: 5, 10s.
	Breaker      int           `yaml:"breaker"`
	BreakerPause time.Duration `yaml:"breaker_pause"`
	// Options are those of the kind.
	Options map[string]any `yaml:",inline"`
}

// Filled returns d with its defaults.
//
// Errors: [domain.ErrInvalid] naming the field and what would be right.
func (d Definition) Filled() (Definition, error) {
	if d.Kind.OnlyWaits() {
		d.Timeout = cmp.Or(d.Timeout, ownTimeout)
		d.MaxInFlight = cmp.Or(d.MaxInFlight, ownMaxInFlight)
	}
	d.Timeout = cmp.Or(d.Timeout, DefaultTimeout)
	d.Attempts = cmp.Or(d.Attempts, DefaultAttempts)
	d.Backoff = cmp.Or(d.Backoff, DefaultBackoff)
	d.MaxBackoff = cmp.Or(d.MaxBackoff, max(DefaultMaxBackoff, d.Backoff))
	d.GiveUp = cmp.Or(d.GiveUp, DefaultGiveUp)
	d.MaxInFlight = cmp.Or(d.MaxInFlight, DefaultMaxInFlight)
	d.Breaker = cmp.Or(d.Breaker, DefaultBreaker)
	d.BreakerPause = cmp.Or(d.BreakerPause, DefaultBreakerPause)
	return d, d.validate()
}

func (d Definition) validate() error {
	if err := domain.ValidateName("effect", d.Name); err != nil {
		return err
	}
	longest := MaxTimeout
	if d.Kind.OnlyWaits() {
		longest = maxOwnTimeout
	}
	for _, f := range []struct {
		field       string
		value, most time.Duration
	}{
		{"timeout", d.Timeout, longest},
		{"backoff", d.Backoff, 24 * time.Hour},
		{"max_backoff", d.MaxBackoff, 24 * time.Hour},
		{"give_up", d.GiveUp, 30 * 24 * time.Hour},
		{"breaker_pause", d.BreakerPause, 24 * time.Hour},
	} {
		if f.value < time.Millisecond || f.value > f.most {
			return d.Errorf(f.field, "is %s: want a duration of 1ms to %s, such as 30s", f.value, f.most)
		}
	}
	for _, f := range []struct {
		field       string
		value, most int
	}{{"attempts", d.Attempts, MaxAttempts}, {"max_in_flight", d.MaxInFlight, maxInFlight}, {"breaker", d.Breaker, 1_000_000}} {
		if f.value < 1 || f.value > f.most {
			return d.Errorf(f.field, "is %d: want 1 to %d", f.value, f.most)
		}
	}
	switch {
	case d.MaxBackoff < d.Backoff:
		return d.Errorf("max_backoff", "is %s: want at least the backoff, which is %s", d.MaxBackoff, d.Backoff)
	case len(d.Target) > maxTarget || domain.PlainText(d.Target, maxTarget) != d.Target:
		return d.Errorf("target", "want up to %d bytes of text", maxTarget)
	case slices.Contains(d.Contexts, 0):
		return d.Errorf("contexts", "there is no context 0")
	}
	return nil
}

// Errorf is an error about a field of the definition.
//
// It is a [domain.ErrInvalid].
func (d Definition) Errorf(field, format string, args ...any) error {
	return domain.Invalidf("effect %q: %s "+format, append([]any{d.Name, field}, args...)...)
}

// Allows says whether a context may use it.
func (d Definition) Allows(t domain.TenantID) bool {
	return len(d.Contexts) == 0 || slices.Contains(d.Contexts, t)
}

// Decode reads the options of the kind into a pointer to a struct with yaml
// tags, whose defaults it may have already. Options that the struct has not are
// refused.
//
// Errors: [domain.ErrInvalid] naming the option and what would be right.
func (d Definition) Decode(options any) error {
	known := yamlFields(reflect.TypeOf(options).Elem())
	for _, name := range slices.Sorted(maps.Keys(d.Options)) {
		if slices.Contains(known, name) {
			continue
		}
		hint := ""
		if near := domain.Nearest(name, append(known, yamlFields(reflect.TypeFor[Definition]())...)); near != "" {
			hint = "; did you mean " + near + "?"
		}
		return domain.Invalidf("effect %q: unknown field %q: kind %s has %s%s", d.Name, name, d.Kind, strings.Join(known, ", "), hint)
	}
	// One by one, so that errors can name them.
	for _, name := range slices.Sorted(maps.Keys(d.Options)) {
		text, err := yaml.Marshal(map[string]any{name: d.Options[name]})
		if err != nil {
			return d.Errorf(name, "cannot be read: %v", err)
		}
		dec := yaml.NewDecoder(bytes.NewReader(text))
		dec.KnownFields(true)
		if err := dec.Decode(options); err != nil {
			return d.Errorf(name+":", "%s", plain(err))
		}
	}
	return nil
}

// yamlFields are the names of a struct's fields in YAML.
func yamlFields(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		f := t.Field(i)
		name, flags, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case strings.Contains(flags, "inline") && f.Type.Kind() == reflect.Struct:
			names = append(names, yamlFields(f.Type)...)
		case strings.Contains(flags, "inline"):
		default:
			names = append(names, cmp.Or(name, strings.ToLower(f.Name)))
		}
	}
	return names
}

var (
	unknownField = regexp.MustCompile(`field (\S+) not found in type \S+`)
	// lineNumber is that of the options written anew: it is none of the file's.
	lineNumber = regexp.MustCompile(`line \d+: `)
	goType     = regexp.MustCompile(`into \S*\.\S+`)
	plainWords = strings.NewReplacer("time.Duration", "a duration such as 30s", "!!seq", "a list", "!!map", "fields")
	valueType  = regexp.MustCompile(`!!\w+ `)
)

// plain says in one line, without words of Go, what the YAML library found.
func plain(err error) string {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	text = strings.TrimPrefix(text, "unmarshal errors:\n")
	text = unknownField.ReplaceAllString(text, `unknown field "$1"`)
	text = goType.ReplaceAllString(valueType.ReplaceAllString(plainWords.Replace(lineNumber.ReplaceAllString(text, "")), ""), "into fields")
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "; ")
}
