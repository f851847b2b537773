// Command goroutines prints those of packages whose tests may run in more than one
// goroutine at a time:
//
//	go run ./tools/goroutines ./...
//
// The race detector finds nothing in the others: tables, parsers, rules and what is
// generated. It makes them several times slower, and their tests run without it anyway.
//
// A package is printed when it, its tests, or what they import, however far down, start a
// goroutine (a go statement, a function named as those that take what is to be run in one),
// or use what calls them back from one. Of the standard library that is a list; libraries
// of others are read as ours are.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	pathpkg "path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// callsBack are packages of the standard library that call what they are given from
// goroutines of their own: handlers, drivers, bubbles. Of each, how names begin that are
// mere words. What starts none but for itself, as a context does, cannot race with anybody.
var callsBack = map[string][]string{
	"database/sql":      nil,
	"net":               nil,
	"net/http":          {"Status", "Method", "Header", "Cookie", "SameSite", "DetectContentType"},
	"net/http/httptest": nil,
	"net/http/httputil": nil,
	"net/rpc":           nil,
	"os/signal":         nil,
	"testing/synctest":  nil,
}

// streams are what os/exec copies in a goroutine, from or to all that is not a file.
var streams = []string{"Stdin", "Stdout", "Stderr"}

// starts are functions and methods that run in another goroutine what they are given.
var starts = []string{"AddCleanup", "AfterFunc", "Go", "Parallel", "RunParallel", "SetFinalizer", "TryGo"}

// harmless starts goroutines, and none that would meet another: it calls an Equal of
// what a test compares twice at a time, to find one that changes what it compares.
const harmless = "github.com/google/go-cmp/cmp"

// pkg is what go list says of a package, or of its tests.
type pkg struct {
	ImportPath, ForTest, Dir           string
	Name                               string
	Standard, DepOnly                  bool
	GoFiles, TestGoFiles, XTestGoFiles []string
	Imports                            []string
	Error                              *struct{ Err string }
}

func main() {
	why := flag.Bool("why", false, "print the others, too, and of each what was found, or -")
	flag.Parse()
	found, err := find(flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "goroutines:", err)
		os.Exit(1)
	}
	for _, f := range found {
		switch {
		case *why:
			fmt.Println(f.path, cmp.Or(f.start, "-"))
		case f.start != "":
			fmt.Println(f.path)
		}
	}
}

// finding is a package with tests, and where these may start a goroutine, or "".
type finding struct{ path, start string }

// find looks at packages that go list knows by patterns.
func find(patterns []string) (all []finding, err error) {
	list, err := load(patterns)
	if err != nil {
		return nil, err
	}
	h := house{packages: map[string]*pkg{}, own: map[string]string{}}
	for _, p := range list {
		h.packages[p.ImportPath] = p
	}
	for _, p := range list {
		if p.DepOnly || p.ForTest != "" || len(p.TestGoFiles)+len(p.XTestGoFiles) == 0 {
			continue
		}
		start, err := h.look(p.ImportPath)
		if err != nil {
			return nil, err
		}
		all = append(all, finding{p.ImportPath, start})
	}
	return all, nil
}

// load asks for packages, their tests, and all that these import.
func load(patterns []string) ([]*pkg, error) {
	cmd := exec.Command("go", append([]string{"list", "-deps", "-test",
		"-json=ImportPath,ForTest,Dir,Standard,DepOnly,GoFiles,TestGoFiles,XTestGoFiles,Imports,Error"}, patterns...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var list []*pkg
	for d := json.NewDecoder(out); ; {
		p := &pkg{}
		if err = d.Decode(p); err != nil {
			break
		}
		if p.Error != nil {
			return nil, fmt.Errorf("%s: %s", p.ImportPath, p.Error.Err)
		}
		list = append(list, p)
	}
	if !errors.Is(err, io.EOF) {
		return nil, err
	}
	return list, cmd.Wait()
}

// house is all packages, and what was found in the files of those that were read.
type house struct {
	packages map[string]*pkg
	own      map[string]string
}

// look says where the tests of a package may start a goroutine, or "".
func (h *house) look(tested string) (string, error) {
	seen := map[string]bool{}
	// What is nearest is looked at first: the whole of a library is read only
	// for those that start none before.
	built := " [" + tested + ".test]"
	next := []string{tested, tested + built, tested + "_test" + built}
	for len(next) > 0 {
		path := next[0]
		next = next[1:]
		p := h.packages[path]
		if p == nil || p.Standard || seen[path] || path == harmless {
			continue
		}
		seen[path] = true
		start, err := h.inside(p)
		if start != "" || err != nil {
			return start, err
		}
		next = append(next, p.Imports...)
	}
	return "", nil
}

// inside says where the files of a package start a goroutine, or "".
func (h *house) inside(p *pkg) (string, error) {
	if where, ok := h.own[p.ImportPath]; ok {
		return where, nil
	}
	where := ""
	for _, name := range p.GoFiles {
		files := token.NewFileSet()
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(p.Dir, name)
		}
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return "", err
		}
		if at := start(file); at.IsValid() {
			where = fmt.Sprintf("%s:%d", filepath.Join(strings.Fields(p.ImportPath)[0], name), files.Position(at).Line)
			break
		}
	}
	h.own[p.ImportPath] = where
	return where, nil
}

// start is where a file starts a goroutine, or has one started.
func start(file *ast.File) (at token.Pos) {
	called := map[string][]string{} // by the name that the file has for it
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		words, ok := callsBack[path]
		if !ok {
			continue
		}
		name := pathpkg.Base(path)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		called[name] = words
	}
	ast.Inspect(file, func(n ast.Node) bool {
		found := false
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.SelectorExpr:
			found = slices.Contains(starts, n.Sel.Name)
			if of, ok := n.X.(*ast.Ident); ok && !found {
				words, calls := called[of.Name]
				found = calls && !slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(n.Sel.Name, w) })
			}
		case *ast.AssignStmt:
			for i, to := range n.Lhs {
				field, ok := to.(*ast.SelectorExpr)
				found = found || ok && slices.Contains(streams, field.Sel.Name) && (len(n.Rhs) != len(n.Lhs) || !ofOS(n.Rhs[i]))
			}
		case *ast.KeyValueExpr:
			field, ok := n.Key.(*ast.Ident)
			found = ok && slices.Contains(streams, field.Name) && !ofOS(n.Value)
		}
		if found {
			at = n.Pos()
		}
		return !at.IsValid()
	})
	return at
}

// ofOS reports whether a value is one of package os, such as os.Stderr: a file.
func ofOS(x ast.Expr) bool {
	selector, ok := x.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	of, ok := selector.X.(*ast.Ident)
	return ok && of.Name == "os"
}
