package console

import (
	"net/url"
	"strings"

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
	return "This was not done: " + domain.PlainText(err.Error(), maxPlain) + "."
}
