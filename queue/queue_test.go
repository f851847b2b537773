package queue_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/queue"
)

func TestOf(t *testing.T) {
	for want, j := range map[string]domain.Job{
		"queue:python":          {ScriptType: "python"},
		"queue:v:p7":            {ScriptType: "v", Priority: 7},
		"queue:shell:runner20":  {ScriptType: "shell", ForRunner: 20, Priority: 7},
		"queue:go:at:zone=eu":   {ScriptType: "go", Affinity: map[string]string{"zone": "eu"}},
		"queue:go:at:a=1,b=2:p": {ScriptType: "go", Affinity: map[string]string{"b": "2", "a": "1"}, Priority: 3},
		"ramet:queue:remote":    {ScriptType: "go", At: "8", Priority: 7},
	} {
		if j.Priority == 3 {
			want += "3"
		}
		if got := queue.Of(&j); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestWhatANameSays(t *testing.T) {
	for _, c := range []struct {
		list, group, capGroup string
		typ                   domain.ScriptType // "" is no queue of jobs
		counted               bool
	}{
		{"queue:v", "queue:v", "queue:v", "v", true},
		{"queue:v:p7", "queue:v", "queue:v", "v", true},
		{"queue:v:runner7", "queue:v:runner7", "queue:v", "v", true},
		{"queue:v:at:zone=eu", "queue:v:at:zone=eu", "queue:v", "v", true},
		{"queue:v:at:zone=eu:p7", "queue:v:at:zone=eu", "queue:v", "v", true},
		{"queue::p7", "queue::p7", "queue:", "", true}, // no priority of a type without a name
		{"rhai_tasks:friends:p7", "rhai_tasks:friends:p7", "rhai_tasks:friends:p7", "", true},
		{"msg_out", "msg_out", "msg_out", "", true},
		{"msg_out_coordinator", "msg_out_coordinator", "msg_out_coordinator", "", true},
		{"msg_in", "msg_in", "msg_in", "", true},
		{"ramet:queue:keeper", "ramet:queue:keeper", "ramet:queue:keeper", "", false},
	} {
		if !queue.Is(c.list) {
			t.Errorf("%s is no queue", c.list)
		}
		typ, jobs := queue.TypeOf(c.list)
		if !jobs {
			typ = ""
		}
		if got := queue.Group(c.list); got != c.group || queue.CapGroup(c.list) != c.capGroup || typ != c.typ || queue.Counted(c.capGroup) != c.counted {
			t.Errorf("%s: group %s, cap group %s, type %s, counted %v", c.list, got, queue.CapGroup(c.list), typ, queue.Counted(c.capGroup))
		}
		if got, ok := queue.CappedGroup(queue.CapField(c.capGroup)); !ok || got != c.capGroup {
			t.Errorf("the cap of %s is that of %s", c.capGroup, got)
		}
		if !slices.Contains(queue.Lists(c.group), c.list) {
			t.Errorf("%s is none of the lists of %s", c.list, c.group)
		}
	}
	for _, list := range []string{"", "anything", "Queue:v", "rhai_reply:x", "ramet:finished"} {
		if queue.Is(list) {
			t.Errorf("%q is a queue", list)
		}
	}
}

func TestByPriority(t *testing.T) {
	got := queue.ByPriority("queue:v")
	if len(got) != 10 || got[0] != "queue:v:p9" || got[8] != "queue:v:p1" || got[9] != "queue:v" {
		t.Errorf("got %v", got)
	}
	if got := queue.OfRunner("v", 3); got != "queue:v:runner3" {
		t.Errorf("got %s", got)
	}
}

func TestRunnerOf(t *testing.T) {
	if r, ok := queue.RunnerOf(queue.OfRunner("v", 4183842651)); r != 4183842651 || !ok {
		t.Errorf("got %d, %v", r, ok)
	}
	for _, list := range []string{"queue:v", "queue:runner7", "queue:v:runner", "queue:v:runner7:p3", "v:runner7", "queue:v:p3"} {
		if r, ok := queue.RunnerOf(list); ok {
			t.Errorf("%s: got %d", list, r)
		}
	}
}

func TestItems(t *testing.T) {
	for list, want := range map[string]string{queue.Circle("friends"): "x", "queue:v": "rhai_task_details:x"} {
		if got := queue.ItemFor(list, "rhai_task_details:x"); got != want {
			t.Errorf("%s: got %s, want %s", list, got, want)
		}
	}
}

// FuzzLabelled: a name that is taken for one of a queue with labels is that of a job
// which asks for them.
func FuzzLabelled(f *testing.F) {
	for _, list := range []string{"queue:v", "queue:v:at:zone=eu", "queue:v:at:a=1,b=2:p7", "queue:v:at:", "queue:v:at:a=1:p", "queue:v:at:a=1:p77", "msg_in"} {
		f.Add(list)
	}
	f.Fuzz(func(t *testing.T, list string) {
		q, ok := queue.ParseLabelled(list)
		if !ok {
			return
		}
		for p := range domain.MaxPriority + 1 {
			again, ok := queue.ParseLabelled(queue.Of(&domain.Job{ScriptType: q.Type, Affinity: q.Labels, Priority: p}))
			if diff := cmp.Diff(q, again); !ok || diff != "" {
				t.Errorf("%q, priority %d: %s", list, p, diff)
			}
		}
	})
}
