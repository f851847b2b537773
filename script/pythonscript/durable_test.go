package pythonscript_test

import (
	"testing"

	"github.com/ramet-run/ramet/script/pythonscript"
	"github.com/ramet-run/ramet/script/scripttest"
)

const durableTop = `import os, sys
import ramet
first = os.environ["RAMET_ATTEMPT"] == "1"
`

// durablePython is the suite's durable scripts.
var durablePython = scripttest.DurableSnippets{
	Steps: durableTop + `
def a():
    print("doing a")
    return {"s": "x", "list": (1, None)}
def again():
    print("doing a again")
a = ramet.step("a", a)
print("a is", a["s"], len(a["list"]))
if first: sys.exit(1)
ramet.step("a", again)
print("end")
`,
	Retry: durableTop + `
def r(step):
    print("try", step.attempt, step.key)
    if step.attempt < 3: raise OSError("busy")
    return 7
print("got", ramet.step("r", r, retries=2, after=0.001))
`,
	Failure: durableTop + `
def f():
    print("doing f")
    raise ValueError("no money")
try:
    ramet.step("f", f)
except ramet.StepFailed as err:
    print("failed:", err)
if first: sys.exit(1)
`,
	Sleep: durableTop + `
print("before")
try:
    ramet.sleep("nap", 3600)
except Exception:
    print("caught")
print("after")
`,
	Wait: durableTop + `print(ramet.wait("click")["by"])`,
	Late: durableTop + `
try:
    ramet.wait("w", signal="click", timeout=0.001)
except ramet.TimedOut:
    print("late")
`,
	Drawn: durableTop + `
print(ramet.now().timestamp() * 1000)
print(ramet.random())
print(ramet.uuid())
if first: sys.exit(1)
`,
	Version: durableTop + `print(ramet.version("v", 2))`,
	Inside: durableTop + `
try:
    ramet.step("outer", lambda: ramet.step("inner", lambda: 1))
except ramet.StepFailed as err:
    print(err)
`,
	Large: durableTop + `
def l():
    print("doing l")
    return "x" * (2 << 20)
try:
    ramet.step("l", l)
except ramet.StepFailed:
    print("refused")
if first: sys.exit(1)
`,
	Call: durableTop + `
r = ramet.call("bill", "billing", {"n": 17, "t": "x"})
print(r["n"], r["t"])
try:
    ramet.call("bad", "bad")
except ramet.StepFailed as err:
    print(f"failed: {err}")
`,
	Gather: durableTop + `
a, b = ramet.gather([ramet.Call("a", "a", {"n": 1}), ramet.Call("b", script="exit", params={"n": 2})])
print(a["n"], b["n"])
`,
	Approval: durableTop + `
d = ramet.approval("pay", "pay?")
if d: print("yes", d.answers["amount"], d.comment)
`,
	Prerequisite: durableTop + `
ramet.wait("data", prerequisite="file:in.csv")
print("met")
`,
}

func TestDurable(t *testing.T) {
	for _, how := range []struct {
		name string
		cfg  pythonscript.Config
	}{
		{"in a fork", pythonscript.Config{}},
		{"in an interpreter that is kept", pythonscript.Config{Reuse: 100}},
		{"in an interpreter of its own", pythonscript.Config{Plain: true}},
	} {
		t.Run(how.name, func(t *testing.T) {
			rt, err := pythonscript.New(how.cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer rt.Close()
			scripttest.Durable(t, rt, durablePython)
		})
	}
}

func TestAModuleOfTheScriptGoesBefore(t *testing.T) {
	for where, source := range map[string]string{
		"in its folder": "open('ramet.py', 'w').write('own = 1')\nimport ramet\nprint(ramet.own)\n",
		"in a folder that it adds to the path": "import os, sys\nos.mkdir('lib')\nopen('lib/ramet.py', 'w').write('own = 1')\n" +
			"sys.path.append(os.path.abspath('lib'))\nimport ramet\nprint(ramet.own)\n",
	} {
		t.Run(where, func(t *testing.T) {
			if line := printed(t, source); line != "1" {
				t.Errorf("got %q, want the script's own module", line)
			}
		})
	}
}

// TestALongAnswerIsReadWhole, however many pieces it comes in.
func TestALongAnswerIsReadWhole(t *testing.T) {
	rt, err := pythonscript.New(pythonscript.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	source := "import ramet\nprint(ramet.step('long', lambda: '\u00e9' * 100000) == '\u00e9' * 100000)\n"
	var h scripttest.History
	for attempt := int64(1); attempt <= 2; attempt++ { // the second hears it from the node
		_, _, out, host := scripttest.RunDurable(t, rt, source, attempt, &h)
		if lines := host.Lines("stdout"); len(lines) != 1 || lines[0] != "True" {
			t.Errorf("attempt %d printed %q: %+v", attempt, lines, out)
		}
	}
}

// printed is the one line that a script prints.
func printed(t *testing.T, source string) string {
	t.Helper()
	rt, err := pythonscript.New(pythonscript.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	var h scripttest.History
	_, _, out, host := scripttest.RunDurable(t, rt, source, 1, &h)
	lines := host.Lines("stdout")
	if len(lines) != 1 {
		t.Fatalf("it printed %q: %+v", lines, out)
	}
	return lines[0]
}
