package console

import (
	"cmp"
	nethttp "net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/doctor"
	"github.com/ramet-run/ramet/domain"
)

// This file has the list of routines; one routine is in routine.go, the form that makes or
// changes one in routineform.go.

func (c *Console) mountRoutines() {
	c.live("GET routines", (*visit).routinesPage)
	c.live("GET routine", (*visit).routinePage)
	c.inContext("POST routine/{act}", (*visit).actOnRoutine)
	c.mountMake("routines/new", (*visit).routineMake)
	c.mountMake("routine/edit", (*visit).routineEdit)
}

// routineLink is where a routine is shown.
func (v *visit) routineLink(name string) string { return v.path("routine") + with("name", name) }

// routineOf is the name of the routine of which a job is a round, by its field routine; "" for others.
func routineOf(job *domain.Job) string {
	name, _, _ := strings.Cut(job.Routine, ":")
	return name
}

func (v *visit) routinesPage() error {
	q := v.r.URL.Query()
	list, err := call(v, api.RoutineList, api.ListRoutinesParams{Context: v.tenant.ID})
	if err != nil {
		return err
	}
	b := &listBody{Title: "Routines", Tabs: v.startTabs("Routines"), Filtered: filtered(q), All: v.path("routines"),
		Intro: "Scripts that are run again and again: each round is a job, and the next begins a pause after the last has ended.",
		None:  "No script is run again and again yet.", Make: v.command("routine", "apply", "sync.yaml"),
		Links: v.toMake(v.may(api.RoutineApply.Operation), "New routine", "routines/new")}
	for _, f := range [...]string{"", "running", "waiting", "on", "failing", "held up", "paused", "late"} {
		b.Filters = append(b.Filters, v.choice("routines", cmp.Or(upper(f), "All"), "state", f))
	}
	wanted := slices.DeleteFunc(slices.Clone(list.Routines), func(r *domain.Routine) bool {
		st, _, _ := v.routineState(r)
		return r.Name <= q.Get("cursor") || q.Get("state") != "" && q.Get("state") != st.Word
	})
	more := len(wanted) > pageRows
	wanted = wanted[:min(len(wanted), pageRows)]
	t := table{Name: "Routines", Head: []column{{"Routine", "name"}, {"State", ""}, {"Every", ""}, {"Instances", "num"}, {"Rounds", "num"}, {"Under way", "id"},
		{"Next", ""}, {"Why, or what for", "why"}}}
	for _, r := range wanted {
		t.Rows = append(t.Rows, v.routineRow(r))
	}
	b.Tables = []table{t}
	next := ""
	if more {
		next = wanted[len(wanted)-1].Name
	}
	b.Pager = v.pagerOf("routines", q, next)
	if len(list.System) > 0 && !b.Filtered && q.Get("cursor") == "" {
		b.Tables = append(b.Tables, v.maintenanceTable(list.System))
	}
	v.render(nethttp.StatusOK, page{Title: "Routines", Noun: "Schedules", Command: v.command("routine", "list"), Follow: lists("routine"),
		Crumbs: []crumb{{"Schedules", v.path("schedules")}, {"Routines", ""}}, Sentence: v.routinesSentence(list.Routines), Body: b})
	return nil
}

func (v *visit) routineRow(r *domain.Routine) row {
	st, _, why := v.routineState(r)
	var rounds, next int64
	var jobs []string
	for i := range r.Instances {
		in := &r.Instances[i]
		rounds += in.Round
		if in.Job != "" {
			jobs = append(jobs, in.Job)
		} else if at := v.nextRound(r, in).Ms; at != 0 && (next == 0 || at < next) {
			next = at
		}
	}
	under := entry{}
	if len(jobs) == 1 {
		under = linkTo(jobs[0], v.jobLink(jobs[0]))
	} else if len(jobs) > 1 {
		under = words(plural(len(jobs), "job"))
	}
	link := v.routineLink(r.Name)
	return row{Link: link, Cells: []entry{linkTo(r.Name, link), chip(st), words(short(r.EveryOr().Time())), countOf(int64(len(r.Instances))),
		countOf(rounds), under,
		when(v.at(next)), words(cmp.Or(why, r.Summary))}}
}

// maintenanceTable is what the nodes do for the whole board, which the operator sees.
func (v *visit) maintenanceTable(list []domain.MaintenanceService) table {
	t := table{Name: "What the nodes do for the whole board", Head: []column{{"Service", "name"}, {"State", ""}, {"Every", ""}, {"Done by", "id"}, {"Since", ""},
		{"Why", "why"}}}
	for _, s := range list {
		every := "by itself"
		if s.EveryMs != 0 {
			every = short(time.Duration(s.EveryMs) * time.Millisecond)
		}
		st := state{"at work", running}
		switch {
		case s.Held != "":
			st = state{"held up", held}
		case s.Holder == "":
			st = state{"nobody's", waiting}
		}
		t.Rows = append(t.Rows, row{Cells: []entry{words(s.Name), chip(st), words(every), words(s.Holder), when(v.past(s.SinceMs)), words(s.Held)}})
	}
	return t
}

// routineStates are how an instance looks, by how it stands.
var routineStates = map[doctor.StartStanding]state{doctor.StartPaused: {"paused", held}, doctor.StartLate: {"late", failed},
	doctor.StartHeld:    {"held up", held},
	doctor.StartRefused: {"failing", errored}, doctor.StartUnused: {"on", waiting}, doctor.StartOn: {"on", waiting}}

// instanceStands is how an instance of a routine stands, and why.
func (v *visit) instanceStands(r *domain.Routine, i *domain.RoutineInstance) (state, string) {
	is, why := doctor.RoutineStands(r, i, v.now)
	st := routineStates[is]
	switch {
	case i.Job == "" || is == doctor.StartPaused || is == doctor.StartHeld:
	case i.BeganMs == 0:
		st, why = state{"waiting", waiting}, cmp.Or(why, roundUnderWay(i))
	default:
		st = state{"running", running}
	}
	return st, why
}

// roundUnderWay says how the round stands whose job is submitted.
func roundUnderWay(i *domain.RoutineInstance) string {
	if i.BeganMs == 0 {
		return "round " + strconv.FormatInt(i.Round, 10) + " waits for a runner"
	}
	return "round " + strconv.FormatInt(i.Round, 10) + " is under way"
}

// routineRank is which state of an instance is told of a routine: the one that most asks for somebody.
var routineRank = []string{"failing", "late", "held up", "running", "waiting", "paused", "on"}

// routineState is how a routine stands: as the instance does that stands worst. A round under way
// after one that failed does not hide that it failed.
func (v *visit) routineState(r *domain.Routine) (st state, worst *domain.RoutineInstance, why string) {
	best := len(routineRank)
	for i := range r.Instances {
		in := &r.Instances[i]
		s, text := v.instanceStands(r, in)
		if in.Error != "" && in.Job != "" && (s.Class == running || s.Class == waiting) {
			s = routineStates[doctor.StartRefused]
		}
		if rank := slices.Index(routineRank, s.Word); rank < best {
			best, st, worst, why = rank, s, in, text
		}
	}
	if worst == nil { // its definition cannot be read
		return state{"unreadable", errored}, &domain.RoutineInstance{}, "its definition cannot be read"
	}
	return st, worst, why
}

// routinesSentence says of how many the last round went wrong; nil where all is well.
func (v *visit) routinesSentence(list []*domain.Routine) *sentence {
	var first string
	wrong := 0
	for _, r := range list {
		st, worst, why := v.routineState(r)
		if st.Class != errored && st.Class != failed {
			continue
		}
		if wrong++; wrong == 1 {
			first = cmp.Or(worst.Name, r.Name) + ": " + strings.TrimRight(why, ".") + "."
		}
	}
	if wrong == 0 {
		return nil
	}
	text := "Routine " + first
	if wrong > 1 {
		text = plural(wrong, "routine") + " of " + strconv.Itoa(len(list)) + " went wrong the last time. " + upper(first)
	}
	return &sentence{State: state{"failing", errored}, Text: text}
}
