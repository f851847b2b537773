package doctor

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// What is in force is told for each script type, and is a warning only where less
// is held than the machine could hold.
func TestDoctorTellsHowScriptsAreHeldIn(t *testing.T) {
	for _, tt := range []struct {
		name    string
		service domain.Service
		state   string
		want    []string
	}{
		{"walled, with cgroups", domain.Service{ScriptType: "shell", Served: true, SlotUse: domain.SlotUse{Slots: 4}, Level: "walled",
			Isolation: []string{"view", domain.JobMemory}},
			OK, []string{"served, walled, memory bounded for each job, 4 at once"}},
		{"walled, without", domain.Service{ScriptType: "shell", Served: true, SlotUse: domain.SlotUse{Slots: 4}, Level: "walled", Isolation: []string{"view"}},
			OK, []string{"served, walled, memory bounded for each process, not for a job as a whole"}},
		{"less than promised", domain.Service{ScriptType: "shell", Served: true, Level: "open", NotInForce: []string{"landlock: none here"}},
			Warning, []string{"served, open", "held in without landlock: none here"}},
		{"inside the node", domain.Service{ScriptType: "rhai", Served: true, SlotUse: domain.SlotUse{Slots: 8}}, OK, []string{"served, 8 at once"}},
		{"not served", domain.Service{ScriptType: "shell", Why: "scripts cannot be walled here"}, Warning,
			[]string{"not served: scripts cannot be walled here"}},
		{"a language that nobody asked for", domain.Service{ScriptType: "v", Unasked: true, Why: "v was not found in PATH"}, OK,
			[]string{"not served, as nobody has asked for it: v was not found in PATH"}},
	} {
		var c Report
		c.service("runner n", tt.service)
		got := c.Findings[0]
		if len(c.Findings) != 1 || got.State != tt.state || got.What != "runner n: "+string(tt.service.ScriptType) {
			t.Errorf("%s: got %+v, want one line, %s", tt.name, c.Findings, tt.state)
		}
		for _, want := range tt.want {
			if !strings.Contains(got.Text, want) {
				t.Errorf("%s: got %q, want %q in it", tt.name, got.Text, want)
			}
		}
	}
}

func TestDoctorNamesWhatCannotBeRead(t *testing.T) {
	var c Report
	c.Node(api.Info{Name: "nina", Ready: true, Durability: "disk", Unreadable: []string{"ramet/l/1/queue:v\x00a"}}, "", time.Now())
	i := slices.IndexFunc(c.Findings, func(f Finding) bool { return f.State == Bad })
	if i < 0 || c.Findings[i].What != "board" || !strings.Contains(c.Findings[i].Text, `"ramet/l/1/queue:v\x00a" in the board's store cannot be read`) {
		t.Errorf("got %+v, want the name, quoted", c.Findings)
	}
}

func TestDoctorNamesWhatDeadLettersHold(t *testing.T) {
	var c Report
	list := api.DeadLetterPage{DeadLetters: []*domain.DeadLetter{{ID: "order.gone", Saga: "order", Correlation: "0"}}}
	for i := range heldTold + 2 {
		list.DeadLetters = append(list.DeadLetters, &domain.DeadLetter{ID: "order.x", Saga: "order", Correlation: strings.Repeat("7", i+1),
			Cause: "no luck", Holds: true})
	}
	c.Held(list)
	if n := len(c.Findings); n != heldTold+1 || c.Findings[n-1].Text != "2 more instances are held by dead letters: see `ramet deadletter list`" {
		t.Errorf("got %+v", c.Findings)
	}
	want := Finding{"saga order", Warning, "instance 7 does nothing until somebody replays or drops the dead letter saga order.x: no luck"}
	if diff := cmp.Diff(want, c.Findings[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDoctorNamesStreamsThatTakeNothing(t *testing.T) {
	var c Report
	c.Node(api.Info{Name: "nina", Ready: true, Durability: "disk", Stream: "nats", StreamError: "stream X takes nothing"}, "", time.Now())
	want := Finding{"streams", Bad, "events are not taken: stream X takes nothing"}
	if !slices.Contains(c.Findings, want) {
		t.Errorf("got %+v, want %+v", c.Findings, want)
	}
}

func TestDoctorNamesADiskThatIsNearlyFull(t *testing.T) {
	var c Report
	c.Node(api.Info{Name: "nina", Ready: true, Durability: "disk", DiskError: "the disk is nearly full"}, "", time.Now())
	if want := (Finding{"disk", Bad, "the disk is nearly full"}); !slices.Contains(c.Findings, want) {
		t.Errorf("got %+v, want %+v", c.Findings, want)
	}
}

// A board to which nothing can be written is what is wrong; whatever is late for that
// is not told besides.
func TestDoctorNamesABoardThatTakesNothing(t *testing.T) {
	var c Report
	c.Node(api.Info{Name: "nina", Ready: true, Board: "redis", Durability: "disk", BoardError: "redis is at its maxmemory",
		LateAlarm: &api.LateAlarm{Context: 7, Name: "start:job:1:2", LateMs: 35_900}}, "", time.Now())
	want := Finding{"board", Bad, "nothing can be written to it, so that nothing begins and nothing ends: redis is at its maxmemory"}
	if !slices.Contains(c.Findings, want) {
		t.Errorf("got %+v, want %+v", c.Findings, want)
	}
	if slices.ContainsFunc(c.Findings, func(f Finding) bool { return f.What == "alarms" }) {
		t.Errorf("got %+v, want nothing of alarms", c.Findings)
	}
}

func TestDoctorTellsWhatMayBeLost(t *testing.T) {
	now := time.Now()
	for _, tt := range []struct {
		loss []api.Loss
		told bool
	}{
		{nil, false},
		{[]api.Loss{{Of: domain.LossOfBoard, Epoch: 1, AtMs: now.Add(-time.Hour).UnixMilli(), Cause: "redis was restarted"}}, true},
		{[]api.Loss{{Of: domain.LossOfBoard, Epoch: 1, AtMs: now.Add(-lossTold - time.Hour).UnixMilli(), Cause: "redis was restarted"}}, false},
	} {
		var c Report
		c.Node(api.Info{Name: "nina", Ready: true, Durability: "disk", Losses: tt.loss}, "", now)
		told := slices.ContainsFunc(c.Findings, func(f Finding) bool {
			return f.State == Warning && f.What == "board" && strings.Contains(f.Text, "redis was restarted")
		})
		if told != tt.told {
			t.Errorf("%+v: got %+v, want it told: %v", tt.loss, c.Findings, tt.told)
		}
	}
}

// TestDoctorTellsLossesApart: what there is to do depends on what has lost something, and each is told.
func TestDoctorTellsLossesApart(t *testing.T) {
	now := time.Now()
	var losses []api.Loss
	wants := map[domain.LossOf]string{domain.LossOfBoard: "No number of before is given out from then on",
		domain.LossOfArchive: "another copy of the archive", domain.LossOfStreams: "publish anew"}
	for of := range wants {
		losses = append(losses, api.Loss{Of: of, Epoch: 3, AtMs: now.UnixMilli(), Cause: "why of " + string(of)})
	}
	var c Report
	c.Node(api.Info{Name: "nina", Ready: true, Durability: "disk", Losses: losses}, "", now)
	for of, want := range wants {
		if !slices.ContainsFunc(c.Findings, func(f Finding) bool {
			return f.What == string(of) && f.State == Warning && strings.Contains(f.Text, "why of "+string(of)) && strings.Contains(f.Text, want)
		}) {
			t.Errorf("nothing is said of %s with %q: %+v", of, want, c.Findings)
		}
	}
}

func TestDoctorNamesWhatPeopleHaveStopped(t *testing.T) {
	ban := func(name string) domain.Ban {
		return domain.Ban{BanScope: domain.BanScope{Kind: domain.BanType, Context: 7, Name: name}, Level: domain.BanPick, By: 12, AtMs: 1_000_000, Reason: "a leak"}
	}
	list := []domain.Ban{{BanScope: domain.BanScope{Kind: domain.BanContext, Context: 7}, Level: domain.BanCreate, By: 1, Reason: "unpaid", UntilMs: 2_000_000}}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		list = append(list, ban(name))
	}
	report := Of(Answers{Bans: list}, "v1", time.Now())
	text := fmt.Sprint(report.Findings)
	for _, want := range []string{"has stopped 7:context (level create)", "until 1970-01-01", "unpaid; `ramet ban lift context --context 7` lets it go on",
		"actor 12 has stopped 7:type:a (level pick)", "a leak; `ramet ban lift type a --context 7`", "{bans warning 1 more"} {
		if !strings.Contains(text, want) {
			t.Errorf("nothing says %q: %s", want, text)
		}
	}
	if strings.Contains(text, "7:type:e") {
		t.Error("all are named")
	}
}

func TestDoctorNamesCirclesThatNobodyServes(t *testing.T) {
	var c Report
	named := func(name string, queued int, fault string, nodes ...string) api.Circle {
		one := api.Circle{Nodes: nodes}
		one.Name, one.Queued, one.Fault = name, queued, fault
		return one
	}
	c.circles([]api.Circle{named("served", 5, "", "nina"), named("lonely", 3, ""), named("empty", 0, ""), named("bad", 0, "no list lies there"),
		named("known", 0, "no list lies there")}, []domain.Finding{{Key: "rhai_tasks:known"}})
	want := []Finding{
		{"circle lonely", Warning, "tasks wait in it (3), and no node that is alive serves it: see `ramet serve --circle`; workers of others do not tell"},
		{"circle bad", Bad, "no list lies there"},
	}
	if diff := cmp.Diff(want, c.Findings); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

func TestDoctorTellsHowLateAlarmsAre(t *testing.T) {
	for _, tt := range []struct {
		info        api.Info
		state, want string
	}{
		{api.Info{Board: "memory"}, OK, "done in time"},
		{api.Info{Board: "memory", LateAlarm: &api.LateAlarm{Context: 7, Name: "start:job:1:2", LateMs: 900}}, OK, "done in time"},
		{api.Info{Board: "memory", LateAlarm: &api.LateAlarm{Context: 7, Name: "start:job:1:2", LateMs: 35_900}}, Warning,
			`"start:job:1:2" of context 7 has waited for 35s`},
		{api.Info{}, "", ""}, // nothing is told to who is not the operator
	} {
		var c Report
		c.Node(tt.info, "", time.Now())
		i := slices.IndexFunc(c.Findings, func(f Finding) bool { return f.What == "alarms" })
		switch {
		case tt.state == "" && i >= 0:
			t.Errorf("got %+v, want nothing of alarms", c.Findings[i])
		case tt.state != "" && (i < 0 || c.Findings[i].State != tt.state || !strings.Contains(c.Findings[i].Text, tt.want)):
			t.Errorf("got %+v, want alarms %s: %s", c.Findings, tt.state, tt.want)
		}
	}
}

func TestDoctorTellsWhichContextsAreLeftAlone(t *testing.T) {
	now := time.Now()
	shell := domain.Service{ScriptType: "shell", Served: true, Level: domain.Walled, Levels: []domain.Isolation{domain.Walled, domain.Open},
		Refused: map[domain.Isolation]string{domain.Sealed: "no network namespaces"}}
	runner := domain.Runner{Node: "nina", SeenMs: now.UnixMilli(), Serves: []domain.Service{shell, {ScriptType: "rhai", Served: true}}}
	gone := runner
	gone.SeenMs = now.Add(-time.Hour).UnixMilli()
	var c Report
	c.isolation([]domain.Tenant{{ID: 1}, {ID: 7, Isolation: domain.Sealed}, {ID: 8, Isolation: domain.Walled}}, []domain.Runner{runner, gone}, now)
	want := Finding{"context 7", Warning, "runner nina takes none of its shell jobs: the context wants its scripts sealed; no network namespaces"}
	if len(c.Findings) != 1 || c.Findings[0] != want {
		t.Errorf("got %+v, want %+v", c.Findings, want)
	}
}

// A link that names nobody logs in at whoever answers.
func TestDoctorTellsHowLinksStand(t *testing.T) {
	for want, link := range map[Finding]api.Link{
		{"bus", Warning, "the link to hub.example:7422 names nobody"}:               {Host: "hub.example:7422", Up: true},
		{"bus", Warning, "the link to hub.example:7422 is down: peer bolt is away"}: {Host: "hub.example:7422", To: "bolt"},
		{"bus", OK, "the link to hub.example:7422, of peer bolt, is up"}:            {Host: "hub.example:7422", To: "bolt", Up: true},
		{"bus", Warning, "the link to hub.example:7422 is down: node 11111111"}:     {Host: "hub.example:7422", To: strings.Repeat("1", 64)},
	} {
		var c Report
		c.Node(api.Info{Name: "nina", Version: "1", Ready: true, Links: []api.Link{link}}, "1", time.Now())
		if !slices.ContainsFunc(c.Findings, func(f Finding) bool {
			return f.State == want.State && f.What == want.What && strings.HasPrefix(f.Text, want.Text)
		}) {
			t.Errorf("got %+v, want %+v", c.Findings, want)
		}
	}
}

// A worker that was killed is not called well: its record says what it served.
func TestDoctorSeesThatAWorkerIsGone(t *testing.T) {
	now := time.Now()
	served := []domain.Service{{ScriptType: "mail", Served: true}}
	var c Report
	c.Runners([]domain.Runner{
		{Worker: "ada", SeenMs: now.UnixMilli(), Serves: served},
		{Worker: "bob", SeenMs: now.Add(-time.Hour).UnixMilli(), Serves: served},
	}, now)
	var got []string
	for _, f := range c.Findings {
		got = append(got, f.State+" "+f.What)
	}
	if want := []string{"ok runner ada: mail", "warning runner bob"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A node says by how much its clock is not the board's. Who lives is told by the board's,
// whatever the clock here says.
func TestDoctorNamesClocksThatAreOff(t *testing.T) {
	now := time.Now()
	for ahead, want := range map[time.Duration]string{
		-5 * time.Second: "",
		5 * time.Second:  "",
		3 * time.Minute:  "its clock is 3m0s ahead of the board's",
		-time.Hour:       "its clock is 1h0m0s behind the board's",
	} {
		onBoard := now.Add(-2 * time.Hour).UnixMilli()
		c := Of(Answers{Info: api.Info{BoardMs: onBoard}, Nodes: []domain.Node{{Name: "nina", ClockOffMs: ahead.Milliseconds(), SeenMs: onBoard - 1000}},
			Runners: &api.RunnerPage{Runners: []domain.Runner{{Node: "nina", SeenMs: onBoard - 1000}, {Node: "dead", SeenMs: now.UnixMilli() - 10_000_000}}}}, "", now)
		for who, silent := range map[string]bool{"runner nina": false, "runner dead": true} {
			if got := slices.ContainsFunc(c.Findings, func(f Finding) bool { return f.What == who && strings.Contains(f.Text, "not seen since") }); got != silent {
				t.Errorf("%s is called silent: %v, want %v", who, got, silent)
			}
		}
		got := slices.IndexFunc(c.Findings, func(f Finding) bool { return strings.Contains(f.Text, "clock") })
		if got >= 0 != (want != "") || got >= 0 && (c.Findings[got].What != "node nina" || !strings.Contains(c.Findings[got].Text, want)) {
			t.Errorf("%v ahead: got %+v, want %q", ahead, c.Findings, want)
		}
	}
}

// A role that a rule took is as somebody wants it; one that a node gave up is not.
func TestDoctorNamesANodeThatHasGivenUpRoles(t *testing.T) {
	now := time.Now()
	off := []domain.Off{{Role: domain.RoleSaga, Why: "its streams are gone"}, {Role: domain.RoleEffect, Why: "its streams are gone"},
		{Role: domain.RoleKeeper, Rule: 1, Why: "old"}}
	c := Of(Answers{Nodes: []domain.Node{{Name: "nina", Off: off, SeenMs: now.UnixMilli()}, {Name: "dead", Off: off}}}, "", now)
	want := Finding{"node nina", Bad, "it has given up its roles (saga, effect), which others take if there are any: its streams are gone"}
	for _, f := range c.Findings {
		if strings.HasPrefix(f.What, "node ") && f != want {
			t.Errorf("found %+v", f)
		}
	}
	if !slices.Contains(c.Findings, want) || OffText(off[0]) != "given up by the node itself: its streams are gone" {
		t.Errorf("got %+v, %q", c.Findings, OffText(off[0]))
	}
}

func TestDoctorSeesAnArchiveThatIsBehind(t *testing.T) {
	now := time.Now()
	for _, tt := range []struct {
		backlog *domain.ArchiveBacklog
		want    string
	}{
		{nil, ""},
		{&domain.ArchiveBacklog{ToldMs: now.UnixMilli()}, ""},
		{&domain.ArchiveBacklog{Waiting: 7, OldestMs: now.Add(-time.Minute).UnixMilli(), ToldMs: now.UnixMilli()}, ""},
		{&domain.ArchiveBacklog{Waiting: 7, PerSecond: 30, OldestMs: now.Add(-6 * time.Minute).UnixMilli(), ToldMs: now.UnixMilli()},
			"7 wait, the oldest ended 6m0s ago; 30 a second"},
		{&domain.ArchiveBacklog{Waiting: 7, ToldMs: now.Add(-time.Hour).UnixMilli()}, "7 wait"}, // whoever archived is gone
	} {
		var c Report
		c.Node(api.Info{Name: "nina", Ready: true, Durability: "disk", Archive: "sqlite", ArchiveDurability: "disk", ArchiveBacklog: tt.backlog}, "", now)
		got := ""
		for _, f := range c.Findings {
			if f.What == "archive" && f.State == Warning {
				got += f.Text
			}
		}
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%+v: got %q, want %q", tt.backlog, got, tt.want)
		}
	}
}

// Anybody who knows the address of a webhook can have a delivery refused: where it works, that is no finding.
func TestDoctorDoesNotTellOfStrangers(t *testing.T) {
	now := time.Now()
	ago := func(d time.Duration) int64 { return now.Add(-d).UnixMilli() }
	for _, tt := range []struct {
		name  string
		state domain.WebhookState
		want  bool
	}{
		{"nothing", domain.WebhookState{RotatedMs: ago(time.Hour)}, false},
		{"strangers at one that works", domain.WebhookState{RotatedMs: ago(3 * time.Hour), LastMs: ago(2 * time.Hour), RefusedMs: ago(time.Minute)}, false},
		{"a wrong secret at a new one", domain.WebhookState{RotatedMs: ago(time.Hour), RefusedMs: ago(time.Minute)}, true},
		{"long ago", domain.WebhookState{RotatedMs: ago(9 * time.Hour), RefusedMs: ago(2 * time.Hour)}, false},
		{"who has the secret", domain.WebhookState{RotatedMs: ago(9 * time.Hour), LastMs: ago(8 * time.Hour), RefusedMs: ago(7 * time.Hour),
			ProvenMs: ago(7 * time.Hour)}, true},
		{"it works again", domain.WebhookState{LastMs: ago(time.Hour), RefusedMs: ago(2 * time.Hour), ProvenMs: ago(2 * time.Hour)}, false},
	} {
		var c Report
		c.starts(nil, []api.Webhook{{Webhook: domain.Webhook{Name: "deploy", State: tt.state}}}, now)
		if got := len(c.Findings) > 0; got != tt.want {
			t.Errorf("%s: got %+v", tt.name, c.Findings)
		}
	}
}

// What a routine does not do is told with its reason, and of many the first.
func TestDoctorNamesRoutinesThatDoNotGoRound(t *testing.T) {
	now := time.Now()
	of := func(name string, at domain.RoutineInstance) *domain.Routine {
		at.Name = name
		return &domain.Routine{Name: name, Instances: domain.List[domain.RoutineInstance]{at}}
	}
	paused := of("rests", domain.RoutineInstance{Round: 3, Error: "exit 1"})
	paused.Paused = true
	list := []*domain.Routine{
		of("well", domain.RoutineInstance{Round: 3}), of("new", domain.RoutineInstance{}), paused,
		of("fails", domain.RoutineInstance{Round: 3, Failures: 2, Error: "exit 1", LastJob: "job:0:7"}),
		of("held", domain.RoutineInstance{Round: 3, Held: "no node serves v"}),
		of("late", domain.RoutineInstance{Round: 3, NextMs: now.Add(-time.Hour).UnixMilli()}),
	}
	told := func(list []*domain.Routine) (names []string, texts string) {
		var c Report
		c.routines(list, now)
		for _, f := range c.Findings {
			if f.State != Warning {
				t.Errorf("got %+v", f)
			}
			names, texts = append(names, f.What), texts+f.Text+"\n"
		}
		return names, texts
	}
	names, texts := told(list)
	if want := []string{"routine rests", "routine fails", "routine held", "routine late"}; !slices.Equal(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
	for _, want := range []string{"ramet routine resume rests",
		"the last 2 rounds failed: exit 1", "ramet job logs job:0:7", "no node serves v", "has not begun"} {
		if !strings.Contains(texts, want) {
			t.Errorf("got %s, want %q in it", texts, want)
		}
	}
	refused := of("refused", domain.RoutineInstance{Round: 1, Failures: 1, Error: "no such type"})
	if _, texts := told([]*domain.Routine{refused}); texts != "the last round failed: no such type\n" {
		t.Errorf("of a round that made no job: got %q", texts)
	}
	if names, texts = told(slices.Repeat(list, 3)); len(names) != routinesTold+1 || !strings.Contains(texts, "7 more") {
		t.Errorf("of twelve got %v: %s", names, texts)
	}
}
