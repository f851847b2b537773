package console

import (
	"bytes"
	"cmp"
	"context"
	"html"
	"io"
	"strconv"
	"strings"

	"github.com/a-h/templ"
)

// This file has what templates (*.templ) say by functions. They escape texts and attributes by
// themselves; what is written past them is made here, and nowhere else.

// link is an address in a page: one of our own, or of the web. Of another scheme, which might run
// something, it is about:invalid. Every address goes through it, for templates would take tel: and ftp: too.
func link(to string) templ.SafeURL {
	scheme, _, has := strings.Cut(to, ":")
	if !has || strings.ContainsAny(scheme, "/?#") {
		return templ.SafeURL(to)
	}
	switch strings.ToLower(scheme) {
	case "http", "https":
		return templ.SafeURL(to)
	}
	return templ.FailedSanitizationURL
}

// coded is a text as [plain] has it, with what stands between two backticks as code.
func coded(text string) templ.Component {
	parts := strings.Split(plain(text), "`")
	for i, part := range parts {
		part = html.EscapeString(part)
		switch odd := i%2 == 1; {
		case odd && i < len(parts)-1:
			part = "<code>" + part + "</code>"
		case odd: // it has no other
			part = "`" + part
		}
		parts[i] = part
	}
	return written(strings.Join(parts, "")) // each part was escaped
}

// code is a line with its colours, and how much of it is not shown. It is written here, for a template
// puts spaces between the pieces, which a line does not have.
func (l logLine) code(more string) templ.Component {
	var b strings.Builder
	b.WriteString("<code>")
	for _, s := range l.Spans {
		if s.Class == "" {
			b.WriteString(html.EscapeString(s.Text))
			continue
		}
		b.WriteString(`<span class="` + html.EscapeString(s.Class) + `">` + html.EscapeString(s.Text) + "</span>")
	}
	if l.More > 0 {
		b.WriteString(`<span class="soft"> … ` + strconv.Itoa(l.More) + html.EscapeString(more) + "</span>")
	}
	b.WriteString("</code>")
	return written(b.String())
}

// written is markup of ours, in which texts of others were escaped.
type written string

// Render writes it.
func (w written) Render(_ context.Context, to io.Writer) error {
	_, err := io.WriteString(to, string(w))
	return err
}

// rowTags begin what changes by itself: rows, entries, and what drawings are made of.
var rowTags = [...]string{"tr", "td", "li", "div", "p", "section", "g", "rect", "path", "text"}

// inLines writes a page with each of its rows on a line of its own, which a template does not do: what
// changes is sent by lines ([difference]). Nothing is shown of a line's end before these tags.
func inLines(to *bytes.Buffer, page []byte) {
	to.Grow(len(page) + len(page)/32)
	for {
		at := bytes.IndexByte(page, '<')
		if at < 0 {
			to.Write(page)
			return
		}
		to.Write(page[:at])
		if page = page[at+1:]; beginsRow(page) {
			to.WriteByte('\n')
		}
		to.WriteByte('<')
	}
}

func beginsRow(tag []byte) bool {
	for _, name := range rowTags {
		if len(tag) > len(name) && string(tag[:len(name)]) == name && (tag[len(name)] == ' ' || tag[len(name)] == '>') {
			return true
		}
	}
	return false
}

// linesIn is a text of somebody else's for a place that keeps its lines.
func linesIn(text string) string { return strings.Join(linesOf(text), "\n") + "\n" }

// itoa, whole and tenths are numbers in attributes: a coordinate needs no more of them.
func itoa(n int) string       { return strconv.Itoa(n) }
func whole(x float64) string  { return strconv.FormatFloat(x, 'f', 0, 64) }
func tenths(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }

// distance is how far a moment is from the one at which the page was made.
func (m moment) distance() string {
	if m.In {
		return "in " + m.Ago
	}
	return m.Ago + " ago"
}

// then is what comes next, behind since when it stands like this.
func (s *sentence) then() string {
	if s.Next == "" {
		return ""
	}
	return ", " + s.Next
}

// about are the attributes that all kinds of fields have.
func (f formField) about() templ.Attributes {
	a := templ.Attributes{"required": f.Needed, "data-secret": f.Secret}
	if f.Fault != "" {
		a["aria-invalid"] = "true"
	}
	if f.Help != "" || f.Fault != "" {
		a["aria-describedby"] = f.ID()
	}
	return a
}

// nothingFound says that nothing was found, and of how much.
func (p pager) nothingFound(what string) string {
	if p.First != "" || p.Next != "" {
		what += " on this page"
	}
	what += " is like that"
	if p.Next != "" {
		what += "; there is more to look through"
	}
	return what + "."
}

func (n nodeChip) title() string {
	return cmp.Or(plain(n.Away), "This node answers; what it acknowledges survives: "+n.Durability)
}

func (n nodeChip) survives() string {
	if n.Away != "" {
		return "part away"
	}
	return n.Durability
}

func (m *many) allOf() string {
	if m.Narrowed {
		return "All that the filter finds"
	}
	return "All there are"
}

func (s *stepRow) kindAndTime() string {
	text := s.Kind
	for _, more := range []string{s.Progress, s.Took} {
		if more != "" {
			text += " · " + more
		}
	}
	return text
}

func (s stepRow) needs() string {
	names := make([]string, len(s.Needs))
	for i, n := range s.Needs {
		names[i] = plain(n)
	}
	return strings.Join(names, ", ")
}

func (d decision) asked() string {
	names := make([]string, len(d.Answers))
	for i, a := range d.Answers {
		names[i] = plain(a.Name)
	}
	return strings.Join(names, ", ")
}

// label is what a row says to those who hear the page.
func (r ganttRow) label() string {
	text := ""
	for _, b := range r.Bars {
		text += plain(b.Title) + "; "
	}
	return cmp.Or(text, "not begun")
}
