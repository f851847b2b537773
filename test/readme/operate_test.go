package readme

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/ramet-run/ramet/internal/etcdtest"
	"github.com/ramet-run/ramet/internal/postgrestest"
	"github.com/ramet-run/ramet/internal/redistest"
	"github.com/ramet-run/ramet/internal/testcert"
	"github.com/ramet-run/ramet/internal/testport"
)

// node starts a node named nina, which every command of a page asks that names no other.
const node = `export RAMET_DATA=home
ramet serve --data home --name nina --listen none >home.log 2>&1 &
ramet info --start-wait 1m >/dev/null
`

// archived is job 2001 of actor 12, which has ended and is in the archive.
const archived = `ramet actor new --id 12 --file twelve.key >/dev/null
ramet context grant 1 12 --role admin >/dev/null
echo 'echo refused; exit 1' >job.sh
ramet job submit job.sh --id 2001 --key twelve.key >/dev/null
until ramet archive show 12:2001 >/dev/null 2>&1; do sleep 0.1; done
`

// sites are two of the page about them: acme, where its commands are given, and bolt, where a context is for acme.
const sites = `export RAMET_DATA=acme
ramet serve --data acme --name acme --listen none --bus 'nats:?leaf_listen=127.0.0.1:0' >acme.log 2>&1 &
ramet info --start-wait 1m >/dev/null
link=$(sed -n 's/.*msg="NATS server listens".* sites=\([0-9.:]*\).*/\1/p' acme.log)
ramet serve --data bolt --name bolt --listen none --bus "nats:?leaf=nats://$link" >bolt.log 2>&1 &
ramet info --data bolt --start-wait 1m >/dev/null
ramet peer card --name acme >acme.json
ramet peer card --name bolt --data bolt >bolt.json
ramet peer add bolt.json >/dev/null
ramet peer add acme.json --data bolt >/dev/null
ramet context create --id 7 --data bolt >/dev/null
ramet context grant 7 2 --role admin --data bolt >/dev/null
echo 'print("a report")' >report.py
printf 'jobs:\n- {id: 1, script_type: shell, script: exit 0}\n- {id: 2, script_type: shell, script: exit 0, dependends: [1]}\n' >jobs.yaml
printf 'name: nightly\nsteps:\n- {name: one, script_type: shell, script: exit 0}\n' >nightly.yaml
printf 'name: survey\nsteps:\n- {name: one, script_type: shell, script: exit 0, at: 7@bolt}\n' >survey.yaml
`

// operating are the pages for who runs nodes, each with the world that it takes for granted. It is given
// the folder in which the commands are run.
var operating = map[string]func(t *testing.T, dir string) world{
	"operate/access.md": func(t *testing.T, _ string) world {
		cert, door := testcert.New(t), testport.Free(t)
		serve := "--tls-cert " + cert.Cert + " --tls-key " + cert.Key + " --listen " + door
		return world{names: []string{"https://host:7480", "https://" + door}, before: "export SSL_CERT_FILE=" + cert.CA + "\n" +
			strings.Replace(node, "--listen none", serve, 1) + "ramet actor new --file alice.key >/dev/null\nramet actor new --file carol.key >/dev/null\n"}
	},
	"operate/archive.md": func(t *testing.T, dir string) world {
		redis, postgres := redistest.Start(t, "maxmemory-policy noeviction"), postgrestest.Start(t)
		stores := "--board " + redis.URL() + " --archive '" + postgres.URL() + "'"
		return world{before: strings.Replace(node, "--listen none", "--listen none "+stores, 1) + archived}
	},
	"operate/boards.md": func(t *testing.T, dir string) world {
		one := redistest.Start(t, "user user on >password ~* &* +@all")
		other, plain := redistest.Start(t), etcdtest.Start(t, "--unsafe-no-fsync")
		cert := testcert.New(t)
		private := etcdtest.Start(t, "--unsafe-no-fsync", "--cert-file="+cert.Cert, "--key-file="+cert.Key, "--trusted-ca-file="+cert.CA, "--client-cert-auth")
		// What an etcd asks of users is held by the tests of its board.
		return world{names: []string{"user:password@host:6379", "user:password@" + one.Addr(), "host:6379", other.Addr(),
			"user:password@host1:2379,host2:2379,host3:2379", plain.Addr(), "host1:2379,host2:2379", private.Addr(),
			"ca=ca.pem", "ca=" + cert.CA, "cert=node.pem", "cert=" + cert.Cert, "key=node-key.pem", "key=" + cert.Key,
			"./node-a --name a --board etcd", "./node-c --name a --board etcd", "./node-b --name b --board 'etcd", "./node-d --name b --board 'etcd"}}
	},
	"operate/doors.md": func(*testing.T, string) world { return world{before: node + "DATA=home\n"} },
	"operate/run.md": func(t *testing.T, dir string) world {
		cert := testcert.New(t)
		for _, place := range []string{"/var/lib/ramet", "/run/secrets"} {
			if err := os.MkdirAll(filepath.Join(dir, place), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		return world{names: []string{":7480", testport.Free(t), "cert.pem", cert.Cert, "key.pem", cert.Key},
			before: "umask 077\necho redis://127.0.0.1:6379 >/run/secrets/board\n"}
	},
	"operate/scale.md": func(*testing.T, string) world {
		return world{before: node +
			"printf 'jobs:\\n- {script_type: shell, script: exit 0, prerequisites: [user:go]}\\n' >held.yaml\nramet flow submit held.yaml >/dev/null\n"}
	},
	"operate/streams.md": func(t *testing.T, dir string) world {
		build(t, dir, "nk", "github.com/nats-io/nkeys/nk")
		if err := os.MkdirAll(filepath.Join(dir, "etc/ramet"), 0o700); err != nil {
			t.Fatal(err)
		}
		return world{names: []string{"/etc/nats", dir}, before: node}
	},
	"install.md": func(t *testing.T, _ string) world {
		cert, door := testcert.New(t), testport.Free(t)
		serve := "--name node-1 --tls-cert " + cert.Cert + " --tls-key " + cert.Key + " --listen " + door
		return world{names: []string{"https://ramet.example.com:7480", "https://" + door}, before: "export SSL_CERT_FILE=" + cert.CA + "\n" +
			strings.Replace(node, "--name nina --listen none", serve, 1) + "unset RAMET_DATA\ncp home/operator.key me.key\n"}
	},
	"encryption.md": func(t *testing.T, dir string) world {
		if err := os.MkdirAll(filepath.Join(dir, "etc/ramet"), 0o700); err != nil {
			t.Fatal(err)
		}
		return world{before: "echo '{}' >ramet.yaml\n" + strings.Replace(node, "--listen none", "--listen none --config ramet.yaml", 1) +
			"ramet context create --id 7 >/dev/null\n"}
	},
	"console.md": func(t *testing.T, _ string) world {
		return world{before: strings.Replace(node, "--listen none", "--listen "+testport.Free(t), 1) + "ramet actor new --file alice.key >/dev/null\n"}
	},
	"federation.md": func(t *testing.T, dir string) world {
		if err := os.MkdirAll(filepath.Join(dir, "etc/nats"), 0o700); err != nil {
			t.Fatal(err)
		}
		return world{names: []string{"/etc/nats", filepath.Join(dir, "etc/nats")}, before: sites}
	},
	"logs.md": func(*testing.T, string) world { return world{before: node} },
}

// byTheirOwn are further such pages, which tests of their own run.
var byTheirOwn = []string{"metrics.md", "keep.md", "upgrade.md", "tracing.md", "hardening.md"}

// aside are the blocks that no page's test runs: each by its page and first line, with the reason, and what is held of it instead.
var aside = []struct {
	page, first, why string
	held             func(t *testing.T, text string)
}{
	{"operate/access.md", `{"iss": "12"`, "claims of a token, which a program writes", isYAML},
	{"operate/boards.md", "aclfile /etc/redis/users.acl", "lines of a Redis's own file, which board/redisboard starts one with", nil},
	{"operate/buses.md", "mycelium --key-file", "a daemon that no registry has; test/myceliumd and bus/myceliumbus are run where it is built", nil},
	{"operate/scale.md", "  shell   served", "what stands there while several contexts run long jobs; a test of door/cli writes it", nil},
	{"operate/scripts.md", "# ramet.yaml", "folders and tools of one machine", isConfig},
	{"operate/scripts.md", "[Service]", "a drop-in of systemd", isUnit},
	{"operate/streams.md", "# ramet.yaml", "a cluster of NATS, and a gateway", isConfig},
	{"install.md", "apt install", "another machine, under systemd; test/release makes that package and looks into it", nil},
	{"install.md", "FROM python", "Docker; test/release runs the program as the image would", nil},
	{"install.md", "scripts/release v1.2.3", "test/release runs it", nil},
	{"upgrade.md", "the board stays as older nodes", "what nodes of two versions log; test/upgrade has them", nil},
	{"upgrade.md", "ramet: data folder /var/lib/ramet has format 2", "what a version says that is older than the folder; test/upgrade has one", nil},
	{"federation.md", "acme:  ramet serve", "two machines, and a certificate; examples/two-sites starts two without, and tests of bus/natsbus with", nil},
	{"federation.md", "# /etc/nats/nats-server.conf", "lines of a nats-server's own file, which bus/natsbus starts one with", nil},
	{"federation.md", "dispatched ──>", "a drawing", nil},
	{"metrics.md", "scrape_configs:", "Prometheus; its own tool reads the whole file of deploy/prometheus in the tests of telemetry", isYAML},
}

func isYAML(t *testing.T, text string) {
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Error(err)
	}
}

// isConfig has `ramet config check` look at a file.
func isConfig(t *testing.T, text string) {
	file := filepath.Join(t.TempDir(), "ramet.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(filepath.Join(bin, "ramet"), "config", "check", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// isUnit has systemd read the unit of deploy/systemd with a drop-in.
func isUnit(t *testing.T, text string) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	dir := t.TempDir()
	unit, err := os.ReadFile("../../deploy/systemd/ramet.service")
	if err != nil {
		t.Fatal(err)
	}
	unit = regexp.MustCompile(`(?m)^Documentation=.*\n`).ReplaceAll(unit, nil) // the page is not installed
	unit = regexp.MustCompile(`(?m)^(Exec\w+=)/usr/bin/ramet`).ReplaceAll(unit, []byte("$1/bin/true"))
	if err := os.MkdirAll(filepath.Join(dir, "ramet.service.d"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"ramet.service": unit, "ramet.service.d/page.conf": []byte(text)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, _ := exec.Command("systemd-analyze", "verify", filepath.Join(dir, "ramet.service")).CombinedOutput() // it may complain of others
	if strings.Contains(string(out), "ramet.service") {
		t.Errorf("systemd says %s", out)
	}
}

// TestCommandsOfOperating runs what the pages for who runs nodes tell to type.
func TestCommandsOfOperating(t *testing.T) {
	for page, with := range operating {
		t.Run(page, func(t *testing.T) {
			// Not t.TempDir: its long names do not fit into a socket's 108 bytes.
			dir, err := os.MkdirTemp("", "ramet-readme")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			with(t, dir).check(t, filepath.Join("../../docs", page), dir)
		})
	}
}

// build puts a program of a module that we know where the commands of a page find it.
func build(t *testing.T, dir, name, pkg string) {
	t.Helper()
	at := filepath.Join(dir, "usr/local/bin", name)
	if out, err := exec.Command("go", "build", "-trimpath", "-o", at, pkg).CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", name, err, out)
	}
}

// fence is a block of a page, of whatever kind.
var fence = regexp.MustCompile("(?ms)^```([^\n]*)\n(.*?)^```$")

// TestEachBlockOfOperatingIsRunOrSetAside: what is written into these pages tomorrow is run, is compared
// with what came out, is a file that the page's commands take, or has its reason.
func TestEachBlockOfOperatingIsRunOrSetAside(t *testing.T) {
	pages, err := filepath.Glob("../../docs/operate/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("got %q, %v", pages, err)
	}
	used := make([]bool, len(aside))
	for _, page := range slices.Concat(slices.Collect(maps.Keys(operating)), byTheirOwn) {
		if !strings.HasPrefix(page, "operate/") {
			pages = append(pages, "../../docs/"+page)
		}
	}
	for _, path := range pages {
		page := strings.TrimPrefix(path, "../../docs/")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		blocks := fence.FindAllStringSubmatch(string(text), -1)
		for i, b := range blocks {
			set := false
			for n, a := range aside {
				if a.page == page && strings.HasPrefix(b[2], a.first) {
					used[n], set = true, true
					if a.held != nil {
						t.Run(page+"/"+b[1], func(t *testing.T) { a.held(t, b[2]) })
					}
				}
			}
			if _, runs := operating[page]; !set && !(runs || slices.Contains(byTheirOwn, page)) || !set && !isRun(blocks, i) {
				t.Errorf("%s: this block is not run: make it one of kind sh, or set it aside with a reason:\n%s", page, b[0])
			}
		}
	}
	for n, a := range aside {
		if !used[n] {
			t.Errorf("%s has no block that begins with %q", a.page, a.first)
		}
	}
}

// isRun reports whether a block is commands, what came out of the ones right before, a file that a command takes, or a program that one runs.
func isRun(blocks [][]string, i int) bool {
	switch blocks[i][1] {
	case "sh":
		return true
	case "text":
		return i > 0 && blocks[i-1][1] == "sh"
	case "yaml":
		return slices.ContainsFunc(blocks, func(b []string) bool { return b[1] == "sh" && strings.Contains(b[2], fileName(blocks[i][2])) })
	case "go":
		m := programLine.FindStringSubmatch(blocks[i][2])
		return m != nil && slices.ContainsFunc(blocks, func(b []string) bool { return b[1] == "sh" && strings.Contains(b[2], "go run "+m[1]+".go") })
	}
	return false
}
