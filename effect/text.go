package effect

import (
	"context"
	"log/slog"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ramet-run/ramet/domain"
)

// Text is an option that may have secrets in it, as the operator wrote it:
//
//	token: {secret: SHOP_TOKEN}
//	authorization: Bearer ${secret:SHOP_TOKEN}
//
// It is read at each use, so that a secret can be changed. Printed, it shows
// the names of its secrets.
type Text struct {
	parts []textPart
}

// textPart is a piece of text, or the name of a secret.
type textPart struct{ plain, secret string }

// secretRef is how a secret is named within a text.
var secretRef = regexp.MustCompile(`\$\{secret:([^}]*)\}`)

// ParseText reads a text with ${secret:NAME} in it.
//
// Errors: [domain.ErrInvalid] for a name that none can have.
func ParseText(s string) (Text, error) {
	var t Text
	at := 0
	for _, m := range secretRef.FindAllStringSubmatchIndex(s, -1) {
		name := s[m[2]:m[3]]
		if err := domain.ValidateName("secret", name); err != nil {
			return Text{}, err
		}
		t.add(textPart{plain: s[at:m[0]]})
		t.add(textPart{secret: name})
		at = m[1]
	}
	t.add(textPart{plain: s[at:]})
	return t, nil
}

// MustText is ParseText for what is right.
func MustText(s string) Text {
	t, err := ParseText(s)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return t
}

func (t *Text) add(p textPart) {
	if p != (textPart{}) {
		t.parts = append(t.parts, p)
	}
}

// UnmarshalYAML reads a text, or {secret: NAME}.
func (t *Text) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.MappingNode {
		var ref struct {
			Secret string `yaml:"secret"`
		}
		if err := node.Decode(&ref); err != nil || len(node.Content) != 2 || ref.Secret == "" {
			return domain.Invalidf("want a text, or {secret: NAME}")
		}
		if err := domain.ValidateName("secret", ref.Secret); err != nil {
			return err
		}
		*t = Text{parts: []textPart{{secret: ref.Secret}}}
		return nil
	}
	if node.Kind != yaml.ScalarNode || node.ShortTag() != "!!str" {
		return domain.Invalidf("%q: want a text (put it in quotes), or {secret: NAME}", domain.PlainText(node.Value, 64))
	}
	parsed, err := ParseText(node.Value)
	*t = parsed
	return err
}

// IsZero says whether there is none.
func (t Text) IsZero() bool { return len(t.parts) == 0 }

// Secrets are the names of those in it.
func (t Text) Secrets() []string {
	var names []string
	for _, p := range t.parts {
		if p.secret != "" {
			names = append(names, p.secret)
		}
	}
	return names
}

// Read puts the secrets in.
//
// Errors: [domain.ErrUnavailable] for a secret that cannot be had now,
// [domain.ErrNotFound] for one that there is not.
func (t Text) Read(ctx context.Context, from *Secrets) (string, error) {
	if len(t.parts) == 1 && t.parts[0].secret == "" {
		return t.parts[0].plain, nil
	}
	var b strings.Builder
	for _, p := range t.parts {
		b.WriteString(p.plain)
		if p.secret == "" {
			continue
		}
		value, err := from.Read(ctx, p.secret)
		if err != nil {
			return "", err
		}
		b.WriteString(value)
	}
	return b.String(), nil
}

// String shows the names of secrets.
func (t Text) String() string {
	var b strings.Builder
	for _, p := range t.parts {
		if p.secret != "" {
			b.WriteString("${secret:" + p.secret + "}")
		} else {
			b.WriteString(p.plain)
		}
	}
	return b.String()
}

// MarshalYAML writes what UnmarshalYAML reads.
func (t Text) MarshalYAML() (any, error) { return t.String(), nil }

// MarshalText is for JSON.
func (t Text) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// LogValue is for logs.
func (t Text) LogValue() slog.Value { return slog.StringValue(t.String()) }
