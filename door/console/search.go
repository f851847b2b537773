package console

import (
	"cmp"
	nethttp "net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// This file has the search over everything that who looks may see: pages, things to do,
// and objects by their keys, names and texts. scripts/palette.js shows its page in a
// dialog, as one types; without script it is a page of its own.

const (
	// hitsMost is how many objects of a kind it finds, hitsSagas of how many sagas it
	// looks at the instances.
	hitsMost  = 6
	hitsSagas = 4
	// maxQuery bounds what is searched for, in bytes.
	maxQuery = 200
)

// hit is something that was found.
type hit struct{ Kind, Name, Note, Link string }

// searchBody is what the search shows.
type searchBody struct {
	Query string
	Hits  []hit
	Go    string
}

func (c *Console) mountSearch() {
	c.inContext("GET search", (*visit).searchPage)
	c.inContext("GET jump", (*visit).jump)
}

// jump goes to what somebody typed where that is a key or a number, else it searches.
func (v *visit) jump() error {
	q := strings.TrimSpace(v.r.FormValue("q"))
	if exact := v.exactHits(q); len(exact) > 0 {
		return v.redirect(exact[0].Link)
	}
	return v.redirect(v.path("search") + query("q", domain.CutText(q, maxQuery)))
}

func (v *visit) searchPage() error {
	q := strings.TrimSpace(domain.CutText(v.r.FormValue("q"), maxQuery))
	b := &searchBody{Query: q, Go: v.path("search")}
	b.Hits = slices.Concat(v.exactHits(q), v.placeHits(q), v.deedHits(q))
	if q != "" {
		b.Hits = append(b.Hits, v.objectHits(q)...)
	}
	v.render(nethttp.StatusOK, page{Title: "Search", Body: b, Crumbs: []crumb{{"Search", ""}}})
	return nil
}

// exactHits are what a key or a number names, where that is there.
func (v *visit) exactHits(q string) (hits []hit) {
	if id, err := domain.ParseFlowKey(q); err == nil {
		if f, err := call(v, api.FlowShow, api.ShowFlowParams{FlowParams: api.FlowParams{Context: v.tenant.ID, Flow: id}}); err == nil {
			hits = append(hits, hit{"flow", flowName(&f.Flow), strconv.Itoa(int(id)) + ", " + flowState(&f.Flow, false).Word, v.path("flows/%d", id)})
		}
	}
	if key, err := domain.ParseJobKey(q); err == nil {
		if j, err := call(v, api.JobShow, api.JobParams{Context: v.tenant.ID, Caller: key.Caller, ID: key.ID}); err == nil {
			hits = append(hits, hit{"job", key.String(), strings.TrimSpace(jobState(j).Word + " " + j.Step), v.path("jobs/%d/%d", key.Caller, key.ID)})
		}
	}
	if key, err := domain.ParseMessageKey(q); err == nil && strings.HasPrefix(q, "message:") {
		if m, err := call(v, api.MessageShow, api.MessageParams{Context: v.tenant.ID, Caller: key.Caller, ID: key.ID}); err == nil {
			hits = append(hits, hit{"message", key.String(), string(m.Status), v.path("messages/%d/%d", key.Caller, key.ID)})
		}
	}
	return hits
}

// matches reports whether each word of what is searched for stands in one of the texts.
func matches(q string, texts ...string) bool {
	all := strings.ToLower(strings.Join(texts, " "))
	for word := range strings.FieldsSeq(strings.ToLower(q)) {
		if !strings.Contains(all, word) {
			return false
		}
	}
	return true
}

// placeHits are pages, and contexts.
func (v *visit) placeHits(q string) (hits []hit) {
	add := func(name, link string) {
		if matches(q, name) {
			hits = append(hits, hit{"page", name, "", link})
		}
	}
	for _, e := range v.rail("") {
		add(e.Name, e.Link)
	}
	if q == "" { // the rest is for who asks for it
		return hits
	}
	for _, t := range v.operateTabs("") {
		add("Operate: "+t.Name, t.Link)
	}
	add("Calendar of schedules", v.path("schedules/calendar"))
	add("Routines", v.path("routines"))
	add("All dead letters", v.path("letters/list"))
	add("My inbox", v.path("messages/inbox"))
	add("Sessions", Path+"sessions")
	list, err := call(v, api.ContextList, api.ListContextsParams{Limit: contextsMost})
	if err != nil {
		return hits // what cannot be asked is not found
	}
	for _, t := range list.Contexts {
		if v.seesInto(t) && matches(q, "context", contextName(t)) {
			hits = append(hits, hit{"context", contextName(t), "", Path + "c/" + contextName(t) + "/"})
		}
	}
	return hits
}

// deedHits are things to do, for who may do them. Each leads to where it is counted or
// filled in first.
func (v *visit) deedHits(q string) (hits []hit) {
	for _, d := range [...]struct {
		name string
		op   *api.Operation
		link string
	}{
		{"Retry all flows that went wrong", api.FlowRetryAll.Operation, "flows/many?act=retry&all=yes&filter=status%3Derror"},
		{"Cancel all flows that live", api.FlowCancelAll.Operation, "flows/many?act=cancel&all=yes"},
		{"Retry all jobs that went wrong", api.JobRetryAll.Operation, "jobs/many?act=retry&all=yes&filter=status%3Derror"},
		{"Replay all dead letters", api.DeadLetterReplayAll.Operation, "letters/list/many?act=replay&all=yes"},
		{"Write a new blueprint", api.BlueprintApply.Operation, "blueprint/edit"},
		{"Set a ban: stop a tenant, an actor or a script type", api.BanSet.Operation, "operate/bans"},
		{"Make a routine: run a script again and again", api.RoutineApply.Operation, "routines/new"},
		{"Grant a role", api.ContextGrant.Operation, "rights"},
	} {
		if matches(q, d.name) && v.may(d.op) {
			hits = append(hits, hit{"do", d.name, "", v.path("%s", d.link)})
		}
	}
	return hits
}

// objectHits are things by their names and texts. A kind that cannot be asked for, or that
// who looks may not see, is left out.
func (v *visit) objectHits(q string) (hits []hit) {
	in := v.tenant.ID
	starts := v.may(api.FlowSubmit.Operation)
	if list, err := call(v, api.BlueprintList, api.ListBlueprintsParams{Context: in}); err == nil {
		for _, e := range list.Blueprints {
			if matches(q, "blueprint start a flow of", e.Name, e.Summary) {
				hits = append(hits, hit{"blueprint", e.Name, e.Summary, v.blueprintLink(e.Name, 0)}, hit{"flows", "Flows of " + e.Name, "",
					v.path("flows") + query("blueprint", e.Name)})
				if starts {
					hits = append(hits, hit{"do", "Start a flow of " + e.Name, "", v.path("blueprint") + with("name", e.Name, "tab", "start")})
				}
			}
		}
	}
	hits = hits[:min(len(hits), 3*hitsMost)]
	if list, err := call(v, api.ScheduleList, api.ScheduleListParams{Context: in, Narrowing: api.Narrowing{Text: q}, Limit: hitsMost}); err == nil {
		for i := range list.Schedules {
			s := &list.Schedules[i].Schedule
			hits = append(hits, hit{"schedule", s.Name, cmp.Or(s.Summary, timesOf(s)), v.path("schedule") + with("name", s.Name)})
		}
	}
	hits = append(hits, v.routineHits(q)...)
	hits = append(hits, v.sagaHits(q)...)
	if list, err := call(v, api.EffectList, api.ListEffectsParams{Context: in}); err == nil {
		for i := range list.Effects {
			if e := &list.Effects[i]; matches(q, "effect", e.Name, e.Target) {
				hits = append(hits, hit{"effect", e.Name, e.Target, v.path("effect") + with("name", e.Name)})
			}
		}
	}
	if list, err := call(v, api.FlowList, api.ListFlowsParams{Context: in, FlowFilter: api.FlowFilter{Narrowing: api.Narrowing{Text: q}},
		Limit: hitsMost}); err == nil {
		for i := range list.Flows {
			f := &list.Flows[i]
			hits = append(hits, hit{"flow", flowName(f), strconv.Itoa(int(f.ID)) + ", " + flowState(f, false).Word, v.path("flows/%d", f.ID)})
		}
	}
	if list, err := call(v, api.JobList, api.ListJobsParams{Context: in, JobFilter: api.JobFilter{Narrowing: api.Narrowing{Text: q}},
		Limit: hitsMost}); err == nil {
		for _, j := range list.Jobs {
			hits = append(hits, hit{"job", j.Key().String(), strings.TrimSpace(jobState(j).Word + " " + j.Step), v.path("jobs/%d/%d", j.CallerID, j.ID)})
		}
	}
	return hits
}

// sagaHits are sagas by their names, and instances of the first of all sagas.
func (v *visit) sagaHits(q string) (hits []hit) {
	list, err := call(v, api.SagaList, api.ListSagasParams{Context: v.tenant.ID})
	if err != nil {
		return nil
	}
	for i, s := range list.Sagas {
		if matches(q, "saga", s.Name, s.Summary) {
			hits = append(hits, hit{"saga", s.Name, s.Summary, v.sagaPath(s.Name)})
		}
		if i >= hitsSagas {
			continue
		}
		found, err := call(v, api.SagaInstances, api.ListInstancesParams{Context: v.tenant.ID, Name: s.Name,
			InstanceFilter: api.InstanceFilter{Narrowing: api.Narrowing{Text: q}}, Limit: hitsMost})
		if err != nil {
			continue
		}
		for _, in := range found.Instances {
			hits = append(hits, hit{"instance", in.Correlation, s.Name + ", " + in.State, v.sagaPath(s.Name) + "/instance" + query("id", in.Correlation)})
		}
	}
	return hits
}

// routineHits are routines by their names and what they are for.
func (v *visit) routineHits(q string) (hits []hit) {
	list, err := call(v, api.RoutineList, api.ListRoutinesParams{Context: v.tenant.ID})
	if err != nil {
		return nil
	}
	for _, r := range list.Routines {
		if len(hits) < hitsMost && matches(q, "routine", r.Name, r.Summary) {
			st, _, _ := v.routineState(r)
			hits = append(hits, hit{"routine", r.Name, strings.TrimSpace(st.Word + " " + r.Summary), v.routineLink(r.Name)})
		}
	}
	return hits
}
