package intake

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/ramet-run/ramet/domain"
)

// Parse reads a text that is one document of YAML or JSON; nil for an empty one.
// Names may stand twice in it: see [Unique].
//
// Errors: *[Error].
func Parse(text []byte, l Limits) (*yaml.Node, error) {
	list, err := ParseAll(text, l)
	switch {
	case err != nil || len(list) == 0:
		return nil, err
	case len(list) > 1:
		return nil, place(list[1], "here begins a second document; want one")
	}
	return list[0].Content[0], nil
}

// ParseAll reads a text of any number of documents: each is a node with one in
// it.
//
// Errors: *[Error].
func ParseAll(text []byte, l Limits) ([]*yaml.Node, error) {
	l = l.filled()
	switch {
	case len(text) > l.Bytes:
		return nil, l.tooLong()
	case !utf8.Valid(text):
		return nil, errNotUTF8()
	case json.Valid(text): // the YAML parser does not know all of JSON's escapes
		s := scanner{text: text, limits: l, lax: true}
		if err := s.scan(nil); err != nil {
			return nil, err
		}
		n, err := JSONNode(text)
		if err != nil {
			return nil, at(text, 0, "%v", err)
		}
		return []*yaml.Node{{Kind: yaml.DocumentNode, Content: []*yaml.Node{n}, Line: 1, Column: 1}}, nil
	case marks(text) > marksPerValue*l.Values:
		return nil, &Error{Text: "the text has too many lists and fields; make several of it, or write it as JSON"}
	}
	var list []*yaml.Node
	w := writer{limits: l, anchors: map[*yaml.Node]int{}}
	for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var doc yaml.Node
		err := d.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, syntaxError(err)
		}
		if len(doc.Content) == 0 {
			continue
		}
		n, err := w.written(doc.Content[0], 1)
		if err == nil && n > l.Written {
			err = w.tooMuch()
		}
		if err != nil {
			return nil, err
		}
		list = append(list, &doc)
	}
}

// marksPerValue is how many bytes that could begin a value there may be for each
// that there may be: scripts have many, and are one value.
const marksPerValue = 4

// marks counts bytes without which there is no further value. It is done before
// the parser makes a node of a quarter of a kilobyte of each.
func marks(text []byte) (n int) {
	for _, c := range text {
		switch c {
		case '\n', ',', '[', '{':
			n++
		}
	}
	return n
}

// yamlError takes the parser's text apart.
var yamlError = regexp.MustCompile(`^yaml: (?:line (\d+): )?([^\n]*)`)

func syntaxError(err error) *Error {
	e := &Error{Text: err.Error()}
	if m := yamlError.FindStringSubmatch(e.Text); m != nil {
		e.Text = m[2]
		e.Line, e.Column = 1, 1 // the parser names no first line
		if n, err := strconv.Atoi(m[1]); err == nil {
			e.Line = n
		}
	}
	for begins, hint := range yamlHints {
		if strings.HasPrefix(e.Text, begins) {
			e.Text += "; " + hint
		}
	}
	return e
}

// yamlHints say what to do where the parser says what it wanted.
var yamlHints = map[string]string{
	"did not find expected alphabetic":               "a \"*\" needs quotes",
	"found character that cannot start any token":    "text that begins with \"@\" or a backtick needs quotes, and a tab is no indentation",
	"mapping values are not allowed in this context": "text with \": \" in it, or \":\" at its end, needs quotes",
}

// writer counts what a document comes to when what its aliases stand for is
// written out, without writing it.
type writer struct {
	limits  Limits
	values  int
	anchors map[*yaml.Node]int // what they come to; -1 while that is being counted
}

// written is what a node comes to, in bytes and values.
func (w *writer) written(n *yaml.Node, depth int) (int, error) {
	switch w.values++; {
	case depth > w.limits.Depth+1:
		return 0, place(n, "it is nested more than "+strconv.Itoa(w.limits.Depth)+" deep")
	case w.values > w.limits.Values:
		return 0, place(n, "it has more than "+strconv.Itoa(w.limits.Values)+" values")
	case n.Kind == yaml.AliasNode:
		size, known := w.anchors[n.Alias]
		if size < 0 || !known {
			return 0, place(n, "the alias stands in what it stands for")
		}
		return size, nil
	}
	if n.Anchor != "" {
		w.anchors[n] = -1
	}
	size := 1 + len(n.Value)
	for _, item := range n.Content {
		more, err := w.written(item, depth+1)
		if err != nil {
			return 0, err
		}
		if size += more; size > w.limits.Written {
			if w.limits.Written < math.MaxInt {
				return 0, w.tooMuch()
			}
		}
		if size < 0 {
			size = math.MaxInt / 2
		}
	}
	if n.Anchor != "" {
		w.anchors[n] = size
	}
	return size, nil
}

func (w *writer) tooMuch() *Error {
	return &Error{Text: "with what its aliases stand for written out, the text is longer than " + strconv.Itoa(w.limits.Written) + " bytes"}
}

func place(n *yaml.Node, text string) *Error {
	return &Error{Line: n.Line, Column: n.Column, Text: text}
}

// Unique refuses a name that stands twice in one mapping, and what is no name.
//
// Errors: *[Error].
func Unique(n *yaml.Node) error {
	if n.Kind == yaml.MappingNode {
		seen := make(map[string]int, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind == yaml.AliasNode {
				key = key.Alias
			}
			if key.Kind != yaml.ScalarNode {
				return place(n.Content[i], "want a name here")
			}
			if line, twice := seen[key.Value]; twice {
				return place(n.Content[i], strconv.Quote(domain.PlainText(key.Value, 100))+" stands twice, at line "+strconv.Itoa(line)+" too")
			}
			seen[key.Value] = n.Content[i].Line
		}
	}
	for _, item := range n.Content {
		if err := Unique(item); err != nil {
			return err
		}
	}
	return nil
}

// YAML reads a text that is one document of YAML or JSON into a pointer to a
// struct with yaml tags. Fields that it has not are refused; an empty text
// changes nothing.
//
// Errors: *[Error] for what is wrong with the text; those of the YAML library for
// what does not fit, in its words.
func YAML(text []byte, into any, l Limits) error {
	n, err := Parse(text, l)
	if n == nil || err != nil {
		return err
	}
	if err := Unique(n); err != nil {
		return err
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	return d.Decode(into)
}

// JSONNode reads a JSON text of our own as the YAML that it is, with the line and
// column where things stand. One of others goes through [Parse].
func JSONNode(text []byte) (*yaml.Node, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	r := jsonReader{text: text, d: d, line: 1, column: 1}
	return r.node()
}

type jsonReader struct {
	text []byte
	d    *json.Decoder
	// Up to at, lines and columns are counted.
	at, line, column int
}

func (r *jsonReader) node() (*yaml.Node, error) {
	n := &yaml.Node{}
	n.Line, n.Column = r.next()
	t, err := r.d.Token()
	if err != nil {
		return nil, err
	}
	switch v := t.(type) {
	case json.Number:
		n.Kind, n.Value = yaml.ScalarNode, v.String()
		return n, nil
	case json.Delim:
		n.Kind = yaml.SequenceNode
		if v == '{' {
			n.Kind = yaml.MappingNode
		}
		return n, r.items(n)
	}
	if text, ok := t.(string); ok && plainText(text) {
		// What Encode makes of it, for a hundredth of the time: most of a text is such.
		n.Kind, n.Tag, n.Value = yaml.ScalarNode, "!!str", text
		return n, nil
	}
	line, column := n.Line, n.Column
	err = n.Encode(t)
	n.Line, n.Column = line, column
	return n, err
}

// plainText reports whether a text is nothing but a string however it is read: a letter
// that begins no other word, then letters, digits, "_" and "-".
func plainText(text string) bool {
	if text == "" || len(text) > 200 || strings.IndexByte("nNyYtTfFoO", text[0]) >= 0 {
		return false
	}
	for i := range len(text) {
		c := text[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || !('0' <= c && c <= '9' || c == '_' || c == '-')) {
			return false
		}
	}
	return true
}

// next is where the next token begins.
func (r *jsonReader) next() (line, column int) {
	end := int(r.d.InputOffset())
	for end < len(r.text) && bytes.IndexByte([]byte(" \t\r\n,:"), r.text[end]) >= 0 {
		end++
	}
	passed := r.text[r.at:end]
	if i := bytes.LastIndexByte(passed, '\n'); i >= 0 {
		r.line += bytes.Count(passed, []byte("\n"))
		r.column, passed = 1, passed[i+1:]
	}
	r.column += utf8.RuneCount(passed)
	r.at = end
	return r.line, r.column
}

// items reads a list, or a mapping's keys and values in turn, which is how a
// node holds them too.
func (r *jsonReader) items(n *yaml.Node) error {
	for r.d.More() {
		item, err := r.node()
		if err != nil {
			return err
		}
		n.Content = append(n.Content, item)
	}
	if len(n.Content) == 0 {
		n.Style = yaml.FlowStyle
	}
	_, err := r.d.Token() // the end
	return err
}
