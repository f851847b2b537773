package console

import (
	"cmp"
	"fmt"
	nethttp "net/http"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

func (v *visit) routinePage() error {
	name := v.r.FormValue("name")
	r, err := call(v, api.RoutineShow, api.RoutineParams{Context: v.tenant.ID, Name: name})
	if err != nil {
		return err
	}
	st, _, _ := v.routineState(r)
	b := &detailBody{Title: r.Name, State: st, Facts: v.routineFacts(r),
		Links: v.toMake(v.may(api.RoutineApply.Operation) && v.mayRewriteRoutine(r) == nil, "Change", "routine/edit"+with("name", name))}
	at := func(key string) string { return v.path("routine") + with("name", name, "tab", key) }
	command := v.command("routine", "show", r.Name)
	var key string
	key, b.Tabs = v.tabsOf(at, "stands", "How it stands", "rounds", "Rounds", "definition", "Definition", "history", "History")
	switch key {
	case "stands":
		b.Sections = v.routineStands(r)
	case "rounds":
		b.Sections, err = v.routineRounds(r, at(key))
		command = v.command("job", "list", "--where", roundsWhere(r.Name))
	case "definition":
		b.Sections = routineDefinition(r)
	case "history":
		var acts []happening
		acts, err = v.acts("routine:" + name)
		b.Sections = []section{{History: acts, None: noneOf(len(acts), "No act of a person on it is in the audit log, as far as you may read that.")}}
	}
	if err != nil {
		return err
	}
	v.render(nethttp.StatusOK, page{Title: r.Name, Noun: "Schedules", Command: command, Body: b, Follow: lists("routine"),
		Crumbs: []crumb{{"Schedules", v.path("schedules")}, {"Routines", v.path("routines")}, {r.Name, ""}}, Sentence: v.routineSentence(r)})
	return nil
}

// routineSentence says how the instance stands that stands worst, and what comes next.
func (v *visit) routineSentence(r *domain.Routine) *sentence {
	st, i, why := v.routineState(r)
	s := &sentence{State: st, Actions: v.routineActions(r)}
	who, under := "", 0
	if len(r.Instances) > 1 {
		who = i.Name + ": "
	}
	for n := range r.Instances {
		if in := &r.Instances[n]; in.Job != "" && (in.BeganMs != 0 || r.Paused) {
			under++
		}
	}
	switch st.Word {
	case "paused":
		s.Text = "It is paused: no further round begins."
		if under > 0 {
			s.Text += " " + counted(under, "round goes", "rounds go") + " on to the end."
		}
	case "failing":
		s.Text = who + "the last round failed: "
		if i.Failures > 1 {
			s.Text = who + fmt.Sprintf("the last %d rounds failed, most recently: ", i.Failures)
		}
		s.Text = upper(s.Text) + strings.TrimRight(i.Error, ".") + "."
		s.Since, s.Ended = v.past(i.EndedMs), true
	case "running":
		s.Text = upper(who + roundUnderWay(i) + ".")
		if under > 1 {
			s.Text = plural(under, "round") + " are under way, of " + plural(len(r.Instances), "instance") + "."
		}
		s.Since = v.past(i.BeganMs)
	case "on":
		s.Text = upper(who + "round " + strconv.FormatInt(i.Round, 10) + " ended well.")
		if i.Round == 0 {
			s.Text = "No round has begun yet."
		}
		s.Since, s.Ended = v.past(i.EndedMs), i.EndedMs != 0
	default:
		s.Text = upper(who+strings.TrimRight(why, ".")) + "."
	}
	if i.Job == "" && !r.Paused && i.Held == "" && i.NextMs > v.now.UnixMilli() {
		s.Next = "the next round begins in " + v.at(i.NextMs).Ago
	} else if st.Word == "failing" && i.Job != "" {
		s.Next = roundUnderWay(i)
	}
	return s
}

func (v *visit) routineFacts(r *domain.Routine) []fact {
	facts := []fact{{Name: "every", Text: short(r.EveryOr().Time())}, {Name: "type", Text: string(r.ScriptType)}, {Name: "by", Text: actorText(r.CallerID)}}
	if len(r.Instances) > 1 {
		facts = append(facts, fact{Name: "instances", Text: strconv.Itoa(len(r.Instances))})
	}
	if r.Timeout != 0 {
		facts = append(facts, fact{Name: "time limit", Text: short(r.Timeout.Time())})
	}
	return append(facts, fact{Name: "made", At: v.past(int64(r.CreatedAt) * 1000)}, fact{Name: "changed", At: v.past(int64(r.UpdatedAt) * 1000)})
}

// routineStands is where each instance stands, and what each hands on to its next round.
func (v *visit) routineStands(r *domain.Routine) []section {
	t := &table{Name: "Instances", Head: []column{{"Instance", "name"}, {"State", ""}, {"Round", "num"}, {"Job", "id"}, {"Began", ""}, {"Took", "num"},
		{"Next", ""}, {"Failed", "num"}, {"Why", "why"}}}
	var saved []pair
	for n := range r.Instances {
		i := &r.Instances[n]
		st, why := v.instanceStands(r, i)
		job, took := i.Job, ""
		if job == "" {
			job, took = i.LastJob, v.took(i.BeganMs, max(i.BeganMs, i.EndedMs))
		} else if i.BeganMs != 0 {
			took = v.took(i.BeganMs, 0)
		}
		t.Rows = append(t.Rows, row{Link: v.jobLink(job), Cells: []entry{words(i.Name), chip(st), countOf(i.Round), linkTo(job, v.jobLink(job)),
			when(v.past(i.BeganMs)),
			words(took), when(v.nextRound(r, i)), countOf(int64(i.Failures)), words(why)}})
		if i.Checkpoint != "" {
			saved = append(saved, pair{i.Name, i.Checkpoint})
		}
	}
	list := []section{{Table: t}}
	if len(saved) > 0 {
		list = append(list, section{Title: "Checkpoints", Intro: "What a round saved, and the next finds in $RAMET_CHECKPOINT.", Pairs: saved})
	}
	return list
}

// nextRound is when the next round of an instance begins that rests, also of a paused routine: resumed before,
// it begins then. Once that time has gone by there is none.
func (v *visit) nextRound(r *domain.Routine, i *domain.RoutineInstance) moment {
	if i.Job != "" || r.Paused && i.NextMs <= v.now.UnixMilli() {
		return moment{}
	}
	return v.at(i.NextMs)
}

// routineRounds are the jobs of its rounds that are on the board, newest first.
func (v *visit) routineRounds(r *domain.Routine, here string) ([]section, error) {
	found, err := call(v, api.JobList, api.ListJobsParams{Context: v.tenant.ID, Cursor: v.r.FormValue("cursor"), Limit: pageRows,
		JobFilter: api.JobFilter{Where: roundsWhere(r.Name)}})
	if err != nil {
		return nil, err
	}
	t := &table{Name: "Rounds", Head: []column{{"Job", "id"}, {"State", ""}, {"Instance", "name"}, {"Began", ""}, {"Took", "num"}, {"Why", "why"}}}
	for _, j := range found.Jobs {
		row1 := v.jobRow(j)
		instance := ""
		if _, part, ok := strings.Cut(j.Routine, ":"); ok {
			if p, known := domain.ParseRoutinePart(part); known {
				instance = domain.InstanceName(r.Name, p)
			}
		}
		t.Rows = append(t.Rows, row{Link: row1.Link, Cells: []entry{linkTo(row1.Key, row1.Link), chip(row1.State), words(instance),
			when(v.past(cmp.Or(j.StartedMs, int64(j.CreatedAt)*1000))), words(row1.Took), words(row1.Why)}})
	}
	// The list is of all jobs: that there are more of them does not mean that there are more rounds.
	seen, _ := strconv.Atoi(v.r.FormValue("seen")) // what is no number is none
	seen += len(t.Rows)
	var begun int64
	for i := range r.Instances {
		begun += r.Instances[i].Round
	}
	p, none := pager{}, "No round of it is on the board. The archive may have more."
	if seen > len(t.Rows) {
		none = "No more rounds of it are on the board. The archive may have more."
	}
	if found.Next != "" && int64(seen) < begun {
		p.Next = here + fmt.Sprintf("&seen=%d&cursor=%s", seen, urlEscape(found.Next))
		none = "Of the " + grouped(found.Looked) + " jobs that this page has looked through none is a round of it. Further ones may be."
	}
	if v.r.FormValue("cursor") != "" {
		p.First = here
	}
	return []section{{Table: t, Pager: p, None: noneOf(len(t.Rows), none)}}, nil
}

// roundsWhere is the condition that takes the rounds of a routine, of whatever instance.
func roundsWhere(name string) string {
	return fmt.Sprintf("job.routine != () && job.routine.starts_with(%q)", name+":")
}

// routineDefinition is what somebody handed in.
func routineDefinition(r *domain.Routine) []section {
	rules := []pair{}
	add := func(name, text string) {
		if text != "" {
			rules = append(rules, pair{name, text})
		}
	}
	add("summary", r.Summary)
	add("instances", strconv.Itoa(r.ScaleOr()))
	add("pause between rounds", short(r.EveryOr().Time()))
	if r.Priority != 0 {
		add("priority", strconv.Itoa(r.Priority))
	}
	for _, l := range pairs(r.Affinity) {
		add("runs where", l.Name+" is "+l.Value)
	}
	list := []section{{Title: "Rules", Pairs: rules}, {Title: "Script", Lines: linesOf(r.Script)}}
	if len(r.Params) > 0 {
		list = append(list, section{Title: "Params", Pairs: pairs(r.Params)})
	}
	if len(r.Env) > 0 {
		list = append(list, section{Title: "Environment", Pairs: pairs(r.Env)})
	}
	return list
}

// routineActions are what can be done with a routine by who looks.
func (v *visit) routineActions(r *domain.Routine) (list []action) {
	add := func(op *api.Operation, a action) {
		if v.may(op) {
			act := op.Name[len("routine."):]
			a.Post, a.Fields, a.Command = v.path("routine/%s", act), []field{{"name", r.Name}}, v.command("routine", act, r.Name)
			list = append(list, a)
		}
	}
	every := short(r.EveryOr().Time())
	if r.Paused {
		add(api.RoutineResume.Operation, action{Name: "Resume", Verb: "Resume the routine", Primary: true,
			Will: v.whenResumed(r) + " After that, each begins " + every + " after the one before has ended."})
	} else {
		add(api.RoutineRun.Operation, action{Name: "Run now", Verb: "Begin the next round", Will: "The next round of " + counted(len(r.Instances),
			"instance", "instances") + " begins now, instead of at its time. A round under way is let end first."})
		add(api.RoutinePause.Operation, action{Name: "Pause", Verb: "Pause the routine",
			Will: "No further round begins until somebody resumes it. A round under way goes on."})
	}
	add(api.RoutineDelete.Operation, action{Name: "Delete", Verb: "Delete the routine",
		Will: "The routine leaves the board with its checkpoints. A round under way is let end, and the jobs of its rounds stay. This cannot be undone."})
	return list
}

// whenResumed says when the next round of a paused routine begins. The time that was set before still counts.
func (v *visit) whenResumed(r *domain.Routine) string {
	var first, last int64
	for i := range r.Instances {
		if in := &r.Instances[i]; in.Job == "" {
			first, last = min(cmp.Or(first, in.NextMs), in.NextMs), max(last, in.NextMs)
		}
	}
	switch now := v.now.UnixMilli(); {
	case last <= now:
		return "Its next round begins at once, or when the one under way has ended."
	case first > now:
		return "Its next round begins in " + v.at(first).Ago + ", as it would have without the pause."
	}
	return "Instances whose time has gone by begin their next round at once, the others at theirs, the last in " + v.at(last).Ago + "."
}

// actOnRoutine does what a person asked of a routine.
func (v *visit) actOnRoutine() error {
	p := api.RoutineParams{Context: v.tenant.ID, Name: v.r.PostFormValue("name")}
	to, said := v.routineLink(p.Name), ""
	var err error
	switch act := v.r.PathValue("act"); act {
	case "pause":
		_, err = call(v, api.RoutinePause, p)
		said = "The routine is paused."
	case "resume":
		_, err = call(v, api.RoutineResume, p)
		said = "The routine goes on."
	case "run":
		_, err = call(v, api.RoutineRun, p)
		said = "The next round begins now."
	case "delete":
		if _, err = call(v, api.RoutineDelete, p); err == nil {
			to = v.path("routines")
		}
		said = "The routine " + p.Name + " was deleted."
	default:
		return domain.NotFoundf("a routine cannot be told to %q", domain.PlainText(act, 20))
	}
	return v.did(to, said, err)
}
