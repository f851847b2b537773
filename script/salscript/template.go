package salscript

import (
	"cmp"
	"errors"
	"fmt"
	"html"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/rhai/value"
)

// This file fills templates in the language of Tera:
//
//	{{ expression | filter }}   {% if %} {% elif %} {% else %} {% endif %}   {% for x in list %} {% endfor %}
//	{% set x = expression %}   {% raw %} {% endraw %}   {# remark #}   {%- and -%} take blanks away
//
// There is no include, extends, macro or block: a template is one file. Files
// named .html, .htm or .xml get their values escaped unless they are | safe.
//
// Source: the Tera book.

// template is a file and the variables for it.
type template struct {
	path string
	vars map[string]any
}

func templateFunctions() []function {
	return []function{
		{"template_builder_open", openTemplate},
		{"add_var", func(t *template, name string, v value.Value) *template { t.vars[name] = value.ToGo(v); return t }},
		{"add_vars", func(t *template, vars map[string]any) *template { maps.Copy(t.vars, vars); return t }},
		{"render", (*template).render}, {"render_to_file", (*template).renderToFile},
	}
}

func openTemplate(path string) (*template, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	return &template{path: path, vars: map[string]any{}}, nil
}

func (t *template) render() (string, error) {
	text, err := readText(t.path)
	if err != nil {
		return "", err
	}
	escape := slices.Contains([]string{".html", ".htm", ".xml"}, filepath.Ext(t.path))
	out, err := fill(text, t.vars, escape)
	if err != nil {
		return "", fmt.Errorf("template %s: %w", t.path, err)
	}
	return out, nil
}

func (t *template) renderToFile(path string) (string, error) {
	text, err := t.render()
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return "", fmt.Errorf("template: %w", err)
	}
	return fmt.Sprintf("Successfully rendered template to file '%s'", path), nil
}

// piece is a part of a template: text, or what stands in {{ }} or {% %}.
type piece struct {
	kind byte // 't', '{' or '%'
	text string
	line int
}

// cut divides a template into its pieces.
func cut(text string) (pieces []piece, err error) {
	line := 1
	trim := false
	add := func(kind byte, text string) { pieces = append(pieces, piece{kind, text, line}) }
	for text != "" {
		at := strings.IndexByte(text, '{')
		for at >= 0 && at+1 < len(text) && !strings.ContainsRune("{%#", rune(text[at+1])) {
			next := strings.IndexByte(text[at+1:], '{')
			if next < 0 {
				at = -1
				break
			}
			at += 1 + next
		}
		if at < 0 || at+1 == len(text) {
			add('t', trimmed(text, trim, false))
			break
		}
		kind := text[at+1]
		closing := map[byte]string{'{': "}}", '%': "%}", '#': "#}"}[kind]
		end := closeAt(text[at+2:], closing, kind == '#')
		if end < 0 {
			return nil, fmt.Errorf("line %d: %q is not closed", line+strings.Count(text[:at], "\n"), text[at:at+2])
		}
		inside := text[at+2 : at+2+end]
		before := strings.HasPrefix(inside, "-")
		if t := trimmed(text[:at], trim, before); t != "" {
			add('t', t)
		}
		line += strings.Count(text[:at], "\n")
		trim = strings.HasSuffix(inside, "-")
		inside = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(inside, "-"), "-"))
		rest := text[at+2+end+2:]
		line += strings.Count(text[at:len(text)-len(rest)], "\n")
		if kind == '%' && inside == "raw" {
			raw, after, found := strings.Cut(rest, "{% endraw %}")
			if !found {
				return nil, fmt.Errorf("line %d: {%% raw %%} has no {%% endraw %%}", line)
			}
			add('t', trimmed(raw, trim, false))
			line += strings.Count(raw, "\n")
			rest, trim = after, false
		} else if kind != '#' {
			add(kind, inside)
		}
		text = rest
	}
	return pieces, nil
}

// closeAt finds the end of what stands in brackets, but not within its strings.
func closeAt(text, closing string, remark bool) int {
	var quote byte
	for i := 0; i+1 < len(text); i++ {
		switch c := text[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case !remark && (c == '"' || c == '\'' || c == '`'):
			quote = c
		case text[i:i+2] == closing:
			return i
		}
	}
	return -1
}

func trimmed(text string, left, right bool) string {
	if left {
		text = strings.TrimLeft(text, " \t\r\n")
	}
	if right {
		text = strings.TrimRight(text, " \t\r\n")
	}
	return text
}

// filling is one run through a template.
type filling struct {
	pieces []piece
	at     int
	scopes []map[string]any // innermost last
	escape bool
	out    strings.Builder
	steps  int
}

// maxSteps bounds the pieces that loops go through.
const maxSteps = 1_000_000

func fill(text string, vars map[string]any, escape bool) (string, error) {
	pieces, err := cut(text)
	if err != nil {
		return "", err
	}
	f := &filling{pieces: pieces, scopes: []map[string]any{vars, {}}, escape: escape}
	word, err := f.run(true)
	if err == nil && word != "" {
		err = fmt.Errorf("{%% %s %%} stands alone", word)
	}
	if err != nil {
		return "", fmt.Errorf("line %d: %w", f.line(), err)
	}
	return f.out.String(), nil
}

func (f *filling) line() int {
	if len(f.pieces) == 0 {
		return 1
	}
	return f.pieces[max(0, min(f.at, len(f.pieces))-1)].line
}

// run goes on up to a word that ends or divides a block, or the end of the
// template. Pieces that are not live are passed over.
func (f *filling) run(live bool) (word string, err error) {
	for f.at < len(f.pieces) {
		if f.steps++; f.steps > maxSteps || f.out.Len() > maxStringBytes {
			return "", errors.New("the template has grown too large")
		}
		p := f.pieces[f.at]
		f.at++
		switch {
		case p.kind == 't':
			if live {
				f.out.WriteString(p.text)
			}
			continue
		case p.kind == '{':
			if live {
				err = f.show(p.text)
			}
		default:
			word, rest, _ := strings.Cut(p.text, " ")
			switch word {
			case "else", "elif", "endif", "endfor":
				return p.text, nil
			case "if":
				err = f.branch(rest, live)
			case "for":
				err = f.loop(rest, live)
			case "set", "set_global":
				if live {
					err = f.set(word, rest)
				}
			default:
				err = fmt.Errorf("{%% %s %%}: want if, for, set or raw", word)
			}
		}
		if err != nil {
			return "", err
		}
	}
	return "", nil
}

func (f *filling) show(text string) error {
	v, err := f.eval(text)
	if err != nil {
		return err
	}
	safe, isSafe := v.(safeText)
	switch {
	case isSafe:
		f.out.WriteString(string(safe))
	case f.escape:
		f.out.WriteString(html.EscapeString(shown(v)))
	default:
		f.out.WriteString(shown(v))
	}
	return nil
}

// branch goes through an if up to its endif.
func (f *filling) branch(condition string, live bool) error {
	done := false
	for {
		now := false
		if live && !done {
			v, err := f.condition(cmp.Or(condition, "true"))
			if err != nil {
				return err
			}
			now = v
			done = done || now
		}
		word, err := f.run(now)
		if err != nil {
			return err
		}
		word, condition, _ = strings.Cut(word, " ")
		switch word {
		case "endif":
			return nil
		case "elif", "else":
		default:
			return errors.New("{% if %} has no {% endif %}")
		}
	}
}

// loop goes through a for up to its endfor.
func (f *filling) loop(text string, live bool) error {
	names, source, found := strings.Cut(text, " in ")
	if !found {
		return fmt.Errorf("{%% for %s %%}: want {%% for name in list %%}", text)
	}
	var keys, items []any
	if live {
		v, err := f.eval(source)
		if err != nil {
			return err
		}
		switch v := v.(type) {
		case []any:
			items = v
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				keys, items = append(keys, key), append(items, v[key])
			}
		default:
			return fmt.Errorf("for: %q is no list and no map", source)
		}
	}
	key, name, pair := strings.Cut(names, ",")
	if !pair {
		key, name = "", key
	}
	if pair != (keys != nil) && len(items) > 0 {
		return fmt.Errorf("{%% for %s %%}: one name for a list, two for a map", text)
	}
	start := f.at
	f.scopes = append(f.scopes, nil)
	defer func() { f.scopes = f.scopes[:len(f.scopes)-1] }()
	var word string
	var err error
	for i, item := range items {
		scope := map[string]any{strings.TrimSpace(name): item, "loop": map[string]any{
			"index": int64(i + 1), "index0": int64(i), "first": i == 0, "last": i == len(items)-1}}
		if pair {
			scope[strings.TrimSpace(key)] = keys[i]
		}
		f.scopes[len(f.scopes)-1] = scope
		f.at = start
		if word, err = f.run(true); err != nil {
			return err
		}
	}
	if len(items) == 0 {
		if word, err = f.run(false); err != nil {
			return err
		}
	}
	if word == "else" {
		word, err = f.run(live && len(items) == 0)
	}
	if err == nil && word != "endfor" {
		err = errors.New("{% for %} has no {% endfor %}")
	}
	return err
}

func (f *filling) set(word, text string) error {
	name, expression, found := strings.Cut(text, "=")
	if !found {
		return fmt.Errorf("{%% set %s %%}: want {%% set name = value %%}", text)
	}
	v, err := f.eval(expression)
	if err != nil {
		return err
	}
	scope := f.scopes[len(f.scopes)-1]
	if word == "set_global" {
		scope = f.scopes[1]
	}
	scope[strings.TrimSpace(name)] = v
	return nil
}
