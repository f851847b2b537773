package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/domain"
)

func TestTop(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	runners := []domain.Runner{
		{ID: 1, Node: "n1", SeenMs: now.UnixMilli(), Serves: []domain.Service{
			{ScriptType: "shell", Served: true, SlotUse: domain.SlotUse{Slots: 4, Taken: 3}}, {ScriptType: "v", Why: "no v\x1b[2J"}}},
		{ID: 2, Node: "n2", SeenMs: now.UnixMilli(), Serves: []domain.Service{{ScriptType: "shell", Served: true, SlotUse: domain.SlotUse{Slots: 2, Taken: 2}}}},
		{ID: 3, Node: "dead", Serves: []domain.Service{{ScriptType: "shell", Served: true, SlotUse: domain.SlotUse{Slots: 9}}}},
	}
	waits := []*domain.Job{{ScriptType: "v", QueuedMs: 990_000}, {ScriptType: "v", QueuedMs: 900_000}, {ScriptType: "shell", CreatedAt: 995}}
	v := topView{Context: 7, AtMs: now.UnixMilli(), Slowest: []*domain.Job{{ID: 5, CallerID: 1, ScriptType: "shell", StartedMs: 940_000, Attempt: 2,
		LeaseOwner: "n1/x"}}}
	v.Queues, v.Runners = topQueues(runners, waits, v.Slowest, now)
	got := topLines(&v, 0, 0)
	want := []string{
		"QUEUE  WAITING  OLDEST  RUNNING  SLOTS  RUNNERS",
		"v      2        1m40s   0        0      0",
		"shell  1        5.0s    1        6      2",
		"",
		"RUNNER  NODE  TYPE   RUNNING  SLOTS  ",
		"1       n1    shell  3        4      ",
		"2       n2    shell  2        2      ",
		"1       n1    v      0        0      no v [2J",
		"",
		"FLOW  OF  DONE  SINCE",
		"  no flow goes on",
		"",
		"JOB      TYPE   RUNNING  ATTEMPT  BY",
		"job:1:5  shell  1m0s     2        n1/x",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := topLines(&v, 2, 4); strings.Join(got, "\n") != strings.Join([]string{want[4], want[5], want[6], "  and 1 more"}, "\n") {
		t.Errorf("of one part in four lines: got %q", got)
	}
}

func TestKeysOfTop(t *testing.T) {
	s := topState{every: 2 * time.Second}
	for _, k := range "3 +" {
		s.press(byte(k))
	}
	if s.part != 3 || !s.stopped || s.every != time.Second || s.ended {
		t.Errorf("got %+v", s)
	}
	for range 20 {
		s.press('+')
	}
	if s.press(' '); s.every != watchLeast || s.stopped {
		t.Errorf("got %+v", s)
	}
	if s.press(interruptKey); !s.ended {
		t.Error("Ctrl-C does not end it")
	}
}
