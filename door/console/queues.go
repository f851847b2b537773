package console

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// waitingMost is how many waiting jobs are counted.
const waitingMost = 500

// scriptQueue is what waits of a script type, and who would take it.
type scriptQueue struct {
	served, slots, taken, waiting int
	oldest                        int64  // since when the first of what waits does, in milliseconds; 0: nothing waits
	why                           string // why a runner does not serve the type
}

// queuesOf counts what waits and who is there, by script type.
func queuesOf(runners []domain.Runner, jobs []*domain.Job, now time.Time) map[domain.ScriptType]*scriptQueue {
	queues := map[domain.ScriptType]*scriptQueue{}
	of := func(t domain.ScriptType) *scriptQueue {
		if queues[t] == nil {
			queues[t] = &scriptQueue{}
		}
		return queues[t]
	}
	for _, r := range runners {
		_, off := r.OffDuty(domain.RoleRunner)
		for _, s := range r.Serves {
			q := of(s.ScriptType)
			switch {
			case !s.Served:
				q.why = s.Why
			case off:
				q.why = "rules have taken the duty of a runner from node " + r.Node + ": see `ramet duty show`"
			case r.Node == "" || r.Alive(now):
				q.served++
				q.slots, q.taken = q.slots+s.Slots, q.taken+s.Taken
			}
		}
	}
	for _, j := range jobs {
		q := of(j.ScriptType)
		q.waiting++
		if at := cmp.Or(j.QueuedMs, int64(j.CreatedAt)*1000); q.oldest == 0 || at < q.oldest {
			q.oldest = at
		}
	}
	return queues
}

// queuesPage shows by script type what waits, and who would take it.
func (v *visit) queuesPage() error {
	runners, err := v.runners()
	if err != nil {
		return err
	}
	waits, err := call(v, api.JobList, api.ListJobsParams{Context: v.tenant.ID, JobFilter: api.JobFilter{Phase: domain.PhaseQueued}, Limit: waitingMost})
	if err != nil {
		return err
	}
	queues := queuesOf(runners, waits.Jobs, v.now)
	t := table{Name: "Queues", Head: []column{{"Script type", "name"}, {"State", ""}, {"Waiting", "num"}, {"Oldest", ""}, {"Running", "num"}, {"Slots",
		"num"}, {"Runners", "num"}, {"Why", "why"}}}
	var s *sentence
	types := slices.SortedFunc(maps.Keys(queues), func(a, b domain.ScriptType) int {
		return cmp.Or(queues[b].waiting-queues[a].waiting, queues[b].served-queues[a].served, strings.Compare(string(a), string(b)))
	})
	for _, name := range types {
		q := queues[name]
		st, waitingText := state{"served", succeeded}, strconv.Itoa(q.waiting)
		switch {
		case q.served == 0 && q.waiting > 0:
			st = state{"nobody takes it", errored}
			s = &sentence{State: st, Text: counted(q.waiting, "job of type "+string(name)+" waits", "jobs of type "+string(name)+" wait") +
				", and no runner that is there takes that type: " +
				cmp.Or(q.why, "start a node or a worker that serves it") + "."}
		case q.served == 0:
			st = state{"not served", skipped}
		case q.waiting > 0 && q.taken >= q.slots:
			st = state{"full", running}
		}
		if q.waiting == 0 {
			waitingText = ""
		} else if waits.Next != "" {
			waitingText = "at least " + waitingText
		}
		link := v.path("jobs") + with("type", string(name), "phase", string(domain.PhaseQueued))
		t.Rows = append(t.Rows, row{Link: link, Cells: []entry{linkTo(string(name), link), chip(st), words(waitingText), when(v.past(q.oldest)),
			countOf(int64(q.taken)),
			countOf(int64(q.slots)), countOf(int64(q.served)), words(q.why)}})
	}
	if s == nil {
		s = &sentence{State: state{"well", succeeded}, Text: "Nothing waits for a runner."}
		if n := len(waits.Jobs); n > 0 {
			s = &sentence{State: state{"waiting", waiting}, Text: counted(n, "job waits", "jobs wait") + " for a runner that has room."}
		}
	}
	return v.operatePage("Queues", s, []string{"job", "list", "--phase", "queued"}, &listBody{Tables: []table{t},
		Intro: "What waits in context " + contextName(v.tenant) + ", by script type, and who would take it.",
		None:  "Nobody serves a script type, and nothing waits.", Make: "ramet serve"})
}
