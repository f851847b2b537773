package console

import (
	"net/url"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// action is a thing to do that a page offers: a sheet under a button that says what will
// happen, to how many, and the command that does the same.
type action struct {
	// Name is the button's, Verb that of the one that does it.
	Name, Verb string
	Post       string // where it is sent
	Fields     []field
	// Inputs are what a person types or chooses.
	Inputs []formField
	// Comment asks for a sentence that is kept with what was done.
	Comment bool
	Will    string
	Command string
	// Primary is what the person most likely came for.
	Primary bool
	// Open is one that was asked for and not done: what was typed is there, Typed the comment.
	Open  bool
	Typed string
}

// Mark tells an action from the others of its page. When another comes to its place, a sheet
// that somebody has open is not taken for that one's. Up to when something was made is no
// part of it: that is another instant each time the page is made.
func (a action) Mark() string {
	mark, rest, _ := strings.Cut(a.Post, "?")
	q, _ := url.ParseQuery(rest) // ours
	q.Del("to_ms")
	mark += " " + q.Encode()
	for _, f := range a.Fields {
		if f.Name != "to_ms" {
			mark += " " + f.Value
		}
	}
	return mark
}

// field is what a form sends beside what a person types.
type field struct{ Name, Value string }

// step names a step for an action.
func stepField(name string) []field { return []field{{"step", name}} }

// again opens an action again that was asked for and refused, with what was typed into it.
func (v *visit) again(a *action) {
	if v.refusal == nil || a.Post != v.r.URL.Path || slices.ContainsFunc(a.Fields, func(f field) bool { return v.r.PostForm.Get(f.Name) != f.Value }) {
		return
	}
	a.Open, a.Typed = true, v.r.PostForm.Get("comment")
	for i := range a.Inputs {
		in := &a.Inputs[i]
		if in.Value = v.lastOf(in.Name); in.Secret {
			in.Value = ""
		}
		if in.wrong != nil {
			in.Fault = in.wrong(in.Value)
		}
	}
}

// lastOf is the last value of a field of the form: of one that is ticked there are two.
func (v *visit) lastOf(name string) string {
	values := v.r.PostForm[name]
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

// typedIntoForm reports whether a person has written something into the form that was sent.
func (v *visit) typedIntoForm(names ...string) bool {
	for name := range v.r.PostForm {
		if (slices.Contains(names, name) || strings.HasPrefix(name, answerPrefix)) && strings.TrimSpace(v.lastOf(name)) != "" {
			return true
		}
	}
	return false
}

// refused shows the page of a thing again whose action was refused: what was typed into it
// must not be lost. The page stays as it is until it is left, so that nothing takes it away.
func (v *visit) refused(page func(v *visit) error, at string, err error) error {
	v.refusal, v.refusedAt = err, at
	return page(v)
}

// did shows what an action did on the page that it was asked for on.
func (v *visit) did(to, sentence string, err error) error {
	if err != nil {
		return v.redirectSaying(to, sentenceOf(err), true)
	}
	return v.redirectSaying(to, sentence, false)
}

// redirectSaying leads to a page that begins with a sentence.
func (v *visit) redirectSaying(to, sentence string, unwell bool) error {
	id := v.console.sessions.say(v.console.secretOf(v.r), sentence, unwell)
	u, err := url.Parse(to)
	if err != nil {
		return err
	}
	q := u.Query()
	q.Set("said", id) // and nothing that was said before
	u.RawQuery = q.Encode()
	return v.redirect(u.String())
}

// sentenceOf is an error as a sentence.
func sentenceOf(err error) string {
	return "This was not done: " + domain.PlainText(api.DetailOf(err), maxPlain) + "."
}
