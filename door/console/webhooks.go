package console

import (
	"cmp"
	nethttp "net/http"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/doctor"
	"github.com/ramet-run/ramet/domain"
)

func (c *Console) mountWebhooks() {
	c.live("GET webhooks", (*visit).webhooksPage)
	c.live("GET webhook", (*visit).webhookPage)
	c.live("GET listeners", (*visit).listenersPage)
	c.live("GET listener", (*visit).listenerPage)
}

// startStates are how webhooks and listeners look, and schedules but for what scheduleState says.
var startStates = map[doctor.StartStanding]state{doctor.StartLocked: {"locked", failed}, doctor.StartPaused: {"paused", held},
	doctor.StartHeld: {"waits", failed},
	doctor.StartLate: {"late", failed}, doctor.StartOver: {"over", skipped},
	doctor.StartLacks: {"lacks", failed}, doctor.StartRefused: {"refused last", failed}, doctor.StartUnproven: {"refused last", failed},
	doctor.StartDead: {"dead letter last", failed}, doctor.StartUnused: {"unused", skipped}, doctor.StartOn: {"on", succeeded}}

func (v *visit) webhooksPage() error {
	list, err := call(v, api.WebhookList, api.WebhookListParams{Context: v.tenant.ID})
	if err != nil {
		return err
	}
	t := table{Name: "Webhooks", Head: []column{{"Webhook", "name"}, {"State", ""}, {"Scheme", ""}, {"Blueprint", "name"}, {"Started", "num"}, {"Last", ""},
		{"Flow", "id"}, {"Refused", "num"}, {"Why, or what for", "why"}}}
	for i := range list.Webhooks {
		w := &list.Webhooks[i]
		is, why := doctor.WebhookStands(w, v.now)
		link := v.path("webhook") + with("name", w.Name)
		t.Rows = append(t.Rows, row{Link: link, Cells: []entry{linkTo(w.Name, link), chip(startStates[is]), words(string(w.SchemeOr())),
			linkTo(w.Blueprint, v.path("blueprint")+with("name", w.Blueprint)), countOf(w.State.Started), when(v.past(w.State.LastMs)), v.flowEntry(w.State.LastFlow),
			countOf(w.State.Refused), words(cmp.Or(why, w.State.LastError, w.Summary))}})
	}
	v.render(nethttp.StatusOK, page{Title: "Webhooks", Noun: "Schedules", Command: v.command("webhook", "list"), Follow: lists(),
		Crumbs: []crumb{{"Schedules", v.path("schedules")}, {"Webhooks", ""}}, Body: &listBody{Title: "Webhooks", Tabs: v.startTabs("Webhooks"),
			Intro:  "Addresses at which programs outside start flows, by what they sign.",
			Tables: []table{t}, None: "No program outside starts flows here.", Make: v.command("webhook", "create", "deploy", "--blueprint", "deploy")}})
	return nil
}

// flowEntry is a flow with a link; an empty entry for none.
func (v *visit) flowEntry(id domain.FlowID) entry {
	if id == 0 {
		return entry{}
	}
	return linkTo(domain.FlowKey(id), v.path("flows/%d", id))
}

func (v *visit) webhookPage() error {
	w, err := call(v, api.WebhookShow, api.WebhookParams{Context: v.tenant.ID, Name: v.r.FormValue("name")})
	if err != nil {
		return err
	}
	blueprint := v.path("blueprint") + with("name", w.Blueprint)
	is, why := doctor.WebhookStands(&w, v.now)
	b := &detailBody{Title: w.Name, State: startStates[is], Facts: []fact{
		{Name: "send to", Text: "POST " + cmp.Or(w.URL, w.Path)}, {Name: "scheme", Text: string(w.SchemeOr())},
		{Name: "blueprint", Text: w.Blueprint, Link: blueprint}, {Name: "in the name of", Text: actorText(w.CallerID)},
		{Name: "secret set", At: v.past(w.State.RotatedMs)}, {Name: "started", Text: strconv.FormatInt(w.State.Started, 10)}}}
	if w.State.LastFlow != 0 {
		b.Facts = append(b.Facts, fact{Name: "last flow", Text: domain.FlowKey(w.State.LastFlow), Link: v.path("flows/%d", w.State.LastFlow)},
			fact{Name: "last", At: v.past(w.State.LastMs)})
	}
	came := []pair{{"ignored", strconv.FormatInt(w.State.Ignored, 10)}, {"refused", strconv.FormatInt(w.State.Refused, 10)}}
	if w.State.RefusedMs != 0 {
		came = append(came, pair{"refused last", v.at(w.State.RefusedMs).Exact}, pair{"why", w.State.LastError})
	}
	if is == doctor.StartLacks || is == doctor.StartLocked {
		came = append(came, pair{"why it starts nothing now", why})
	}
	takes := []pair{{"a minute, of each node", strconv.Itoa(w.Rate())}}
	if w.When != "" {
		takes = append(takes, pair{"when", w.When})
	}
	if w.State.OldUntilMs != 0 {
		takes = append(takes, pair{"the secret before, until", v.at(w.State.OldUntilMs).Exact})
	}
	b.Sections = []section{{Title: "What started nothing", Pairs: came}, {Title: "What it takes", Pairs: takes},
		{Title: "Params, by expressions", Pairs: pairs(w.Params), None: noneOf(len(w.Params), "Its flows have the blueprint's own params.")}}
	v.render(nethttp.StatusOK, page{Title: w.Name, Noun: "Schedules", Command: v.command("webhook", "show", w.Name),
		Follow: lists(), Crumbs: []crumb{{"Schedules", v.path("schedules")}, {"Webhooks", v.path("webhooks")}, {w.Name, ""}}, Body: b})
	return nil
}

// listenersPage lists what starts flows for events of streams.
func (v *visit) listenersPage() error {
	list, err := call(v, api.ListenerList, api.ListenerListParams{Context: v.tenant.ID})
	if err != nil {
		return err
	}
	t := table{Name: "Listeners", Head: []column{{"Listener", "name"}, {"State", ""}, {"Events", "name"}, {"Blueprint", "name"}, {"Started", "num"}, {"Last", ""},
		{"Flow", "id"}, {"Refused", "num"}, {"Why, or what for", "why"}}}
	for i := range list.Listeners {
		l := &list.Listeners[i]
		is, why := doctor.ListenerStands(l)
		link := v.path("listener") + with("name", l.Name)
		t.Rows = append(t.Rows, row{Link: link, Cells: []entry{linkTo(l.Name, link), chip(startStates[is]), words(l.On.Of + " " + strings.Join(l.On.Types, ", ")),
			linkTo(l.Blueprint, v.path("blueprint")+with("name", l.Blueprint)), countOf(l.State.Started), when(v.past(l.State.LastMs)), v.flowEntry(l.State.LastFlow),
			countOf(l.State.Refused), words(cmp.Or(why, l.State.LastError, l.Summary))}})
	}
	v.render(nethttp.StatusOK, page{Title: "Listeners", Noun: "Schedules", Command: v.command("listener", "list"),
		Crumbs: []crumb{{"Schedules", v.path("schedules")}, {"Listeners", ""}}, Follow: lists(), Body: &listBody{Title: "Listeners", Tabs: v.startTabs("Listeners"),
			Intro:  "What starts a flow for each event of a stream. An event that could start none is a dead letter.",
			Tables: []table{t}, None: "No event of a stream starts flows here.", Make: v.command("listener", "apply", "shipped.yaml")}})
	return nil
}

// listenerPage is one listener: which events it takes, what it makes of them, and what became of those.
func (v *visit) listenerPage() error {
	l, err := call(v, api.ListenerShow, api.ListenerParams{Context: v.tenant.ID, Name: v.r.FormValue("name")})
	if err != nil {
		return err
	}
	is, why := doctor.ListenerStands(&l)
	b := &detailBody{Title: l.Name, State: startStates[is], Facts: []fact{{Name: "events", Text: l.On.Of + " " + strings.Join(l.On.Types, ", ")},
		{Name: "blueprint", Text: l.Blueprint, Link: v.path("blueprint") + with("name", l.Blueprint)}, {Name: "in the name of", Text: actorText(l.CallerID)},
		{Name: "started", Text: strconv.FormatInt(l.State.Started, 10)}}}
	var came, takes []pair
	if l.State.LastFlow != 0 {
		b.Facts = append(b.Facts, fact{Name: "last flow", Text: domain.FlowKey(l.State.LastFlow), Link: v.path("flows/%d", l.State.LastFlow)},
			fact{Name: "last", At: v.past(l.State.LastMs)})
		came = append(came, pair{"last event", l.State.LastEvent})
	}
	came = append(came, pair{"refused", strconv.FormatInt(l.State.Refused, 10)})
	if l.State.RefusedMs != 0 {
		came = append(came, pair{"refused last", v.at(l.State.RefusedMs).Exact}, pair{"why", l.State.LastError})
	}
	if l.Summary != "" {
		takes = append(takes, pair{"what for", l.Summary})
	}
	takes = append(takes, pair{"when", cmp.Or(l.When, "each event of these types starts a flow")})
	if l.Version != 0 {
		takes = append(takes, pair{"version of the blueprint", strconv.Itoa(l.Version)})
	}
	b.Sections = []section{{Title: "What came", Pairs: came}, {Title: "What it takes", Pairs: takes},
		{Title: "Params, by expressions", Pairs: pairs(l.Params), None: noneOf(len(l.Params), "Its flows have the blueprint's own params.")}}
	pg := page{Title: l.Name, Noun: "Schedules", Command: v.command("listener", "show", l.Name), Follow: lists(), Body: b,
		Crumbs: []crumb{{"Schedules", v.path("schedules")}, {"Listeners", v.path("listeners")}, {l.Name, ""}}}
	if st := startStates[is]; st.Class != succeeded && why != "" {
		pg.Sentence = &sentence{State: st, Text: upper(strings.TrimRight(why, ".")) + "."}
	}
	v.render(nethttp.StatusOK, pg)
	return nil
}
