package stranger

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// attack is what a script does that takes being the same user for a proof: it
// looks for the cookie, lists actors and grants itself a context over the local
// sockets, with and without what it found. Each line of its output is a try.
const attack = `
import glob, http.client, os, socket, stat
DATA, RESP = %q, %q

def get(name):
    try:
        if not stat.S_ISREG(os.stat(name).st_mode): return b"" # a pipe would be waited for
        with open(name, "rb") as f: return f.read(4096)
    except OSError:
        return b""

found = set()
names = [DATA + "/cookie", DATA + "/operator.key", "/proc/self/root" + DATA + "/cookie", "/proc/%%d/cwd/cookie" %% os.getppid()]
for p in glob.glob("/proc/[0-9]*"):
    names += [p + "/root" + DATA + "/cookie", p + "/cwd/data/cookie"] + glob.glob(p + "/fd/*")
for name in names:
    text = get(name).strip()
    if len(text) == 64: found.add(text.decode())
    if b'"private_key"' + b':' in text: print("READ a key from", name)
print("cookies", len(found))

class Local(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(DATA + "/ramet.sock")

def ask(method, path, body, headers):
    try:
        c = Local("localhost", timeout=20)
        c.request(method, path, body, dict({"Content-Type": "application/json"}, **headers))
        return c.getresponse().status
    except OSError as e:
        return type(e).__name__

for proof in [None, "Bearer x", "Ramet-Cookie", "Ramet-Cookie " + "0" * 64] + ["Ramet-Cookie " + f for f in found]:
    headers = {"Authorization": proof} if proof else {}
    print("list", ask("GET", "/v1/actors", None, headers))
    print("grant", ask("POST", "/v1/contexts/1/grant", '{"actor": 2, "role": "admin"}', headers))
    print("make", ask("POST", "/v1/contexts", '{"admins": [1]}', headers))

def redis(*lines):
    try:
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(20)
        s.connect(RESP)
        for line in lines: s.sendall(line.encode() + b"\r\n")
        return s.recv(100).decode().split()[0]
    except OSError as e:
        return type(e).__name__

for proof in ["", "AUTH operator", "AUTH operator " + "0" * 64, "AUTH 1 x"]:
    print("redis", redis(*([proof] if proof else []), "SELECT 1"))
`

// TestAScriptIsNotTheOperator has jobs in shell and in Python try what was once
// all it took to be the operator: to connect to the local sockets.
func TestAScriptIsNotTheOperator(t *testing.T) {
	forUsers(t, func(r *rig) {
		redis := filepath.Join(r.home, "redis.sock")
		r.serve("--resp", "unix:"+redis)
		r.must("actor", "list") // whom the cookie is for may
		python := fmt.Sprintf(attack, r.data, redis)
		for scriptType, script := range map[string]string{"python": python, "shell": "python3 - <<'END'\n" + python + "\nEND\n"} {
			out := r.job(scriptType, script)
			if !strings.Contains(out, "cookies 0\n") || strings.Count(out, "\n") < 1+4*3+4 {
				r.Errorf("%s: it found a secret, or did not try all:\n%s", scriptType, out)
			}
			for line := range strings.Lines(out) {
				word, answer, _ := strings.Cut(strings.TrimSpace(line), " ")
				switch {
				case word == "cookies":
				case answer == "401", answer == "-NOAUTH", answer == "-WRONGPASS", strings.HasSuffix(answer, "Error"): // no way there
				default:
					r.Errorf("%s: %s", scriptType, strings.TrimSpace(line))
				}
			}
		}
		// The program itself, with all that its user may read: here it is cut off
		// from the data folder.
		out := r.job("shell", fmt.Sprintf("'%s' --data '%s' actor list -o json; echo code $?", ramet, r.data))
		if strings.Contains(out, "pubkey") || strings.Contains(out, "code 0") {
			r.Errorf("ramet in a job: got\n%s", out)
		}
		if out := r.must("context", "list", "-o", "json"); strings.Contains(out, `"id": 2`) {
			r.Errorf("a context was made:\n%s", out)
		}
	})
}

// TestOneWhoHoldsTheFolderIsTheOperator goes through what may become of a
// cookie: another start, another user's node, other modes, a link.
func TestOneWhoHoldsTheFolderIsTheOperator(t *testing.T) {
	forUsers(t, func(r *rig) {
		first := r.serve()
		r.must("actor", "list", "--data", r.data)
		cookie := filepath.Join(r.data, "cookie")
		old, err := os.ReadFile(cookie)
		if err != nil {
			r.Fatal(err)
		}
		if os.Getuid() == 0 { // root with the node of another user
			if out, err := asRoot(r, "actor", "list"); err != nil {
				r.Errorf("as root: %v\n%s", err, out)
			}
		}
		first.stop()
		r.serve()
		if now, err := os.ReadFile(cookie); err != nil || string(now) == string(old) {
			r.Errorf("the cookie of the start before: %v", err)
		}
		r.must("actor", "list")

		now, _ := os.ReadFile(cookie)
		for _, c := range []struct {
			name string
			do   func() error
			says string
		}{
			{"modes for all", func() error { return os.Chmod(cookie, 0o644) }, "can be used by others (mode 0644)"},
			{"a stale one", func() error { os.Chmod(cookie, 0o600); return os.WriteFile(cookie, old, 0o600) }, "is not that of the running node"},
			{"a link", func() error { os.Rename(cookie, cookie+"2"); return os.Symlink(cookie+"2", cookie) }, "is a link"},
			{"none", func() error { return os.Remove(cookie) }, "there is no cookie file " + cookie},
		} {
			if err := c.do(); err != nil {
				r.Fatal(err)
			}
			if _, errs, code := r.run("actor", "list"); code == 0 || !strings.Contains(errs, c.says) || strings.Count(errs, "\n") != 1 {
				r.Errorf("%s: got exit code %d and %q, want %q", c.name, code, errs, c.says)
			}
		}
		// The operator's token is as good at the local socket, without any cookie.
		r.must("actor", "list", "--key", filepath.Join(r.data, "operator.key"))
		if err := os.WriteFile(cookie, now, 0o600); err != nil || os.Chown(cookie, r.uid, -1) != nil {
			r.Fatal(err)
		}
		r.must("actor", "list")
	})
}

// asRoot runs ramet as the user of the test, on the data of the rig's.
func asRoot(r *rig, args ...string) (string, error) {
	who := *r
	who.uid = os.Getuid()
	out, err := who.command(r.Context(), ramet, args...).CombinedOutput()
	return string(out), err
}
