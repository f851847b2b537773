package layout_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
)

func TestATaskComesBackAsItWas(t *testing.T) {
	got := layout.DecodeTask(goldTask.ID, layout.EncodeTask(&goldTask))
	if diff := cmp.Diff(&goldTask, got); diff != "" {
		t.Errorf("task (-want +got):\n%s", diff)
	}
}

func TestTasksOfForeignPrograms(t *testing.T) {
	for _, tt := range []struct {
		name   string
		fields []string
		want   domain.Task
	}{
		{"nothing", nil, domain.Task{}},
		{"the table", []string{"reply_to_queue", "a", "error", "b"}, domain.Task{ReplyToQueue: "a", Error: "b"}},
		{"the text", []string{"reply_queue_name", "a"}, domain.Task{ReplyToQueue: "a"}},
		{"the diagram", []string{"reply_to", "a", "error_msg", "b"}, domain.Task{ReplyToQueue: "a", Error: "b"}},
		{"the table goes first, wherever it stands", []string{"reply_to_queue", "a", "reply_queue_name", "b", "reply_to", "c", "error", "d", "error_msg", "e"},
			domain.Task{ReplyToQueue: "a", Error: "d"}},
		{"an empty spelling is none", []string{"reply_to_queue", "", "reply_to", "c"}, domain.Task{ReplyToQueue: "c"}},
		{"seconds", []string{"created_at", "1700000000", "updated_at", "1700000001.9"}, domain.Task{CreatedAt: 1700000000, UpdatedAt: 1700000001}},
		{"RFC 3339", []string{"created_at", "2023-11-14T22:13:20Z", "updated_at", "2023-11-14T23:13:21.5+01:00"},
			domain.Task{CreatedAt: 1700000000, UpdatedAt: 1700000001}},
		{"no times", []string{"created_at", "noon", "updated_at", "-1"}, domain.Task{}},
		{"times out of range", []string{"created_at", "1e300", "updated_at", "1900-01-01T00:00:00Z"}, domain.Task{}},
		{"not a number", []string{"created_at", "NaN", "updated_at", "Inf"}, domain.Task{}},
		{"numbers that are none", []string{"caller_id", "02ab", "attempt", "x", "losses", "-2"}, domain.Task{}},
		{"fields of others", []string{"worker", "w1", "result", "5"}, domain.Task{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var rec board.Record
			for i := 0; i < len(tt.fields); i += 2 {
				rec = append(rec, board.Field{Name: tt.fields[i], Value: tt.fields[i+1]})
			}
			tt.want.ID = "t"
			if diff := cmp.Diff(&tt.want, layout.DecodeTask("t", rec)); diff != "" {
				t.Errorf("task (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReplies(t *testing.T) {
	for want, task := range map[string]domain.Task{
		`{"task_id":"t","status":"completed","output":"42","client_rpc_id":"r"}`: {ID: "t", Status: domain.TaskCompleted, Output: "42", Error: "old",
			ClientRPCID: "r"},
		`{"task_id":"t","status":"completed","output":""}`: {ID: "t", Status: domain.TaskCompleted},
		`{"task_id":"t","status":"error","error":"no"}`:    {ID: "t", Status: domain.TaskError, Output: "old", Error: "no"},
	} {
		if got := layout.EncodeReply(&task); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestWhereRepliesMayGo(t *testing.T) {
	for _, list := range []string{"rhai_reply:7b", "answers", "app:replies:1", strings.Repeat("x", 255)} {
		if !layout.IsReply(list) {
			t.Errorf("%.40s: refused", list)
		}
	}
	all := []string{"", "a\x00b", strings.Repeat("x", 256), "contexts", layout.Task("t"), queue.Circle("c"), layout.Actor(1), layout.Tenant(1), layout.Runner(1),
		"flow:1", "message:1:2", "job:1:2", "saga:7:a:b", "outbox_index:7", layout.Finished, layout.Limits}
	for _, list := range append(all, queue.Prefixes...) {
		if layout.IsReply(list) {
			t.Errorf("%.40q: taken for a client's own", list)
		}
	}
}

// TestCirclesAreQueues holds what the board knows of them to what we write.
func TestCirclesAreQueues(t *testing.T) {
	list := queue.Circle("friends")
	if !queue.Is(list) || board.Named(list, "t1") != layout.Task("t1") || queue.CapGroup(list) != list {
		t.Errorf("%s: a queue %v, of %s, counted as %s", list, queue.Is(list), board.Named(list, "t1"), queue.CapGroup(list))
	}
	for id, key := range map[string]string{"t1": "rhai_task_details:t1", "": "rhai_task_details:", "a:b": "rhai_task_details:a:b"} {
		got, ok := layout.ParseTask(key)
		if got != id || ok != (id != "") {
			t.Errorf("%s: got %q, %v", key, got, ok)
		}
	}
	if _, ok := layout.ParseTask("job:1:2"); ok {
		t.Error("a job's key was taken for a task's")
	}
	longest := board.Named(queue.Circle(strings.Repeat("c", domain.MaxCircleBytes)), strings.Repeat("t", domain.MaxTaskIDBytes))
	if longest == "" || len(queue.Circle(strings.Repeat("c", domain.MaxCircleBytes))) > board.MaxKey {
		t.Error("the longest names that we take make no key")
	}
}

// FuzzDecodeTask: foreign programs write these records.
func FuzzDecodeTask(f *testing.F) {
	f.Add("1", "2023-11-14T22:13:20Z", "12", "rhai_reply:1")
	f.Add("NaN", "-1e400", "0x1", "a\x00")
	f.Fuzz(func(t *testing.T, created, updated, number, reply string) {
		var rec board.Record
		for name, value := range map[string]string{"created_at": created, "updated_at": updated, "caller_id": number, "losses": number,
			"attempt": number, "reply_to": reply, "script": reply, "error_msg": number, "status": created} {
			rec = append(rec, board.Field{Name: name, Value: value})
		}
		got := layout.DecodeTask("t", rec)
		again := layout.DecodeTask("t", layout.EncodeTask(got))
		again.Attempt = got.Attempt // the board writes it
		if diff := cmp.Diff(got, again); diff != "" {
			t.Errorf("what was read, written and read again (-first +second):\n%s", diff)
		}
		layout.EncodeReply(got)
		layout.IsReply(reply)
	})
}
