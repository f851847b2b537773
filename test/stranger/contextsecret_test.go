package stranger

import (
	"bytes"
	"encoding/base64"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Secrets of a context, none of which may be found anywhere afterwards.
const (
	sealedSecret = "sealed/Hunter2+%x&y"
	nodeSecret   = "of-the-node-8Qz!"
	fileSecret   = "of-a-file-7Wy\"q"
	pemSecret    = "-----BEGIN KEY-----\nMIIBVgIBADANBgkqhkiG9w0BAQEF\nAASCAUAwggE8AgEAAkEAq7BFUpkG\n-----END KEY-----\n"
)

// telling are scripts that tell what they know in each way there is: printed, in pieces,
// encoded, returned, as a checkpoint, as a param for later steps, and as what went wrong.
var telling = map[string]string{
	"shell": `
echo "I know $SEALED, $NODE and $FILE" | tee /dev/stderr
printf %s "${SEALED%????}"; printf %s "${SEALED#???????????????}"; echo
echo "$PEM"
printf %s "user:$SEALED" | base64
for f in /proc/[0-9]*/cmdline; do c=$(tr '\0' ' ' < $f); case "$c" in *"$NODE"*) echo found on a command line;; esac; done
printf '{"told": "%s", "params.later": "%s"}' "$SEALED" "$NODE" > $RAMET_RESULT
printf %s "$SEALED $NODE" > $RAMET_CHECKPOINT
echo "$SEALED" > "left-$NODE"
echo knows ${#SEALED}
exit 3
`,
	"python": `
import base64, glob, json, os, sys
s, n, f = os.environ["SEALED"], os.environ["NODE"], os.environ["FILE"]
print("I know", s, n, f); print(json.dumps([s, f])); print(os.environ["PEM"])
sys.stdout.write(s[:5]); sys.stdout.flush(); sys.stdout.write(s[5:] + "\n")
print(base64.b64encode(("ab" + s).encode()).decode())
for c in glob.glob("/proc/[0-9]*/cmdline"):
    try:
        if n.encode() in open(c, "rb").read(): print("found on a command line")
    except OSError: pass
json.dump({"told": s, "nested": json.dumps({"a": f})}, open(os.environ["RAMET_RESULT"], "w"))
open(os.environ["RAMET_CHECKPOINT"], "w").write(s)
print("knows", len(s))
raise RuntimeError("what went wrong is " + s)
`,
	"node": `
const s = process.env.SEALED, n = process.env.NODE
console.log("I know", s, n, process.env.FILE); console.log(Buffer.from(s).toString("base64"))
;(await import("fs")).writeFileSync(process.env.RAMET_RESULT, JSON.stringify({told: s}))
console.log("knows", s.length)
throw new Error("what went wrong is " + s)
`,
	"rhai": `
print("I know " + secret("SEALED") + secret("NODE")); debug(secret("FILE")); log("warn", secret("PEM"));
set_checkpoint(secret("SEALED")); set_result("told", secret("SEALED"));
print("knows " + secret("SEALED").len());
if env.len() != 0 { print("found in env") }
throw "what went wrong is " + secret("NODE");
`,
	"osis": `
print("I know " + secret("SEALED")); print("knows " + secret("SEALED").len());
#{told: secret("SEALED"), later: secret("NODE")}
`,
	"sal": `
print("I know " + secret("SEALED")); set_result("told", secret("NODE")); print("knows " + secret("SEALED").len());
throw "what went wrong is " + secret("SEALED");
`,
}

// TestSecretsOfAContextAreFoundNowhere: jobs of each language tell their secrets in each way
// there is, and nothing that the node has, keeps or answers has them afterwards.
func TestSecretsOfAContextAreFoundNowhere(t *testing.T) {
	forUsers(t, func(r *rig) {
		r.env = []string{"RAMET_SECRET_1_NODE=" + nodeSecret}
		dir := filepath.Join(r.home, "secrets")
		for _, folder := range []string{dir, filepath.Join(dir, "1")} {
			if err := os.Mkdir(folder, 0o700); err != nil {
				r.Fatal(err)
			}
			if err := os.Chown(folder, r.uid, -1); err != nil {
				r.Fatal(err)
			}
		}
		r.write("secrets/1/file", fileSecret+"\n")
		r.write("secrets/1/pem", pemSecret)
		config := r.write("ramet.yaml", "context_secrets: {dir: "+dir+"}\nruntimes: {sal: {on: true}}\n")
		s := r.serve("--config", config, "--log-level", "debug")
		value := r.write("value", sealedSecret)
		r.must("secret", "set", "sealed", "--from-file", value)
		if err := os.Remove(value); err != nil {
			r.Fatal(err)
		}

		var answers bytes.Buffer // all that the node says
		ask := func(args ...string) string {
			out, errs, _ := r.run(args...) // some fail, as they are to
			answers.WriteString(out + errs)
			return out
		}
		for typ, text := range telling {
			if typ == "node" {
				if _, err := exec.LookPath("node"); err != nil {
					r.Log("node is not installed: NOT TESTED")
					continue
				}
			}
			key := strings.TrimSpace(r.must("job", "submit", r.write("tell-"+typ, text), "--type", typ, "--retries", "1", "--secret", "SEALED=sealed",
				"--secret", "NODE=node", "--secret", "FILE=file", "--secret", "PEM=pem"))
			ask("job", "wait", key)
			logs := ask("job", "logs", key)
			if !strings.Contains(logs, "knows 19") || !strings.Contains(logs, "***") || strings.Contains(logs, "found ") {
				r.Errorf("%s: the script did not find its secrets, or others do:\n%s", typ, logs)
			}
			for _, args := range [][]string{{"job", "show", key, "-o", "json"}, {"job", "explain", key}} {
				ask(args...)
			}
		}
		ask("secret", "list")
		ask("job", "list", "-o", "json")
		ask("audit", "log", "-o", "json")
		blueprint := r.write("flow.yaml", "name: tells\nsecrets: {SEALED: sealed, NODE: node}\nsteps:\n  - {name: a, script_type: shell, "+
			"script: 'echo \"{\\\"params.p\\\": \\\"$SEALED\\\", \\\"told\\\": \\\"$NODE\\\"}\" > $RAMET_RESULT'}\n"+
			"  - {name: b, needs: [a], script_type: shell, script: 'env; cat $RAMET_INPUT'}\n")
		flow := strings.TrimSpace(r.must("flow", "submit", blueprint))
		ask("flow", "wait", flow)
		ask("flow", "show", flow, "-o", "json")
		ask("archive", "export")
		backup := filepath.Join(r.home, "backup")
		r.must("backup", backup)
		s.stop()
		other := filepath.Join(r.home, "other")
		r.must("restore", backup, "--data", other)

		if _, err := os.Stat(filepath.Join(r.data, "secrets.key")); err != nil {
			r.Errorf("the test looks at the wrong folder: %v", err)
		}
		r.findNone("what the node logged", []byte(s.log()))
		r.findNone("what it answered", answers.Bytes())
		for _, folder := range []string{r.data, other} {
			err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
				r.findNone("the name of a file", []byte(path))
				if err != nil || !d.Type().IsRegular() {
					return err
				}
				text, err := os.ReadFile(path)
				r.findNone(path, text)
				return err
			})
			if err != nil {
				r.Error(err)
			}
		}
	})
}

// findNone looks for the secrets in a text, also for their letters in base64 and in JSON.
func (r *rig) findNone(where string, text []byte) {
	r.Helper()
	for _, value := range append([]string{sealedSecret, nodeSecret, fileSecret}, strings.Split(pemSecret, "\n")[1:3]...) {
		coded := base64.StdEncoding.EncodeToString([]byte(value))
		for _, form := range []string{value, coded[:len(coded)-4], strings.ReplaceAll(value, `"`, `\"`)} {
			if i := bytes.Index(text, []byte(form)); i >= 0 {
				r.Errorf("%s has %q: …%q…", where, form, text[max(0, i-60):min(len(text), i+len(form)+20)])
			}
		}
	}
}
