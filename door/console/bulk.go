package console

import (
	"cmp"
	"maps"
	nethttp "net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// This file has bulk operations: what is being done to all that a filter found. They are
// begun in many.go.

func (c *Console) mountBulk() {
	c.live("GET operate/bulk", (*visit).bulksPage)
	c.live("GET bulk/{bulk}", (*visit).bulkPage)
	c.inContext("POST bulk/{bulk}/cancel", (*visit).cancelBulk)
}

// bulkStates are how bulk operations stand.
var bulkStates = map[domain.BulkStatus]state{domain.BulkRunning: {"running", running}, domain.BulkFinished: {"done", succeeded},
	domain.BulkCancelled: {"cancelled", skipped}, domain.BulkError: {"stopped", errored}}

func bulkState(b *domain.Bulk) state {
	if b.Status == domain.BulkFinished && b.Failed > 0 {
		return state{"done in part", failed}
	}
	if st, known := bulkStates[b.Status]; known {
		return st
	}
	return state{string(b.Status), waiting}
}

// bulkOf says to what it is done: what was asked for, by its names.
func bulkOf(b *domain.Bulk) string {
	filter, err := url.ParseQuery(b.Filter)
	if err != nil {
		return b.Filter // of a node of another version
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(filter)) {
		value := filter.Get(name)
		switch flag := instantFlags[name]; {
		case value == "":
			continue
		case flag != "":
			ms, _ := strconv.ParseInt(value, 10, 64) // what is no number has been refused
			parts = append(parts, flag+" "+momentOf(ms, time.UnixMilli(ms)).Exact)
		default:
			parts = append(parts, strings.ReplaceAll(name, "_", " ")+": "+value)
		}
	}
	return strings.Join(parts, "; ")
}

// bulkTotal is how many it found.
func bulkTotal(b *domain.Bulk) string {
	if b.More {
		return "more than " + strconv.Itoa(b.Total)
	}
	return strconv.Itoa(b.Total)
}

func (v *visit) bulksPage() error {
	found, err := call(v, api.BulkList, api.ListBulkParams{Context: v.tenant.ID, Cursor: v.r.FormValue("cursor")})
	if err != nil {
		return err
	}
	t := table{Name: "Bulk operations", Head: []column{{"Number", "id"}, {"What", ""}, {"State", ""}, {"Done", "num"}, {"Failed", "num"}, {"Of", "num"},
		{"To", "why"}, {"Began", ""}, {"By", ""}}}
	alive := 0
	for _, b := range found.Bulk {
		link := v.path("bulk/%d", b.ID)
		if !b.Final() {
			alive++
		}
		t.Rows = append(t.Rows, row{Link: link, Cells: []entry{linkTo(strconv.Itoa(int(b.ID)), link), words(b.Operation), chip(bulkState(b)), number(int64(b.Done)),
			countOf(int64(b.Failed)), words(bulkTotal(b)), words(bulkOf(b)), when(v.past(b.BeganMs)), words(actorText(b.CallerID))}})
	}
	var s *sentence
	if alive > 0 {
		s = &sentence{State: state{"running", running}, Text: counted(alive, "bulk operation is", "bulk operations are") + " under way."}
	}
	return v.operatePage("Bulk operations", s, []string{"bulk", "list"}, &listBody{Tables: []table{t}, Pager: v.pagerOf("operate/bulk", v.r.URL.Query(),
		found.Next),
		None: "Nothing was done to many things at once in the last 7 days. Lists of flows, jobs, instances and dead letters offer that at their end."})
}

// bulkParams are those of the operation that the path names.
func (v *visit) bulkParams() (api.BulkParams, error) {
	id, err := domain.ParseBulkID(v.r.PathValue("bulk"))
	return api.BulkParams{Context: v.tenant.ID, ID: id}, err
}

func (v *visit) bulkPage() error {
	p, err := v.bulkParams()
	if err != nil {
		return err
	}
	b, err := call(v, api.BulkShow, p)
	if err != nil {
		return err
	}
	back, err := v.cameBack(b)
	if err != nil {
		return err
	}
	id := strconv.Itoa(int(b.ID))
	st := bulkState(b)
	if st.Class == succeeded && back != nil {
		st = state{"done in part", failed}
	}
	body := &detailBody{Title: "Bulk operation " + id, State: st, Facts: []fact{{Name: "what", Text: b.Operation}, {Name: "began", At: v.past(b.BeganMs)},
		{Name: tookOr(b.Final(), "took", "so far"), Text: v.took(b.BeganMs, b.EndedMs)}, {Name: "by", Text: actorText(b.CallerID)}}}
	add := func(name, text string) {
		if text != "" {
			body.Facts = append(body.Facts, fact{Name: name, Text: text})
		}
	}
	add("saga", b.Saga)
	add("to", bulkOf(b))
	if back != nil {
		body.Facts = append(body.Facts, *back)
	}
	dealt := b.Done + b.Failed + b.Skipped
	body.Sections = []section{{Progress: &progress{dealt, max(b.Total, dealt, 1)}}}
	if len(b.Failures) > 0 {
		t := &table{Name: "Failures", Head: []column{{"What", "id"}, {"Why it could not be done", "full"}}}
		for _, f := range b.Failures {
			link := v.objectLink(f.Key)
			t.Rows = append(t.Rows, row{Link: link, Cells: []entry{linkTo(f.Key, link), words(f.Error)}})
		}
		body.Sections = append(body.Sections, section{Title: "Failures", Intro: firstOf(len(b.Failures), b.Failed), Table: t})
	}
	pg := page{Title: body.Title, Noun: "Operate", Command: v.command("bulk", "show", id), Body: body,
		Crumbs:   []crumb{{"Operate", v.path("operate")}, {"Bulk operations", v.path("operate/bulk")}, {id, ""}},
		Sentence: &sentence{State: st, Text: bulkSentence(b), Why: b.Error, Since: v.past(b.EndedMs), Ended: b.Final()}}
	if back != nil {
		pg.Sentence.Text = strings.TrimSuffix(pg.Sentence.Text, ".") + "; " + back.Text + " came back, or came meanwhile."
		pg.Sentence.Why = cmp.Or(b.Error, "What was replayed and failed again is a dead letter once more: it counts as done, for it had its chance.")
	}
	if b.Operation == api.DeadLetterReplay.Name {
		pg.Follow = lists("dead_letter") // what fails again comes back later
	}
	if !b.Final() {
		pg.Follow = &follow{every: time.Second, pause: time.Second} // nobody tells how far it is
		if v.may(api.BulkCancel.Operation) {
			pg.Sentence.Actions = []action{{Name: "Cancel", Verb: "Cancel the bulk operation", Post: v.path("bulk/%d/cancel", b.ID),
				Will: "What was done stays done; the " + strconv.Itoa(max(b.Total-dealt, 0)) + " that are left are not touched.", Command: v.command("bulk",
					"cancel", id)}}
		}
	}
	v.render(nethttp.StatusOK, pg)
	return nil
}

// cameBack says how many letters there are again, or anew, that a replay found or would find
// now: they are younger than it. nil: there are none, or it is no replay.
func (v *visit) cameBack(b *domain.Bulk) (*fact, error) {
	filter, err := url.ParseQuery(b.Filter)
	if b.Operation != api.DeadLetterReplay.Name || err != nil {
		return nil, nil
	}
	filter.Del("to_ms")
	filter.Del("before_ms")
	filter.Set("from_ms", strconv.FormatInt(b.BeganMs, 10))
	p := api.ListDeadLettersParams{Context: v.tenant.ID, Count: true}
	if err := api.DeadLetterList.ReadQuery(&p, filter); err != nil {
		return nil, err
	}
	found, err := call(v, api.DeadLetterList, p)
	if err != nil || found.Count == nil || found.Count.Matching == 0 {
		return nil, err
	}
	back := &fact{Name: "came back", Text: strconv.Itoa(found.Count.Matching), Link: v.path("letters/list") + behindMark(filter)}
	if found.Count.More {
		back.Text = "more than " + back.Text
	}
	return back, nil
}

// firstOf says that not all are shown, "" where all are.
func firstOf(shown, all int) string {
	if shown >= all {
		return ""
	}
	return "The first " + strconv.Itoa(shown) + " of " + strconv.Itoa(all) + "."
}

// bulkSentence says how far it is.
func bulkSentence(b *domain.Bulk) string {
	text := strconv.Itoa(b.Done) + " of " + bulkTotal(b) + " done"
	if b.Failed > 0 {
		text += ", " + strconv.Itoa(b.Failed) + " could not be"
	}
	if b.Skipped > 0 {
		text += ", " + strconv.Itoa(b.Skipped) + " needed nothing any more"
	}
	return text + "."
}

func (v *visit) cancelBulk() error {
	p, err := v.bulkParams()
	if err != nil {
		return err
	}
	_, err = call(v, api.BulkCancel, p)
	return v.did(v.path("bulk/%d", p.ID), "The bulk operation was cancelled.", err)
}
