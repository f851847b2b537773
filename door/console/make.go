package console

import (
	"cmp"
	"errors"
	"maps"
	"math"
	nethttp "net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// This file has forms by which something is made: what is typed, what is wrong with it at
// the field that is to blame, what would come of it, and the command that does the same.
// Scripts ask for all of that as one types; nothing is made before the last button.

// makeBody is such a form: the template "make".
type makeBody struct {
	Title, Intro string
	Post         string
	Verb         string // "": there is nothing to make
	Fields       []formField
	// Check says that what would come of it can be asked for; then it is as one types, too.
	Check bool
	// Quick says that there is nothing to look at before it is made: it is checked as one
	// types, and Enter makes it.
	Quick bool
	// Fault is what is wrong that no field is to blame for, Missing what is still to be typed.
	Fault, Missing string
	// Will says what would come of it, the sections show it.
	Will     string
	Sections []section
	Command  string
}

// mountMake mounts the page of a form and what it sends to.
func (c *Console) mountMake(path string, page func(v *visit) error) {
	c.inContext("GET "+path, page)
	c.inContext("POST "+path, page)
}

// The values of the buttons: one makes something, the other only looks. Scripts, which ask as
// one types, send neither.
const (
	makeIt  = "make"
	checkIt = "check"
)

// making reports whether it is to be made, not only looked at.
func (v *visit) making() bool {
	return v.r.Method == nethttp.MethodPost && v.r.PostFormValue("act") == makeIt
}

// checking reports whether somebody has asked what is wrong: then it is said of fields, too,
// that nobody has come to yet.
func (v *visit) checking() bool {
	return v.making() || v.r.Method == nethttp.MethodPost && v.r.PostFormValue("act") == checkIt
}

// Unwell reports whether something stands in the way of making it.
func (b *makeBody) Unwell() bool {
	return b.Fault != "" || b.Missing != "" || slices.ContainsFunc(b.Fields, func(f formField) bool { return f.Fault != "" })
}

// wrongAt is an error of one field.
type wrongAt struct {
	field string
	error
}

func (e *wrongAt) Unwrap() error { return e.error }

// at puts an error at a field; nil stays nil.
func at(field string, err error) error {
	if err == nil {
		return nil
	}
	return &wrongAt{field, err}
}

// wrongs are the errors of several fields.
type wrongs []error

func (w *wrongs) add(err error) {
	if err != nil {
		*w = append(*w, err)
	}
}

// all is nil where there are none.
func (w wrongs) all() error {
	if len(w) == 0 {
		return nil
	}
	return w
}

// at reports whether one of them is about one of these fields.
func (w wrongs) at(fields ...string) bool {
	return slices.ContainsFunc(w, func(err error) bool {
		wrong := (*wrongAt)(nil)
		return errors.As(err, &wrong) && slices.Contains(fields, wrong.field)
	})
}

func (w wrongs) Unwrap() []error { return w }

func (w wrongs) Error() string {
	texts := make([]string, len(w))
	for i, err := range w {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

// By the words of an error the field is found that is to blame; what is quoted was typed.
var (
	wordPattern   = regexp.MustCompile(`[a-z_]+`)
	quotedPattern = regexp.MustCompile(`"(\\.|[^"\\])*"`)
)

// blameFor is the field that an error is about: that which it says, or whose name it has
// first; nil where there is none.
func (b *makeBody) blameFor(err error) *formField {
	var named []string
	if wrong := (*wrongAt)(nil); errors.As(err, &wrong) {
		named = []string{wrong.field}
	} else {
		named = wordPattern.FindAllString(quotedPattern.ReplaceAllString(err.Error(), ""), -1)
	}
	for _, name := range named {
		for i := range b.Fields {
			if b.Fields[i].Name == name {
				return &b.Fields[i]
			}
		}
	}
	return nil
}

// halves has two fields stand side by side.
func (b *makeBody) halves(names ...string) {
	for i := range b.Fields {
		b.Fields[i].Half = slices.Contains(names, b.Fields[i].Name)
	}
}

// showMake shows the form with what is wrong with it: err is what checking or making it
// came to. What is no fault of the form is returned.
func (v *visit) showMake(pg page, b *makeBody, err error) error {
	status, err := v.blamed(b, err)
	if err != nil {
		return err
	}
	pg.Title, pg.Command, pg.Body = b.Title, b.Command, b
	v.render(status, pg)
	return nil
}

// blamed puts all that is wrong where it was typed, and gives the status of the page. What is
// no fault of the form is returned.
func (v *visit) blamed(b *makeBody, err error) (status int, other error) {
	if err == nil {
		return nethttp.StatusOK, nil
	}
	list, many := err.(wrongs)
	if !many {
		list = wrongs{err}
	}
	var missing []string
	for _, err := range list {
		if !errors.Is(err, domain.ErrInvalid) && !errors.Is(err, domain.ErrConflict) && !errors.Is(err, domain.ErrNotFound) && !errors.Is(err, domain.ErrLimit) {
			return 0, err
		}
		field := b.blameFor(err)
		switch {
		case field != nil && (v.checking() || field.Value != ""):
			field.Fault = cmp.Or(field.Fault, err.Error())
		case field != nil:
			missing = append(missing, upper(err.Error())+".")
		default:
			b.Fault = cmp.Or(b.Fault, err.Error())
		}
	}
	b.Missing, b.Will = strings.Join(missing, " "), ""
	if v.making() {
		for i := range b.Fields {
			if f := &b.Fields[i]; f.Secret {
				f.Fault = cmp.Or(f.Fault, "Nothing was made, and no page has what was typed here: give it again.")
			}
		}
		return nethttp.StatusBadRequest, nil
	}
	return nethttp.StatusOK, nil
}

// typedIn is what a person typed into a field, without blanks around it. What a link says
// is as if it were typed.
func (v *visit) typedIn(name string) string { return strings.TrimSpace(v.r.FormValue(name)) }

// readForm reads what was sent. Browsers end all lines with CR LF, whatever they showed: here they end as they are written.
//
// Errors: [domain.ErrInvalid].
func (v *visit) readForm() error {
	if v.r.Method != nethttp.MethodPost {
		return nil
	}
	if err := v.r.ParseForm(); err != nil {
		return domain.Invalidf("this form cannot be read: %v", err)
	}
	for _, form := range []url.Values{v.r.PostForm, v.r.Form} {
		for _, values := range form {
			for i := range values {
				values[i] = strings.ReplaceAll(values[i], "\r\n", "\n")
			}
		}
	}
	return nil
}

// asItWas is the text that was stored, where its field came back as the form had it; else what was typed. Other ends of lines, blanks
// around it and marks in the place of what cannot be shown are no change of anybody's.
func (v *visit) asItWas(name, was, typed string) string {
	if came := v.r.FormValue(name); came == lineEnds.Replace(was) || came == typable(was) {
		return was
	}
	return typed
}

// numberIn is the number in a field; empty is 0.
//
// Errors: [domain.ErrInvalid], at the field.
func (v *visit) numberIn(name string) (uint32, error) { return v.numberUpTo(name, math.MaxUint32) }

// numberUpTo is the number in a field that takes none above most; empty is 0.
//
// Errors: [domain.ErrInvalid], at the field.
func (v *visit) numberUpTo(name string, most uint32) (uint32, error) {
	text := v.typedIn(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n > uint64(most) {
		return 0, at(name, domain.Invalidf("%q: want a number up to %d", domain.PlainText(text, 40), most))
	}
	return uint32(n), nil
}

// numbersIn are numbers with commas or blanks between them.
//
// Errors: [domain.ErrInvalid], at the field.
func numbersIn[T ~uint32](v *visit, name string) (list []T, err error) {
	for _, text := range strings.FieldsFunc(v.typedIn(name), func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) }) {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil || n == 0 {
			return nil, at(name, domain.Invalidf("%q: want numbers, as 12, 20", domain.PlainText(text, 40)))
		}
		list = append(list, T(n))
	}
	return list, nil
}

// linesIn are the lines of a field that have something.
func (v *visit) linesIn(name string) []string {
	return linesOfText(v.r.FormValue(name))
}

func linesOfText(text string) (list []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	return list
}

// pairsIn are lines of NAME=VALUE.
//
// Errors: [domain.ErrInvalid], at the field.
func (v *visit) pairsIn(name string) (map[string]string, error) {
	m, err := pairsOf(v.linesIn(name))
	return m, at(name, err)
}

// pairsOf reads lines of NAME=VALUE.
//
// Errors: [domain.ErrInvalid].
func pairsOf(lines []string) (map[string]string, error) {
	m := map[string]string{}
	for _, line := range lines {
		key, value, found := strings.Cut(line, "=")
		if key = strings.TrimSpace(key); !found || key == "" {
			return nil, domain.Invalidf("%q: want NAME=VALUE", domain.PlainText(line, 80))
		}
		if _, twice := m[key]; twice {
			return nil, domain.Invalidf("%s stands twice", domain.PlainText(key, 80))
		}
		m[key] = strings.TrimSpace(value)
	}
	return m, nil
}

// pairLines are the lines that [pairsOf] reads as these pairs; not ok says that there are none, as of a value of several
// lines, or one with blanks at its ends.
func pairLines(m map[string]string) (lines string, ok bool) {
	var list []string
	for _, p := range pairs(m) {
		list = append(list, p.Name+"="+p.Value)
	}
	lines = strings.Join(list, "\n")
	read, err := pairsOf(linesOfText(lines))
	return lines, err == nil && maps.Equal(read, m)
}

// keepParams takes the field of the params out of a form where it would change them though nobody has, and says so.
func (b *makeBody) keepParams(of string, params map[string]string) (kept bool) {
	if _, ok := pairLines(params); ok {
		return false
	}
	b.Fields = slices.DeleteFunc(b.Fields, func(f formField) bool { return f.Name == "params" })
	b.Intro += " Its params stay as they are: not all of them can be written as a line each. `ramet " + of + " apply` changes them."
	return true
}

// flagsOf are flags of a command with what was typed: names and values, without those that
// are empty.
func flagsOf(words []string, namesAndValues ...string) []string {
	for i := 0; i+1 < len(namesAndValues); i += 2 {
		if namesAndValues[i+1] != "" {
			words = append(words, "--"+namesAndValues[i], namesAndValues[i+1])
		}
	}
	return words
}

// everywhere is a command that is about no context.
func everywhere(words ...string) string {
	for i, w := range words {
		words[i] = quoted(w)
	}
	return "ramet " + strings.Join(words, " ")
}
