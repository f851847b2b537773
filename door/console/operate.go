package console

import (
	"cmp"
	"fmt"
	nethttp "net/http"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/doctor"
	"github.com/ramet-run/ramet/domain"
)

// This file has how the nodes do: their health, what waits for them, their runners and
// themselves. Bans are in bans.go, duties in duties.go.

func (c *Console) mountOperate() {
	c.live("GET operate", (*visit).healthPage)
	c.inContext("POST operate/audit", (*visit).auditJobs)
	c.live("GET operate/queues", (*visit).queuesPage)
	c.live("GET operate/runners", (*visit).runnersPage)
	c.live("GET operate/nodes", (*visit).nodesPage)
	c.mountBans()
	c.mountDuties()
}

// operateTabs are the pages of Operate that who looks may see.
func (v *visit) operateTabs(here string) (tabs []tab) {
	add := func(name, path string) { tabs = append(tabs, tab{name, v.path("%s", path), name == here}) }
	add("Health", "operate")
	add("Queues", "operate/queues")
	add("Runners & workers", "operate/runners")
	if v.mayOnNode(api.NodeList.Operation) {
		add("Nodes & boards", "operate/nodes")
	}
	add("Bans", "operate/bans")
	if v.mayOnNode(api.DutyShow.Operation) {
		add("Duties", "operate/duties")
	}
	add("Bulk operations", "operate/bulk")
	return tabs
}

// operatePage renders a list below Operate.
func (v *visit) operatePage(name string, s *sentence, command []string, b *listBody) error {
	b.Title, b.Tabs = name, v.operateTabs(name)
	v.render(nethttp.StatusOK, page{Title: name, Noun: "Operate", Command: v.command(command...), Follow: lists(), Sentence: s, Body: b,
		Crumbs: []crumb{{"Operate", v.path("operate")}, {name, ""}}})
	return nil
}

// healthPage shows what `ramet doctor` finds, but repairs nothing: that is an action.
func (v *visit) healthPage() error {
	info, err := v.info()
	if err != nil {
		return err
	}
	found, err := v.checkUp(info)
	if err != nil {
		return err
	}
	want := v.r.FormValue("state")
	b := &listBody{Filtered: want != "", All: v.path("operate"), None: "There is nothing to say of this node."}
	if v.may(api.BanSet.Operation) {
		name := contextName(v.tenant)
		b.Actions = []action{{Name: "Stop context " + name, Verb: "Hold up context " + name, Post: v.path("operate/bans/set"),
			Fields: []field{{"kind", string(domain.BanContext)}, {"level", string(domain.BanPick)}}, Inputs: []formField{whyHeld},
			Will:    "What runs in context " + name + " goes on; nothing more of it is begun until the ban is lifted. What comes meanwhile waits.",
			Command: v.command("ban", "context", "--reason", "WHY")}}
	}
	for _, f := range []struct{ name, state string }{{"All", ""}, {"Bad", doctor.Bad}, {"Warnings", doctor.Warning}} {
		b.Filters = append(b.Filters, v.choice("operate", f.name, "state", f.state))
	}
	t := table{Name: "Findings", Head: []column{{"State", ""}, {"Of", "name"}, {"What, and what to do", "full"}}}
	count := map[string]int{}
	for _, f := range found.Findings {
		count[f.State]++
		if want == "" || want == f.State {
			t.Rows = append(t.Rows, row{Link: "", Cells: []entry{chip(findingStates[f.State]), words(f.What), words(f.Text)}})
		}
	}
	b.Tables = []table{t}
	s := &sentence{State: state{"well", succeeded}, Text: "All is well on " + info.Name + "."}
	switch {
	case count[doctor.Bad] > 0:
		s.State, s.Text = state{"bad", errored}, upper(cmp.Or(found.Findings[0].What, "the node"))+": "+found.Findings[0].Text
	case count[doctor.Warning] > 0:
		s.State, s.Text = state{"warning", failed}, "It works, with "+plural(count[doctor.Warning], "thing")+" that may not be as you think."
	}
	if v.may(api.AuditRun.Operation) {
		s.Actions = []action{{Name: "Audit the jobs", Verb: "Look and repair", Post: v.path("operate/audit"),
			Will: "Looks whether each unfinished job of context " + contextName(v.tenant) +
				" has a reason to be alive, for about a second, and repairs what there is a rule for.", Command: v.command("audit")}}
	}
	return v.operatePage("Health", s, []string{"doctor"}, b)
}

// auditJobs looks whether jobs are stuck.
func (v *visit) auditJobs() error {
	done, err := call(v, api.AuditRun, api.AuditParams{Context: v.tenant.ID})
	to := v.path("operate")
	if err != nil {
		return v.did(to, "", err)
	}
	v.console.looks.forget(v.tenant.ID)
	said := "Each of " + plural(done.Looked, "unfinished thing") + " has a reason to be alive"
	if n := len(done.Repaired); n > 0 {
		said += "; " + counted(n, "was", "were") + " repaired, " + done.Repaired[0].Key + ": " + done.Repaired[0].Text
	}
	if n := len(done.Lacking); n > 0 {
		said += "; some wait for somebody who is not there: " + done.Lacking[0].Text
	}
	if n := len(done.Stuck); n > 0 {
		return v.redirectSaying(to, verbIs(n, "thing")+" stuck. "+done.Stuck[0].Keys()+": "+domain.PlainText(done.Stuck[0].Text, maxPlain), true)
	}
	if done.Partial {
		said += " (of the oldest: there was no time for all)"
	}
	return v.did(to, said+".", nil)
}

// runnersPage shows who executes jobs.
func (v *visit) runnersPage() error {
	list, err := v.runners()
	if err != nil {
		return err
	}
	t := table{Name: "Runners", Head: []column{{"Runner", "name"}, {"Kind", ""}, {"State", ""}, {"Serves", "full"}, {"Held in", "name"}, {"Running",
		"num"}, {"Slots", "num"}, {"Seen", ""}}}
	alive, busy, slots := 0, 0, 0
	for _, r := range list {
		st, kind, name := state{"alive", succeeded}, "of a node", cmp.Or(r.Node, r.Worker, r.Address, r.Topic)
		if r.Node == "" {
			if kind = "foreign"; r.Worker != "" {
				kind = "worker"
			}
		}
		_, off := r.OffDuty(domain.RoleRunner)
		there := false
		switch {
		case r.SeenMs == 0 && r.Node != "":
			st = state{"stopped", skipped}
		case r.SeenMs != 0 && !r.Alive(v.now):
			st = state{"not seen", errored}
		case off:
			st = state{"off duty", held}
		default:
			alive++
			there = true
		}
		var serves, levels []string
		taken, room := 0, 0
		for _, s := range r.Serves {
			if !s.Served {
				continue
			}
			serves = append(serves, string(s.ScriptType))
			taken, room = taken+s.Taken, room+s.Slots
			if s.Level != "" && !slices.Contains(levels, string(s.Level)) {
				levels = append(levels, string(s.Level))
			}
		}
		if there {
			busy, slots = busy+taken, slots+room
		}
		t.Rows = append(t.Rows, row{Link: "", Cells: []entry{words(name), words(kind), chip(st), words(strings.Join(serves, ", ")),
			words(strings.Join(levels, ", ")),
			countOf(int64(taken)), countOf(int64(room)), when(v.past(r.SeenMs))}})
	}
	s := &sentence{State: state{"nobody", errored}, Text: "Nobody runs jobs now. Start a node with `ramet serve`, or a worker."}
	if alive > 0 {
		s = &sentence{State: state{"alive", succeeded}, Text: fmt.Sprintf("%s alive; %d of %d slots are taken.", verbIs(alive, "runner"), busy, slots)}
	}
	return v.operatePage("Runners & workers", s, []string{"runner", "list"}, &listBody{Tables: []table{t}, None: "There is no runner.", Make: "ramet serve"})
}

// verbIs is "1 runner is", "3 runners are".
func verbIs(n int, noun string) string {
	if n == 1 {
		return plural(n, noun) + " is"
	}
	return plural(n, noun) + " are"
}

// nodesPage shows the nodes of the board, and what this one stands on.
func (v *visit) nodesPage() error {
	list, err := call(v, api.NodeList, api.ListNodesParams{})
	if err != nil {
		return err
	}
	info, err := v.info()
	if err != nil {
		return err
	}
	t := table{Name: "Nodes", Head: []column{{"Node", "name"}, {"State", ""}, {"Version", "name"}, {"Host", "name"}, {"Acknowledged writes survive",
		"name"}, {"Off", "name"}, {"Started", ""}, {"Seen", ""}}}
	alive, gone := 0, ""
	for i := range list.Nodes {
		n := &list.Nodes[i]
		st := state{"alive", succeeded}
		switch {
		case n.Alive:
			alive++
		case n.SeenMs == 0:
			st = state{"stopped", skipped}
		default:
			st, gone = state{"not seen", errored}, n.Name
		}
		var off []string
		for _, o := range n.Off {
			off = append(off, string(o.Role))
		}
		t.Rows = append(t.Rows, row{Link: "", Cells: []entry{words(n.Name), chip(st), words(n.Version), words(n.Host), words(n.Durability), words(strings.Join(off,
			", ")), when(v.past(n.StartedMs)), when(v.past(n.SeenMs))}})
	}
	stores := table{Name: "What " + info.Name + " stands on", Head: []column{{"Store", "name"}, {"State", ""}, {"Kind", "name"},
		{"Acknowledged writes survive", "name"}, {"Why", "why"}}}
	for _, s := range [...]struct{ what, kind, survives, away string }{{"board", info.Board, info.Durability, info.BoardError}, {"archive", info.Archive,
		info.ArchiveDurability, info.ArchiveError},
		{"streams", info.Stream, info.StreamDurability, info.StreamError}} {
		st := state{"there", succeeded}
		if s.away != "" {
			st = state{"away", errored}
		} else if s.kind == "" || s.kind == "none" {
			st = state{"none", skipped}
		}
		stores.Rows = append(stores.Rows, row{Link: "", Cells: []entry{words(s.what), chip(st), words(s.kind), words(s.survives), words(s.away)}})
	}
	s := &sentence{State: state{"alive", succeeded}, Text: verbIs(alive, "node") + " alive."}
	if gone != "" {
		s = &sentence{State: state{"not seen", errored}, Text: "Node " + gone +
			" was not seen lately, and did not say that it stops. What it had goes to others when its leases end."}
	}
	return v.operatePage("Nodes & boards", s, []string{"node", "list"}, &listBody{Tables: []table{t, stores}})
}
