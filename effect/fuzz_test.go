package effect_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
)

// FuzzText: an option is the operator's text with the values of the secrets that he
// named in it, and of no other. Printed, and written to YAML and read again, it is
// as he wrote it.
func FuzzText(f *testing.F) {
	for _, s := range []string{"", "a ${secret:A} b ${secret:A}c", "${secret:${secret:A}}", "${secret:A", "$${secret:A}", "${secret:}",
		"${SECRET:A}", "${secret:A}}", "{secret: A}", "${secret:\n}", "null", "1", "~"} {
		f.Add(s)
	}
	path := filepath.Join(f.TempDir(), "s")
	const value = "${secret:B}" // as hostile as a value can be
	if err := os.WriteFile(path, []byte(value), 0o600); err != nil {
		f.Fatal(err)
	}
	secrets, err := effect.NewSecrets(map[string]effect.SecretSource{"A": {File: path}}, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text, err := effect.ParseText(s)
		if err != nil {
			if !errors.Is(err, domain.ErrInvalid) || !strings.Contains(s, "${secret:") {
				t.Errorf("%q: got %v", s, err)
			}
			return
		}
		if text.String() != s || text.IsZero() != (s == "") {
			t.Errorf("%q is printed as %q", s, text)
		}
		var again effect.Text
		if written, err := yaml.Marshal(text); err == nil && strings.ToValidUTF8(s, "") == s {
			if err := yaml.Unmarshal(written, &again); err != nil || again.String() != s {
				t.Errorf("%q is written as %q, and read as %q, %v", s, written, again, err)
			}
		}
		names := text.Secrets()
		known := !slices.ContainsFunc(names, func(name string) bool { return name != "A" })
		got, err := text.Read(context.Background(), secrets)
		if known != (err == nil) || known && got != strings.ReplaceAll(s, "${secret:A}", value) {
			t.Errorf("%q with the secrets %q is %q, %v", s, names, got, err)
		}
	})
}

// FuzzRedact: no secret stands in what comes out, in any form in which one may come
// back, whatever stands around it and whatever the others are.
func FuzzRedact(f *testing.F) {
	for _, s := range []string{"hunter2", `p"a<s>s w/rd&%`, "aaaa", "éé\u2028", "\x00\xff\x01\x02", "(hidden)", "abcd"} {
		f.Add(s, "hunter22", "x", "y")
		f.Add(s, "aaaaaa", "a", "aa")
	}
	f.Fuzz(func(t *testing.T, secret, other, before, after string) {
		if len(secret) < 4 {
			return
		}
		s, err := effect.NewSecrets(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		s.Hide(other)
		s.Hide(secret)
		inJSON, err := json.Marshal(secret)
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret), string(inJSON[1 : len(inJSON)-1])} {
			for piece := range strings.SplitSeq(s.Redact(before+form+after), "(hidden)") {
				if strings.Contains(piece, secret) || strings.Contains(piece, form) {
					t.Errorf("%q beside %q: %q leaves %q", secret, other, before+form+after, piece)
				}
			}
		}
	})
}
