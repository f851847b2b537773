package console

import (
	"cmp"
	"fmt"
	"maps"
	nethttp "net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/service"
)

// This file has one flow: its sentence, its tabs, and what can be done with it. The list
// of flows is in flows.go, the drawing in graph.go, the times in gantt.go.

// flowTabs are the tabs of a flow's page; the first is shown where none is named.
var flowTabs = []struct{ Key, Name string }{
	{"graph", "Graph"}, {"gantt", "Gantt"}, {"steps", "Steps"}, {"logs", "Logs"}, {"data", "Params & result"}, {"files", "Files"}, {"history", "History"},
}

// flowCommands show what a tab shows; of the others `flow show` does.
var flowCommands = map[string][]string{"logs": {"flow", "logs"}, "files": {"flow", "artifacts", "list"}}

// flowBody is what a flow's page shows.
type flowBody struct {
	Flow  domain.FlowView  // with the steps that are shown
	Whole *domain.FlowView // with all that are known
	Name  string
	State state
	Facts []fact
	Tabs  []tab
	Tab   string
	// Part says which of its steps a list or chart has, where that is not all.
	Part string
	// One of these is set, by the tab.
	Graph   *graph
	Gantt   *gantt
	Steps   []stepRow
	Logs    []stepLog
	Said    *saidLines // the logs as one
	Data    *flowData
	Files   *fileList
	History []happening
	// Step is the one that was chosen, or that asks for attention; nil: none.
	Step *stepRow
	// Decisions are what it waits for of a person, Hooks what was called about it, Items the jobs
	// or flows of the chosen step that is more than one.
	Decisions []decision
	Hooks     []hookRow
	Items     *items
	// Actions are those of a flow that has ended well, of which there is nothing to say.
	Actions []action
	// Older and Newer lead through what a page has a part of alone, which PartOf says: its steps, or lines.
	Older, Newer, PartOf string
}

// fact is a short truth at the head of a page.
type fact struct {
	Name string
	Text string
	Link string // ""
	At   moment // in place of Text
}

// tab is a view of a page.
type tab struct {
	Name, Link string
	Here       bool
}

// flowData are a flow's params and its result.
type flowData struct{ Params, Added, Env, Result []pair }

// pair is a name with its value.
type pair struct{ Name, Value string }

// pairs are those of a map, by name.
func pairs(m map[string]string) (list []pair) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		list = append(list, pair{name, m[name]})
	}
	return list
}

func (c *Console) mountFlow() {
	c.live("GET flows/{flow}", (*visit).flowPage)
	c.inContext("GET flows/{flow}/file", (*visit).saveFlowFile)
	c.inContext("POST flows/{flow}/{act}", (*visit).actOnFlow)
}

// flowParams are those of the flow that the path names.
func (v *visit) flowParams() (api.FlowParams, error) {
	id, err := domain.ParseFlowKey(v.r.PathValue("flow"))
	return api.FlowParams{Context: v.tenant.ID, Flow: id}, err
}

func (v *visit) flowPage() error {
	p, err := v.flowParams()
	if err != nil {
		return err
	}
	from, _ := strconv.Atoi(v.r.FormValue("steps_from")) // what is no number is the beginning
	f, err := call(v, api.FlowShow, api.ShowFlowParams{FlowParams: p, StepsFrom: from})
	if err != nil {
		return err
	}
	x, err := call(v, api.FlowExplain, p)
	if err != nil {
		return err
	}
	shown, at, err := v.stepsShown(f)
	if err != nil {
		return err
	}
	if at != "" {
		return v.redirect(at)
	}
	body := &flowBody{Flow: shown, Whole: &f, Name: flowName(&f.Flow), State: flowState(&f.Flow, x.Standing == domain.StandingDeciding), Facts: v.flowFacts(&f)}
	hindered, isHindered := hinderedState(&x)
	if isHindered && !f.Final() {
		body.State = hindered
	}
	for _, key := range x.WaitsFor { // those that hold the key that it waits for
		if link := v.flowLink(key); link != "" && strings.HasPrefix(key, "flow:") {
			body.Facts = append(body.Facts, fact{Name: "waits for", Text: key, Link: link})
		}
	}
	body.Decisions, body.Hooks = v.decisions(&f), v.hookRows(&f)
	v.flowTabs(body)
	if err := v.fillTab(body); err != nil {
		return err
	}
	pg := page{Title: body.Name, Noun: "Flows", Command: v.commandOf("flow", body.Tab, flowCommands, strconv.Itoa(int(p.Flow))), Body: body,
		Crumbs: []crumb{{"Flows", v.path("flows")}}}
	if body.State.Class == succeeded {
		body.Actions = v.flowActions(&f)
	} else {
		pg.Sentence = v.flowSentence(&f, x, body.State)
	}
	if f.Blueprint != "" {
		pg.Crumbs = append(pg.Crumbs, crumb{f.Blueprint, v.path("flows") + query("blueprint", f.Blueprint)})
	}
	pg.Crumbs = append(pg.Crumbs, crumb{strconv.Itoa(int(p.Flow)), ""})
	if pg.Follow = followFlow(&f); f.Final() {
		pg.Follow.ended(v.since(f.FinishedMs))
	}
	v.render(nethttp.StatusOK, pg)
	return nil
}

// flowName is what people call a flow.
func flowName(f *domain.Flow) string {
	return strings.TrimSpace(cmp.Or(f.Blueprint, "flow "+strconv.Itoa(int(f.ID))) + " " + f.Trigger)
}

// query is a query string of one parameter, whose value somebody else may have written.
func query(name, value string) string { return "?" + name + "=" + urlEscape(value) }

func (v *visit) flowFacts(f *domain.FlowView) []fact {
	facts := []fact{{Name: "by", Text: "actor " + strconv.Itoa(int(f.CallerID))}}
	if f.Version != 0 {
		facts = append(facts, fact{Name: "version", Text: strconv.Itoa(f.Version)})
	}
	if f.Schedule != "" {
		facts = append(facts, fact{Name: "schedule", Text: f.Schedule})
	}
	if p := f.Parent; p != nil {
		facts = append(facts, fact{Name: "made by", Text: fmt.Sprintf("step %s of %s", p.Step, domain.FlowKey(p.Flow)), Link: v.flowLink(domain.FlowKey(p.Flow))})
	}
	facts = append(facts, v.calledFacts(f.CalledBy)...)
	if f.StartedMs == 0 || f.StartedMs > int64(f.CreatedAt)*1000+2000 { // else both are one
		facts = append(facts, fact{Name: "made", At: v.past(int64(f.CreatedAt) * 1000)})
	}
	if f.StartedMs != 0 {
		facts = append(facts, fact{Name: "began", At: v.past(f.StartedMs)}, fact{Name: tookOr(f.Final(), "took", "so far"), Text: v.took(f.StartedMs, f.FinishedMs)})
	}
	if v.mayCompare(&f.Flow) {
		facts = append(facts, fact{Name: "compare", Text: "with the run before", Link: v.path("flows/compare?b=%d", f.ID)})
	}
	if f.RerunOf != 0 {
		facts = append(facts, fact{Name: "made again of", Text: domain.FlowKey(f.RerunOf), Link: v.path("flows/%d", f.RerunOf)})
	}
	if f.RerunBy != 0 {
		facts = append(facts, fact{Name: "made again as", Text: domain.FlowKey(f.RerunBy), Link: v.path("flows/%d", f.RerunBy)})
	}
	if f.Retried > 0 {
		facts = append(facts, fact{Name: "retried", Text: plural(f.Retried, "time")})
	}
	return facts
}

// tookOr is the first word for what has ended, the other for what has not.
func tookOr(ended bool, took, soFar string) string {
	if ended {
		return took
	}
	return soFar
}

// flowTabs finds which tab is shown, and links the others.
func (v *visit) flowTabs(b *flowBody) {
	b.Tab = flowTabs[0].Key
	for _, t := range flowTabs {
		if t.Key == v.r.FormValue("tab") {
			b.Tab = t.Key
		}
	}
	for _, t := range flowTabs {
		name := t.Name
		if t.Key == "steps" {
			name += " " + grouped(max(len(b.Flow.Steps), b.Flow.StepsTotal))
		}
		link := v.path("flows/%d", b.Flow.ID)
		var words []string
		if t.Key != flowTabs[0].Key {
			words = append(words, "tab", t.Key)
		}
		if b.Flow.StepsTotal > 0 { // also of the first part: else it would be looked for which is shown
			words = append(words, "steps_from", strconv.Itoa(b.Flow.StepsFrom))
		}
		b.Tabs = append(b.Tabs, tab{name, link + with(words...), t.Key == b.Tab})
	}
	if b.Flow.StepsTotal > 0 && b.Tab != "history" && b.Tab != "data" && b.Tab != "files" {
		v.partsOfAll(b, "steps", "steps_from", b.Flow.StepsFrom, pageSteps, b.Flow.StepsTotal)
	}
}

// partsOfAll links the parts before and behind the one that a page has, from one on, of so many: of steps, or of lines.
func (v *visit) partsOfAll(b *flowBody, what, param string, from, each, all int) {
	at := func(from int) string {
		q := v.r.URL.Query()
		q.Set(param, strconv.Itoa(from))
		for _, own := range [...]string{"step", "said"} {
			q.Del(own)
		}
		return v.path("flows/%d", b.Flow.ID) + "?" + q.Encode()
	}
	b.PartOf = what
	if from > 0 {
		b.Newer = at(max(0, from-each))
	}
	if from+each < all {
		b.Older = at(from + each)
	}
}

// historyShown is how many lines of a flow's history a page has at once.
const historyShown = 500

// pageSteps is how many steps of a flow a page has at once: of thousands in one table or drawing nobody sees anything,
// and a browser takes seconds for them.
const pageSteps = 500

// stepsShown is a flow with the steps that the page is to show, where there are more than it shows at once: those from
// the one on that the address has. Where it names a step alone, or nothing, at is the address of the part in which that
// one is, or the one that asks most to be looked at: a page that is followed does not go from part to part by itself.
func (v *visit) stepsShown(f domain.FlowView) (shown domain.FlowView, at string, err error) {
	all := max(len(f.Steps), f.StepsTotal)
	if all <= pageSteps {
		return f, "", nil
	}
	from, asked := f.StepsFrom, v.r.FormValue("steps_from")
	if asked != "" {
		from, _ = strconv.Atoi(asked) // what is no number is the beginning
	} else if v.piece == nil && v.r.Method == nethttp.MethodGet {
		wanted, err := v.stepWanted(&f)
		if err != nil {
			return f, "", err
		}
		if wanted = wanted / pageSteps * pageSteps; wanted != from {
			q := v.r.URL.Query()
			q.Set("steps_from", strconv.Itoa(wanted))
			return f, v.path("flows/%d", f.ID) + "?" + q.Encode(), nil
		}
	}
	first := min(max(0, from-f.StepsFrom), max(0, len(f.Steps)-1))
	shown = f
	shown.Steps, shown.StepsFrom, shown.StepsTotal = f.Steps[first:min(len(f.Steps), first+pageSteps)], f.StepsFrom+first, all
	return shown, "", nil
}

// stepWanted is the index of the step that the address names, else of the first that asks most for attention.
func (v *visit) stepWanted(f *domain.FlowView) (int, error) {
	best, rank, name := 0, 0, v.r.FormValue("step")
	for part := f; ; {
		for i := range part.Steps {
			s := &part.Steps[i]
			if name != "" && s.Name == name {
				return part.StepsFrom + i, nil
			}
			if r := attention(s); name == "" && r > rank {
				best, rank = part.StepsFrom+i, r
			}
		}
		next := part.StepsFrom + len(part.Steps)
		if next >= f.StepsTotal || len(part.Steps) == 0 {
			return best, nil
		}
		more, err := call(v, api.FlowShow, api.ShowFlowParams{FlowParams: api.FlowParams{Context: v.tenant.ID, Flow: f.ID}, StepsFrom: next})
		if err != nil {
			return 0, err
		}
		part = &more
	}
}

// fillTab reads what the tab shows.
func (v *visit) fillTab(b *flowBody) (err error) {
	switch b.Tab {
	case "graph":
		if b.Step, err = v.chosenStep(b); err != nil {
			return err
		}
		if b.Graph = v.foldedWhole(b.Whole, b.Step); b.Graph == nil {
			b.Graph = v.graphOf(&b.Flow, b.Step)
		} else {
			b.Newer, b.Older = "", "" // it has all
		}
	case "gantt":
		b.Part = stepsPart(&b.Flow)
		b.Gantt, err = v.ganttOf(&b.Flow, b.Whole)
	case "steps":
		b.Part = stepsPart(&b.Flow)
		for i := range b.Flow.Steps {
			b.Steps = append(b.Steps, v.stepRow(&b.Flow, &b.Flow.Steps[i]))
		}
	case "logs":
		if b.Said, err = v.saidLines(&b.Flow); b.Said == nil && err == nil {
			b.Logs, err = v.flowLogs(&b.Flow)
		}
	case "data":
		b.Data = &flowData{Params: pairs(b.Flow.Params), Added: pairs(b.Flow.Added), Env: pairs(b.Flow.EnvVars), Result: pairs(b.Flow.Result)}
	case "files":
		b.Files, err = v.flowFiles(b.Flow.ID)
	case "history":
		b.History, err = v.flowHistory(b.Whole)
		from, _ := strconv.Atoi(v.r.FormValue("lines_from")) // what is no number is the beginning
		if all := len(b.History); all > historyShown {
			from = min(max(0, from), all-1)
			b.History = b.History[from:min(all, from+historyShown)]
			v.partsOfAll(b, "lines", "lines_from", from, historyShown, all)
		}
	}
	return err
}

// flowSentence says how a flow stands that has not ended well.
func (v *visit) flowSentence(f *domain.FlowView, x domain.FlowExplanation, st state) *sentence {
	s := &sentence{State: st, Since: v.past(x.SinceMs), Actions: v.flowActions(f)}
	if f.Final() {
		s.Since, s.Ended = v.past(f.FinishedMs), true
	}
	if x.NextMs > v.now.UnixMilli() {
		s.Next = "looked at again in " + v.at(x.NextMs).Ago
		for i := range f.Steps { // a decision counts as made then
			if a := f.Steps[i].Approval; x.Standing == domain.StandingDeciding && a != nil && a.DueMs == x.NextMs {
				s.Next = "in " + v.at(x.NextMs).Ago + " " + deadlineText(a.OnDeadline)
			}
		}
	}
	switch bad := badSteps(f); {
	case len(bad) > 0:
		s.Text = badSentence(bad, v.lastWords(bad[0]))
		if !f.Final() {
			s.Text += " " + upper(x.Text) + "."
		}
	case x.Standing == domain.StandingDeciding && len(deciding(&x)) > 0:
		s.Text = decideSentence(deciding(&x))
	case f.Final():
		s.Text = upper(cmp.Or(f.Error, "it ended: "+string(f.Reason))) + "."
	default:
		var since int64
		if s.Text, since = v.workingSentence(f); since != 0 {
			s.Since = v.past(since)
		}
		s.Why = upper(x.Text) + "."
		if _, hindered := hinderedState(&x); hindered { // what is lacking comes first
			s.Text, s.Why, s.Since = s.Why, s.Text, v.past(x.SinceMs)
		}
		if s.Text == "" {
			s.Text, s.Why = s.Why, ""
		}
	}
	return s
}

// namesMost is how many steps a sentence names.
const namesMost = 3

// workingSentence says which steps run, or which wait for a runner where none does; ""
// where there is neither. since is when the first of those that run began, where the flow's explanation
// may be of another job, which waits.
func (v *visit) workingSentence(f *domain.FlowView) (text string, since int64) {
	var run, queued []string
	jobs := int64(0)
	for i := range f.Steps {
		s := &f.Steps[i]
		if f.Paused || !s.Status.Begun() || s.Kind == domain.StepApproval {
			continue
		}
		if v.stepState(s) == queuedState {
			queued = append(queued, s.Name)
			continue
		}
		name := s.Name
		if progress := progressOf(s); progress != "" {
			name += " (" + strings.Replace(progress, "/", " of ", 1) + ")"
		}
		run = append(run, name)
		jobs += max(1, s.Total)
		if since == 0 || s.SinceMs < since {
			since = s.SinceMs
		}
	}
	switch {
	case len(run) > 0 && jobs == 1 && len(queued) == 0:
		return named(run, "runs", "run"), 0
	case len(run) > 0:
		return named(run, "runs", "run"), since
	case len(queued) > 0:
		return named(queued, "waits for a runner", "wait for a runner"), 0
	}
	return "", 0
}

// named is a sentence about steps: what one does, or many do.
func named(steps []string, does, do string) string {
	if len(steps) == 1 {
		return "Step " + steps[0] + " " + does + "."
	}
	last := steps[len(steps)-1]
	if more := len(steps) - namesMost; more > 1 {
		steps, last = steps[:namesMost+1], plural(more, "other")
	}
	return "Steps " + strings.Join(steps[:len(steps)-1], ", ") + " and " + last + " " + do + "."
}

// deciding are the steps, "step ask", that wait for a decision: a flow that waits for one may
// have jobs that run, too.
func deciding(x *domain.FlowExplanation) (steps []string) {
	for _, name := range x.WaitsFor {
		if strings.HasPrefix(name, "step ") {
			steps = append(steps, name)
		}
	}
	return steps
}

// decideSentence says which steps wait for a person.
func decideSentence(steps []string) string {
	return "Waits for somebody to approve or reject " + strings.Join(steps, ", ") + "."
}

// badSteps are those that have ended badly, or have units that have, and were not meant to.
func badSteps(f *domain.FlowView) (bad []*domain.StepView) {
	for i := range f.Steps {
		s := &f.Steps[i]
		switch s.Status {
		case domain.StepFailedAccepted, domain.StepSkippedByFailure, domain.StepSkippedByError:
			continue
		}
		if s.Status == domain.StepFailed || s.Status == domain.StepErrored || s.Bad > 0 {
			bad = append(bad, s)
		}
	}
	// The one that the flow blames comes first: others may have been ended because of it.
	slices.SortStableFunc(bad, func(a, b *domain.StepView) int {
		blamed := func(s *domain.StepView) int {
			if strings.HasPrefix(f.Error, "step "+s.Name+":") {
				return 0
			}
			return 1
		}
		return blamed(a) - blamed(b)
	})
	return bad
}

// badSentence says which steps went wrong, and how the first did; words are its script's
// own, "" where it said nothing.
func badSentence(bad []*domain.StepView, words string) string {
	s := bad[0]
	text := "Step " + s.Name + " " + pastOf(s.Status)
	if s.Bad > 0 && s.Total > 1 {
		text += fmt.Sprintf(" in %d of %s", s.Bad, plural(int(s.Total), "job"))
	}
	switch why := whyOf(s); {
	case words != "" && why != "":
		text += ": " + strings.TrimRight(words, ".") + " (" + why + ")"
	case words != "" || why != "":
		text += ": " + words + why
	}
	text = strings.TrimRight(text, ". ") + "."
	if n := len(bad) - 1; n > 0 {
		text += " So did " + plural(n, "other step") + "."
	}
	return text
}

func pastOf(s domain.StepStatus) string {
	if s == domain.StepErrored {
		return "ended in error"
	}
	return "failed"
}

// whyOf is what a step says of its end, or the first of its units that ended badly.
func whyOf(s *domain.StepView) string {
	for i := range s.Units {
		if s.Units[i].Outcome != "" && s.Units[i].Text != "" {
			return s.Units[i].Text
		}
	}
	return s.Text
}

// upper is a sentence that begins with a capital, unless it begins with a name or a key:
// those are written as they are.
func upper(text string) string {
	word, _, _ := strings.Cut(text, " ")
	if strings.IndexFunc(strings.TrimRight(word, ",;:."), func(r rune) bool { return !unicode.IsLetter(r) && r != '-' && r != '\'' }) >= 0 {
		return text
	}
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return text
	}
	return string(unicode.ToUpper(first)) + text[size:]
}

// lower is a sentence within another. One that begins with more than one capital begins with
// a name.
func lower(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if next, _ := utf8.DecodeRuneInString(text[size:]); size == 0 || unicode.IsUpper(next) {
		return text
	}
	return string(unicode.ToLower(first)) + text[size:]
}

// followFlow is what the page of a flow follows: the flow, and the jobs that it names.
func followFlow(f *domain.FlowView) *follow {
	followed := follows(service.Change{Noun: "flow", Key: f.Key()})
	job := func(key string) {
		if key != "" {
			followed.things[service.Change{Noun: "job", Key: key}] = true
		}
	}
	for i := range f.Steps {
		job(f.Steps[i].Job)
		for k := range f.Steps[i].Units {
			job(f.Steps[i].Units[k].Job)
		}
	}
	for _, id := range f.Jobs[:min(len(f.Jobs), jobsMost)] {
		job(domain.JobKey{Caller: f.CallerID, ID: id}.String())
	}
	return followed
}
