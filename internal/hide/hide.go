// Package hide takes secret values out of texts: out of whole ones, and out of what
// comes in pieces, such as the output of a process.
//
// A value is found as it is, as it stands in JSON, in URLs, in HTML and within the quotes of
// a shell, of Python and of JavaScript, and in base64, whatever stands before it there. One of
// several lines is found line by line. What a program makes of a value otherwise (reversed,
// in hex, letter by letter) is not found.
package hide

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Mask stands where a value was.
const Mask = "***"

// Least is the length of the shortest value that is hidden, in bytes: a shorter text would be
// found in what has nothing to do with the secret.
const Least = 4

// leastLine is that of a line of a value of several lines.
const leastLine = 6

// leastWrapped is that of a line of its base64.
const leastWrapped = 12

// Forms are how a value looks in the texts in which it may come back.
func Forms(v string) []string {
	list := []string{v}
	inJSON, _ := json.Marshal(v)
	var plainJSON bytes.Buffer
	enc := json.NewEncoder(&plainJSON)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
	bare := strings.TrimSuffix(plainJSON.String(), "\n")
	bare = bare[1 : len(bare)-1]
	for _, form := range []string{string(inJSON[1 : len(inJSON)-1]), bare, asciiJSON(bare), url.QueryEscape(v), url.PathEscape(v),
		percent(v, "-_.~"), percent(v, "-_.~/"), percent(v, "-_.~!'()*")} {
		if !slices.Contains(list, form) {
			list = append(list, form)
		}
	}
	for _, form := range quoted(v) {
		if !slices.Contains(list, form) {
			list = append(list, form)
		}
	}
	return list
}

// quotes are how programs write what would end a quote, or be taken for markup.
var quotes = []*strings.Replacer{
	strings.NewReplacer("'", `'\''`),                                                          // a shell's set -x
	strings.NewReplacer("'", `'"'"'`),                                                         // Python's shlex.quote
	strings.NewReplacer(`\`, `\\`),                                                            // repr, within quotes of the other kind
	strings.NewReplacer(`\`, `\\`, "'", `\'`),                                                 // repr, and JavaScript
	strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`"),                          // within the double quotes of a shell
	strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;"),                               // text of HTML and XML
	strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#x27;"), // Python
	strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;"),  // JavaScript
	strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;"),   // Go
	strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;"), // XML
}

// shellSpecial are what printf %q and ${v@Q} of a shell write a backslash before.
const shellSpecial = " !\"#$&'()*,;<>?[\\]^`{|}~"

// quoted is v as it stands within quotes and in markup.
func quoted(v string) (list []string) {
	for _, r := range quotes {
		list = append(list, r.Replace(v))
	}
	var b strings.Builder
	for i := range len(v) {
		if strings.IndexByte(shellSpecial, v[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(v[i])
	}
	return append(list, b.String())
}

// asciiJSON is JSON with escapes for all that is not ASCII, as Python writes it.
func asciiJSON(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r < utf8.RuneSelf {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, "\\u%04x", unit)
		}
	}
	return b.String()
}

// percent is v as a part of a URL, where letters, digits and plain stand as they are: what
// that is differs between programs.
func percent(v, plain string) string {
	var b strings.Builder
	for i := range len(v) {
		c := v[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte(plain, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// wrapped are the lines of v in base64 as programs break it that write it for people.
func wrapped(v string) (list []string) {
	for _, with := range []string{"", "\n"} { // as echo has it
		coded := base64.StdEncoding.EncodeToString([]byte(v + with))
		for _, width := range []int{64, 76} {
			if len(coded) <= width {
				continue
			}
			for line := range slices.Chunk([]byte(coded), width) {
				if text := string(line); len(text) >= leastWrapped && !slices.Contains(list, text) {
					list = append(list, text)
				}
			}
		}
	}
	return list
}

// base64Forms are the letters that v has in base64 whatever stands around it: those that
// hang on v alone, for each of the three places in which it may begin.
func base64Forms(v string) (list []string) {
	for shift := range 3 {
		coded := base64.StdEncoding.EncodeToString(append(make([]byte, shift), v...))
		coded = strings.TrimRight(coded, "=")
		begin, end := (shift*8+5)/6, (shift+len(v))*8/6
		if coded = coded[begin:end]; len(coded) < leastLine {
			continue
		}
		for _, form := range []string{coded, strings.NewReplacer("+", "-", "/", "_").Replace(coded)} {
			if !slices.Contains(list, form) {
				list = append(list, form)
			}
		}
	}
	return list
}

// Values are what is to be hidden. A nil *Values hides nothing. They do not change, and
// are safe for concurrent use.
type Values struct {
	forms   [][]byte // longest first: one may begin with another
	longest int
}

// Of returns values to be hidden; nil where there are none.
func Of(values ...string) *Values {
	h := &Values{}
	add := func(v string, least int) {
		if len(v) < least {
			return
		}
		for _, form := range slices.Concat(Forms(v), base64Forms(v), wrapped(v)) {
			if !strings.Contains(form, "\n") {
				h.forms = append(h.forms, []byte(form))
			}
		}
	}
	for _, v := range values {
		add(v, Least)
		if strings.Contains(v, "\n") {
			for line := range strings.Lines(v) {
				add(strings.TrimRight(line, "\r\n"), leastLine)
			}
		}
	}
	if len(h.forms) == 0 {
		return nil
	}
	slices.SortStableFunc(h.forms, func(a, b []byte) int { return cmp.Or(len(b)-len(a), bytes.Compare(a, b)) })
	h.forms = slices.CompactFunc(h.forms, bytes.Equal)
	h.longest = len(h.forms[0])
	return h
}

// Text is s without the values.
func (h *Values) Text(s string) string {
	if h == nil || s == "" {
		return s
	}
	return string(h.Bytes([]byte(s)))
}

// Bytes is p without the values; p itself where it has none.
func (h *Values) Bytes(p []byte) []byte {
	if h == nil {
		return p
	}
	if _, _, found := h.first(p); !found {
		return p
	}
	out, _ := h.pass(nil, p, len(p))
	return out
}

// JSON is text, which is JSON, without the values, however its strings are escaped.
func (h *Values) JSON(text string) string {
	if h == nil {
		return text
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return h.Text(text)
	}
	v, changed := h.within(v)
	if !changed {
		return h.Text(text)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return Mask
	}
	return h.Text(strings.TrimSuffix(out.String(), "\n"))
}

// within is a decoded value of JSON without the values.
func (h *Values) within(v any) (clean any, changed bool) {
	switch v := v.(type) {
	case string:
		text := h.Text(v)
		return text, text != v
	case []any:
		for i := range v {
			var is bool
			v[i], is = h.within(v[i])
			changed = changed || is
		}
	case map[string]any:
		for name, value := range v {
			inside, is := h.within(value)
			if text := h.Text(name); is || text != name {
				delete(v, name)
				v[text], changed = inside, true
			}
		}
	}
	return v, changed
}

// Map is m without the values, in its names too; m itself where nothing is hidden.
func (h *Values) Map(m map[string]string) map[string]string {
	if h == nil || m == nil {
		return m
	}
	clean := make(map[string]string, len(m))
	for name, value := range m {
		clean[h.Text(name)] = h.Text(value)
	}
	return clean
}

// first is the first form in p, the longest of those that begin there.
func (h *Values) first(p []byte) (begin, end int, found bool) {
	begin = len(p)
	for _, form := range h.forms {
		if i := bytes.Index(p[:min(len(p), begin+len(form))], form); i >= 0 && i < begin {
			begin, end, found = i, i+len(form), true
		}
	}
	return begin, end, found
}

// pass appends to out what can be passed on of p, without the values, and returns the rest:
// what begins at open or later, and a value that reaches beyond it.
func (h *Values) pass(out, p []byte, open int) (passed, rest []byte) {
	for {
		begin, end, found := h.first(p)
		switch {
		case !found || begin >= open:
			return append(out, p[:open]...), p[open:]
		case end > open:
			return append(out, p[:begin]...), p[begin:]
		}
		out = append(append(out, p[:begin]...), Mask...)
		p, open = p[end:], open-end
	}
}

// open is where in p a value may begin whose end has not come yet; len(p) where none does.
func (h *Values) open(p []byte) int {
	for i := max(0, len(p)-h.longest+1); i < len(p); i++ {
		for _, form := range h.forms {
			if len(form) > len(p)-i && bytes.HasPrefix(form, p[i:]) {
				return i
			}
		}
	}
	return len(p)
}

// Stream hides values in what comes in pieces. It keeps back what may be the beginning of
// one, until more comes or the line ends. It is not safe for concurrent use.
type Stream struct {
	values *Values
	kept   []byte
}

// Stream begins one; nil where there is nothing to hide.
func (h *Values) Stream() *Stream {
	if h == nil {
		return nil
	}
	return &Stream{values: h}
}

// Pass takes a piece and returns what can be passed on. It is good until the next call.
func (s *Stream) Pass(p []byte) []byte {
	if s == nil {
		return p
	}
	p = append(s.kept, p...)
	var out []byte
	if end := bytes.LastIndexByte(p, '\n') + 1; end > 0 { // no value goes over the end of a line
		out, _ = s.values.pass(out, p[:end], end)
		p = p[end:]
	}
	out, rest := s.values.pass(out, p, s.values.open(p))
	s.kept = slices.Clone(rest)
	return out
}

// Flush returns what was kept back.
func (s *Stream) Flush() []byte {
	if s == nil {
		return nil
	}
	kept := s.values.Bytes(s.kept)
	s.kept = nil
	return kept
}
