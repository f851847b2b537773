package openapi

import (
	"cmp"
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
)

// Comments are what the source says of types, of their fields, and of the constants of a type.
type Comments struct {
	// texts are comments by "package.Type" and "package.Type.Field".
	texts map[string]string
	// words are the texts that the source names for a type, by "package.Type".
	words map[string][]string
}

// ReadComments reads the Go files of folders, each named as its package.
func ReadComments(folders ...string) (*Comments, error) {
	c := &Comments{map[string]string{}, map[string][]string{}}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			return nil, err
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
			if err != nil {
				return nil, err
			}
			c.read(file)
		}
	}
	return c, nil
}

func (c *Comments) read(file *ast.File) {
	for _, d := range file.Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, s := range group.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				doc := s.Doc
				if doc == nil && len(group.Specs) == 1 {
					doc = group.Doc
				}
				name := file.Name.Name + "." + s.Name.Name
				c.texts[name] = plain(cmp.Or(doc, s.Comment))
				if fields, ok := s.Type.(*ast.StructType); ok {
					c.readFields(name, fields)
				}
			case *ast.ValueSpec:
				c.readWord(file.Name.Name, s)
			}
		}
	}
}

func (c *Comments) readFields(of string, fields *ast.StructType) {
	for _, f := range fields.Fields.List {
		for _, name := range f.Names {
			c.texts[of+"."+name.Name] = plain(cmp.Or(f.Doc, f.Comment))
		}
	}
}

// readWord notes a constant such as JobError JobStatus = "error".
func (c *Comments) readWord(pkg string, s *ast.ValueSpec) {
	typ, ok := s.Type.(*ast.Ident)
	if !ok {
		return
	}
	for _, v := range s.Values {
		if lit, ok := v.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if word, err := strconv.Unquote(lit.Value); err == nil && word != "" {
				c.words[pkg+"."+typ.Name] = append(c.words[pkg+"."+typ.Name], word)
			}
		}
	}
}

// plain is a comment as text: without marks of links, each paragraph on one line, and
// without those that say where a rule comes from, or which errors a function has.
func plain(group *ast.CommentGroup) string {
	if group == nil {
		return ""
	}
	printer := &comment.Printer{TextWidth: -1}
	var paragraphs []string
	for p := range strings.SplitSeq(string(printer.Text(new(comment.Parser).Parse(group.Text()))), "\n\n") {
		if p = strings.TrimSpace(p); p != "" && !strings.HasPrefix(p, "Source: ") && !strings.HasPrefix(p, "Errors: ") {
			paragraphs = append(paragraphs, p)
		}
	}
	return strings.Join(paragraphs, "\n\n")
}

// of is what the source says of a type.
func (c *Comments) of(t reflect.Type) string { return c.texts[typeName(t)] }

// ofField is what it says of a field of a type, or of what is embedded in it.
func (c *Comments) ofField(t reflect.Type, f reflect.StructField) string {
	for len(f.Index) > 1 {
		if t = t.Field(f.Index[0]).Type; t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		f.Index = f.Index[1:]
	}
	return c.texts[typeName(t)+"."+f.Name]
}

// typeName is a type as comments know it: "domain.Job".
func typeName(t reflect.Type) string {
	return t.PkgPath()[strings.LastIndexByte(t.PkgPath(), '/')+1:] + "." + t.Name()
}
