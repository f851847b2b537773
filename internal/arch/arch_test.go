// Package arch holds the import map of the house as a test: arrows go only
// downwards, a driver imports its contract and its client library, and nobody
// imports a driver but cmd and tests.
package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/ramet-run/ramet/"

// may lists, for each package (or folder, with a trailing slash) what of this
// module it may import. Everything may import domain.
var may = map[string][]string{
	"domain":          {},
	"queue":           {},
	"template":        {},
	"board":           {"queue"},
	"archive":         {"board"}, // its Durability
	"artifact":        {},
	"bus":             {"board"}, // its Durability
	"stream":          {"board"}, // its Durability
	"script":          {"durable", "internal/hide", "internal/intake"},
	"durable":         {"internal/intake"},
	"durable/shell":   {"durable", "internal/intake"},
	"sdk":             {},
	"layout":          {"board", "internal/canonical", "internal/escape", "queue"},
	"identity":        {"blueprint", "board", "layout", "internal/canonical", "internal/intake", "internal/pause"},
	"identity/cookie": {},
	"listing":         {"board"},
	"format":          {"archive", "board", "layout", "internal/intake"},
	"ban":             {"board", "layout", "internal/pause", "queue"},
	"egress":          {},
	"work": {"template", "work/taker", "tracing", "artifact", "ban", "board", "durable", "egress", "layout", "lease", "listing", "script", "internal/hide",
		"internal/intake", "internal/pause", "queue"},
	"object":          {"board", "layout", "identity", "internal/pause"},
	"condition":       {"rhai", "rhai/syntax", "rhai/value"},
	"document":        {"board", "layout", "internal/intake", "internal/pattern"},
	"blueprint":       {"template", "internal/hide", "board", "condition", "document", "layout", "rhai", "rhai/value", "internal/intake"},
	"blueprint/trial": {"blueprint", "document"},
	"migrate":         {"template", "blueprint", "clockwork/timetable", "document", "internal/intake", "internal/pattern"},
	"flow": {"template", "tracing", "archive", "blueprint", "blueprint/trial", "board", "condition", "layout", "lease", "listing", "script", "work",
		"rhai/value", "internal/turns", "internal/pause", "queue"},
	"clockwork": {"archive", "artifact", "ban", "board", "clockwork/timetable", "flow", "internal/pause", "internal/room", "layout", "lease", "listing",
		"template", "work"},
	"telemetry":           {},
	"tracing":             {},
	"tracing/otlptracing": {"tracing"},
	"effect": {"tracing", "ban", "board", "egress", "layout", "lease", "secret", "stream", "internal/dialtls", "internal/hide",
		"internal/intake", "internal/pause"},
	"saga": {"tracing", "board", "board/precondition", "condition", "layout", "lease", "saga/definition", "saga/machine", "stream", "internal/intake",
		"internal/turns", "internal/pause"},
	"post":   {"tracing", "board", "bus", "flow", "identity", "layout", "lease", "listing", "work", "internal/intake", "internal/pause", "queue"},
	"lease":  {"board", "layout", "internal/pause"},
	"circle": {"board", "layout", "lease", "script", "internal/pause", "queue"},
	"backup": {"archive", "artifact", "board", "layout", "queue", "stream"},
	"bulk":   {"internal/room", "board", "layout", "listing"},
	"node": {"tracing", "encryption", "archive", "artifact", "ban", "bulk", "bus", "circle", "effect", "egress", "egress", "saga", "stream",
		"identity", "post", "board",
		"board/precondition",
		"layout", "listener", "queue", "script", "work", "flow", "clockwork", "telemetry", "internal/intake"},
	"api":         {},
	"api/openapi": {"api"},
	"docs":        {},
	"service": {"tracing", "internal/hide", "api",
		"archive", "artifact", "blueprint", "board", "board/precondition", "bulk", "clockwork", "condition", "flow", "identity",
		"layout", "listing", "post", "saga",
		"saga/definition", "webhook", "work", "internal/turns"},
	"keyspace": {"api", "board", "identity", "internal/hide", "layout", "queue"},
	"door/http": {"tracing", "api", "docs", "service", "identity", "identity/cookie", "internal/budget", "internal/peer", "internal/intake",
		"webhook"},
	"doctor":       {"api", "queue"},
	"door/console": {"api", "blueprint", "clockwork/timetable", "doctor", "door/http", "durable", "identity", "internal/escape", "saga/machine", "service"},
	"door/resp":    {"api", "service", "board", "identity", "identity/cookie", "internal/budget", "internal/peer", "keyspace"},
	"door/cli": {"api", "internal/whole", "artifact", "clockwork/timetable", "work/taker",
		"durable", "durable/shell", "service", "archive", "backup", "blueprint", "blueprint/trial", "client", "client/failover", "doctor", "document",
		"identity", "identity/cookie", "migrate", "rhai", "rhai/cases", "rhai/lib",
		"rhai/syntax", "rhai/value", "saga", "saga/definition", "saga/sagatest", "internal/intake", "internal/pause", "internal/setting", "queue"},
	"door/cli/program":      {"door/cli", "identity", "internal/cmdline", "internal/heap"},
	"cmd/ramet-client":      {"door/cli", "door/cli/program"},
	"client":                {"api", "client/internal/pulse", "identity/cookie", "tracing"},
	"client/failover":       {"client", "client/internal/pulse"},
	"client/internal/pulse": {},
	"worker":                {"tracing"},
	"worker/workertest":     {"durable", "worker"},
	"cmd/ramet":             nil, // wiring: everything
	"bench":                 nil, // measures everything

	"document/documenttest": {},
	"saga/machine":          {"condition", "rhai", "rhai/lib", "rhai/syntax", "rhai/value"},
	"saga/definition":       {"document", "layout", "rhai/value", "saga/machine"},
	"saga/sagatest":         {"document", "saga/definition", "saga/machine"},
	"service/servicetest": {"api", "service", "ban", "blueprint", "board", "bulk", "circle", "clockwork", "flow", "identity", "post", "work", "effect", "saga",
		"board/precondition", "listener", "secret", "stream", "stream/memstream", "webhook"},
	"clockwork/timetable":   {},
	"work/taker":            {},
	"board/boardtest":       {"board", "board/memboard", "internal/testwait", "internal/watched", "queue"},
	"board/internal/recent": {"board"},
	"board/internal/sorted": {},
	"board/internal/turn":   {"board", "queue"},
	"board/internal/watch":  {"board"},
	"board/precondition":    {"board"},
	"board/memboard":        {"board", "board/internal/recent", "board/internal/sorted", "board/internal/turn", "board/internal/watch", "queue"},
	"board/etcdboard": {"board", "board/internal/recent", "board/internal/sorted", "board/internal/turn", "board/internal/watch",
		"internal/address", "internal/dialtls", "queue"},
	"board/faultboard":        {"board"},
	"board/meteredboard":      {"board"},
	"board/pebbleboard":       {"board", "board/internal/recent", "board/internal/turn", "board/internal/watch", "queue"},
	"board/redisboard":        {"board", "board/internal/recent", "board/internal/watch", "internal/address", "internal/dialtls", "queue"},
	"archive/archivetest":     {"archive"},
	"archive/internal/rows":   {"archive"},
	"archive/sqlitearchive":   {"archive", "archive/internal/rows", "board", "internal/pause"},
	"archive/postgresarchive": {"archive", "archive/internal/rows", "board", "internal/address"},
	"artifact/artifacttest":   {"artifact"},
	"artifact/folderstore":    {"artifact"},
	"artifact/s3store":        {"artifact"},
	"bus/bustest":             {"bus", "board"},
	"bus/membus":              {"bus", "board"},
	"bus/natsbus":             {"bus", "board", "internal/address", "internal/natslink"},
	"bus/myceliumbus":         {"bus", "board", "internal/address"},
	"effect/effecttest":       {"effect", "egress"},
	"effect/jobeffect":        {"effect", "flow", "internal/intake"},
	"effect/effectscript":     {"template", "blueprint", "condition", "effect", "rhai/value", "script", "internal/intake"},
	"effect/grpceffect":       {"effect", "internal/pattern"},
	"effect/smtpeffect":       {"effect"},
	"effect/sqleffect":        {"effect"},
	"effect/httpeffect":       {"effect"},
	"stream/streamtest":       {"stream"},
	"stream/memstream":        {"stream", "board"},
	"stream/natsstream":       {"stream", "board", "internal/natslink"},
	"script/jail":             {"script"},
	"script/scripttest":       {"durable", "script"},
	"script/processscript":    {"script", "script/jail"},
	"script/pythonscript":     {"script", "script/jail", "script/processscript", "sdk"},
	"rhai":                    {"rhai/syntax", "rhai/value", "rhai/lib"},
	"rhai/syntax":             {},
	"rhai/value":              {"rhai/syntax"},
	"rhai/lib":                {"rhai/syntax", "rhai/value"},
	"rhai/cases":              {"rhai", "rhai/syntax", "rhai/value"},
	"script/rhaiscript":       {"durable", "script", "internal/intake", "internal/pause", "rhai", "rhai/value", "rhai/syntax", "internal/machine"},
	"script/salscript":        {"durable", "script", "script/jail", "script/rhaiscript", "rhai", "rhai/value"},
	"internal/chromiumtest":   {},
	"internal/simtest":        {"board", "board/faultboard"},
	"internal/testbinary":     {},
	"internal/testmount":      {},
	"internal/testpipe":       {},
	"internal/testport":       {},
	"internal/testwait":       {},
	"internal/watched":        {},
	"internal/testcable":      {},
	"internal/redistest":      {"internal/leash", "internal/testport"},
	"internal/s3test":         {"internal/leash", "internal/testport"},
	"internal/etcdtest":       {"internal/leash", "internal/testport", "internal/testwait"},
	"internal/postgrestest":   {"internal/leash", "internal/testport"},
	"internal/mariadbtest":    {"internal/leash", "internal/testport"},
	"internal/myceliumtest":   {"identity", "internal/leash", "internal/testport"}, // the address of a key
	"internal/address":        {},
	"internal/dialtls":        {},
	"internal/testcert":       {},
	"internal/natslink":       {"identity", "internal/address", "internal/dialtls"}, // the keys of links
	"internal/cmdline":        {},
	"internal/heap":           {},
	"internal/leash":          {},
	"internal/pause":          {},
	"internal/peer":           {},
	"internal/budget":         {"internal/machine"},
	"internal/machine":        {},
	"internal/turns":          {},
	"internal/canonical":      {},
	"internal/escape":         {},
	"internal/hide":           {},
	"internal/whole":          {},
	"internal/pattern":        {},
	"internal/intake":         {},
	"internal/setting":        {"internal/intake"},
	"internal/arch":           {},

	"encryption": {"board", "layout", "internal/pause"},
	"listener": {"internal/room", "board", "flow", "internal/pause", "internal/start", "layout", "listing", "rhai/value", "saga",
		"saga/machine", "stream", "work"},
	"internal/room":            {"board", "layout"},
	"webhook":                  {"internal/room", "board", "flow", "internal/start", "layout", "listing", "condition", "rhai/value", "secret"},
	"internal/start":           {"condition", "rhai/value"},
	"secret":                   {"internal/room", "internal/whole", "board", "encryption", "layout", "listing"},
	"board/encryptedboard":     {"board", "encryption", "layout", "queue"},
	"archive/encryptedarchive": {"archive", "encryption"},

	"tools/rhaicompare": {}, // speaks to processes only
	"tools/typecheck":   {},
	"tools/goroutines":  {},
	"tools/manpages":    {"door/cli"},
}

// pkg is what go list says of a package.
type pkg struct {
	ImportPath  string
	Imports     []string
	GoFiles     []string
	TestGoFiles []string
}

// listed is what go list says of this module. Six tests ask for it, and it takes half a
// second of a processor.
var listed = sync.OnceValues(func() (list []pkg, err error) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,GoFiles,TestGoFiles", "./...")
	cmd.Dir = filepath.Join("..", "..")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	for d := json.NewDecoder(out); ; {
		var p pkg
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, cmd.Wait()
})

func packages(t *testing.T) []pkg {
	t.Helper()
	list, err := listed()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestArrowsGoDownwards(t *testing.T) {
	list := packages(t)
	if len(list) < 10 {
		t.Fatalf("go list found %d packages", len(list))
	}
	for _, p := range list {
		name := strings.TrimPrefix(p.ImportPath, module)
		allowed, known := may[name]
		if !known {
			if len(p.GoFiles) > 0 && !strings.HasPrefix(name, "test/") && !strings.HasPrefix(name, "examples/") {
				t.Errorf("package %s is not in the import map: add it with what it may import", name)
			}
			continue
		}
		if allowed == nil {
			continue
		}
		for _, imp := range p.Imports {
			to, ours := strings.CutPrefix(imp, module)
			if ours && to != "domain" && !slices.Contains(allowed, to) {
				t.Errorf("%s imports %s, which the import map does not allow", name, to)
			}
		}
	}
}

// clientLines bounds what a program is made of that speaks to a node: the client, and all
// of this module that it imports, without tests.
const clientLines = 14_950

// TestClientsAreLight wants the client to bring along what goes over the wire and the
// words of the domain, and no engine, board or driver; and no module of others.
func TestClientsAreLight(t *testing.T) {
	want := []string{"api", "client", "client/internal/pulse", "domain", "identity/cookie", "tracing"}
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,Standard,GoFiles", "./client")
	cmd.Dir = filepath.Join("..", "..")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	var got []string
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p struct {
			ImportPath, Dir string
			Standard        bool
			GoFiles         []string
		}
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		if p.Standard {
			continue
		}
		got = append(got, strings.TrimPrefix(p.ImportPath, module))
		for _, f := range p.GoFiles {
			text, err := os.ReadFile(filepath.Join(p.Dir, f))
			if err != nil {
				t.Fatal(err)
			}
			lines += bytes.Count(text, []byte("\n"))
		}
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("the client is made of %v, want %v", got, want)
	}
	if lines > clientLines {
		t.Errorf("the client is made of %d lines, want at most %d", lines, clientLines)
	}
	t.Logf("the client is made of %d lines", lines)
}

// TestDomainIsPure keeps input, output and clocks out of the domain.
func TestDomainIsPure(t *testing.T) {
	impure := []string{"os", "net", "net/http", "io", "context", "math/rand", "math/rand/v2", "crypto/rand", "sync", "log/slog"}
	for _, p := range packages(t) {
		if p.ImportPath != module+"domain" {
			continue
		}
		for _, imp := range p.Imports {
			if slices.Contains(impure, imp) || strings.Contains(imp, ".") {
				t.Errorf("domain imports %s", imp)
			}
		}
	}
}

// TestEveryPackageSaysWhatItIs wants a package comment on each.
func TestEveryPackageSaysWhatItIs(t *testing.T) {
	for _, p := range packages(t) {
		if len(p.GoFiles) == 0 {
			continue
		}
		dir := filepath.Join("..", "..", strings.TrimPrefix(p.ImportPath, module))
		if !hasPackageComment(t, dir, p.GoFiles) {
			t.Errorf("package %s has no package comment", p.ImportPath)
		}
	}
}

func hasPackageComment(t *testing.T, dir string, files []string) bool {
	t.Helper()
	for _, f := range files {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, f), nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if file.Doc != nil {
			return true
		}
	}
	return false
}
