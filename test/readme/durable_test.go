package readme

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// programBlock is a program in a page that a job runs as its script.
var programBlock = regexp.MustCompile("(?ms)^```(python|js|rhai)\n(.*?)^```$")

// durablePrelude is what the programs of docs/durable.md take for granted, by language. It stands behind
// the program, but before one in Python, which looks for names as it goes.
var durablePrelude = map[string]string{
	"python": "def charge(order, key):\n    return {'paid': order}\n",
	"js":     "async function charge(order, key) { return {paid: order} }\n",
	"rhai":   "fn charge(order, key) { #{paid: order} }\n",
}

// durableFlows are the blueprints that they call.
const durableFlows = `
cat >billing.yaml <<'END'
name: billing
params: {order: ""}
steps:
  - {name: total, script_type: shell, script: 'echo "total=$RAMET_PARAM_ORDER" >>"$RAMET_RESULT"'}
END
sed 's/billing/payment/' billing.yaml >payment.yaml
ramet blueprint apply billing.yaml payment.yaml
`

// TestProgramsOfDurableScripts has jobs run the programs of the page: what they wait for
// comes, and each must end well.
func TestProgramsOfDurableScripts(t *testing.T) {
	page, err := os.ReadFile("../../docs/durable.md")
	if err != nil {
		t.Fatal(err)
	}
	// Not t.TempDir: its long names do not fit into a socket's 108 bytes.
	dir, err := os.MkdirTemp("", "ramet-readme")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	types := map[string]string{"python": "python", "js": "node", "rhai": "rhai"}
	var submit, signal, wait strings.Builder
	programs := 0
	for i, b := range programBlock.FindAllStringSubmatch(string(page), -1) {
		text := b[2] + durablePrelude[b[1]]
		if b[1] == "python" {
			text = durablePrelude[b[1]] + b[2]
		}
		file, id := fmt.Sprintf("program%d", i), 100+i
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&submit, "ramet job submit %s --type %s --id %d\n", file, types[b[1]], id)
		if strings.Contains(text, `"click"`) {
			fmt.Fprintf(&signal, "ramet job signal %d click --payload '\"ada\"'\n", id)
		}
		if strings.Contains(text, "approval(") {
			signal.WriteString("until flow=$(ramet flow list --status started -o name | grep -v -e billing -e payment | head -1) && [ -n \"$flow\" ] &&\n" +
				"ramet flow approve $flow decision; do sleep 0.1; done\n")
		}
		fmt.Fprintf(&wait, "ramet job wait %d || { ramet job logs %[1]d >&2; exit 1; }\n", id)
		programs++
	}
	if programs < 4 {
		t.Errorf("the page has %d programs", programs)
	}
	commands := script(node+durableFlows+submit.String()+signal.String()+wait.String(), nil)
	world{}.run(t, commands, dir)
}
