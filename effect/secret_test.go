package effect_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
)

func TestSecretSources(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Setenv("RAMET_TEST_SECRET", " from the environment\n")
	t.Setenv("RAMET_TEST_EMPTY", "")
	for _, tc := range []struct {
		name   string
		source effect.SecretSource
		want   string
		err    string
		warns  bool
	}{
		{"the environment", effect.SecretSource{Env: "RAMET_TEST_SECRET"}, "from the environment", "", false},
		{"nothing there", effect.SecretSource{Env: "RAMET_TEST_EMPTY"}, "", "environment variable RAMET_TEST_EMPTY is empty", false},
		{"a file", effect.SecretSource{File: file("a", "from a file\n", 0o600)}, "from a file", "", false},
		{"a file of the group", effect.SecretSource{File: file("g", "from a group", 0o640)}, "from a group", "", true},
		{"a file for all", effect.SecretSource{File: file("o", "s3cret", 0o644)}, "", "is open to all users of the machine: chmod 600", false},
		{"a file that is not there", effect.SecretSource{File: filepath.Join(dir, "none")}, "", "no such file", false},
		{"a folder", effect.SecretSource{File: dir}, "", "no regular file", false},
		{"a file that is too large", effect.SecretSource{File: file("l", strings.Repeat("x", 65<<10), 0o600)}, "", "larger than 64 KiB", false},
		{"a command", effect.SecretSource{Command: []string{"printf", "%s\n", "from a command"}}, "from a command", "", false},
		{"a command that fails", effect.SecretSource{Command: []string{"sh", "-c", "echo s3cret; echo s3cret >&2; exit 3"}}, "", "command sh: exit status 3", false},
		{"a command that is not there", effect.SecretSource{Command: []string{"no-such-program"}}, "", "no-such-program", false},
		{"a command that prints for ever", effect.SecretSource{Command: []string{"yes"}}, "", "command yes", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var log strings.Builder
			s, err := effect.NewSecrets(map[string]effect.SecretSource{"S": tc.source}, slog.New(slog.NewTextHandler(&log, nil)))
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.Read(t.Context(), "S")
			if got != tc.want || (err == nil) != (tc.err == "") {
				t.Fatalf("got %q, %v, want %q, %q", got, err, tc.want, tc.err)
			}
			if err != nil && (!errors.Is(err, domain.ErrUnavailable) || !strings.Contains(err.Error(), tc.err) ||
				!strings.HasPrefix(err.Error(), "secret S: ") || strings.Contains(err.Error(), "s3cret")) {
				t.Errorf("got %v, want one with %q", err, tc.err)
			}
			if warned := log.Len() > 0; warned != tc.warns {
				t.Errorf("got the log %q", log.String())
			}
		})
	}
}

func TestSecretsThatCannotBe(t *testing.T) {
	for _, tc := range []struct {
		name    string
		sources map[string]effect.SecretSource
	}{
		{"no source", map[string]effect.SecretSource{"S": {}}},
		{"two sources", map[string]effect.SecretSource{"S": {Env: "A", File: "/b"}}},
		{"a name that ends the reference", map[string]effect.SecretSource{"a}b": {Env: "A"}}},
		{"a command without a program", map[string]effect.SecretSource{"S": {Command: []string{""}}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := effect.NewSecrets(tc.sources, nil); !errors.Is(err, domain.ErrInvalid) {
				t.Errorf("got %v, want invalid", err)
			}
		})
	}
	var none *effect.Secrets
	if _, err := none.Read(t.Context(), "S"); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("got %v of no secrets, want invalid", err)
	}
}

func TestAChangedSecretIsUsedSoon(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("the first")
	synctest.Test(t, func(t *testing.T) {
		s, err := effect.NewSecrets(map[string]effect.SecretSource{"S": {File: path}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		text := effect.MustText("token ${secret:S}!")
		read := func(want string) {
			t.Helper()
			if got, err := text.Read(context.Background(), s); err != nil || got != want {
				t.Errorf("got %q, %v, want %q", got, err, want)
			}
		}
		read("token the first!")
		write("the second")
		read("token the first!")
		time.Sleep(11 * time.Second)
		read("token the second!")
		// Answers may be late: both are hidden.
		if got := s.Redact("the first, then the second"); got != "(hidden), then (hidden)" {
			t.Errorf("got %q", got)
		}
	})
}

// TestASecretInUseStaysHidden is about one that stays the same beside another that
// changes all the time, as tokens do.
func TestASecretInUseStaysHidden(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	t.Setenv("RAMET_TEST_SECRET", "hunter22")
	synctest.Test(t, func(t *testing.T) {
		s, err := effect.NewSecrets(map[string]effect.SecretSource{"TOKEN": {File: path}, "S": {Env: "RAMET_TEST_SECRET"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 300 {
			if err := os.WriteFile(path, fmt.Appendf(nil, "token-%06d", i), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"TOKEN", "S"} {
				if _, err := s.Read(t.Context(), name); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(11 * time.Second)
		}
		if got := s.Redact("hunter22 token-000299"); got != "(hidden) (hidden)" {
			t.Errorf("got %q", got)
		}
	})
}

func TestRedaction(t *testing.T) {
	const secret = `p"a<s>s w/rd&%`
	s, err := effect.NewSecrets(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Hide(secret)
	s.Hide("longer-than")
	s.Hide("longer-than-that")
	s.Hide("abc") // would be found anywhere
	for _, tc := range []struct{ name, in, want string }{
		{"as it is", "x " + secret + " y", "x (hidden) y"},
		{"in JSON", `{"a":"p\"a\u003cs\u003es w/rd\u0026%"}`, `{"a":"(hidden)"}`},
		{"in JSON that is not made for HTML", `{"a":"p\"a<s>s w/rd&%"}`, `{"a":"(hidden)"}`},
		{"in a query", "?a=p%22a%3Cs%3Es+w%2Frd%26%25", "?a=(hidden)"},
		{"in a path", "/p%22a%3Cs%3Es%20w%2Frd&%25", "/(hidden)"},
		{"one that begins with another", "longer-than-that longer-than", "(hidden) (hidden)"},
		{"a short one stays", "abc", "abc"},
		{"nothing there", "nothing", "nothing"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := s.Redact(tc.in); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
	for i := range 5000 { // what is remembered is bounded
		s.Hide(fmt.Sprintf("secret-%06d", i))
	}
	if got := s.Redact("secret-004999 secret-000000"); got != "(hidden) secret-000000" {
		t.Errorf("got %q", got)
	}
}

func TestTexts(t *testing.T) {
	for _, tc := range []struct{ name, text, err string }{
		{"plain", "hello $ {x} ${y}", ""},
		{"a secret", "${secret:A}", ""},
		{"several", "a ${secret:A} b ${secret:B_2}c", ""},
		{"an empty name", "${secret:}", `secret "": want a letter`},
		{"a name that cannot be", "${secret:a b}", `secret "a b": want`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := effect.ParseText(tc.text)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("got %v, want %q", err, tc.err)
				}
				return
			}
			if err != nil || got.String() != tc.text {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
	t.Setenv("RAMET_TEST_SECRET", "hunter22")
	// A command for one secret is not handed the others.
	both, err := effect.NewSecrets(map[string]effect.SecretSource{"S": {Env: "RAMET_TEST_SECRET"}, "E": {Command: []string{"env"}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := both.Read(t.Context(), "E"); err != nil || strings.Contains(got, "hunter22") || !strings.Contains(got, "PATH=") {
		t.Errorf("the environment of a command: got %q, %v", got, err)
	}
	s, _ := effect.NewSecrets(map[string]effect.SecretSource{"S": {Env: "RAMET_TEST_SECRET"}}, nil)
	text := effect.MustText("a ${secret:S}")
	if _, err := text.Read(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%v %+v %#v %s", text, text, text, slog.AnyValue(text).Resolve()); strings.Contains(got, "hunter22") {
		t.Errorf("a printed text shows its secret: %s", got)
	}
}
