package console

import (
	"bytes"
	"cmp"
	"encoding/json"
	nethttp "net/http"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// instanceBody is what an instance's page shows.
type instanceBody struct {
	ID      string
	State   state
	Facts   []fact
	Actions []action // of one that has ended
	Tabs    []tab
	Tab     string
	Machine *drawnMachine
	Lines   []transition
	Pager   pager
	// Older says that there are more transitions than the pages have.
	Older string
	Steps []stepLine
	Work  []section // what it asked for and waits for
	Data  string
}

// transition is a line of an instance's history.
type transition struct {
	At             moment
	Number         int64
	Event          string
	From, To       string
	Moved          bool
	Reaction, Note string
	Work           []string
}

// stepLine is a step of an instance: an effect, and how far it is.
type stepLine struct {
	Name, Effect    string
	State           state
	Payload, Result string
}

func (c *Console) mountInstance() {
	c.live("GET sagas/{saga}/instance", (*visit).instancePage)
}

// instanceParams name the instance of the address. Its id is one that somebody else chose,
// so that it is no part of the path.
func (v *visit) instanceParams() api.InstanceParams {
	return api.InstanceParams{Context: v.tenant.ID, Name: v.r.PathValue("saga"), Correlation: v.r.FormValue("id")}
}

// instanceCommands show what a tab shows; of the others `saga show` does.
var instanceCommands = map[string][]string{"history": {"saga", "history"}}

// instanceTabs are the tabs of an instance's page.
var instanceTabs = []struct{ Key, Name string }{{"history", "History"}, {"steps", "Effects & outbox"}, {"data", "Data"}}

const (
	// historyMost bounds the lines of history that a page shows, newest first.
	historyMost = 300
	// historyLook is how many of the newest lines there are pages of.
	historyLook = 1000
)

// history reads the lines that the page shows, oldest first: those before the version that
// the address names, else the newest.
func (v *visit) history(p api.InstanceParams, b *instanceBody, here string) ([]domain.SagaEntry, error) {
	before, _ := strconv.ParseInt(v.r.FormValue("before"), 10, 64) // what is no number is the newest
	limit := historyMost + 1
	if before > 0 {
		limit = historyLook
		b.Pager.First = here
	}
	h, err := call(v, api.SagaHistory, api.HistoryParams{InstanceParams: p, Limit: limit})
	if err != nil {
		return nil, err
	}
	lines, read := []domain.SagaEntry(h.Lines), len(h.Lines)
	for before > 0 && len(lines) > 0 && lines[len(lines)-1].Version >= before {
		lines = lines[:len(lines)-1]
	}
	if more := len(lines) - historyMost; more > 0 {
		lines = lines[more:]
		b.Pager.Next = here + "&before=" + strconv.FormatInt(lines[0].Version, 10)
	} else if read == historyLook && (len(lines) == 0 || lines[0].Version > 1) {
		b.Older = v.command("saga", "history", p.Name, p.Correlation)
	}
	return lines, nil
}

func (v *visit) instancePage() error {
	p := v.instanceParams()
	i, err := call(v, api.SagaInstance, p)
	if err != nil {
		return err
	}
	x, err := call(v, api.SagaExplain, p)
	if err != nil {
		return err
	}
	b := &instanceBody{ID: i.Correlation, State: instanceState(i), Tab: instanceTabs[0].Key,
		Facts: []fact{{Name: "state", Text: i.State}, {Name: "version", Text: strconv.Itoa(i.Definition)},
			{Name: "transitions", Text: strconv.FormatInt(i.Version, 10)},
			{Name: "began", At: v.past(i.CreatedMs)}, {Name: "moved", At: v.past(i.UpdatedMs)}}}
	here := v.sagaPath(p.Name) + "/instance" + query("id", p.Correlation)
	lines, err := v.history(p, b, here)
	if err != nil {
		return err
	}
	// It stands also where somebody has deleted the definition that it is pinned to.
	s, err := call(v, api.SagaShow, api.SagaParams{Context: v.tenant.ID, Name: p.Name, Version: i.Definition})
	if err != nil && !notThere(err) {
		return err
	}
	b.Machine = v.machineOf(s.Definition, lines, i)
	for _, t := range instanceTabs {
		if t.Key == v.r.FormValue("tab") {
			b.Tab = t.Key
		}
	}
	for n, t := range instanceTabs {
		link := here
		if n > 0 {
			link += "&tab=" + t.Key
		}
		b.Tabs = append(b.Tabs, tab{t.Name, link, t.Key == b.Tab})
	}
	if err := v.fillInstance(b, p, i, &x, lines); err != nil {
		return err
	}
	pg := page{Title: p.Name + " " + p.Correlation, Noun: "Sagas", Command: v.commandOf("saga", b.Tab, instanceCommands, p.Name, p.Correlation), Body: b,
		Crumbs: []crumb{{"Sagas", v.path("sagas")}, {p.Name, v.sagaPath(p.Name)}, {p.Correlation, ""}}}
	if b.State.Class != succeeded {
		pg.Sentence = &sentence{State: b.State, Text: upper(x.Text) + ".", Since: v.past(cmp.Or(i.EndedMs, x.SinceMs)), Ended: i.EndedMs != 0,
			Actions: v.instanceActions(p, i)}
		if i.Status == domain.SagaEnded {
			pg.Sentence.Why = failedSteps(i)
		}
		if x.NextMs > v.now.UnixMilli() {
			pg.Sentence.Next = "a timer comes in " + v.at(x.NextMs).Ago
		}
	}
	pg.Follow = follows()
	if pg.Follow.instance = ":" + p.Name + ":" + p.Correlation; i.Status == domain.SagaEnded {
		pg.Follow.ended(v.since(i.EndedMs))
	}
	v.render(nethttp.StatusOK, pg)
	return nil
}

// failedSteps says which effects of an instance went wrong, and how, as far as they have said it.
func failedSteps(i *domain.SagaInstance) string {
	var said []string
	for n := range i.Steps {
		s := &i.Steps[n]
		if s.State != domain.StepFailedEffect && s.State != domain.StepNotUndone {
			continue
		}
		text := "Effect " + s.Effect + " of step " + s.Name + " " + effectState(s.State).Word
		var result struct {
			Error string `json:"error"`
		}
		if json.Unmarshal(s.Result, &result) == nil && result.Error != "" {
			text += ": " + strings.TrimRight(result.Error, ".")
		}
		said = append(said, text+".")
	}
	return domain.CutText(strings.Join(said, " "), maxPlain)
}

// fillInstance reads what the tab shows.
func (v *visit) fillInstance(b *instanceBody, p api.InstanceParams, i *domain.SagaInstance, x *domain.SagaExplanation, lines []domain.SagaEntry) error {
	switch b.Tab {
	case "history":
		for n := len(lines) - 1; n >= 0; n-- { // the newest first
			l := &lines[n]
			b.Lines = append(b.Lines, transition{At: v.past(l.AtMs), Number: l.Version, Event: l.Type, From: l.From, To: l.To, Moved: l.From != l.To,
				Reaction: string(l.Reaction), Note: l.Note, Work: l.Work})
		}
	case "steps":
		return v.instanceWork(b, p, i, x)
	case "data":
		b.Data = pretty(i.Data)
	}
	return nil
}

// effectStates are how far a step of an instance is.
var effectStates = map[domain.StepState]state{
	domain.StepAsked: {"asked for", running}, domain.StepCompleted: {"completed", succeeded}, domain.StepFailedEffect: {"failed", failed},
	domain.StepUndoing: {"being undone", held}, domain.StepUndone: {"undone", skipped}, domain.StepNotUndone: {"could not be undone", errored},
}

func effectState(s domain.StepState) state {
	if st, known := effectStates[s]; known {
		return st
	}
	return state{strings.ReplaceAll(string(s), "_", " "), waiting}
}

// pretty is JSON as people read it, and what is none as it is.
func pretty(text json.RawMessage) string {
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", "  "); err != nil {
		return string(text)
	}
	return b.String()
}

func (v *visit) instanceActions(p api.InstanceParams, i *domain.SagaInstance) (list []action) {
	id := []field{{"id", p.Correlation}}
	switch {
	case i.Status == domain.SagaEnded:
	case i.Paused && v.may(api.SagaResume.Operation):
		list = append(list, action{Name: "Resume", Verb: "Resume the instance", Post: v.sagaPath(p.Name) + "/resume", Fields: id, Primary: true,
			Will:    "It takes the " + plural(len(i.Deferred), "event") + " that it kept, in order, and goes on.",
			Command: v.command("saga", "resume", p.Name, p.Correlation)})
	case !i.Paused && v.may(api.SagaPause.Operation):
		list = append(list, action{Name: "Pause", Verb: "Pause the instance", Post: v.sagaPath(p.Name) + "/pause", Fields: id,
			Will:    "It keeps its events, in order, and moves no more until it is resumed. Effects that were asked for go on.",
			Command: v.command("saga", "pause", p.Name, p.Correlation)})
	}
	return list
}
