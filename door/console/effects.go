package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	nethttp "net/http"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

func (c *Console) mountEffects() {
	c.live("GET effects", (*visit).effectsPage)
	c.live("GET effect", (*visit).effectPage)
	c.inContext("POST effect/{act}", (*visit).actOnEffect)
}

// effectStanding is how an effect does on this node.
func effectStanding(e *domain.EffectStatus) state {
	is, _ := e.Stands()
	return state{string(is), effectClasses[is]}
}

// effectClasses are how the standings of effects look.
var effectClasses = map[domain.EffectStanding]string{domain.EffectPaused: held, domain.EffectInTrouble: errored, domain.EffectOpen: errored,
	domain.EffectOnTrial: failed, domain.EffectFailedLast: failed, domain.EffectReady: succeeded}

// effectWhy says why an effect is not simply ready.
func effectWhy(e *domain.EffectStatus) string {
	_, why := e.Stands()
	return cmp.Or(why, e.Summary)
}

func (v *visit) effectsPage() error {
	list, err := call(v, api.EffectList, api.ListEffectsParams{Context: v.tenant.ID})
	if err != nil {
		return err
	}
	want := v.r.FormValue("state")
	t := table{Name: "Effects", Head: []column{{"Effect", "name"}, {"State", ""}, {"Kind", ""}, {"Target", "name"}, {"In flight", "num"}, {"Called\u00a0by jobs",
		"num"}, {"Commands waiting", "num"}, {"Why", "why"}}}
	b := &listBody{Title: "Effects", Intro: "Calls to the outside that this node does for sagas and flows, and how their targets answer.",
		Filtered: want != "", All: v.path("effects"),
		None: "This node has no effect that context " + contextName(v.tenant) +
			" may use. What effects there are is said in the config files of nodes, under `effects`."}
	for _, name := range []string{"", "ready", "failed last", "breaker open", "paused"} {
		label := upper(name)
		if name == "" {
			label = "All"
		}
		b.Filters = append(b.Filters, v.choice("effects", label, "state", name))
	}
	bad, first := 0, ""
	for i := range list.Effects {
		e := &list.Effects[i]
		st := effectStanding(e)
		if st.Class == errored {
			if bad++; first == "" {
				first = "The breaker of " + e.Target + " is open for " + e.Name
				if e.Trouble != "" {
					first = e.Name + " is in trouble"
				}
				first += ": " + effectWhy(e)
			}
		}
		if want != "" && want != st.Word {
			continue
		}
		link := v.path("effect") + with("name", e.Name)
		t.Rows = append(t.Rows, row{Link: link, Cells: []entry{linkTo(e.Name, link), chip(st), words(string(e.Kind)), words(e.Target), words(fmt.Sprintf("%d of %d",
			e.InFlight, e.MaxInFlight)),
			countOf(int64(e.Called)), countOf(int64(e.Pending)), words(effectWhy(e))}})
	}
	b.Tables = []table{t}
	pg := page{Title: "Effects", Noun: "Effects", Command: v.command("effect", "list"), Crumbs: []crumb{{"Effects", ""}},
		Follow: lists(), Body: b}
	if bad > 0 {
		pg.Sentence = &sentence{State: state{"in trouble", errored}, Text: first + "."}
		if bad > 1 {
			pg.Sentence.Next = counted(bad-1, "other effect stands", "other effects stand") + " like this"
		}
	}
	v.render(nethttp.StatusOK, pg)
	return nil
}

func (v *visit) effectPage() error {
	e, err := call(v, api.EffectShow, api.EffectParams{Context: v.tenant.ID, Name: v.r.FormValue("name")})
	if err != nil {
		return err
	}
	st := effectStanding(&e)
	b := &detailBody{Title: e.Name, State: st, Facts: []fact{{Name: "kind", Text: string(e.Kind)}, {Name: "target", Text: e.Target},
		{Name: "breaker", Text: string(e.Breaker)}, {Name: "in flight", Text: fmt.Sprintf("%d of %d", e.InFlight, e.MaxInFlight)},
		{Name: "for jobs", Text: fmt.Sprintf("%d now, %d done", e.Calls, e.Called)}, {Name: "commands waiting", Text: strconv.FormatUint(e.Pending, 10)},
		{Name: "attempts", Text: "up to " + strconv.Itoa(e.Attempts)},
		{Name: "time-out", Text: span(time.Duration(e.TimeoutMs) * time.Millisecond)}}}
	if e.Summary != "" {
		b.Facts = append([]fact{{Name: "what for", Text: e.Summary}}, b.Facts...)
	}
	links := []pair{}
	if e.Error != "" {
		links = append(links, pair{"last failure", e.Error}, pair{"at", v.past(e.ErrorMs).Exact})
	}
	links = append(links, pair{"commands of sagas taken by this node", strconv.Itoa(e.Hand)},
		pair{"taken by all nodes", strconv.FormatUint(e.Taken, 10)}, pair{"calls for jobs at this node since it began", strconv.FormatUint(e.Called, 10)})
	b.Sections = []section{{Title: "How it does", Pairs: links}}
	letters, err := call(v, api.DeadLetterList, api.ListDeadLettersParams{Context: v.tenant.ID, DeadLetterFilter: api.DeadLetterFilter{Effect: e.Name},
		Limit: overviewMost})
	if err == nil { // a node without streams has none
		t := &table{Name: "Dead letters", Head: []column{{"Letter", "id"}, {"Cause", "why"}, {"Tried", "num"}, {"Made", ""}}}
		for _, d := range letters.DeadLetters {
			link := v.letterLink(d.Kind, d.ID)
			t.Rows = append(t.Rows, row{Link: link, Cells: []entry{linkTo(shortID(d.ID), link), words(d.Cause), number(int64(d.Attempts)), when(v.past(d.MadeMs))}})
		}
		p := pager{}
		if letters.Next != "" {
			p.Next = v.path("letters/list") + with("effect", e.Name)
		}
		b.Sections = append(b.Sections, section{Title: "Given up on", Table: t, Pager: p, None: noneOf(len(t.Rows), "No command of it was given up on.")})
	}
	acts, err := v.acts("effect:" + e.Name)
	if err != nil {
		return err
	}
	if len(acts) > 0 {
		b.Sections = append(b.Sections, section{Title: "History", History: acts})
	}
	v.render(nethttp.StatusOK, page{Title: e.Name, Noun: "Effects", Command: v.command("effect", "show", e.Name), Follow: lists(), Body: b,
		Breaks: Target{FaultOfEffect, v.tenant.ID, e.Name},
		Crumbs: []crumb{{"Effects", v.path("effects")}, {e.Name, ""}}, Sentence: v.effectSentence(&e)})
	return nil
}

func (v *visit) effectSentence(e *domain.EffectStatus) *sentence {
	s := &sentence{State: effectStanding(e), Actions: v.effectActions(e)}
	switch is, why := e.Stands(); is {
	case domain.EffectPaused:
		s.Text = "Its commands wait: " + why + "."
	case domain.EffectInTrouble:
		s.Text = "Its stream cannot be asked: " + why + "."
	case domain.EffectOpen:
		s.Text = "Its target failed too often, so no call goes out: " + e.Error + "."
		if e.OpenMs > 0 {
			s.Next = "one call tries it again in " + span(time.Duration(e.OpenMs)*time.Millisecond)
		}
	case domain.EffectOnTrial:
		s.Text = "One call tries whether its target is well again."
	case domain.EffectFailedLast:
		s.Text, s.Since, s.Ended = "The last call that failed: "+e.Error+".", v.past(e.ErrorMs), true
	default:
		s.Text = "It is ready."
		if e.Well {
			s.Text = "It is ready: the last call went well."
		}
	}
	return s
}

// effectActions are what can be done with an effect by who looks.
func (v *visit) effectActions(e *domain.EffectStatus) (list []action) {
	add := func(op *api.Operation, act string, a action) {
		if v.may(op) {
			a.Post, a.Fields = v.path("effect/%s", act), []field{{"name", e.Name}}
			list = append(list, a)
		}
	}
	if e.Paused != "" {
		add(api.EffectResume.Operation, "resume", action{Name: "Resume", Verb: "Resume the effect", Primary: true,
			Will: upper(counted(int(e.Pending), "command that waits goes", "commands that wait go")) + " out.", Command: v.command("effect", "resume", e.Name)})
	} else {
		add(api.EffectPause.Operation, "pause", action{Name: "Pause", Verb: "Pause the effect",
			Will: "Commands of context " + contextName(v.tenant) + " for it wait. Calls that are under way go on.", Command: v.command("effect", "pause", e.Name)})
	}
	add(api.EffectTest.Operation, "test", action{Name: "Try the target", Verb: "Try it",
		Will:    "Looks whether " + e.Target + " can be reached, without calling it.",
		Command: v.command("effect", "test", e.Name)})
	add(api.EffectTest.Operation, "call", action{Name: "Call", Verb: "Call once, for real", Inputs: []formField{{Name: "payload", Label: "Payload, JSON",
		Value: "{}", Area: 5}},
		Will: "Does the effect 1 time, for real, with this payload. What the target does cannot be undone.", Command: v.command("effect", "test", e.Name,
			"--call", "--payload", "{}")})
	return list
}

// actOnEffect does what a person asked of an effect.
func (v *visit) actOnEffect() error {
	p := api.EffectParams{Context: v.tenant.ID, Name: v.r.PostFormValue("name")}
	to, said := v.path("effect")+with("name", p.Name), ""
	var err error
	switch act := v.r.PathValue("act"); act {
	case "pause":
		_, err = call(v, api.EffectPause, p)
		said = "Commands for the effect wait."
	case "resume":
		_, err = call(v, api.EffectResume, p)
		said = "The effect goes on."
	case "test", "call":
		t := api.TestEffectParams{Context: p.Context, Name: p.Name, Call: act == "call"}
		if t.Call {
			if t.Payload = json.RawMessage(v.r.PostFormValue("payload")); !json.Valid(t.Payload) {
				return v.did(to, "", domain.Invalidf("the payload is no JSON: %s", domain.PlainText(string(t.Payload), 100)))
			}
		}
		var trial domain.EffectTrial
		if trial, err = call(v, api.EffectTest, t); err == nil {
			took := fmt.Sprintf(" (%.1f ms)", trial.TookMs)
			if trial.Outcome != domain.EffectDone {
				return v.redirectSaying(to, "The target of "+p.Name+" does not do: "+domain.PlainText(trial.Error, maxPlain)+took+".", true)
			}
			said = "The target can be reached" + took + "."
			if t.Call {
				said = "It was done" + took + ", and answered " + domain.PlainText(string(trial.Answer), 400) + "."
			}
		}
	default:
		return domain.NotFoundf("an effect cannot be told to %q", domain.PlainText(act, 20))
	}
	return v.did(to, said, err)
}
