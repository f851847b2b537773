package console

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// This file has what an instance of a saga has asked for and waits for, as tables: effects with their attempts,
// work in the outbox, events that wait, timers, dead letters.

// lettersOfInstance is how many dead letters of an instance its page names.
const lettersOfInstance = 20

// instanceWork are the sections of the tab.
func (v *visit) instanceWork(b *instanceBody, p api.InstanceParams, i *domain.SagaInstance, x *domain.SagaExplanation) error {
	letters, err := v.instanceLetters(p)
	if err != nil {
		return err
	}
	if letters != nil {
		b.Work = append(b.Work, *letters)
	}
	b.Work = append(b.Work, v.instanceEffects(i, x))
	nothing := section{}
	for _, part := range []struct {
		n    int
		made section
		none string
	}{{len(x.Unsent), v.instanceOutbox(x), "Its outbox is empty."}, {len(i.Deferred), v.instanceDeferred(i), "No event waits in it."},
		{len(i.Timers), v.instanceTimers(i), "No timer is set."}} {
		if part.n > 0 {
			b.Work = append(b.Work, part.made)
		} else {
			nothing.Intro = strings.TrimSpace(nothing.Intro + " " + part.none)
		}
	}
	if nothing.Intro != "" {
		b.Work = append(b.Work, nothing)
	}
	for n := range i.Steps {
		s := &i.Steps[n]
		b.Steps = append(b.Steps, stepLine{Name: s.Name, Effect: s.Effect, State: effectState(s.State), Payload: pretty(s.Payload), Result: pretty(s.Result)})
	}
	return nil
}

// instanceEffects has each effect that was asked for under a name, and those without one whose results are not
// there yet.
func (v *visit) instanceEffects(i *domain.SagaInstance, x *domain.SagaExplanation) section {
	t := &table{Name: "Effects", Head: []column{{"Step", "name"}, {"Effect", "name"}, {"State", ""}, {"Attempts", "num"}, {"Next", ""}, {"Why", "why"},
		{"Command", "id"}}}
	awaited := map[string]*domain.AwaitedEffect{}
	for n := range x.Effects {
		awaited[x.Effects[n].CommandID] = &x.Effects[n]
	}
	add := func(step, effect, command string, st state) {
		attempts, next, why, letter := entry{}, moment{}, "", ""
		if a := awaited[command]; a != nil {
			attempts, next, why, letter = number(int64(a.Attempts)), v.at(a.NextMs), awaitedWhy(a), v.letterOfKey(a.DeadLetter)
			if a.DeadLetter != "" {
				st = state{"given up on", errored}
			}
			delete(awaited, command)
		}
		t.Rows = append(t.Rows, row{Link: letter, Cells: []entry{words(step), linkTo(effect, v.path("effect")+with("name", effect)), chip(st), attempts, when(next),
			{Text: why, Link: letter}, words(shortID(command))}})
	}
	for n := range i.Steps {
		s := &i.Steps[n]
		command, effect := s.CommandID, s.Effect
		if s.State == domain.StepUndoing && s.Undo != "" {
			command, effect = s.Undo, s.UndoEffect
		}
		add(s.Name, effect, command, effectState(s.State))
	}
	for n := range x.Effects { // the rest has no step
		if a := &x.Effects[n]; awaited[a.CommandID] != nil {
			add(a.Step, a.Effect, a.CommandID, effectState(domain.StepAsked))
		}
	}
	s := section{Title: "Effects", Table: t, None: noneOf(len(t.Rows), "It has asked for no effect under a name.")}
	if len(x.Ended) > 0 {
		s.Intro = "It waits in vain: " + strings.Join(x.Ended, "; ") + "."
	}
	return s
}

// awaitedWhy says why an effect has no result yet.
func awaitedWhy(a *domain.AwaitedEffect) string {
	var parts []string
	for _, p := range [...]struct {
		is   bool
		text string
	}{{a.DeadLetter != "", "its command is a dead letter: replay or drop it"}, {a.Error != "", a.Error}, {a.Decided, "its result is known, and on its way"},
		{a.Unserved, "no node that is alive does it for this context"}, {a.Paused != "", a.Paused},
		{a.Trial, "the breaker of " + a.Breaker + " lets one call through"}, {!a.Trial && a.Breaker != "", "the breaker of " + a.Breaker + " is open"},
		{a.Undoes, "undoes " + a.Step}} {
		if p.is {
			parts = append(parts, p.text)
		}
	}
	return strings.Join(parts, "; ")
}

// letterOfKey is where the dead letter of a key is shown, "" for none.
func (v *visit) letterOfKey(key string) string {
	parts := strings.SplitN(key, ":", 4) // its prefix, the context, the kind, the id
	if len(parts) < 4 {
		return ""
	}
	return v.letterLink(domain.DeadKind(parts[2]), parts[3])
}

// instanceOutbox is work that is not sent yet.
func (v *visit) instanceOutbox(x *domain.SagaExplanation) section {
	t := &table{Name: "Outbox", Head: []column{{"Work", "name"}, {"State", ""}, {"Attempts", "num"}, {"Given up", ""}, {"Why", "why"}, {"Command", "id"}}}
	for n := range x.Unsent {
		u := &x.Unsent[n]
		st, attempts := state{"to be sent", waiting}, entry{}
		if u.Attempts > 0 {
			st, attempts = state{"not taken yet", failed}, number(int64(u.Attempts))
		}
		if u.MostAttempts > 0 {
			attempts = words(fmt.Sprintf("%d of %d", u.Attempts, u.MostAttempts))
		}
		t.Rows = append(t.Rows, row{Cells: []entry{words(u.What), chip(st), attempts, when(v.at(u.GiveUpMs)), words(u.Error), words(shortID(u.CommandID))}})
	}
	return section{Title: "Outbox", Table: t, Intro: "Work that it made and that was not handed on yet."}
}

// instanceDeferred are events that wait in it, in order.
func (v *visit) instanceDeferred(i *domain.SagaInstance) section {
	t := &table{Name: "Events that wait", Head: []column{{"Place", "num"}, {"Event", "name"}, {"Of", "name"}, {"Written", ""}, {"Id", "id"}}}
	for n := range i.Deferred[:min(len(i.Deferred), historyMost)] {
		e := &i.Deferred[n]
		of := strings.TrimPrefix(e.AggregateType+"/"+e.AggregateID, "/")
		if e.Effect != "" {
			of = "effect " + e.Effect
		}
		t.Rows = append(t.Rows, row{Cells: []entry{words(strconv.Itoa(n + 1)), words(e.Type), words(of), when(v.past(e.TimeMs)), words(shortID(e.ID))}})
	}
	s := section{Title: "Events that wait", Table: t, Intro: "They are taken in this order once its state handles them."}
	if more := len(i.Deferred) - len(t.Rows); more > 0 {
		s.Intro += fmt.Sprintf(" These are the first %d; %d more wait.", len(t.Rows), more)
	}
	return s
}

// instanceTimers are those that are set, the next first.
func (v *visit) instanceTimers(i *domain.SagaInstance) section {
	t := &table{Name: "Timers", Head: []column{{"Event", "name"}, {"Due", ""}, {"Set by", "name"}, {"Payload", "why"}}}
	timers := slices.Clone(i.Timers)
	slices.SortFunc(timers, func(a, b domain.SagaTimer) int { return int(min(max(a.DueMs-b.DueMs, -1), 1)) })
	for n := range timers {
		tm := &timers[n]
		by := "its program"
		if tm.State != "" {
			by = "the time-out of " + tm.State
		}
		t.Rows = append(t.Rows, row{Cells: []entry{words(tm.Event), when(v.at(tm.DueMs)), words(by), words(string(tm.Payload))}})
	}
	return section{Title: "Timers", Table: t}
}

// instanceLetters are the dead letters of an instance; nil where there is none, or who looks may not see them.
func (v *visit) instanceLetters(p api.InstanceParams) (*section, error) {
	if !v.may(api.DeadLetterList.Operation) {
		return nil, nil
	}
	list, err := call(v, api.DeadLetterList, api.ListDeadLettersParams{Context: v.tenant.ID, Limit: lettersOfInstance,
		DeadLetterFilter: api.DeadLetterFilter{Saga: p.Name, Where: fmt.Sprintf("letter.correlation_id == %q", p.Correlation)}})
	if err != nil || len(list.DeadLetters) == 0 {
		return nil, err
	}
	t := &table{Name: "Dead letters", Head: []column{{"Letter", "id"}, {"Kind", ""}, {"Of", "name"}, {"Cause", "why"}, {"Attempts", "num"}, {"Made", ""}}}
	for _, d := range list.DeadLetters {
		link, of := v.letterLink(d.Kind, d.ID), d.Effect
		if d.Holds {
			of = strings.TrimSpace(of + " holds it")
		}
		t.Rows = append(t.Rows, row{Link: link, Cells: []entry{linkTo(shortID(d.ID), link), words(string(d.Kind)), words(of), words(d.Cause),
			countOf(int64(d.Attempts)), when(v.past(d.MadeMs))}})
	}
	return &section{Title: "Dead letters", Table: t}, nil
}
