package console

import (
	"cmp"
	nethttp "net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// This file has dead letters, by what caused them and one by one; a letter is in letter.go.

const (
	// lettersPage is how many are read at once, lettersRounds how often: more are not
	// counted by cause.
	lettersPage   = 500
	lettersRounds = 4
	// causeLeast is how many letters a part of a cause has by which others are found.
	causeLeast = 8
)

func (c *Console) mountLetters() {
	c.live("GET letters", (*visit).causesPage)
	c.live("GET letters/list", (*visit).lettersPage)
	c.inContext("POST letters/{act}", (*visit).actOnLetter)
	c.mountMany("letters/list", (*visit).manyLetters)
	c.mountLetter()
}

func (v *visit) letterTabs(all bool) []tab {
	return []tab{{"By cause", v.path("letters"), !all}, {"All letters", v.path("letters/list"), all}}
}

// cause is what letters have in common, by which all of them can be asked for.
type cause struct {
	Kind         domain.DeadKind
	Saga, Effect string
	// Part is the part of the sentence that they share.
	Part string
}

// query is the address of its letters, behind the page's.
func (c cause) query() string { return behindMark(c.filter()) }

// filter finds its letters.
func (c cause) filter() url.Values {
	q := url.Values{}
	for _, f := range [...]field{{"kind", string(c.Kind)}, {"saga", c.Saga}, {"effect", c.Effect}, {"cause", c.Part}} {
		if f.Value != "" {
			q.Set(f.Name, f.Value)
		}
	}
	return q
}

// causeOf is that of a letter.
func causeOf(d *domain.DeadLetter) cause {
	return cause{d.Kind, d.Saga, d.Effect, fixedPart(d.Cause)}
}

// fixedPart is the longest part of a sentence without quotes and numbers, which differ
// from letter to letter; the whole where that is short.
func fixedPart(text string) string {
	best, from := "", 0
	take := func(to int) {
		if part := strings.TrimSpace(text[from:to]); len(part) > len(best) {
			best = part
		}
	}
	at := 0
	for word := range strings.SplitAfterSeq(text, " ") {
		if varies(word) {
			take(at)
			from = at + len(word)
		}
		at += len(word)
	}
	take(len(text))
	if len(best) < causeLeast {
		return text
	}
	return best
}

// varies reports whether a word of a sentence differs from letter to letter: it has a quote, or a number.
func varies(word string) bool {
	return strings.IndexFunc(word, func(r rune) bool { return unicode.IsDigit(r) || r == '"' || r == '\'' }) >= 0
}

// masked is a sentence with … in the place of the words that differ from letter to letter.
func masked(text string) string {
	words := strings.Split(text, " ")
	for i, word := range words {
		if varies(word) {
			words[i] = "…"
		}
	}
	return strings.Join(words, " ")
}

func (v *visit) causesPage() error {
	groups, total, more, err := v.countCauses()
	if err != nil {
		return err
	}
	t := table{Name: "Causes", Head: []column{{"Letters", "num"}, {"Kind", ""}, {"Of", "name"}, {"Cause", "why"}, {"Latest", ""}, {"Hold instances", "num"}}}
	acts := v.may(api.DeadLetterReplayAll.Operation) || v.may(api.DeadLetterDropAll.Operation)
	if acts {
		t.Head = append(t.Head, column{"Do", ""})
	}
	for _, g := range groups {
		link := v.path("letters/list") + g.query()
		r := row{Link: link, Cells: []entry{linkTo(strconv.Itoa(g.count), link), words(string(g.Kind)), words(cmp.Or(g.Saga, g.Effect)),
			words(g.says()), when(v.past(g.latest)), countOf(int64(g.holds))}}
		if acts {
			var e entry
			if !more { // else the count is not that of all
				e.Actions = v.causeActions(g.filter(), g.count)
			}
			r.Cells = append(r.Cells, e)
		}
		t.Rows = append(t.Rows, r)
	}
	b := &listBody{Title: "Dead letters", Tabs: v.letterTabs(false), Tables: []table{t},
		None: "There is no dead letter: nothing was given up on. An event that no saga can read, or an effect that never ends well, would stand here."}
	pg := page{Title: "Dead letters", Noun: "Dead letters", Command: v.command("deadletter", "list"), Crumbs: []crumb{{"Dead letters",
		""}}, Follow: lists("dead_letter"), Body: b}
	if total > 0 {
		text := counted(total, "dead letter waits", "dead letters wait")
		if acts {
			text += " for you"
		} else {
			text += " for somebody who may replay or drop"
			text += map[bool]string{true: " it", false: " them"}[total == 1]
		}
		if more {
			text = "More than " + text
		}
		if n := len(groups); n > 1 {
			text += ", of " + strconv.Itoa(n) + " causes"
		}
		pg.Sentence = &sentence{State: state{"given up on", errored}, Text: text + "."}
	}
	v.render(nethttp.StatusOK, pg)
	return nil
}

// causeGroup is a cause with its letters.
type causeGroup struct {
	cause
	count, holds int
	latest       int64
	text         string // of the latest
	masked       string // what the sentences of all are without what varies; "": they differ in more
	alike        bool   // they are one sentence
}

// says is what is true of all its letters, which are found by a part of their sentence.
func (g *causeGroup) says() string {
	switch {
	case g.alike:
		return g.text
	case g.masked != "":
		return g.masked
	}
	return "… " + g.Part + " …"
}

// countCauses counts the letters of each cause; the cause of most comes first. more says
// that there are letters that were not looked at.
func (v *visit) countCauses() (groups []*causeGroup, total int, more bool, err error) {
	byCause := map[cause]*causeGroup{}
	cursor := ""
	for range lettersRounds {
		list, err := call(v, api.DeadLetterList, api.ListDeadLettersParams{Context: v.tenant.ID, Limit: lettersPage, Cursor: cursor})
		if err != nil {
			return nil, 0, false, err
		}
		for _, d := range list.DeadLetters {
			c := causeOf(d)
			g := byCause[c]
			if g == nil {
				g = &causeGroup{cause: c, masked: masked(d.Cause), alike: true, text: d.Cause}
				byCause[c] = g
				groups = append(groups, g)
			}
			if g.alike = g.alike && d.Cause == g.text; masked(d.Cause) != g.masked {
				g.masked = ""
			}
			g.count++
			if d.Holds {
				g.holds++
			}
			if d.MadeMs >= g.latest {
				g.latest, g.text = d.MadeMs, d.Cause
			}
			total++
		}
		if cursor = list.Next; cursor == "" {
			break
		}
	}
	slices.SortFunc(groups, func(a, b *causeGroup) int { return cmp.Or(b.count-a.count, strings.Compare(a.text, b.text)) })
	return groups, total, cursor != "", nil
}

// lettersPage lists letters one by one. Those that a filter fits can be replayed or dropped
// together.
func (v *visit) lettersPage() error {
	q := v.r.URL.Query()
	p := api.ListDeadLettersParams{Context: v.tenant.ID, DeadLetterFilter: api.DeadLetterFilter{Kind: domain.DeadKind(q.Get("kind")),
		Saga: q.Get("saga"), Effect: q.Get("effect"), Cause: q.Get("cause"), Where: q.Get("where"), Narrowing: narrowing(q)}, Cursor: q.Get("cursor"),
		Limit: pageRows}
	fields := v.fields(typed("saga", "Saga", p.Saga, "order"), typed("effect", "Effect", p.Effect, "charge-card"), typed("cause", "Cause has", p.Cause, "timeout"),
		typed("where", "Where", p.Where, "letter.attempts > 3"))
	list, err := call(v, api.DeadLetterList, p)
	if err = blame(err, fields); err != nil {
		return err
	}
	l := v.manyLetters()
	b := &listBody{Title: "Dead letters", Many: v.manyOf(l), Tabs: v.letterTabs(true), Filtered: filtered(q), All: v.path("letters/list"),
		Pager: v.pagerOf("letters/list",
			q, list.Next),
		None: "There is no dead letter.", Fields: fields}
	b.Filters = append(b.Filters, v.choice("letters/list", "All", "kind", ""))
	for _, kind := range domain.DeadKinds {
		b.Filters = append(b.Filters, v.choice("letters/list", upper(string(kind)), "kind", string(kind)))
	}
	t := table{Name: "Dead letters", Head: []column{{"Letter", "id"}, {"Kind", ""}, {"Of", "name"}, {"Instance", "name"}, {"Cause", "why"}, {"Tried",
		"num"}, {"Made", ""}}}
	for _, d := range list.DeadLetters {
		link := v.letterLink(d.Kind, d.ID)
		r := row{Link: link, Cells: []entry{linkTo(shortID(d.ID), link), words(string(d.Kind)), words(cmp.Or(d.Saga, d.Effect)), words(d.Correlation),
			words(d.Cause), number(int64(d.Attempts)), when(v.past(d.MadeMs))}}
		if b.Many != nil {
			r.Pick = pick(string(d.Kind) + ":" + d.ID)
		}
		t.Rows = append(t.Rows, r)
	}
	b.Tables = []table{t}
	pg := page{Title: "Dead letters", Noun: "Dead letters", Command: v.command(append([]string{"deadletter", "list"},
		l.flags(l.filter(q))...)...),
		Crumbs: []crumb{{"Dead letters", v.path("letters")}, {"All letters", ""}}, Follow: lists("dead_letter"), Body: b}
	if len(t.Rows) > 0 && (p.Saga != "" || p.Effect != "" || p.Cause != "") {
		if pg.Sentence, err = v.letterSentence(q); err != nil {
			return err
		}
		pg.Follow = nil // what is counted stays what is settled
	}
	v.render(statusOf(fields), pg)
	return nil
}

// shortID is the beginning of an id that is a UUID or a place in a stream.
func shortID(id string) string {
	if len(id) > 16 {
		return domain.CutText(id, 13) + "…"
	}
	return id
}

// letterSentence counts the letters that a filter finds, and offers to settle them
// together: those that were there when the page was made, and no later ones.
func (v *visit) letterSentence(q url.Values) (*sentence, error) {
	l := v.manyLetters()
	p := api.ListDeadLettersParams{Context: v.tenant.ID, Count: true}
	filter := l.filter(q)
	if err := api.DeadLetterList.ReadQuery(&p, filter); err != nil {
		return nil, err
	}
	found, err := call(v, api.DeadLetterList, p)
	if err != nil || found.Count == nil || found.Count.Matching == 0 {
		return nil, err
	}
	text := plural(found.Count.Matching, "letter") + " of this cause."
	if found.Count.More {
		text = "More than " + text
	}
	return &sentence{State: state{"given up on", errored}, Text: text, Actions: v.causeActions(filter, found.Count.Matching)}, nil
}

// causeActions offer to settle all letters of a filter, of which there are so many now.
func (v *visit) causeActions(filter url.Values, n int) (list []action) {
	l := v.manyLetters()
	for i := range l.deeds {
		d := &l.deeds[i]
		if !v.may(d.all.op) {
			continue
		}
		a := action{Name: d.name + " " + strconv.Itoa(n), Verb: d.name + " " + plural(n, l.thing), Will: d.will, Primary: d.act == "replay",
			Fields: []field{{"act", d.act}}}
		v.untilNow(&l, d, filter, &a)
		list = append(list, a)
	}
	return list
}

// actOnLetter settles one letter.
func (v *visit) actOnLetter() error {
	l := v.manyLetters()
	i := slices.IndexFunc(l.deeds, func(d deed) bool { return d.act == v.r.PathValue("act") })
	if i < 0 {
		return domain.NotFoundf("dead letters cannot be told to %q", domain.PlainText(v.r.PathValue("act"), 20))
	}
	kind, id := domain.DeadKind(v.r.FormValue("kind")), v.r.FormValue("id")
	if err := l.deeds[i].do(v, string(kind)+":"+id); err != nil {
		return v.did(v.letterLink(kind, id), "", err)
	}
	return v.did(v.path("letters"), "1 letter "+l.deeds[i].done+".", nil)
}
