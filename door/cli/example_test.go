package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/internal/watched"
	"github.com/ramet-run/ramet/service"
)

// typedBy is what the commands of an example are called with, as a shell reads them.
func typedBy(t *testing.T, example string) (calls [][]string) {
	t.Helper()
	dir := t.TempDir()
	script := "ramet() { for a; do printf '%s\\0' \"$a\"; done >>calls; printf '\\n\\0' >>calls; }\n" + example + "\n"
	c := exec.CommandContext(t.Context(), "/bin/sh", "-e", "-u", "-c", script)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v in a shell: %v %s", example, err, out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "calls"))
	if err != nil {
		t.Error(err)
	}
	for call := range strings.SplitSeq(strings.TrimSuffix(string(text), "\n\x00"), "\n\x00") {
		calls = append(calls, strings.Split(strings.TrimSuffix(call, "\x00"), "\x00"))
	}
	return calls
}

// commandOf is the command that arguments are for, once it has taken them.
func commandOf(args []string) (path string, err error) {
	root := (&app{std: Streams{Out: os.Stdout, Err: os.Stderr}}).root()
	c, rest, err := root.Find(args)
	if err != nil {
		return "", err
	}
	_, path, _ = strings.Cut(c.CommandPath(), " ")
	if err := c.ParseFlags(rest); err != nil {
		return path, err
	}
	if err := c.ValidateArgs(c.Flags().Args()); err != nil {
		return path, err
	}
	return path, c.ValidateRequiredFlags()
}

func TestEachCommandHasAnExampleThatParses(t *testing.T) {
	watched.Alone(t)
	eachCommand(Commands(), func(path string, c *cobra.Command) {
		if c.Example == "" {
			t.Errorf("ramet %s has no example: give its operation one, or the command", path)
			return
		}
		ours := 0
		for _, args := range typedBy(t, c.Example) {
			of, err := commandOf(args)
			if err != nil {
				t.Errorf("ramet %s: its example %q: %v", path, args, err)
			}
			if of == path {
				ours++
			}
		}
		if ours == 0 {
			t.Errorf("ramet %s: its example is of other commands:\n%s", path, c.Example)
		}
	})
}

// What an example of an operation becomes as a command asks a node for that operation.
func TestExamplesOfOperationsAskForThem(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	want, cancel := "", func() {}
	node := hostileNode(t, func(o *service.Operation) {
		mu.Lock()
		defer mu.Unlock()
		if asked = append(asked, o.Name); o.Name == want {
			cancel() // that is all there is to know
		}
	})
	t.Setenv("RAMET_DATA", filepath.Join(t.TempDir(), "none"))
	t.Chdir(t.TempDir())
	derived := 0
	eachCommand(Commands(), func(path string, c *cobra.Command) {
		i := slices.IndexFunc(api.Table, func(o *api.Operation) bool { return o.Name == operationName(c) })
		if i < 0 || c.Example != "  "+exampleOf(c, api.Table[i]) {
			return
		}
		derived++
		o := api.Table[i]
		values, _ := exampleValues(o)
		content, err := json.Marshal(o.Example)
		if err != nil {
			t.Fatal(err)
		}
		if values["text"] != "" {
			content = []byte(values["text"])
		}
		if err := os.WriteFile(exampleFile(o, values), content, 0o600); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		ctx, done := context.WithTimeout(t.Context(), 30*time.Second)
		defer done()
		asked, want, cancel = nil, o.Name, done
		mu.Unlock()
		var out, errs bytes.Buffer
		args := append(typedBy(t, c.Example)[0], "--node", node.URL)
		code := Main(ctx, args, Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, Hooks{})
		mu.Lock()
		defer mu.Unlock()
		if !slices.Contains(asked, o.Name) {
			t.Errorf("%s asked for %q, exit code %d: %s", c.Example, asked, code, &errs)
		}
	})
	if derived < 70 {
		t.Errorf("%d commands have the examples of their operations, there were more", derived)
	}
}

// eachCommand calls f with each command that does something.
func eachCommand(c *cobra.Command, f func(path string, c *cobra.Command)) {
	walk(c, func(path string) {
		if found, _, err := c.Find(strings.Fields(path)); err == nil {
			f(path, found)
		}
	})
}
