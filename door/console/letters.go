package console

import (
	"cmp"
	nethttp "net/http"
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
	c.inContext("POST letters/{act}", (*visit).actOnLetters)
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
func (c cause) query() string {
	return with("kind", string(c.Kind), "saga", c.Saga, "effect", c.Effect, "cause", c.Part)
}

// causeOf is that of a letter.
func causeOf(d *domain.DeadLetter) cause {
	return cause{d.Kind, d.Saga, d.Effect, fixedPart(d.Cause)}
}

// fixedPart is the longest part of a sentence without quotes and numbers, which differ
// from letter to letter; the whole where that is short.
func fixedPart(text string) string {
	varies := func(word string) bool {
		return strings.IndexFunc(word, func(r rune) bool { return unicode.IsDigit(r) || r == '"' || r == '\'' }) >= 0
	}
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

func (v *visit) causesPage() error {
	groups, total, more, err := v.countCauses()
	if err != nil {
		return err
	}
	t := table{Name: "Causes", Head: []column{{"Letters", "num"}, {"Kind", ""}, {"Of", "name"}, {"Cause", "why"}, {"Latest", ""}, {"Hold instances", "num"}}}
	for _, g := range groups {
		link := v.path("letters/list") + g.query()
		t.Rows = append(t.Rows, row{link, []entry{linkTo(strconv.Itoa(g.count), link), words(string(g.Kind)), words(cmp.Or(g.Saga, g.Effect)),
			words(g.text), when(v.at(g.latest)),
			countOf(int64(g.holds))}})
	}
	b := &listBody{Title: "Dead letters", Tabs: v.letterTabs(false), Tables: []table{t},
		None: "There is no dead letter: nothing was given up on. An event that no saga can read, or an effect that never ends well, would stand here."}
	pg := page{Title: "Dead letters", Template: "list", Noun: "Dead letters", Command: v.command("deadletter", "list"), Crumbs: []crumb{{"Dead letters",
		""}}, Follow: lists("dead_letter"), Body: b}
	if total > 0 {
		text := "1 dead letter waits for you"
		if total > 1 {
			text = strconv.Itoa(total) + " dead letters wait for you"
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
				g = &causeGroup{cause: c}
				byCause[c] = g
				groups = append(groups, g)
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
	before, _ := strconv.ParseInt(q.Get("before_ms"), 10, 64) // what is no number filters nothing
	p := api.ListDeadLettersParams{Context: v.tenant.ID, DeadLetterFilter: api.DeadLetterFilter{Kind: domain.DeadKind(q.Get("kind")),
		Saga: q.Get("saga"), Effect: q.Get("effect"), Cause: q.Get("cause"),
		BeforeMs: before}, Cursor: q.Get("cursor"), Limit: pageRows}
	list, err := call(v, api.DeadLetterList, p)
	if err != nil {
		return err
	}
	b := &listBody{Title: "Dead letters", Tabs: v.letterTabs(true), Filtered: filtered(q), All: v.path("letters/list"), Pager: v.pagerOf("letters/list",
		q, list.Next),
		None: "There is no dead letter.", Fields: []formField{typed("saga", "Saga", p.Saga, "order"), typed("effect", "Effect", p.Effect, "charge-card"),
			typed("cause", "Cause has", p.Cause, "timeout")}}
	b.Filters = append(b.Filters, v.choice("letters/list", "All", "kind", ""))
	for _, kind := range domain.DeadKinds {
		b.Filters = append(b.Filters, v.choice("letters/list", upper(string(kind)), "kind", string(kind)))
	}
	t := table{Name: "Dead letters", Head: []column{{"Letter", "id"}, {"Kind", ""}, {"Of", "name"}, {"Instance", "name"}, {"Cause", "why"}, {"Tried",
		"num"}, {"Made", ""}}}
	for _, d := range list.DeadLetters {
		link := v.letterLink(d.Kind, d.ID)
		t.Rows = append(t.Rows, row{link, []entry{linkTo(shortID(d.ID), link), words(string(d.Kind)), words(cmp.Or(d.Saga, d.Effect)), words(d.Correlation),
			words(d.Cause),
			number(int64(d.Attempts)), when(v.at(d.MadeMs))}})
	}
	b.Tables = []table{t}
	pg := page{Title: "Dead letters", Template: "list", Noun: "Dead letters", Command: v.command(v.flags([]string{"deadletter", "list"}, "kind", "saga",
		"effect", "cause")...),
		Crumbs: []crumb{{"Dead letters", v.path("letters")}, {"All letters", ""}}, Follow: lists("dead_letter"), Body: b}
	if len(t.Rows) > 0 && (p.Saga != "" || p.Effect != "" || p.Cause != "") {
		if pg.Sentence, err = v.manyLetters(cause{p.Kind, p.Saga, p.Effect, p.Cause}); err != nil {
			return err
		}
		pg.Follow = nil // what is counted stays what is settled
	}
	v.render(nethttp.StatusOK, pg)
	return nil
}

// shortID is the beginning of an id that is a UUID or a place in a stream.
func shortID(id string) string {
	if len(id) > 16 {
		return domain.CutText(id, 13) + "…"
	}
	return id
}

// manyLetters counts the letters of a cause, and offers to settle them together: those
// that were there when the page was made, and no later ones.
func (v *visit) manyLetters(c cause) (*sentence, error) {
	p := api.ListDeadLettersParams{Context: v.tenant.ID, DeadLetterFilter: api.DeadLetterFilter{Kind: c.Kind, Saga: c.Saga, Effect: c.Effect, Cause: c.Part,
		BeforeMs: v.now.UnixMilli() + 1}, Limit: lettersPage}
	list := 0
	for range lettersRounds {
		found, err := call(v, api.DeadLetterList, p) // not replay with count_only: who looks leaves no line in the audit log
		if err != nil {
			return nil, err
		}
		list += len(found.DeadLetters)
		if p.Cursor = found.Next; p.Cursor == "" {
			break
		}
	}
	if list == 0 {
		return nil, nil
	}
	count := plural(list, "letter")
	if p.Cursor != "" {
		count = "the first " + count
	}
	s := &sentence{State: state{"given up on", errored}, Text: upper(count) + " of this cause."}
	line := func(verb string) string {
		return v.command(append(v.flags([]string{"deadletter", verb}, "kind", "saga", "effect", "cause"), "--all", "--yes")...)
	}
	post := func(act string) string {
		return v.path("letters/%s", act) + c.query() + "&before_ms=" + strconv.FormatInt(p.BeforeMs, 10)
	}
	if v.may(api.DeadLetterReplay.Operation) {
		s.Actions = append(s.Actions, action{Name: "Replay " + strconv.Itoa(list), Verb: "Replay " + count, Post: post("replay"), Primary: true,
			Will: "Gives " + count + " another chance, as they are. What fails again comes back here. Letters that come meanwhile are left alone.", Command: line("replay")})
	}
	if v.may(api.DeadLetterDrop.Operation) {
		s.Actions = append(s.Actions, action{Name: "Drop " + strconv.Itoa(list), Verb: "Drop " + count, Post: post("drop"),
			Will: "Forgets " + count + " for good; instances that they hold go on without them. This cannot be undone.", Command: line("drop")})
	}
	return s, nil
}

// settleRounds bounds what one request settles, in rounds of 500 letters.
const settleRounds = lettersRounds

// actOnLetters settles all letters of a cause, or one.
func (v *visit) actOnLetters() error {
	act := v.r.PathValue("act")
	op, did := api.DeadLetterReplay, "replayed"
	switch act {
	case "replay":
	case "drop":
		op, did = api.DeadLetterDrop, "dropped"
	default:
		return domain.NotFoundf("dead letters cannot be told to %q", domain.PlainText(act, 20))
	}
	form := v.r.FormValue // its texts are those of others: they stand in the address
	p := api.ChooseLettersParams{Context: v.tenant.ID, DeadLetterChoice: api.DeadLetterChoice{Kind: domain.DeadKind(form("kind")), ID: form("id")}}
	if p.ID == "" {
		p.All, p.Saga, p.Effect, p.Cause = true, form("saga"), form("effect"), form("cause")
		before, err := strconv.ParseInt(form("before_ms"), 10, 64)
		if err != nil || p.Saga == "" && p.Effect == "" && p.Cause == "" {
			return domain.Invalidf("which dead letters? go back to the list, and choose a cause there")
		}
		p.BeforeMs = before
	}
	done, failed, first := 0, 0, ""
	for range settleRounds {
		out, err := call(v, op, p)
		if err != nil {
			if done > 0 {
				return v.did(v.path("letters"), "", domain.Unavailablef("%s were %s, then it stopped: %v", plural(done, "letter"), did, err))
			}
			to := v.path("letters")
			if p.ID != "" {
				to = v.letterLink(p.Kind, p.ID)
			}
			return v.did(to, "", err)
		}
		done += out.Done
		for _, f := range out.Failed {
			if failed++; first == "" {
				first = f.Error.Detail
			}
		}
		if p.Cursor = out.Next; p.Cursor == "" {
			break
		}
	}
	said := upper(plural(done, "letter")) + " " + did + "."
	if failed > 0 {
		said += " " + plural(failed, "letter") + " could not be: " + domain.PlainText(first, maxPlain) + "."
	}
	if p.Cursor != "" {
		said += " There are more: do it again."
	}
	return v.did(v.path("letters"), said, nil)
}
