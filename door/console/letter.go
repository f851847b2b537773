package console

import (
	"bytes"
	"encoding/json"
	nethttp "net/http"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

func (c *Console) mountLetter() {
	c.inContext("GET letter", (*visit).letterPage)
}

// letterLink is where a dead letter is shown.
func (v *visit) letterLink(kind domain.DeadKind, id string) string {
	return v.path("letter") + with("kind", string(kind), "id", id)
}

func (v *visit) letterPage() error {
	p := api.DeadLetterParams{Context: v.tenant.ID, Kind: domain.DeadKind(v.r.FormValue("kind")), ID: v.r.FormValue("id")}
	d, err := call(v, api.DeadLetterShow, p)
	if err != nil {
		return err
	}
	b := &detailBody{Title: d.ID, Facts: []fact{{Name: "kind", Text: string(d.Kind)}}}
	add := func(name, text, link string) {
		if text != "" {
			b.Facts = append(b.Facts, fact{Name: name, Text: text, Link: link})
		}
	}
	add("saga", d.Saga, v.path("letters/list")+with("saga", d.Saga))
	add("instance", d.Correlation, "")
	add("effect", d.Effect, v.path("effect")+with("name", d.Effect))
	add("tried", plural(d.Attempts, "time"), "")
	if d.Stream != "" {
		add("from", d.Stream+" "+strconv.FormatUint(d.Seq, 10), "")
	}
	add("subject", d.Subject, "")
	add("trace", d.Trace, "")
	content := d.Content()
	b.Sections = []section{{Title: "What it was", Lines: linesOf(indented(content))}}
	if content == "" {
		b.Sections = []section{{Title: "What it was", None: "It had no content."}}
	}
	acts, err := v.acts("deadletter:" + string(d.Kind) + ":" + d.ID)
	if err != nil {
		return err
	}
	if len(acts) > 0 {
		b.Sections = append(b.Sections, section{Title: "History", History: acts})
	}
	s := &sentence{State: state{"given up on", errored}, Text: strings.TrimRight(upper(d.Cause), ".") + ".", Since: v.past(d.MadeMs), Actions: v.letterActions(d)}
	if d.Holds {
		s.Next = "its instance does nothing until this is replayed or dropped"
	}
	v.render(nethttp.StatusOK, page{Title: "Dead letter " + d.ID, Noun: "Dead letters", Command: v.command("deadletter", "show",
		string(d.Kind), d.ID), Sentence: s, Body: b,
		Crumbs: []crumb{{"Dead letters", v.path("letters")}, {"of its cause", v.path("letters/list") + causeOf(d).query()}, {shortID(d.ID), ""}}})
	return nil
}

// letterActions are what can be done with one by who looks.
func (v *visit) letterActions(d *domain.DeadLetter) (list []action) {
	which := with("kind", string(d.Kind), "id", d.ID)
	if v.may(api.DeadLetterReplay.Operation) {
		list = append(list, action{Name: "Replay", Verb: "Replay 1 letter", Post: v.path("letters/replay") + which, Primary: true,
			Will: "Gives it another chance, as it is. If it fails again, it comes back.", Command: v.command("deadletter", "replay", string(d.Kind), d.ID)})
	}
	if v.may(api.DeadLetterDrop.Operation) {
		list = append(list, action{Name: "Drop", Verb: "Drop 1 letter", Post: v.path("letters/drop") + which,
			Will: "Forgets it for good; an instance that it holds goes on without it. This cannot be undone.", Command: v.command("deadletter", "drop",
				string(d.Kind), d.ID)})
	}
	return list
}

// indented is JSON with a line for each field; another text is as it is.
func indented(text string) string {
	var out bytes.Buffer
	if json.Indent(&out, []byte(text), "", "  ") != nil {
		return text
	}
	return out.String()
}
