package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestWhatTheRaceDetectorDoesNotSeeIsAlone wants a test that calls watched.Alone to start
// no goroutine, and to have no bubble: such a test belongs under the race detector.
func TestWhatTheRaceDetectorDoesNotSeeIsAlone(t *testing.T) {
	seen := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			if err == nil && d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata") {
				return filepath.SkipDir
			}
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			if alone, together := calls(f.Body); alone {
				if seen++; together != "" {
					t.Errorf("%s: %s calls watched.Alone and %s", path, f.Name.Name, together)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen == 0 {
		t.Error("no test calls watched.Alone: is it spelt otherwise?")
	}
}

// calls says whether a function calls watched.Alone, and what there is in it that runs
// beside it, if anything.
func calls(body *ast.BlockStmt) (alone bool, together string) {
	ast.Inspect(body, func(n ast.Node) bool {
		name := ""
		switch n := n.(type) {
		case *ast.GoStmt:
			together = "go"
		case *ast.SelectorExpr:
			of, _ := n.X.(*ast.Ident)
			if name = n.Sel.Name; of != nil && of.Name == "watched" && name == "Alone" {
				alone = true
			} else if of != nil && of.Name == "synctest" {
				together = "synctest." + name
			}
		case *ast.Ident:
			name = n.Name
		}
		switch name {
		case "Go", "Parallel", "AfterFunc", "bubble", "bubbleWith", "NewServer", "newRig":
			together = name
		}
		return true
	})
	return alone, together
}
