package console

import (
	"cmp"
	"fmt"
	nethttp "net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// This file has what is done to several things of a list at once: to those whose boxes are
// ticked, one after the other within the request, or to all that the filter finds, by a
// bulk operation (bulk.go). Both are first shown with their count, on a page of their own,
// so that it goes without script and its address can be sent to somebody.

// deed is something that can be done to several things.
type deed struct {
	// act is its word in addresses and on the command line, name that on buttons.
	act, name string
	more      []string // of the command line, behind all else
	done      string   // what has become of them: "started again"
	will      string
	// of are the statuses of which the list can be where the deed is offered; none: all.
	of  []string
	one *api.Operation
	// do does it to one, by the key that stands in its box. In its place, look shows
	// something of those that are ticked.
	do   func(v *visit, key string) error
	look func(v *visit, keys []string) error
	// all does it to all that a filter finds; nil: it is for what is ticked alone.
	all *bulkDeed
}

// bulkDeed counts what a filter finds, or begins to do something to that.
type bulkDeed struct {
	op    *api.Operation
	begin func(v *visit, filter url.Values, dry bool) (*domain.Bulk, error)
}

// manyList is a list of things to several of which something can be done.
type manyList struct {
	path, thing string // of the list: "flows", "flow"
	rail        string // the entry of the rail
	// command stands on the command line before the act, words is a key behind it; none:
	// the command line does it in another way.
	command []string
	words   func(key string) []string
	filters []string // what narrows it down, as the operation names it
	deeds   []deed
	link    func(v *visit, key string) string
}

// maxTicked is how many things can be ticked: as many as a page of a list has.
const maxTicked = pageRows

// narrowed are what narrows down every list.
var narrowed = []string{"text", "from_ms", "to_ms"}

// allOf is deed.all by an operation; of makes its parameters, but for the filter.
func allOf[P any](op api.Op[P, *domain.Bulk], of func(v *visit) P) *bulkDeed {
	return &bulkDeed{op.Operation, func(v *visit, filter url.Values, dry bool) (*domain.Bulk, error) {
		p := of(v)
		if dry {
			filter.Set("dry_run", "true")
		}
		if err := op.ReadQuery(&p, filter); err != nil {
			return nil, err
		}
		return call(v, op, p)
	}}
}

// pick is a key as it stands in a box: escaped, for others choose the names of some things.
func pick(key string) string { return url.QueryEscape(key) }

// picked is the key of a box as people read it.
func picked(box string) string {
	key, err := url.QueryUnescape(box)
	if err != nil {
		return ""
	}
	return plain(key)
}

// mountMany mounts the page of a list on which something is done to several of its things.
func (c *Console) mountMany(pattern string, of func(v *visit) manyList) {
	c.inContext("GET "+pattern+"/many", func(v *visit) error { return v.manyPage(of(v)) })
	c.inContext("POST "+pattern+"/many", func(v *visit) error { return v.doMany(of(v)) })
}

// many is what a list offers for several of its things: the template "many".
type many struct {
	Go     string       // where the choice is sent
	Ticked []deedButton // for those that are ticked
	All    []deedButton // for all that the filter finds
	// Filter is what is asked for, as a query, sent along so that one comes back to it.
	Filter string
	// Narrowed says that the list is less than all there is.
	Narrowed bool
}

// deedButton is a button of [many].
type deedButton struct{ Act, Name, Link string }

// manyOf is what who looks may do to several things of a list; nil: nothing.
func (v *visit) manyOf(l manyList) *many {
	filter := l.filter(v.r.URL.Query())
	status := filter.Get("status")
	if filter.Has("phase") {
		status = string(domain.JobStarted) // what has a phase has not ended
	}
	m := &many{Go: v.path("%s/many", l.path), Filter: filter.Encode(), Narrowed: len(filter) > 0}
	for i := range l.deeds {
		d := &l.deeds[i]
		if !d.fits(status) {
			continue
		}
		if v.may(d.one) {
			m.Ticked = append(m.Ticked, deedButton{Act: d.act, Name: d.name})
		}
		if d.all != nil && v.may(d.all.op) {
			to := url.Values{"act": {d.act}, "all": {"yes"}}
			for name, values := range filter {
				to[name] = values
			}
			m.All = append(m.All, deedButton{d.act, d.name, m.Go + "?" + to.Encode()})
		}
	}
	if len(m.Ticked)+len(m.All) == 0 {
		return nil
	}
	return m
}

// fits reports whether there can be something to do to things of a status.
func (d *deed) fits(status string) bool {
	return status == "" || len(d.of) == 0 || slices.Contains(d.of, status)
}

// filter are the parts of a query that narrow the list down; those that the form of the
// list sends stand in one, for a form's own values are not what somebody else wrote.
func (l *manyList) filter(q url.Values) url.Values {
	if q.Has("filter") {
		q, _ = url.ParseQuery(q.Get("filter")) // what cannot be read narrows nothing
	}
	out := url.Values{}
	for _, name := range l.filters {
		if value := q.Get(name); value != "" {
			out.Set(name, value)
		}
	}
	return out
}

// chosen is what the address or the form asks for: a deed, and the keys of what is ticked;
// none where it is for all that the filter finds.
func (v *visit) chosen(l *manyList) (*deed, []string, error) {
	act, keys := v.r.FormValue("act"), slices.Clone(v.r.Form["key"])
	for i, key := range keys {
		if plain, err := url.QueryUnescape(key); err == nil {
			keys[i] = plain
		}
	}
	i := slices.IndexFunc(l.deeds, func(d deed) bool { return d.act == act })
	switch {
	case i < 0 || l.deeds[i].do == nil && v.r.Method != "GET":
		return nil, nil, domain.Invalidf("%q is nothing that can be done to several %ss", domain.PlainText(act, 20), l.thing)
	case len(keys) > maxTicked:
		return nil, nil, domain.Invalidf("%d %ss are ticked, the limit is %d; narrow the list down, and choose all that the filter finds", len(keys),
			l.thing, maxTicked)
	case len(keys) > 0:
		slices.Sort(keys)
		return &l.deeds[i], slices.Compact(keys), nil
	case v.r.FormValue("all") == "" || l.deeds[i].all == nil:
		return nil, nil, domain.Invalidf("nothing is ticked; go back, and tick the %ss that you mean", l.thing)
	}
	return &l.deeds[i], nil, nil
}

// manyPage says to how many things something will be done, and offers to do it.
func (v *visit) manyPage(l manyList) error {
	d, keys, err := v.chosen(&l)
	if err != nil {
		return err
	}
	if d.look != nil {
		return d.look(v, keys)
	}
	filter := l.filter(v.r.URL.Query())
	b := &detailBody{Links: []crumb{{"Back to the list", v.path("%s", l.path) + behindMark(filter)}}}
	a := &action{Will: d.will, Fields: []field{{"act", d.act}}}
	var count string
	if keys == nil {
		count, err = v.forAll(&l, d, filter, a)
	} else {
		count = v.forTicked(&l, d, keys, filter, a)
	}
	if err != nil {
		return err
	}
	b.Title = d.name + " " + cmp.Or(count, "no "+l.thing)
	if a.Verb = b.Title; count == "" {
		b.Sections = []section{{None: "There is no " + l.thing + " of which that could be done: nothing that the filter finds is in such a state."}}
	} else {
		b.Sections = []section{{Form: a}}
	}
	if keys != nil {
		t := &table{Name: "Ticked", Head: []column{{upper(l.thing), "id"}}}
		for _, key := range keys {
			link := l.link(v, key)
			t.Rows = append(t.Rows, row{Link: link, Cells: []entry{linkTo(key, link)}})
		}
		b.Sections = append(b.Sections, section{Table: t})
	}
	v.render(nethttp.StatusOK, page{Title: b.Title, Noun: l.rail, Command: a.Command, Body: b,
		Crumbs: []crumb{{l.rail, v.path("%s", l.path)}, {b.Title, ""}}})
	return nil
}

// forTicked completes the action for what is ticked, and says how much that is.
func (v *visit) forTicked(l *manyList, d *deed, keys []string, filter url.Values, a *action) (count string) {
	a.Post = v.path("%s/many", l.path) + behindMark(filter)
	var lines []string
	for _, key := range keys {
		a.Fields = append(a.Fields, field{"key", pick(key)})
		if l.words == nil {
			continue
		}
		lines = append(lines, v.command(slices.Concat(l.command, []string{d.act}, l.words(key), d.more)...))
	}
	a.Command = strings.Join(lines, "; ")
	return plural(len(keys), l.thing)
}

// forAll completes the action for all that a filter finds, and says how much that is, ""
// where that is nothing. What is made after the count is left alone.
func (v *visit) forAll(l *manyList, d *deed, filter url.Values, a *action) (count string, err error) {
	counted := v.untilNow(l, d, filter, a)
	b, err := d.all.begin(v, counted, true)
	switch {
	case err != nil || b.Total == 0 && !b.More:
		return "", err
	case b.More:
		return "more than " + plural(b.Total, l.thing), nil
	}
	return plural(b.Total, l.thing), nil
}

// untilNow completes an action that does it to all that a filter finds now, and returns
// that filter.
func (v *visit) untilNow(l *manyList, d *deed, filter url.Values, a *action) url.Values {
	until := l.filter(filter)
	if until.Get("to_ms") == "" {
		until.Set("to_ms", strconv.FormatInt(v.now.UnixMilli()+1, 10))
	}
	a.Post = v.path("%s/many", l.path) + behindMark(until)
	a.Fields = append(a.Fields, field{"all", "yes"})
	a.Command = v.command(append(slices.Concat(l.command, []string{d.act}, l.flags(filter), d.more), "--all", "--yes")...)
	return until
}

// flags are a filter as the command line has it.
func (l *manyList) flags(filter url.Values) (words []string) {
	for _, name := range l.filters {
		value := filter.Get(name)
		if flag, ms := instantFlags[name], int64(0); flag != "" && value != "" {
			ms, _ = strconv.ParseInt(value, 10, 64) // what is no number has been refused
			name, value = flag, time.UnixMilli(ms).UTC().Format(time.RFC3339Nano)
		}
		if value != "" {
			words = append(words, "--"+name, value)
		}
	}
	return words
}

// narrowing is what the address narrows every list down by; what is no number does not.
func narrowing(q url.Values) api.Narrowing {
	from, _ := strconv.ParseInt(q.Get("from_ms"), 10, 64)
	to, _ := strconv.ParseInt(q.Get("to_ms"), 10, 64)
	return api.Narrowing{FromMs: from, ToMs: to, Text: q.Get("text")}
}

// instantFlags are the flags of filters that are instants.
var instantFlags = map[string]string{"from_ms": "since", "to_ms": "until"}

// doMany does it: to what is ticked, at once; to all that the filter finds, by a bulk
// operation, whose page is shown.
func (v *visit) doMany(l manyList) error {
	d, keys, err := v.chosen(&l)
	if err != nil {
		return err
	}
	filter := l.filter(v.r.URL.Query())
	back := v.path("%s", l.path) + behindMark(filter)
	if keys == nil {
		b, err := d.all.begin(v, filter, false)
		if err != nil {
			return v.did(back, "", err)
		}
		return v.redirect(v.path("bulk/%d", b.ID))
	}
	done, failed, first := 0, 0, error(nil)
	for _, key := range keys {
		if err := d.do(v, key); err == nil {
			done++
		} else if failed++; first == nil {
			first = err
		}
	}
	switch {
	case done == 0:
		return v.did(back, "", first)
	case failed > 0:
		return v.redirectSaying(back, fmt.Sprintf("%s %s. With %d it could not be done; the first of them: %s.", upper(plural(done, l.thing)), d.done, failed,
			domain.PlainText(first.Error(), maxPlain)), true)
	}
	return v.did(back, upper(plural(done, l.thing))+" "+d.done+".", nil)
}

// behindMark is a query behind its question mark, "" where there is none.
func behindMark(q url.Values) string {
	if len(q) == 0 {
		return ""
	}
	return "?" + q.Encode()
}

// oneFlow and oneJob do an operation to the one of a key.
func oneFlow[P, R any](op api.Op[P, R], of func(api.FlowParams) P) func(*visit, string) error {
	return func(v *visit, key string) error {
		id, err := domain.ParseFlowKey(key)
		if err == nil {
			_, err = call(v, op, of(api.FlowParams{Context: v.tenant.ID, Flow: id}))
		}
		return err
	}
}

func oneJob[R any](op api.Op[api.JobParams, R]) func(*visit, string) error {
	return func(v *visit, key string) error {
		k, err := domain.ParseJobKey(key)
		if err == nil {
			_, err = call(v, op, api.JobParams{Context: v.tenant.ID, Caller: k.Caller, ID: k.ID})
		}
		return err
	}
}

// alone is the command line's words for a key that is one.
func alone(key string) []string { return []string{key} }

// The deeds of the lists.
var (
	notEnded = []string{"dispatched", "started", "waiting_for_prerequisites"}
	badly    = []string{"error"}
)

func (*visit) manyFlows() manyList {
	of := func(v *visit) api.BulkFlowsParams { return api.BulkFlowsParams{Context: v.tenant.ID} }
	again := func(v *visit) api.BulkRetryFlowsParams {
		return api.BulkRetryFlowsParams{BulkFlowsParams: of(v), Failed: true}
	}
	return manyList{path: "flows", thing: "flow", rail: "Flows", command: []string{"flow"}, words: alone,
		filters: append([]string{"status", "reason", "blueprint", "trigger", "caller", "awaits", "where"}, narrowed...),
		link:    func(v *visit, key string) string { return v.path("flows/%s", url.PathEscape(key)) },
		deeds: []deed{
			{act: "retry", name: "Retry", done: "started again", of: badly, one: api.FlowRetry.Operation, all: allOf(api.FlowRetryAll, again),
				will: "What failed or ended in error starts again, and what was skipped because of it follows. What succeeded keeps its result and is not run again.",
				more: []string{"--failed"},
				do:   oneFlow(api.FlowRetry, func(p api.FlowParams) api.RetryFlowParams { return api.RetryFlowParams{FlowParams: p, Failed: true} })},
			{act: "cancel", name: "Cancel", done: "told to stop", of: notEnded, one: api.FlowCancel.Operation, all: allOf(api.FlowCancelAll, of),
				will: "What has not begun ends now, and jobs that run are told to stop. What has ended stays as it is.",
				do:   oneFlow(api.FlowCancel, func(p api.FlowParams) api.FlowParams { return p })},
			{act: "delete", name: "Delete", done: "deleted", one: api.FlowDelete.Operation, all: allOf(api.FlowDeleteAll, of),
				will: "The flows, their jobs and logs leave the board. This cannot be undone.",
				do:   oneFlow(api.FlowDelete, func(p api.FlowParams) api.DeleteFlowParams { return api.DeleteFlowParams{FlowParams: p} })},
			{act: "compare", name: "Compare", one: api.FlowShow.Operation, look: (*visit).compareFlows},
		}}
}

func (*visit) manyJobs() manyList {
	of := func(v *visit) api.BulkJobsParams { return api.BulkJobsParams{Context: v.tenant.ID} }
	return manyList{path: "jobs", thing: "job", rail: "Jobs", command: []string{"job"}, words: alone,
		filters: append([]string{"status", "phase", "type", "caller", "flow", "where"}, narrowed...),
		link:    func(v *visit, key string) string { return v.jobLink(key) },
		deeds: []deed{
			{act: "retry", name: "Retry", done: "started again", of: badly, one: api.JobRetry.Operation, all: allOf(api.JobRetryAll, of), do: oneJob(api.JobRetry),
				will: "What ended in error starts again, with the same script and params. What has ended well or still runs is not touched."},
			{act: "cancel", name: "Cancel", done: "told to stop", of: notEnded, one: api.JobCancel.Operation, all: allOf(api.JobCancelAll, of),
				do:   oneJob(api.JobCancel),
				will: "What waits ends now, and what runs is told to stop. What has ended stays as it is."},
		}}
}

func (*visit) manyLetters() manyList {
	of := func(v *visit) api.BulkDeadLettersParams { return api.BulkDeadLettersParams{Context: v.tenant.ID} }
	words := func(key string) []string {
		kind, id, _ := strings.Cut(key, ":")
		return []string{kind, id}
	}
	one := func(op api.Op[api.ChooseDeadLettersParams, api.DeadLettersDone]) func(*visit, string) error {
		return func(v *visit, key string) error {
			kind, id, _ := strings.Cut(key, ":")
			_, err := call(v, op, api.ChooseDeadLettersParams{Context: v.tenant.ID, DeadLetterChoice: api.DeadLetterChoice{Kind: domain.DeadKind(kind), ID: id}})
			return err
		}
	}
	return manyList{path: "letters/list", thing: "letter", rail: "Dead letters", command: []string{"deadletter"}, words: words,
		filters: append([]string{"kind", "saga", "effect", "cause", "where"}, narrowed...),
		link: func(v *visit, key string) string {
			kind, id, _ := strings.Cut(key, ":")
			return v.letterLink(domain.DeadKind(kind), id)
		},
		deeds: []deed{
			{act: "replay", name: "Replay", done: "replayed; what fails again comes back", one: api.DeadLetterReplay.Operation, all: allOf(api.DeadLetterReplayAll, of),
				do:   one(api.DeadLetterReplay),
				will: "They get another chance, as they are. What fails again comes back here. Letters that come meanwhile are left alone."},
			{act: "drop", name: "Drop", done: "dropped", one: api.DeadLetterDrop.Operation, all: allOf(api.DeadLetterDropAll, of), do: one(api.DeadLetterDrop),
				will: "They are forgotten for good; instances that they hold go on without them. This cannot be undone."},
		}}
}

func (v *visit) manyInstances() manyList {
	name := v.r.PathValue("saga")
	of := func(v *visit) api.BulkInstancesParams {
		return api.BulkInstancesParams{Context: v.tenant.ID, Name: name}
	}
	one := func(op api.Op[api.SteerSagaParams, api.SagaDone]) func(*visit, string) error {
		return func(v *visit, key string) error {
			_, err := call(v, op, api.SteerSagaParams{Context: v.tenant.ID, Name: name, Correlation: key})
			return err
		}
	}
	return manyList{path: "sagas/" + url.PathEscape(name), thing: "instance", rail: "Sagas", command: []string{"saga"},
		words:   func(key string) []string { return []string{name, key} },
		filters: append([]string{"state", "where"}, narrowed...),
		link:    func(v *visit, key string) string { return v.sagaPath(name) + "/instance" + query("id", key) },
		deeds: []deed{
			{act: "pause", name: "Pause", done: "told to pause", one: api.SagaPause.Operation, all: allOf(api.SagaPauseAll, of), do: one(api.SagaPause),
				will: "They take no event until they are resumed; events wait."},
			{act: "resume", name: "Resume", done: "told to go on", one: api.SagaResume.Operation, all: allOf(api.SagaResumeAll, of), do: one(api.SagaResume),
				will: "They take events again, from where they stopped."},
		}}
}

func (*visit) manyInbox() manyList {
	return manyList{path: "messages/inbox", thing: "message", rail: "Messages",
		link: func(v *visit, key string) string { return v.messageAt(key) },
		deeds: []deed{{act: "take", name: "Take", done: "taken", one: api.InboxTake.Operation, will: "They leave your inbox; they stay in the list of messages.",
			do: func(v *visit, key string) error {
				_, err := call(v, api.InboxTake, api.TakeParams{Context: v.tenant.ID, Key: key})
				return err
			}}}}
}
