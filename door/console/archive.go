package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	nethttp "net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/clockwork/timetable"
	"github.com/ramet-run/ramet/domain"
)

// archivePages is in the path of pages that are nothing without the archive.
const archivePages = "/archive"

func (c *Console) mountArchive() {
	c.inContext("GET archive", (*visit).archivePage)
	c.inContext("GET archive/record", (*visit).recordPage)
}

const (
	// archiveWithin is how long the archive may take for what a page shows beside other things, and
	// archiveSilent for how long one that did not answer is not asked again for that.
	archiveWithin = time.Second
	archiveSilent = 5 * time.Second
)

// silence is when the archive did not answer.
type silence struct {
	mu sync.Mutex
	at time.Time
}

// note notes that it did not answer.
func (s *silence) note(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = now
}

// beside asks the archive for what a page shows beside other things. ok is false where there is none,
// or it does not answer: the page goes without.
func (v *visit) beside(f api.ArchiveFilter) (found api.ArchivePage, ok bool, err error) {
	s := &v.console.silence
	s.mu.Lock()
	since := v.now.Sub(s.at)
	s.mu.Unlock()
	if since >= 0 && since < archiveSilent {
		return found, false, nil
	}
	ctx, cancel := context.WithTimeout(v.r.Context(), archiveWithin)
	defer cancel()
	found, err = call(&visit{r: v.r.WithContext(ctx), caller: v.caller}, api.ArchiveSearch, api.ArchiveParams{Context: v.tenant.ID, ArchiveFilter: f})
	switch {
	case notThere(err):
		return found, false, nil
	case errors.Is(err, domain.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded):
		s.note(v.now)
		return found, false, nil
	}
	return found, err == nil, err
}

// recordLines bounds the log that the page of a record has.
const recordLines = 2000

// archivedState is how something ended that the archive has.
func archivedState(r *api.ArchiveRecord) state {
	switch r.Kind {
	case domain.ArchiveFlow:
		return recordState(r)
	case domain.ArchiveMessage:
		return messageState(&domain.Message{Status: domain.MessageStatus(r.Status), Stage: domain.Stage(r.Reason)})
	}
	return jobState(&domain.Job{Status: domain.JobStatus(r.Status), Reason: domain.Reason(r.Reason)})
}

// recordTook is how long something took that the archive has. Where it has the second alone in
// which that was asked for, no more is said.
func recordTook(r *api.ArchiveRecord) string {
	d := time.Duration(max(0, r.EndMs-r.BeginMs)) * time.Millisecond
	switch {
	case r.BeginMs == 0:
		return ""
	case r.BeginMs%1000 == 0 && d < 10*time.Second:
		return fmt.Sprintf("up to %d s", max(1, int(math.Ceil(d.Seconds()))))
	}
	return span(d)
}

func (v *visit) archivePage() error {
	q := v.r.URL.Query()
	f := api.ArchiveFilter{Kind: domain.ArchiveKind(q.Get("kind")), Status: q.Get("status"), Reason: q.Get("reason"),
		Type: domain.ScriptType(q.Get("type")), Blueprint: q.Get("blueprint"),
		Trigger: q.Get("trigger"), Caller: v.callerAsked(), Text: q.Get("text"), Where: q.Get("where"), Cursor: q.Get("cursor"), Limit: pageRows}
	fields := v.fields(typed("text", "Words", f.Text, "timeout"), typed("blueprint", "Blueprint", f.Blueprint, "nightly"),
		typed("since", "Since", q.Get("since"), "24h"),
		typed("where", "Where", f.Where, "record.end_ms - record.begin_ms > 60000"))
	if text := strings.TrimSpace(q.Get("since")); text != "" {
		if from, err := timetable.Since(text, v.now); err == nil {
			f.FromMs = from.UnixMilli()
		} else {
			i := slices.IndexFunc(fields, func(f formField) bool { return f.Name == "since" })
			fields[i].Fault = err.Error()
		}
	}
	var found api.ArchivePage
	var err error
	if !faulty(fields) { // else all would be shown, as if it were what was asked for
		found, err = call(v, api.ArchiveSearch, api.ArchiveParams{Context: v.tenant.ID, ArchiveFilter: f})
	}
	if err = blame(err, fields); err != nil {
		return err
	}
	b := &listBody{Title: "Archive", Filtered: filtered(q), All: v.path("archive"), Pager: v.pagerOf("archive", q, found.Next),
		None:   "Nothing has ended here yet, or it is still on the board. What ends is archived before it leaves the board.",
		Fields: fields}
	for _, k := range [...]struct{ name, kind string }{{"All", ""}, {"Jobs", string(domain.ArchiveJob)}, {"Flows", string(domain.ArchiveFlow)},
		{"Messages", string(domain.ArchiveMessage)}} {
		b.Filters = append(b.Filters, v.choice("archive", k.name, "kind", k.kind))
	}
	b.Filters = append(b.Filters, v.choice("archive", "Went wrong", "status", string(domain.JobError)))
	t := table{Name: "Archive", Head: []column{{"What", "id"}, {"Kind", ""}, {"State", ""}, {"Blueprint", "name"}, {"Trigger", "trigger"}, {"Type", "name"},
		{"Ended", ""}, {"Took", "num"}, {"By", ""}}}
	for i := range found.Records {
		r := &found.Records[i]
		link := v.path("archive/record") + with("key", r.Key, "end_ms", strconv.FormatInt(r.EndMs, 10))
		t.Rows = append(t.Rows, row{Link: link, Cells: []entry{linkTo(r.Key, link), words(string(r.Kind)), chip(archivedState(r)), words(r.Blueprint),
			words(r.Trigger),
			words(string(r.ScriptType)), when(v.past(r.EndMs)), words(recordTook(r)),
			words(actorText(r.Caller))}})
	}
	b.Tables = []table{t}
	command := []string{"archive", "search"}
	if f.Text != "" {
		command = append(command, f.Text)
	}
	v.render(statusOf(fields), page{Title: "Archive", Noun: "Archive", Command: v.command(v.flags(command, "kind", "status", "reason",
		"type", "blueprint", "trigger", "caller", "since", "where")...),
		Crumbs: []crumb{{"Archive", ""}}, Body: b})
	return nil
}

// callerAsked is the caller that the address names; what is no number filters nothing.
func (v *visit) callerAsked() domain.ActorID {
	id, _ := strconv.ParseUint(v.r.FormValue("caller"), 10, 32)
	return domain.ActorID(id)
}

// recordPage shows what has ended, with its log.
func (v *visit) recordPage() error {
	endMs, _ := strconv.ParseInt(v.r.FormValue("end_ms"), 10, 64) // what is no number is the newest
	r, err := call(v, api.ArchiveShow, api.ArchiveShowParams{Context: v.tenant.ID, Key: v.r.FormValue("key"), EndMs: endMs})
	if err != nil {
		return err
	}
	st := archivedState(&r)
	b := &detailBody{Title: r.Key, State: st, Facts: []fact{{Name: "kind", Text: string(r.Kind)}, {Name: "began", At: v.past(r.BeginMs)}, {Name: "ended",
		At: v.past(r.EndMs)}, {Name: "took", Text: recordTook(&r)},
		{Name: "by", Text: actorText(r.Caller)}}}
	if r.Blueprint != "" {
		b.Facts = append(b.Facts, fact{Name: "blueprint", Text: r.Blueprint, Link: v.blueprintLink(r.Blueprint, 0)})
	}
	var s *sentence
	if j := r.Job; j != nil {
		if j.Error != "" {
			s = &sentence{State: st, Text: upper(j.Error) + ".", Since: v.past(r.EndMs), Ended: true}
		}
		for _, p := range [...]struct {
			name string
			m    map[string]string
		}{{"Params", j.Params}, {"Result", j.Result}, {"Environment", j.EnvVars}} {
			if len(p.m) > 0 {
				b.Sections = append(b.Sections, section{Title: p.name, Pairs: pairs(p.m)})
			}
		}
		if j.Script != "" {
			b.Sections = append(b.Sections, section{Title: "Script", Lines: linesOf(j.Script)})
		}
	}
	if m := r.Message; m != nil && m.Message != "" {
		b.Sections = append(b.Sections, section{Title: "Text", Lines: linesOf(m.Message)})
	}
	if len(r.Body) > 0 {
		b.Sections = append(b.Sections, section{Title: "Record", Lines: linesOf(indented(string(json.RawMessage(r.Body))))})
	}
	if logs := r.Logs; len(logs) > 0 {
		lines := section{Title: "Log"}
		if len(logs) > recordLines { // the end says what came of it
			lines.Intro = "The last " + strconv.Itoa(recordLines) + " lines of " + strconv.Itoa(len(logs)) + "; the command has all."
			logs = logs[len(logs)-recordLines:]
		}
		for _, l := range logs {
			lines.Lines = append(lines.Lines, linesOf(l.Line)...)
		}
		b.Sections = append(b.Sections, lines)
	}
	v.render(nethttp.StatusOK, page{Title: r.Key, Noun: "Archive", Command: v.command("archive", "show", r.Key, "--logs"),
		Sentence: s, Body: b,
		Crumbs: []crumb{{"Archive", v.path("archive")}, {r.Key, ""}}})
	return nil
}
