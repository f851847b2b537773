package service_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

func TestTasksOfCircles(t *testing.T) {
	r := newRig(t)
	put := api.SubmitTaskParams{Context: house, Circle: "friends", TaskInput: api.TaskInput{Script: "40 + 2", ClientRPCID: "9"}}
	made, err := r.api.As(admin).SubmitTask(t.Context(), put)
	if err != nil || made.TaskID == "" || made.Existing || made.Durability != "memory" {
		t.Fatalf("got %+v, %v", made, err)
	}
	put.ID = made.TaskID
	if again, err := r.api.As(admin).SubmitTask(t.Context(), put); err != nil || !again.Existing {
		t.Errorf("again: got %+v, %v", again, err)
	}
	p := api.TaskParams{Context: house, ID: made.TaskID}
	got, err := r.api.As(reader).ShowTask(t.Context(), p)
	if err != nil || got.CallerID != admin || got.Status != domain.TaskPending || got.ClientRPCID != "9" || got.Circle != "friends" {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := r.api.As(reader).WaitTask(t.Context(), api.WaitTaskParams{TaskParams: p, TimeoutMs: 1}); err != nil || got.Status != domain.TaskPending {
		t.Errorf("a short wait: got %+v, %v", got, err)
	}
	for _, ms := range []int64{-1, 60_001} {
		if _, err := r.api.As(reader).WaitTask(t.Context(), api.WaitTaskParams{TaskParams: p, TimeoutMs: ms}); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("timeout_ms %d: got %v", ms, err)
		}
	}
	if x, err := r.api.As(reader).ExplainTask(t.Context(), p); err != nil || x.Standing != domain.StandingQueued {
		t.Errorf("got %+v, %v", x, err)
	}

	// Somebody ends it while another waits.
	waited := make(chan *domain.Task)
	go func() {
		got, err := r.api.As(reader).WaitTask(t.Context(), api.WaitTaskParams{TaskParams: p})
		if err != nil {
			t.Error(err)
		}
		waited <- got
	}()
	b := board.Batch{Space: layout.SpaceOf(house)}
	b.Set(layout.Task(made.TaskID), board.Field{Name: layout.TaskStatus, Value: "completed"}, board.Field{Name: layout.TaskOutput, Value: "42"})
	if err := r.board.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if got := <-waited; got == nil || got.Output != "42" {
		t.Errorf("got %+v", got)
	}
	if _, err := r.api.As(admin).DeleteTask(t.Context(), p); err != nil {
		t.Error(err)
	}
	if _, err := r.api.As(reader).ShowTask(t.Context(), p); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("deleted: got %v", err)
	}
	for name, bad := range map[string]api.SubmitTaskParams{
		"the circle": {Context: house, Circle: "a b"},
		"task id":    {Context: house, Circle: "friends", TaskInput: api.TaskInput{ID: strings.Repeat("x", 300)}},
		"reply":      {Context: house, Circle: "friends", TaskInput: api.TaskInput{ReplyToQueue: "msg_out"}},
	} {
		if _, err := r.api.As(admin).SubmitTask(t.Context(), bad); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("%s: got %v, want invalid", name, err)
		}
	}
}

func TestCirclesAreListedWithWhoServesThem(t *testing.T) {
	r := newRig(t)
	for _, name := range []string{"friends", "others"} {
		if _, err := r.api.As(admin).SubmitTask(t.Context(), api.SubmitTaskParams{Context: house, Circle: name}); err != nil {
			t.Fatal(err)
		}
	}
	node := board.Batch{}
	node.Set(layout.Node("n1"), layout.EncodeNode(domain.Node{Circles: []domain.ServedCircle{{Name: "friends", Context: house}, {Name: "others", Context: 8}}})...)
	node.Set(layout.Node("n1"), board.Field{Name: layout.NodeSeen, Value: "9999999999999"})
	node.Set(layout.Node("gone"), layout.EncodeNode(domain.Node{Circles: []domain.ServedCircle{{Name: "others", Context: house}}})...)
	node.Set(layout.Node("gone"), board.Field{Name: layout.NodeSeen, Value: "1"})
	if err := r.board.Commit(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	got, err := r.api.As(reader).ListCircles(t.Context(), api.ListCirclesParams{Context: house})
	want := api.CirclePage{Circles: []api.Circle{
		{Circle: domain.Circle{Name: "friends", Queued: 1}, Nodes: []string{"n1"}},
		{Circle: domain.Circle{Name: "others", Queued: 1}},
	}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, circles (-want +got):\n%s", err, diff)
	}
}

// TestAnAuditLooksAtTasks too.
func TestAnAuditLooksAtTasks(t *testing.T) {
	r := newRig(t)
	old := domain.Task{ID: "t1", Circle: "friends", Status: domain.TaskPending}
	b := board.Batch{Space: layout.SpaceOf(house)}
	b.Include(layout.Circles, "friends").Set(layout.Task("t1"), layout.EncodeTask(&old)...).Live(layout.Task("t1"), time.Now().Add(-time.Minute))
	if err := r.board.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	got, err := r.api.As(admin).RunAudit(t.Context(), api.AuditParams{Context: house})
	if err != nil || got.Looked != 1 || len(got.Repaired) != 1 || got.Repaired[0].Key != "rhai_task_details:t1" {
		t.Errorf("got %+v, %v", got, err)
	}
}
