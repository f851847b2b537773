package effect_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
)

// fakeOptions are those of a kind that is not there.
type fakeOptions struct {
	URL    string                 `yaml:"url"`
	Token  effect.Text            `yaml:"token"`
	Wait   time.Duration          `yaml:"wait"`
	Header map[string]effect.Text `yaml:"header"`
	Auth   struct {
		User string `yaml:"user"`
	} `yaml:"auth"`
}

// openFake opens the definitions of a text with the kind fake.
func openFake(text string, secrets map[string]effect.SecretSource, got *fakeOptions) error {
	list, err := effect.ParseDefinitions("effects.yaml", []byte(text))
	if err != nil {
		return err
	}
	store, err := effect.NewSecrets(secrets, nil)
	if err != nil {
		return err
	}
	set, err := effect.OpenSet(list, map[domain.EffectKind]effect.Open{"fake": func(d effect.Definition, _ effect.Host) (effect.Provider, error) {
		return newFake(), d.Decode(got)
	}}, effect.Host{Secrets: store})
	if err != nil {
		return err
	}
	return set.Close()
}

func TestOptionsOfAKind(t *testing.T) {
	var got fakeOptions
	err := openFake(`
name: pay
kind: fake
timeout: 3s
url: http://x
token: {secret: TOKEN}
wait: 5s
header: {x-key: "a ${secret:TOKEN} b"}
auth: {user: me}
`, map[string]effect.SecretSource{"TOKEN": {Env: "X"}}, &got)
	if err != nil {
		t.Fatal(err)
	}
	if got.URL != "http://x" || got.Wait != 5*time.Second || got.Auth.User != "me" || got.Token.String() != "${secret:TOKEN}" ||
		got.Header["x-key"].String() != "a ${secret:TOKEN} b" {
		t.Errorf("got %+v", got)
	}
	if diff := cmp.Diff([]string{"TOKEN"}, got.Header["x-key"].Secrets()); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsWrongWithDefinitions(t *testing.T) {
	for _, tc := range []struct {
		name, text, want string
	}{
		{"no name", "kind: fake", `effect "": want a letter`},
		{"a name that is a subject", "name: a.b\nkind: fake", `effect "a.b": want a letter`},
		{"no kind", "name: pay", `effect "pay": kind is "": want fake`},
		{"another kind", "name: pay\nkind: pigeon", `effect "pay": kind is "pigeon": want fake`},
		{"two of a name", "[{name: pay, kind: fake}, {name: pay, kind: fake}]", `effect "pay" is there twice`},
		{"an option that there is not", "name: pay\nkind: fake\nuri: x",
			`effect "pay": unknown field "uri": kind fake has url, token, wait, header, auth; did you mean url?`},
		{"a field with a slip", "name: pay\nkind: fake\ntimout: 3s", `did you mean timeout?`},
		{"an option within an option", "name: pay\nkind: fake\nauth: {usr: x}", `effect "pay": auth: unknown field "usr"`},
		{"an option of another type", "name: pay\nkind: fake\nwait: soon", `effect "pay": wait: `},
		{"a secret that there is not", "name: pay\nkind: fake\ntoken: {secret: TOKN}",
			`effect "pay": secret TOKN: no such one under secrets in the config file; did you mean TOKEN?`},
		{"one within a text", "name: pay\nkind: fake\nheader: {a: 'x ${secret:NONE}'}", `secret NONE: no such one`},
		{"a number for a text", "name: pay\nkind: fake\ntoken: 0123", `effect "pay": token: "83": want a text (put it in quotes), or {secret: NAME}`},
		{"fields for a text", "name: pay\nkind: fake\ntoken: {secrt: TOKEN}", `effect "pay": token: want a text, or {secret: NAME}`},
		{"a time that is none", "name: pay\nkind: fake\ntimeout: fast", `effects.yaml: `},
		{"too long a time", "name: pay\nkind: fake\ntimeout: 25h", `effect "pay": timeout is 25h0m0s: want a duration of 1ms to 24h0m0s`},
		{"no attempts", "name: pay\nkind: fake\nattempts: -1", `effect "pay": attempts is -1: want 1 to 1000`},
		{"pauses that shrink", "name: pay\nkind: fake\nbackoff: 1m\nmax_backoff: 1s", `effect "pay": max_backoff is 1s: want at least the backoff, which is 1m0s`},
		{"a context that there is not", "name: pay\nkind: fake\ncontexts: [0]", `effect "pay": contexts there is no context 0`},
		{"no YAML", "name: [", `effects.yaml: `},
		{"a text", "pay", `effects.yaml: `},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := openFake(tc.text, map[string]effect.SecretSource{"TOKEN": {Env: "X"}}, new(fakeOptions))
			if !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if err != nil && strings.ContainsAny(err.Error(), "\n*") {
				t.Errorf("got %q: want one line in plain words", err)
			}
		})
	}
}

func TestAFolderOfDefinitions(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"b.yaml": "name: b\nkind: fake\n---\nname: c\nkind: fake\n", "a.yml": "- {name: a, kind: fake}\n",
		"readme.md": "no"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list, err := effect.ReadDefinitions(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range list {
		names = append(names, d.Name)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, names); diff != "" {
		t.Error(diff)
	}
	if err := os.WriteFile(filepath.Join(dir, "z.yaml"), []byte("name: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := effect.ReadDefinitions(dir); !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), "z.yaml") {
		t.Errorf("got %v, want one naming the file", err)
	}
	if _, err := effect.ReadDefinitions(filepath.Join(dir, "none")); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("got %v, want not found", err)
	}
}

func FuzzParseDefinitions(f *testing.F) {
	f.Add("name: pay\nkind: http\nurl: http://x\nheaders: {a: {secret: B}}\n---\n- name: x\n")
	f.Add("name: &a [*a]\n")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := effect.ParseDefinitions("x", []byte(text))
		if err != nil && !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("got %v, want one of kind invalid", err)
		}
		for _, d := range list {
			_, _ = d.Filled()
			_ = d.Decode(new(fakeOptions))
		}
	})
}

func TestBodies(t *testing.T) {
	long := strings.Repeat("x", effect.MaxAnswer)
	for _, tc := range []struct {
		name, text string
		whole      int64
		want       string // "": it is cut
	}{
		{"JSON stays", `{"a": 1}`, 0, `{"a": 1}`},
		{"text is a text", "hello <b>\n", 0, `"hello \u003cb\u003e\n"`},
		{"nothing is an empty text", "", 0, `""`},
		{"what is no text is mended", "a\xff", 0, `"a"`},
		{"long JSON is cut", `"` + long + `"`, 0, ""},
		{"long text is cut", long, 0, ""},
		{"what was not read to its end is cut", "x", 17, ""},
		{"what grows when it is escaped too", strings.Repeat("\x01", effect.MaxAnswer/2), 0, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := effect.Body([]byte(tc.text), tc.whole)
			if tc.want != "" && string(got) != tc.want {
				t.Errorf("got %.80s, want %s", got, tc.want)
			}
			if len(got) > effect.MaxAnswer || !json.Valid(got) {
				t.Errorf("got %d bytes, valid: %v", len(got), json.Valid(got))
			}
			var cut struct {
				Truncated bool
				Bytes     int64
				Text      string
			}
			if tc.want == "" && (json.Unmarshal(got, &cut) != nil || !cut.Truncated || cut.Bytes != max(tc.whole, int64(len(tc.text))) ||
				!strings.HasPrefix(tc.text, cut.Text) || cut.Text == "") {
				t.Errorf("got %.80s, want it cut", got)
			}
		})
	}
}

// TestNoSecretComesBack is about targets that echo what they got.
func TestNoSecretComesBack(t *testing.T) {
	const secret = "hunter2\"<&>"
	t.Setenv("RAMET_TEST_SECRET", secret)
	bubble(t, func(r *rig) {
		secrets, err := effect.NewSecrets(map[string]effect.SecretSource{"S": {Env: "RAMET_TEST_SECRET"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		text := effect.MustText("Bearer ${secret:S}")
		r.fake.answer = func(effect.Call) json.RawMessage {
			value, err := text.Read(context.Background(), secrets)
			if err != nil {
				t.Error(err)
			}
			out, _ := json.Marshal(map[string]string{"you_sent": value})
			return out
		}
		r.fake.after = func(_ context.Context, c effect.Call) error {
			value, _ := text.Read(context.Background(), secrets)
			switch c.CommandID {
			case "fails":
				return fmt.Errorf("bad token %q (%s)", value, value)
			case "refuses":
				out, _ := json.Marshal(value)
				return &effect.Refused{Cause: "bad token " + value, Answer: out}
			}
			return nil
		}
		set, err := effect.OpenSet([]effect.Definition{{Name: "pay", Kind: "fake", Attempts: 1}},
			map[domain.EffectKind]effect.Open{"fake": func(effect.Definition, effect.Host) (effect.Provider, error) { return r.fake, nil }},
			effect.Host{Secrets: secrets})
		if err != nil {
			t.Fatal(err)
		}
		w, _ := r.start(set)
		r.ask("echoes", "fails", "refuses")
		after(time.Minute)
		results := r.results()
		if len(results) != 3 {
			t.Fatalf("got %d results", len(results))
		}
		for _, res := range results {
			all, _ := json.Marshal(res)
			if strings.Contains(string(all), "hunter2") || !strings.Contains(string(all), "(hidden)") {
				t.Errorf("got %s", all)
			}
		}
		list, _ := json.Marshal(w.List(r.Context()))
		if strings.Contains(string(list), "hunter2") {
			t.Errorf("list: got %s", list)
		}
	})
}
