package processscript_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/script/processscript"
	"github.com/ramet-run/ramet/script/scripttest"
)

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// shell is the suite's scripts for /bin/sh.
var shell = scripttest.Snippets{
	Succeed: "true\n",
	Exit:    func(code int) string { return fmt.Sprintf("exit %d\n", code) },
	Crash:   "kill -9 $$\n",
	Log:     "echo out 1; echo out 2; printf 'err 1' >&2\n",
	Env:     "env\n",
	Cwd:     "pwd\n",
	Stdin:   "wc -c | tr -d ' '\n",
	// A glob, not ls: an ls would show its own. The shell keeps the script
	// itself open from 10 on; that is its own doing.
	Files: `for f in /proc/$$/fd/?; do [ -e "$f" ] && echo "${f##*/}"; done; true` + "\n",
	Put: func(variable, content string) string {
		return fmt.Sprintf("printf %%s %s >\"$%s\"\n", quote(content), variable)
	},
	Show: func(variable string) string { return fmt.Sprintf("cat \"$%s\"\n", variable) },
	Create: func(path string) string {
		return fmt.Sprintf("( : >%s ) 2>/dev/null || exit 9\n", quote(path))
	},
	Wait: "echo ready; while :; do sleep 60; done\n",
	Trap: "trap 'echo told' TERM\necho ready\nwhile :; do sleep 60 & wait; done\n",
	// It kills its child itself: one that was just being forked when the signal
	// came has lost it, and would be waited for.
	Tidy:   "trap 'echo kept >\"$RAMET_CHECKPOINT\"; kill -9 $!; exit 0' TERM\necho ready\nsleep 60 & wait\n",
	Daemon: func(then string) string { return daemon + then },
	Flood:  func(mib int) string { return fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x\n", mib<<20) },
	Memory: func(mib int) string {
		return fmt.Sprintf("x=$(head -c %d /dev/zero | tr '\\0' x) && [ ${#x} = %d ]\n", mib<<20, mib<<20)
	},
	Spin: "while :; do :; done\n",
	Grow: func(mib int) string { return fmt.Sprintf("exec head -c %d /dev/zero >big\n", mib<<20) },
}

// daemon writes its pid under another name first: who sees the file sees the
// whole number.
const daemon = `setsid sh -c 'trap "" TERM HUP; echo $$ >pid.new; mv pid.new pid; while :; do sleep 60; done' >/dev/null 2>&1 &
while ! [ -e pid ]; do sleep 0.01; done
echo ready
`

func TestShell(t *testing.T) {
	for _, level := range script.Levels {
		t.Run(string(level), func(t *testing.T) {
			scripttest.Run(t, scripttest.Config{
				Open:     func(t *testing.T) script.Runtime { return processscript.Shell(processscript.Config{Level: level}) },
				Snippets: shell,
			})
		})
	}
}

func TestCheckNamesWhatIsMissing(t *testing.T) {
	runtime, err := processscript.New(processscript.Config{Type: "v", Command: []string{"ramet-no-such-v", "run", "{script}"}})
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.Close()
	err = runtime.Check(t.Context())
	want := `runtime "v": the command "ramet-no-such-v" was not found in PATH; install it or set runtimes.v.command in the config file`
	if !errors.Is(err, domain.ErrUnavailable) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	_, err = runtime.Run(t.Context(), scripttest.NewTask(t, ""), scripttest.NewHost())
	if !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("run: got %v, want unavailable", err)
	}
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	for _, cfg := range []processscript.Config{
		{Type: "v"}, {Type: "", Command: []string{"v"}}, {Type: "v", Command: []string{"v"}, Suffix: "/v"},
	} {
		if _, err := processscript.New(cfg); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("%+v: got %v, want invalid", cfg, err)
		}
	}
}

func TestCommands(t *testing.T) {
	for _, tt := range []struct {
		name   string
		cfg    processscript.Config
		source string
		want   string
	}{
		{"the script's path is added where no placeholder is", processscript.Config{Command: []string{"cat"}}, "text", "text"},
		{"a placeholder may stand anywhere", processscript.Config{Command: []string{"sh", "-c", `cat "$1" "$1"`, "x", "{script}"}}, "ab", "abab"},
		{"a script may be run itself", processscript.Config{Command: []string{"{script}"}}, "#!/bin/sh\necho hi $#\n", "hi 0\n"},
		{"a script may be the path of a program", processscript.Config{Command: []string{"{script}"}, PathOnly: true}, "/bin/pwd\n", "DIR\n"},
		{"the suffix is in the file's name", processscript.Config{Command: []string{"sh", "-c", `echo "${1##*.}"`, "x", "{script}"}, Suffix: ".v"}, "", "v\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.Type = "other"
			runtime, err := processscript.New(tt.cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer runtime.Close()
			task := scripttest.NewTask(t, tt.source)
			outcome, err := runtime.Run(t.Context(), task, scripttest.NewHost())
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.ReplaceAll(outcome.Result["stdout"], task.Dir, "DIR"); got != tt.want {
				t.Errorf("got %q, want %q (%+v)", got, tt.want, outcome)
			}
		})
	}
}

func TestHiddenFoldersCannotBeRead(t *testing.T) {
	for _, level := range script.Levels {
		t.Run(string(level), func(t *testing.T) {
			data := t.TempDir()
			runtime := processscript.Shell(processscript.Config{Hide: []string{data}, Level: level})
			defer runtime.Close()
			for _, m := range runtime.Info().Isolation {
				if m.Name == "landlock" && !m.InForce && level == script.Open {
					t.Skip("landlock is not in force on this machine")
				}
			}
			task := scripttest.NewTask(t, "cat /etc/passwd >/dev/null && ls /usr >/dev/null && ! ls "+quote(data)+"\n")
			outcome, err := runtime.Run(t.Context(), task, scripttest.NewHost())
			if err != nil || outcome.Verdict != script.Succeeded {
				t.Errorf("got %+v, %v", outcome, err)
			}
		})
	}
}

// A command that is only slow, as on a machine where everything starts at once, is not
// called broken by the signal that ended it.
func TestCheckTellsSlowFromBroken(t *testing.T) {
	slow := filepath.Join(t.TempDir(), "slow")
	if err := os.WriteFile(slow, []byte("#!/bin/sh\nexec sleep 60\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	runtime, err := processscript.New(processscript.Config{Type: "v", Command: []string{slow, "{script}"}, Version: []string{slow}})
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := runtime.Check(ctx); !errors.Is(err, domain.ErrUnavailable) || !strings.Contains(err.Error(), "it gave no answer in time") {
		t.Errorf("got %v, want that it gave no answer in time", err)
	}
}

// A command is asked what it is once; one that gave no answer is asked again.
func TestACommandIsAskedOnce(t *testing.T) {
	dir := t.TempDir()
	command, asked := filepath.Join(dir, "command"), filepath.Join(dir, "asked")
	runtime, err := processscript.New(processscript.Config{Type: "v", Command: []string{command, "{script}"}, Version: []string{command}, Level: script.Open})
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.Close()
	for _, text := range []string{"exit 1", "echo V 0.4"} {
		if err := os.WriteFile(command, []byte("#!/bin/sh\necho x >>"+asked+"\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := runtime.Check(t.Context()); (err == nil) != (text == "echo V 0.4") {
			t.Fatalf("%s: got %v", text, err)
		}
	}
	if got := runtime.Info().Summary; !strings.Contains(got, "V 0.4") {
		t.Errorf("it is %q, want its version", got)
	}
	if got, _ := os.ReadFile(asked); string(got) != "x\nx\n" {
		t.Errorf("it was asked %d times, want twice: when it did not work, and when it did", strings.Count(string(got), "x"))
	}
}
