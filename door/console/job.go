package console

import (
	"cmp"
	"fmt"
	nethttp "net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/service"
)

// This file has one job. The list of jobs is in jobs.go.

// logPage is how many lines of a log a page has at once.
const logPage = 2000

// jobTabs are the tabs of a job's page.
var jobTabs = []struct{ Key, Name string }{{"log", "Log"}, {"memory", "Remembered"}, {"data", "Params & result"}, {"script", "Script"},
	{"files", "Files"}, {"history", "History"}}

// jobCommands show what a tab shows; of the others `job show` does.
var jobCommands = map[string][]string{"log": {"job", "logs"}, "memory": {"job", "history"}, "files": {"job", "artifacts", "list"}}

// jobBody is what a job's page shows.
type jobBody struct {
	Job   *domain.Job
	State state
	Facts []fact
	Tabs  []tab
	Tab   string
	Log   *jobLog
	Data  *jobData
	Files *fileList
	// Memory is what a durable script remembers, and has a tab where there is something.
	Memory *memory
	// History is what people did to it, and its own times.
	History []happening
}

// jobLog is a page of a job's log.
type jobLog struct {
	Parts []logPart
	// Find is what is looked for in all of the log; then the lines are those that have it, and Found
	// says how many, and of how many lines. Here is the page's address without that.
	Find, Found, Here string
	// Earlier and Later lead to the other pages, Download has all of it as text.
	Earlier, Later string
	Download       string
	// AtEnd says that the last lines are what people come for.
	AtEnd bool
	// Of names the log as it is followed, with the attempt that is the last one: a log that had ended goes on where that is another.
	Of string
	// Stream has the lines that are still to come, from the one behind the last; "" where
	// none will.
	Stream string
}

// jobData is what went into a job, and what came out.
type jobData struct{ Params, Env, Result []pair }

func (c *Console) mountJob() {
	c.live("GET jobs/{caller}/{id}", (*visit).jobPage)
	c.inContext("GET jobs/{caller}/{id}/log.txt", (*visit).downloadLog)
	c.inContext("GET jobs/{caller}/{id}/file", (*visit).saveJobFile)
	c.inContext("POST jobs/{caller}/{id}/{act}", (*visit).actOnJob)
	c.follow("jobs/{caller}/{id}/log", (*visit).followLog)
}

// jobParams are those of the job that the path names.
func (v *visit) jobParams() (api.JobParams, error) {
	key, err := domain.ParseJobKey(v.r.PathValue("caller") + ":" + v.r.PathValue("id"))
	return api.JobParams{Context: v.tenant.ID, Caller: key.Caller, ID: key.ID}, err
}

func (v *visit) jobPage() error {
	p, err := v.jobParams()
	if err != nil {
		return err
	}
	j, err := call(v, api.JobShow, p)
	if err != nil {
		return err
	}
	x, err := call(v, api.JobExplain, p)
	if err != nil {
		return err
	}
	b := &jobBody{Job: j, State: jobState(j), Facts: v.jobFacts(j)}
	v.jobTabs(b)
	if err := v.fillJobTab(p, b); err != nil {
		return err
	}
	pg := page{Title: "Job " + p.Key().String(), Noun: "Jobs", Command: v.commandOf("job", b.Tab, jobCommands, p.Key().String()), Body: b,
		Crumbs: []crumb{{"Jobs", v.path("jobs")}}}
	if j.Status != domain.JobFinished { // of one that ended well there is nothing to say
		pg.Sentence = v.jobSentence(j, x, b.State)
	}
	if j.FlowID != 0 {
		pg.Crumbs = []crumb{{"Flows", v.path("flows")}, {strconv.Itoa(int(j.FlowID)), v.path("flows/%d", j.FlowID)},
			{j.Step, v.path("flows/%d", j.FlowID) + query("step", j.Step)}}
	}
	pg.Crumbs = append(pg.Crumbs, crumb{p.Key().String(), ""})
	if j.Phase() == domain.PhaseRunning {
		pg.Breaks = Target{FaultOfJob, v.tenant.ID, p.Key().String()}
	}
	if pg.Follow = follows(service.Change{Noun: "job", Key: p.Key().String()}); j.Final() {
		pg.Follow.ended(v.since(j.FinishedMs))
	}
	v.render(nethttp.StatusOK, pg)
	return nil
}

// childrenShown is how many of the children that a job waits for are named.
const childrenShown = 5

// calledFacts says whose script has made a job or flow.
func (v *visit) calledFacts(by *domain.CalledBy) []fact {
	if by == nil {
		return nil
	}
	return []fact{{Name: "made by", Text: fmt.Sprintf("call %s of %s", by.Name, by.Job), Link: v.jobLink(by.Job)}}
}

func (v *visit) jobFacts(j *domain.Job) []fact {
	facts := []fact{{Name: "type", Text: string(j.ScriptType)}, {Name: "by", Text: "actor " + strconv.Itoa(int(j.CallerID))}}
	facts = append(facts, v.calledFacts(j.CalledBy)...)
	if name := routineOf(j); name != "" {
		facts = append(facts, fact{Name: "round of", Text: name, Link: v.routineLink(name)})
	}
	if j.Shard != "" || j.Pack != "" {
		facts = append(facts, fact{Name: "part", Text: cmp.Or(shardName(j.Shard), j.Pack)})
	}
	if j.Attempt > 0 {
		facts = append(facts, fact{Name: "attempt", Text: attemptText(j)})
	}
	if j.Failures > 0 {
		facts = append(facts, fact{Name: "failed", Text: plural(j.Failures, "attempt")})
	}
	if j.Losses > 0 {
		facts = append(facts, fact{Name: "lost", Text: plural(j.Losses, "attempt")})
	}
	if j.RunnerID != 0 {
		facts = append(facts, fact{Name: "runner", Text: strconv.Itoa(int(j.RunnerID))})
	}
	if s := j.Suspended; s != nil && !j.Final() {
		facts = append(facts, fact{Name: "waits in", Text: s.Kind + " " + s.Name})
		if len(s.Signals) > 0 {
			facts = append(facts, fact{Name: "for signal", Text: strings.Join(s.Signals, ", ")})
		}
		for _, child := range s.Children[:min(len(s.Children), childrenShown)] {
			facts = append(facts, fact{Name: "for the end of", Text: child, Link: v.objectLink(child)})
		}
		if s.UntilMs != 0 {
			facts = append(facts, fact{Name: "goes on", At: v.at(s.UntilMs)})
		}
	}
	if j.Remembered > 0 {
		facts = append(facts, fact{Name: "remembers", Text: plural(j.Remembered, "event"), Link: v.path("jobs/%d/%d?tab=memory", j.CallerID, j.ID)})
	}
	if j.ExitCode != nil {
		facts = append(facts, fact{Name: "exit", Text: strconv.Itoa(*j.ExitCode)})
	}
	facts = append(facts, fact{Name: "made", At: v.past(int64(j.CreatedAt) * 1000)})
	if j.QueuedMs != 0 && j.StartedMs > j.QueuedMs {
		facts = append(facts, fact{Name: "waited", Text: span(time.Duration(j.StartedMs-j.QueuedMs) * time.Millisecond)})
	}
	switch took := v.jobTook(j); {
	case took != "":
		facts = append(facts, fact{Name: tookOr(j.Final(), "took", "so far"), Text: took})
	case j.NextRetryMs != 0:
		facts = append(facts, fact{Name: "next attempt", At: v.at(j.NextRetryMs)})
	}
	if f, known := v.isolationFact(j); known {
		facts = append(facts, f)
	}
	return append(facts, fact{Name: "time limit", Text: span(j.TimeoutOr(domain.DefaultTimeout * time.Second))})
}

// jobTook is how long a job's last attempt took, or has run; "" between two of them, as nothing
// runs then.
func (v *visit) jobTook(j *domain.Job) string {
	if !j.Final() && j.Phase() == domain.PhaseRetrying {
		return ""
	}
	return v.took(j.StartedMs, j.FinishedMs)
}

func (v *visit) jobTabs(b *jobBody) {
	b.Tab = jobTabs[0].Key
	for _, t := range jobTabs {
		if t.Key == v.r.FormValue("tab") {
			b.Tab = t.Key
		}
	}
	for _, t := range jobTabs {
		if t.Key == "memory" && t.Key != b.Tab && !durableJob(b.Job) {
			continue
		}
		link := v.path("jobs/%d/%d", b.Job.CallerID, b.Job.ID)
		if t.Key != jobTabs[0].Key {
			link += "?tab=" + t.Key
		}
		b.Tabs = append(b.Tabs, tab{t.Name, link, t.Key == b.Tab})
	}
}

func (v *visit) fillJobTab(p api.JobParams, b *jobBody) (err error) {
	j := b.Job
	switch b.Tab {
	case "log":
		b.Log, err = v.jobLog(p, j)
	case "memory":
		b.Memory, err = v.memoryOf(p, j)
	case "data":
		b.Data = &jobData{Params: pairs(j.Params), Env: pairs(j.EnvVars), Result: pairs(j.Result)}
	case "files":
		b.Files, err = v.jobFiles(p)
	case "history":
		b.History = v.jobTimes(j)
		var earlier, acts []happening
		if earlier, err = v.earlierAttempts(p, j); err != nil {
			return err
		}
		b.History = slices.Insert(b.History, min(1, len(b.History)), earlier...)
		acts, err = v.acts(j.Key().String())
		b.History = append(b.History, acts...)
	}
	return err
}

// jobTimes are a job's own instants.
func (v *visit) jobTimes(j *domain.Job) (list []happening) {
	add := func(ms int64, text string, st state) {
		if ms != 0 {
			list = append(list, happening{At: v.at(ms), Who: "the job", Text: text, State: st})
		}
	}
	add(int64(j.CreatedAt)*1000, "was submitted", state{"waiting", waiting})
	add(j.QueuedMs, "was queued for the last attempt", state{"waiting", waiting})
	add(j.StartedMs, fmt.Sprintf("began attempt %d", j.Attempt), state{"running", running})
	if j.Final() {
		st := jobState(j)
		add(j.FinishedMs, st.Word, st)
	}
	return list
}

// attemptLines bounds the lines of a log in which earlier attempts are looked for.
const attemptLines = 10_000

// earlierAttempts are those before the last, as far as they said something: the record has
// the times of the last alone, and the log has who wrote each line.
func (v *visit) earlierAttempts(p api.JobParams, j *domain.Job) (list []happening, err error) {
	if j.Attempt < 2 {
		return nil, nil
	}
	type attempt struct {
		number, lines int
		from, to      int64
		last          string
		ended         bool // last says how it ended
	}
	var attempts []*attempt
	for from := 0; from < attemptLines; from += logPage {
		page, err := call(v, api.JobLogs, api.LogParams{JobParams: p, From: from, Limit: logPage})
		if notThere(err) {
			break
		} else if err != nil {
			return nil, err
		}
		for i := range page.Logs {
			l := &page.Logs[i]
			if l.Attempt == 0 || int64(l.Attempt) >= j.Attempt {
				continue
			}
			if n := len(attempts); n == 0 || attempts[n-1].number != l.Attempt {
				attempts = append(attempts, &attempt{number: l.Attempt, from: l.AtMs})
			}
			a := attempts[len(attempts)-1]
			a.lines, a.to, a.last = a.lines+1, l.AtMs, l.Line
			a.ended = l.Stream == "ramet" && strings.HasPrefix(l.Line, fmt.Sprintf("attempt %d ended: ", l.Attempt))
		}
		if len(page.Logs) < logPage {
			break
		}
	}
	for _, a := range attempts {
		if a.ended {
			list = append(list, happening{At: v.at(a.to), Who: "the job", State: state{"tried", failed}, Text: "wrote " + plural(a.lines-1, "line") + ";",
				Detail: domain.CutText(a.last, 400)})
			continue
		}
		list = append(list, happening{At: v.at(a.from), Who: "the job", State: state{"tried", failed},
			Text: fmt.Sprintf("was in attempt %d, which wrote %s in %s, in the end:", a.number, plural(a.lines, "line"),
				span(time.Duration(a.to-a.from)*time.Millisecond)),
			Detail: domain.CutText(logLine{Spans: ansi(domain.CutText(a.last, maxLine))}.text(), 200)})
	}
	return list, nil
}

// attemptText says which attempt a job is in, and of how many.
func attemptText(j *domain.Job) string {
	if j.MaxRetries() == 0 {
		return strconv.FormatInt(j.Attempt, 10) + ", without retries"
	}
	return fmt.Sprintf("%d, up to %s", j.Attempt, counted(j.MaxRetries(), "retry", "retries"))
}

// isolationFact is how far the scripts of a job's type are held in where it runs, or ran
// last: what is in force there now. ok is false where that is not known.
func (v *visit) isolationFact(j *domain.Job) (f fact, ok bool) {
	if j.RunnerID == 0 || j.Final() {
		return fact{}, false
	}
	runners, err := v.runners()
	if err != nil {
		return fact{}, false // the page says less, and is right
	}
	for _, r := range runners {
		if r.ID != j.RunnerID {
			continue
		}
		for _, s := range r.Serves {
			if s.ScriptType != j.ScriptType || s.Level == "" {
				continue
			}
			text := string(domain.Tightest(v.tenant.Isolation, s.Level))
			if n := len(s.Isolation); n > 0 {
				text += " (" + strings.Join(s.Isolation, ", ") + ")"
			}
			return fact{Name: "isolation", Text: text}, true
		}
	}
	return fact{}, false
}

// logPart is what an attempt wrote, as far as a page has it: it can be folded.
type logPart struct {
	Attempt int
	Lines   []logLine
	// Open is of the last attempt: what people come for.
	Open bool
	// Cut says that the attempt has lines before or behind these, which are on other pages.
	Cut bool
}

// Count says how many lines a part has, for who sees it folded.
func (p logPart) Count() string {
	if p.Cut {
		return plural(len(p.Lines), "line") + " here, of more"
	}
	return plural(len(p.Lines), "line")
}

// partsOf are lines by attempts. There is one at least, so that what comes has its place.
func partsOf(lines []logLine, attempts []int, now int64) (parts []logPart) {
	for i, line := range lines {
		last := len(parts) - 1
		if last < 0 || attempts[i] != 0 && attempts[i] != parts[last].Attempt {
			parts = append(parts, logPart{Attempt: attempts[i]})
			last++
		}
		parts[last].Lines = append(parts[last].Lines, line)
	}
	if len(parts) == 0 {
		parts = []logPart{{Attempt: max(1, int(now))}}
	}
	parts[len(parts)-1].Open = true
	return parts
}

const (
	// findMost bounds the lines that a search in a log shows, findLook those that it looks through.
	findMost = 500
	findLook = 100_000
)

// findInLog looks for a text in all lines of a log, whatever its letters' case. Each line that has it leads to
// its place.
func (v *visit) findInLog(p api.JobParams, j *domain.Job, l *jobLog) error {
	var lines []logLine
	var attempts []int
	looked, hits, want := 0, 0, strings.ToLower(l.Find)
	for looked < findLook {
		page, err := call(v, api.JobLogs, api.LogParams{JobParams: p, From: looked, Limit: logPage})
		if err != nil {
			return err
		}
		for i := range page.Logs {
			looked++
			if !strings.Contains(strings.ToLower(page.Logs[i].Line), want) {
				continue
			}
			if hits++; hits > findMost {
				continue
			}
			line := v.lineOf(looked, &page.Logs[i])
			line.Place = fmt.Sprintf("%s?from=%d#L%d", l.Here, (looked-1)/logPage*logPage, looked)
			lines, attempts = append(lines, line), append(attempts, page.Logs[i].Attempt)
		}
		if len(page.Logs) < logPage {
			break
		}
	}
	l.Parts = partsOf(lines, attempts, j.Attempt)
	for i := range l.Parts {
		l.Parts[i].Open = true
	}
	l.Found = counted(hits, "line of ", "lines of ") + grouped(looked)
	if hits > findMost {
		l.Found += ", of which these are the first " + strconv.Itoa(findMost)
	}
	return nil
}

// jobLog reads a page of a job's log: that of the address, else the last of a job that lives, which is followed, or
// that went wrong, as it says there why, and the first of one that ended well.
func (v *visit) jobLog(p api.JobParams, j *domain.Job) (*jobLog, error) {
	l := &jobLog{Of: v.path("jobs/%d/%d/log?attempt=%d", p.Caller, p.ID, j.Attempt),
		Download: v.path("jobs/%d/%d/log.txt", p.Caller, p.ID), Here: v.path("jobs/%d/%d", p.Caller, p.ID),
		Find: domain.CutText(v.r.FormValue("find"), maxQuery)}
	if strings.TrimSpace(l.Find) != "" { // blanks before and behind are looked for, too
		return l, v.findInLog(p, j, l)
	}
	asked := v.r.FormValue("from")
	from, err := strconv.Atoi(cmp.Or(asked, "0"))
	if err != nil {
		return nil, domain.Invalidf("from %q: want the number of a line", domain.PlainText(asked, 20))
	}
	l.AtEnd = asked == "" && j.Status == domain.JobError
	wanted := api.LogParams{JobParams: p, From: from, Limit: logPage + 1}
	if l.AtEnd || asked == "" && !j.Final() {
		wanted.Limit, wanted.Tail = logPage, logPage
	}
	if v.piece != nil && asked == "" { // the browser has it, and leaves it as it is
		l.Parts = partsOf(nil, nil, j.Attempt)
		return l, nil
	}
	page, err := call(v, api.JobLogs, wanted)
	if err != nil {
		return nil, err
	}
	from = page.From
	more, next := len(page.Logs) > logPage, 0
	if more {
		next = page.Logs[logPage].Attempt
	}
	page.Logs = page.Logs[:min(len(page.Logs), logPage)]
	var lines []logLine
	var attempts []int
	for i := range page.Logs {
		lines, attempts = append(lines, v.lineOf(from+i+1, &page.Logs[i])), append(attempts, page.Logs[i].Attempt)
	}
	l.Parts = partsOf(lines, attempts, j.Attempt)
	before, err := v.attemptBefore(p, from)
	if err != nil {
		return nil, err
	}
	first, last := &l.Parts[0], &l.Parts[len(l.Parts)-1]
	first.Cut = from > 0 && int(before) == first.Attempt
	last.Cut = last.Cut || more && next == last.Attempt
	if from > 0 {
		l.Earlier = fmt.Sprintf("%s?from=%d#L%d", l.Here, max(0, from-logPage), from) // at its end, from where one comes
	}
	if more {
		l.Later = fmt.Sprintf("%s?from=%d", l.Here, from+logPage)
	} else if !j.Final() {
		l.Stream = v.path("jobs/%d/%d/log?from=%d", p.Caller, p.ID, from+len(page.Logs))
	}
	return l, nil
}

// attemptBefore is whose the line is before one.
func (v *visit) attemptBefore(p api.JobParams, number int) (marks, error) {
	if number == 0 {
		return 0, nil
	}
	page, err := call(v, api.JobLogs, api.LogParams{JobParams: p, From: number - 1, Limit: 1})
	if err != nil || len(page.Logs) == 0 {
		return 0, err
	}
	return marks(page.Logs[0].Attempt), nil
}

// jobSentence says how a job stands.
func (v *visit) jobSentence(j *domain.Job, x domain.JobExplanation, st state) *sentence {
	s := &sentence{State: st, Since: v.past(cmp.Or(j.FinishedMs, x.SinceMs)), Ended: j.Final(), Actions: v.jobActions(j)}
	switch {
	case j.Final() && j.Error != "":
		s.Text = upper(st.Word) + ": " + strings.TrimRight(j.Error, ".") + "."
	default:
		s.Text = upper(x.Text) + "."
	}
	if x.NextMs > v.now.UnixMilli() {
		s.Next = "looked at again in " + v.at(x.NextMs).Ago
	}
	return s
}

func (v *visit) jobActions(j *domain.Job) (list []action) {
	key := j.Key().String()
	add := func(op *api.Operation, act string, a action) {
		if v.may(op) {
			a.Post = v.path("jobs/%d/%d/%s", j.CallerID, j.ID, act)
			v.again(&a)
			list = append(list, a)
		}
	}
	if !j.Final() && durableJob(j) {
		add(api.JobSignal.Operation, "signal", v.signalAction(j))
	}
	switch {
	case !j.Final():
		will := "It ends now, before it has begun."
		if j.Status == domain.JobStarted {
			will = "Its script is told to stop, and is killed when it does not. What it has done outside stays done."
		}
		add(api.JobCancel.Operation, "cancel", action{Name: "Cancel", Verb: "Cancel the job", Will: will, Command: v.command("job", "cancel", key)})
	case j.Status == domain.JobError && j.FlowID == 0:
		add(api.JobRetry.Operation, "retry", action{Name: "Retry", Verb: "Retry the job", Primary: true,
			Will: "It is queued again, with the same script and params, and gets its retries anew.", Command: v.command("job", "retry", key)})
	}
	return list
}

// actOnJob does what a person asked of a job.
func (v *visit) actOnJob() error {
	p, err := v.jobParams()
	if err != nil {
		return err
	}
	said := ""
	switch act := v.r.PathValue("act"); act {
	case "cancel":
		var j *domain.Job
		if j, err = call(v, api.JobCancel, p); err == nil {
			if said = "The job was cancelled."; !j.Final() {
				said = "The job is told to stop."
			}
		}
	case "retry":
		_, err = call(v, api.JobRetry, p)
		said = "The job is queued again."
	case "signal":
		if _, err = v.sendSignal(p); err != nil {
			return v.refused((*visit).jobPage, v.path("jobs/%d/%d", p.Caller, p.ID), err)
		}
		said = "The signal " + domain.PlainText(v.typedIn("signal"), 100) + " was sent."
	case "fork":
		var made *domain.Job
		if made, err = call(v, api.JobFork, api.ForkParams{JobParams: p, From: v.r.PostFormValue("from")}); err == nil {
			return v.did(v.path("jobs/%d/%d", made.CallerID, made.ID), "This job was made of job "+p.Key().String()+".", nil)
		}
	default:
		return domain.NotFoundf("a job cannot be told to %q", domain.PlainText(act, 20))
	}
	return v.did(v.path("jobs/%d/%d", p.Caller, p.ID), said, err)
}

// downloadLog sends all of a log as text, as it was written.
func (v *visit) downloadLog() error {
	p, err := v.jobParams()
	if err != nil {
		return err
	}
	const atOnce = 1000
	for from := 0; ; from += atOnce {
		page, err := call(v, api.JobLogs, api.LogParams{JobParams: p, From: from, Limit: atOnce})
		if err != nil && from == 0 {
			return err
		} else if err != nil {
			panic(nethttp.ErrAbortHandler) // half a file must not look like a whole one
		}
		if from == 0 {
			h := v.w.Header()
			h.Set("Content-Type", "text/plain; charset=utf-8")
			h.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="job-%d-%d.txt"`, p.Caller, p.ID))
		}
		var text strings.Builder
		for i := range page.Logs {
			l := &page.Logs[i]
			if strings.Contains(l.Line, "\x1b") {
				l.Line += "\x1b[0m" // a colour ends with the line that chose it
			}
			fmt.Fprintf(&text, "%s %s %s\n", time.UnixMilli(l.AtMs).UTC().Format("2006-01-02T15:04:05.000Z"), l.Stream, l.Line)
		}
		if _, err := v.w.Write([]byte(text.String())); err != nil || len(page.Logs) < atOnce {
			return nil // the browser is gone, or has all
		}
	}
}
