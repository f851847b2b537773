package telemetry_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/telemetry"
)

// logged is a line that the program may log.
type logged struct{ pkg, level, text, fields string }

// levels are the methods that write lines, and where their text is.
var levels = map[string]int{"Debug": 0, "Info": 0, "Warn": 0, "Error": 0, "DebugContext": 1, "InfoContext": 1, "WarnContext": 1, "ErrorContext": 1,
	"Log": 2, "LogAttrs": 2}

// loggers are what loggers are called in the code.
var loggers = []string{"log", "Log", "Logger", "logger", "text", "slog"}

// allLogged finds the lines in the sources.
func allLogged(t *testing.T) (list []logged) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains([]string{"bench", "test", "examples", "tools", "sdk", "internal", "node_modules", ".git", "bin", "dist"}, d.Name()) &&
				path != "../internal" {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if l, ok := lineOf(call); ok {
					l.pkg = file.Name.Name
					list = append(list, l)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// lineOf is the line that a call logs, if it does.
func lineOf(call *ast.CallExpr) (l logged, ok bool) {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return l, false
	}
	at, ok := levels[method.Sel.Name]
	if !ok || len(call.Args) <= at || !slices.Contains(loggers, lastWord(method.X)) {
		return l, false
	}
	if l.text, ok = literal(call.Args[at]); !ok {
		return l, false
	}
	l.level = strings.ToLower(strings.TrimSuffix(method.Sel.Name, "Context"))
	if at == 2 {
		l.level = strings.ToLower(strings.TrimPrefix(lastWord(call.Args[1]), "Level"))
	}
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, l.level) {
		l.level = "varies"
	}
	var fields []string
	rest := call.Args[at+1:]
	for i := 0; i < len(rest); i++ {
		if name, ok := literal(rest[i]); ok {
			fields = append(fields, name)
			i++
		} else if attr, isCall := rest[i].(*ast.CallExpr); isCall && len(attr.Args) > 0 {
			if name, ok := literal(attr.Args[0]); ok {
				fields = append(fields, name)
			} else if lastWord(attr.Fun) == "RequestAttrs" {
				fields = append(fields, "request_id", "trace_id")
			}
		}
	}
	l.fields = strings.Join(fields, " ")
	return l, true
}

func literal(e ast.Expr) (string, bool) {
	b, ok := e.(*ast.BasicLit)
	if !ok || b.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(b.Value)
	return text, err == nil
}

func lastWord(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// TestFieldsOfTheLogAreNamedAlike holds every line to one word for one thing.
func TestFieldsOfTheLogAreNamedAlike(t *testing.T) {
	other := map[string]string{"tenant": "context", "context_id": "context", "ctx": "context", "error": "err", "trace": "trace_id", "traceID": "trace_id",
		"request": "request_id", "job_id": "job", "job_key": "job", "flow_id": "flow", "type": "script_type", "nodename": "node", "by": "actor", "who_id": "actor"}
	name := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	lines := allLogged(t)
	if len(lines) < 150 {
		t.Errorf("got %d lines, want at least 150: are loggers called otherwise now?", len(lines))
	}
	for _, l := range lines {
		for field := range strings.FieldsSeq(l.fields) {
			if want, wrong := other[field]; wrong {
				t.Errorf("%s: %q has a field %s, which is called %s elsewhere", l.pkg, l.text, field, want)
			} else if !name.MatchString(field) || field == telemetry.EventKey {
				t.Errorf("%s: %q has a field %q", l.pkg, l.text, field)
			}
		}
	}
}

// TestTheListOfEvents is what the sources log. -update writes it.
func TestTheListOfEvents(t *testing.T) {
	const file = "../docs/logs.md"
	const begin = "<!-- made by go test ./telemetry -update -->\n"
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	by, _, found := strings.Cut(string(old), begin)
	if !found {
		t.Fatalf("%s has no line %q", file, strings.TrimSpace(begin))
	}
	events := map[string]logged{}
	for _, l := range allLogged(t) {
		name := telemetry.EventName(l.pkg, l.text)
		if was, there := events[name]; there && was.text != l.text {
			t.Errorf("%q and %q are both called %s: name one in telemetry/event.go", was.text, l.text, name)
		}
		if was, there := events[name]; !there || len(l.fields) > len(was.fields) {
			events[name] = l
		}
	}
	var b strings.Builder
	b.WriteString(by + begin + "\n| event | level | text | fields |\n| --- | --- | --- | --- |\n")
	for _, name := range slices.Sorted(maps.Keys(events)) {
		l := events[name]
		fields := ""
		if l.fields != "" {
			fields = "`" + strings.ReplaceAll(l.fields, " ", "` `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", name, l.level, strings.NewReplacer("|", "\\|", "`", "").Replace(l.text), fields)
	}
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(old) != b.String() {
		t.Errorf("%s is not what the sources log: go test ./telemetry -update", file)
	}
}

func TestEachLineNamesItsEvent(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(telemetry.Events(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})))
	log.Warn("lease ran out", "job", "job:1:7")
	log.With("log", "audit").Info("something else: happens, here and there; now")
	want := `level=WARN msg="lease ran out" job=job:1:7 event=job.lost
level=INFO msg="something else: happens, here and there; now" log=audit event=telemetry_test.something_else_happens_here_and_there
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
