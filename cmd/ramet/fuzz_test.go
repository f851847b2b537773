package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/ramet-run/ramet/domain"
)

// FuzzConfig: a config file is refused in one line that people understand, or it is
// what it says: written anew, with every field by its name, it is the same.
func FuzzConfig(f *testing.F) {
	for _, s := range []string{"", "# nothing\n", "lease: 30s\nslots: {shell: 16}\n", "board: '@b'\nbuses: [nats:]\nlabels: {zone: eu}\n",
		"runtimes:\n  ruby: {command: [ruby, \"{script}\"], env: {A: b}, fork: false}\n",
		`{"lease":"1m","slots":{"v":1}}`, `{"board":"\ud83d\ude00\/x"}`, "lease: &l 30s\ngrace: *l\n", "<<: {lease: 30s}\n", `{"<<":{"lease":"30s"}}`,
		"lease: 30s\nlease: 40s\n", "lease: 1\n", "log_bytes: 0x10\n", "log_bytes: 1_000\n", "log_bytes: 010\n",
		"may_lose: yes\n", "may_lose: !!bool on\n", "isolation: walled\nwalls: {user: 65534, see: [/x]}\n",
		"effects: [{name: a, kind: http, url: http://x, headers: {a: {secret: B}}}]\nsecrets: {B: {env: C}}\n", "circles: {a: {context: 1}}\ncircle_slots: 8\n",
		"sagas: {}\ndoors: {connections: 3}\negress: [public]\n", "lease: 30s\n...\n", "--- {}\n---\n", "? lease\n: 30s\n", "lease: !!str 30s\n",
		"board: !!binary aGk=\n", "slots: {shell: 1e2}\n", "timeout: -1s\n", "limits: {cpu: 1m, memory_bytes: 9223372036854775808}\n"} {
		f.Add(s)
	}
	path := filepath.Join(f.TempDir(), "ramet.yaml")
	load := func(t *testing.T, text []byte) (config, error) {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return loadConfig(path)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := load(t, []byte(text))
		if err != nil {
			said := strings.TrimPrefix(err.Error(), "config file "+path+":")
			if !errors.Is(err, domain.ErrInvalid) || said == err.Error() || strings.ContainsAny(said, "\n\r\x00\x1b") {
				t.Errorf("%q: got %q, want one line of kind invalid", text, err)
			}
			for _, word := range []string{"main.", "time.Duration", "map[", "[]string", "struct {", "!!"} {
				if strings.Contains(said, word) && !strings.Contains(text, word) {
					t.Errorf("%q: got the word %q in %q", text, word, said)
				}
			}
			return
		}
		written, err := yaml.Marshal(c)
		if err != nil {
			t.Fatalf("%q cannot be written: %v", text, err)
		}
		again, err := load(t, written)
		if err != nil {
			t.Fatalf("%q is taken, and as\n%s\nrefused: %v", text, written, err)
		}
		twice, err := yaml.Marshal(again)
		if err != nil || string(twice) != string(written) {
			t.Errorf("%q is\n%s\nand again\n%s\n%v", text, written, twice, err)
		}
		var plain map[string]any
		if json.Unmarshal([]byte(text), &plain) == nil {
			if board, is := plain["board"].(string); is && board != c.Board {
				t.Errorf("%q has the board %q, read as JSON it is %q", text, c.Board, board)
			}
		}
		if strings.TrimSpace(text) == "" && !reflect.ValueOf(c).IsZero() {
			t.Errorf("%q is no empty configuration: %+v", text, c)
		}
	})
}
