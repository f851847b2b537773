package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/ramet-run/ramet/domain"
)

// noun is the first word of what is wanted.
func (o Options) noun() string {
	_, noun, _ := strings.Cut(o.What, " ")
	noun, _, _ = strings.Cut(noun, ",")
	return noun
}

// readNode reads a text of one YAML or JSON document; the fault is "" where
// there is none.
func readNode(text []byte, opts Options) (*yaml.Node, domain.Fault) {
	switch {
	case len(text) > opts.MaxBytes:
		return nil, fault(nil, "the text has more than %d bytes; %s", opts.MaxBytes, opts.Hint)
	case !utf8.Valid(text):
		return nil, fault(nil, "the text is not UTF-8")
	case json.Valid(text): // the YAML parser does not know all of JSON's escapes
		n, err := JSONNode(text)
		if err != nil {
			return nil, fault(nil, "%v", err)
		}
		return n, domain.Fault{}
	}
	var doc yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&doc); errors.Is(err, io.EOF) || err == nil && len(doc.Content) == 0 {
		return nil, fault(nil, "the text is empty; want %s", opts.What)
	} else if err != nil {
		return nil, syntaxFault(err)
	}
	var second yaml.Node
	if err := d.Decode(&second); err == nil {
		return nil, fault(&second, "here begins a second document; want one")
	} else if !errors.Is(err, io.EOF) {
		return nil, syntaxFault(err)
	}
	return doc.Content[0], domain.Fault{}
}

// yamlError takes the parser's text apart.
var yamlError = regexp.MustCompile(`^yaml: (?:line (\d+): )?([^\n]*)`)

func syntaxFault(err error) domain.Fault {
	f := domain.Fault{Text: err.Error()}
	if m := yamlError.FindStringSubmatch(f.Text); m != nil {
		f.Text = m[2]
		if n, err := strconv.Atoi(m[1]); err == nil {
			f.Line, f.Column = n, 1
		}
	}
	if strings.HasPrefix(f.Text, "did not find expected alphabetic") {
		f.Text += "; a \"*\" needs quotes"
	}
	return f
}

// JSONNode reads a JSON text as the YAML that it is, with the line and column
// where things stand.
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
	line, column := n.Line, n.Column
	err = n.Encode(t)
	n.Line, n.Column = line, column
	return n, err
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
