package processscript_test

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/script/processscript"
	"github.com/ramet-run/ramet/script/scripttest"
)

// TestShellEscapes stands for native programs too: the shell becomes one.
func TestShellEscapes(t *testing.T) {
	scripttest.Escapes(t, scripttest.Escape{
		Open: func(t *testing.T, hide []string) script.Runtime {
			return processscript.Shell(processscript.Config{Hide: hide})
		},
		Exec: func(program string, args ...string) string {
			return "exec " + program + " " + strings.Join(args, " ") + "\n"
		},
	})
}

func TestNodeEscapes(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip(err)
	}
	scripttest.Escapes(t, scripttest.Escape{
		Open: commandRuntime("node", "node"),
		Exec: func(program string, args ...string) string {
			words := make([]string, len(args))
			for i, arg := range args {
				words[i] = strconv.Quote(arg)
			}
			return "const r = require('child_process').spawnSync('" + program + "', [" + strings.Join(words, ", ") +
				"], {stdio: 'inherit', argv0: '" + program + "'});\nprocess.exit(r.status === null ? 255 : r.status);\n"
		},
	})
}

// commandRuntime opens the runtime of a command.
func commandRuntime(kind domain.ScriptType, command ...string) func(*testing.T, []string) script.Runtime {
	return func(t *testing.T, hide []string) script.Runtime {
		runtime, err := processscript.New(processscript.Config{Type: kind, Command: command, Hide: hide})
		if err != nil {
			t.Fatal(err)
		}
		return runtime
	}
}
