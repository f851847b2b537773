package console

import (
	"net/url"
	"slices"
	"strconv"

	"github.com/ramet-run/ramet/domain"
)

// This file has what lists and pages of one thing have in common, so that a page of a noun
// is only what is read and what is said of it.

// table is a list of things of one kind.
type table struct {
	Name string // for those who hear the page
	Head []column
	Rows []row
}

// whole is all of what a cell has no room for, for who points at it; "" where there is room enough.
func (t *table) whole(i int, e entry) string {
	switch class := t.Head[i].Class; {
	case class == "trigger" || (class == "why" || class == "name") && len(e.Text) > wholeFrom:
		return plain(e.Text)
	}
	return ""
}

// wholeFrom is from how many bytes on a text may have no room in its cell.
const wholeFrom = 24

// tailLength is how many letters of a name are shown at its end in any case: as many as a schedule's time has.
const tailLength = 15

// headAndTail parts a long name; head "": it is short.
func headAndTail(text string) (head, tail string) {
	letters := []rune(plain(text))
	at := len(letters) - tailLength
	if at < tailLength/2 {
		return "", string(letters)
	}
	return string(letters[:at]), string(letters[at:])
}

// column is a column of a table. Class says how it is set: "id", "name", "num", "trigger" (a name whose end
// counts), "of" (which needs its column's name beside it), "why" (the one that takes the room that is left), or "".
type column struct{ Name, Class string }

// row is a thing in a table; Link is where it is shown, "" where that is nowhere.
// Pick is the key by which it is ticked, "" where nothing can be done to several.
type row struct {
	Link  string
	Cells []entry
	Pick  string
}

// Picks reports whether rows can be ticked.
func (t *table) Picks() bool { return len(t.Rows) > 0 && t.Rows[0].Pick != "" }

// entry is what stands in a table at one place: one of a state, an instant, a text, or
// things to do.
type entry struct {
	Text    string
	Link    string
	State   state
	At      moment
	Actions []action
}

func words(text string) entry        { return entry{Text: text} }
func linkTo(text, link string) entry { return entry{Text: text, Link: link} }
func number(n int64) entry           { return entry{Text: strconv.FormatInt(n, 10)} }
func chip(s state) entry             { return entry{State: s} }
func when(m moment) entry            { return entry{At: m} }

// countOf is a number of which nobody wants to hear when it is 0.
func countOf(n int64) entry {
	if n == 0 {
		return entry{}
	}
	return number(n)
}

// actorText is what people call an actor.
func actorText(id domain.ActorID) string {
	if id == 0 {
		return ""
	}
	return "actor " + strconv.FormatUint(uint64(id), 10)
}

// listBody is what a page shows that is a list: the template "list".
type listBody struct {
	Title   string
	Tabs    []tab
	Intro   string
	Links   []crumb // to pages that make something
	Actions []action
	Filters []filter
	Fields  []formField
	Tables  []table
	// Filtered says that something is asked for, so that an empty list does not mean that
	// there is nothing; All is the address without that.
	Filtered bool
	All      string
	// None says what would stand in an empty list, and Make is the command that makes one.
	None, Make string
	Pager      pager
	Many       *many // nil: nothing can be done to several
}

// Empty says that there is no row.
func (b *listBody) Empty() bool {
	return !slices.ContainsFunc(b.Tables, func(t table) bool { return len(t.Rows) > 0 })
}

// detailBody is what a page shows of one thing: the template "detail".
type detailBody struct {
	Title    string
	State    state // Word "": none
	Links    []crumb
	Actions  []action
	Facts    []fact
	Tabs     []tab
	Sections []section
}

// section is a part of a page: a heading, and one of what follows.
type section struct {
	Title string
	Intro string
	Table *table
	Pairs []pair
	// Lines are those of a text that somebody else wrote.
	Lines    []string
	Changes  []change
	History  []happening
	Graph    *graph
	Form     *action
	Asks     *makeBody // as the template "make" shows it
	Progress *progress
	Pager    pager
	// None is said where there is nothing of it, with the command Make.
	None, Make string
}

// progress is how much of something is done.
type progress struct{ Done, Of int }

// change is a line of a difference: Class is "gone", "new" or "".
type change struct{ Class, Text string }

// with is a query string of names and values, without those that are empty.
func with(namesAndValues ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(namesAndValues); i += 2 {
		if namesAndValues[i+1] != "" {
			q.Set(namesAndValues[i], namesAndValues[i+1])
		}
	}
	if len(q) == 0 {
		return ""
	}
	return "?" + q.Encode()
}

// toMake is a link to a form that makes something, for who may.
func (v *visit) toMake(may bool, name, path string) []crumb {
	if !may {
		return nil
	}
	return []crumb{{name, v.path("%s", path)}}
}

// choice is a filter of one click, which sets the value of one parameter; where it has that
// already, another click takes it away.
func (v *visit) choice(path, label, param, value string) filter {
	q := v.r.URL.Query()
	here := q.Get(param) == value
	q.Set(param, value)
	if here {
		q.Del(param)
	}
	return filter{label, v.listAt(path, q), here}
}

// tabsOf are tabs by their keys and names, of which the first needs no key in the address;
// at is the address of one.
func (v *visit) tabsOf(at func(key string) string, keysAndNames ...string) (key string, tabs []tab) {
	key = keysAndNames[0]
	for i := 0; i+1 < len(keysAndNames); i += 2 {
		if keysAndNames[i] == v.r.FormValue("tab") {
			key = keysAndNames[i]
		}
	}
	for i := 0; i+1 < len(keysAndNames); i += 2 {
		k := keysAndNames[i]
		if i == 0 {
			k = ""
		}
		tabs = append(tabs, tab{keysAndNames[i+1], at(k), keysAndNames[i] == key})
	}
	return key, tabs
}

// flags are those of a command line, by their names in the address.
func (v *visit) flags(words []string, names ...string) []string {
	q := v.r.URL.Query()
	for _, name := range names {
		if value := q.Get(name); value != "" {
			words = append(words, "--"+name, value)
		}
	}
	return words
}
