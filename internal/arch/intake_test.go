package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// readers are the files that may decode without package intake, and why.
var readers = map[string]string{
	"document/diff.go":               "two texts of our own, from the board",
	"durable/asked.go":               "a part of a request that was scanned whole, whose names are in an order",
	"object/canonical.go":            "numbers stay as they were written, so that the same object has the same text",
	"service/archive.go":             "a record of the archive, which we wrote",
	"service/schedule.go":            "what a schedule was, which we wrote",
	"door/cli/archive.go":            "a record of the archive, from the node",
	"door/cli/fields.go":             "what the command has written itself",
	"identity/token.go":              "a claim of a token whose text was checked for names that stand twice",
	"identity/tokentext.go":          "checks a token of 2 KiB at most, in any case of its names: stricter than files are read",
	"effect/definition.go":           "options that were read before, written out again",
	"effect/httpeffect/template.go":  "a payload within a command that was checked whole",
	"effect/sqleffect/bind.go":       "a payload within a command that was checked whole",
	"effect/smtpeffect/payload.go":   "a payload within a command that was checked whole",
	"script/result.go":               "checked before, and then read for the line of a fault",
	"door/console/sagainstance.go":   "the result of an effect from the board, of which one field is read",
	"door/console/schedule.go":       "what a schedule was, as the node wrote it down itself",
	"door/http/bind.go":              "checked before, and then read for the words of a fault",
	"door/cli/schedulefile.go":       "values that were read before, written out again",
	"rhai/cases/cases.go":            "files of cases of our own",
	"blueprint/matrix.go":            "an object of a document that was read before",
	"blueprint/typedfield.go":        "a bounded text whose elements are only counted",
	"blueprint/canonical.go":         "a document that was read before, written out again",
	"blueprint/parse.go":             "hooks that were read before, written out again",
	"migrate/tascreed.go":            "a text that is checked right before, and its parts",
	"webhook/scheme.go":              "one field of a text that a signature covers; read otherwise it is only named otherwise",
	"keyspace/secret.go":             "only hides values: what it cannot read is hidden whole",
	"effect/effectscript/payload.go": "what the engine wrote for the job",
	"effect/effectscript/result.go":  "an answer that nobody else reads, field by field",
	"effect/jobeffect/params.go":     "a payload within a command that was checked whole",
	"effect/dead.go":                 "dead letters, from the board and from the streams' own advice",
	"effect/mark.go":                 "marks of our own, from the board",
	"blueprint/trial/file.go":        "a document that was read before, written out again",
	"blueprint/trial/run.go":         "a value of a document that was read before, and what the engine made",
	"saga/definition/parse.go":       "a document that was read before, written out again",
	"saga/definition/store.go":       "a definition of our own, from the board",
	"saga/definition/yaml.go":        "a definition, written out a line before",
	"saga/sagatest/compare.go":       "a text of our own, written out before",
	"saga/sagatest/file.go":          "a document that was read before, written out again",
	"script/salscript/child.go":      "arguments from the node to its own child",
	"api/openapi/page.go":            "the description, as it was made before",
	"api/openapi/schema.go":          "a zero value, written out a line before",
	"backup/reading.go":              "lines of our own, whose sum is right",
	"durable/conn.go":                "answers of the node to its own job",
	"durable/history.go":             "events of our own, from the board",
	"durable/shell/shell.go":         "answers of the node to its own job",
	"durable/shell/call.go":          "answers of the node to its own job",
	"script/rhaiscript/call.go":      "a value of the script, written out a line before",
	"worker/call.go":                 "answers of the node to its own program",
	"work/signal.go":                 "signals of our own, from the board",
	"work/environment.go":            "an element that the engine wrote for the job",
	"work/folder.go":                 "an element that the engine wrote for the job",
	"work/list.go":                   "results that the engine wrote",
	"worker/job.go":                  "a program's own arguments, into types of its own",
	"worker/step.go":                 "what a program remembered, into types of its own, and answers of the node",
	"worker/worker.go":               "a result that was written out a line before",
	"artifact/manifest.go":           "a line that a node wrote, whose sum is right",
	"bus/natsbus/bus.go":             "an answer of the server of the bus, of which one field is read",
	"bus/myceliumbus/daemon.go":      "an answer of the operator's own daemon, bounded",
}

// ours are the packages that read records of our own with plain json.Unmarshal:
// what the board, the archive, a stream or a node gave back.
var ours = []string{"api", "archive", "archive/encryptedarchive", "archive/internal/rows", "client", "clockwork", "domain", "flow", "layout", "post",
	"saga", "stream/natsstream", "backup"}

// TestPeoplesTextIsReadInOnePlace wants what people and strangers write to go
// through package intake: nobody else makes a decoder of YAML or JSON, or
// unmarshals anything but records of our own.
func TestPeoplesTextIsReadInOnePlace(t *testing.T) {
	used := map[string]bool{}
	for _, p := range packages(t) {
		dir := strings.TrimPrefix(p.ImportPath, module)
		for _, skip := range []string{"internal/", "test/", "tools/", "bench", "examples/", "document/documenttest", "script/scripttest", "stream/streamtest"} {
			if strings.HasPrefix(dir+"/", skip) || dir == skip {
				dir = ""
			}
		}
		if dir == "" {
			continue
		}
		for _, name := range p.GoFiles {
			file := filepath.ToSlash(filepath.Join(dir, name))
			for _, call := range decodes(t, filepath.Join("..", "..", file)) {
				if call == "json.Unmarshal" && slices.Contains(ours, dir) {
					continue
				}
				if used[file] = true; readers[file] == "" {
					t.Errorf("%s calls %s: read it with package intake, or say here why not", file, call)
				}
			}
		}
	}
	for file := range readers {
		if !used[file] {
			t.Errorf("%s decodes nothing: take it out of the list", file)
		}
	}
}

// decodes are the calls of a file that decode.
func decodes(t *testing.T, path string) (calls []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if pkg, ok := s.X.(*ast.Ident); ok {
				switch name := pkg.Name + "." + s.Sel.Name; name {
				case "yaml.Unmarshal", "yaml.NewDecoder", "json.NewDecoder", "json.Unmarshal":
					calls = append(calls, name)
				}
			}
		}
		return true
	})
	return calls
}
