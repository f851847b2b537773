package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
)

// circleNode stands in for a node that serves circles: it asks end how a script
// ends, and remembers which tasks it has.
type circleNode struct {
	tasks map[string]*domain.Task
	asked []string // methods
	end   func(script string) domain.Task
}

func (n *circleNode) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.asked = append(n.asked, r.Method)
	if r.Method == http.MethodPost {
		var in api.TaskInput
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			panic(err)
		}
		t := n.end(in.Script)
		n.tasks[in.ID] = &t
		answer(w, 200, api.TaskSubmitted{TaskID: in.ID})
		return
	}
	id, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/contexts/1/tasks/"), "/")
	t := n.tasks[id]
	if t == nil {
		answer(w, 404, api.Problem{Code: "not_found", Detail: "no such task"})
		return
	}
	if r.Method == http.MethodDelete {
		delete(n.tasks, id)
	}
	answer(w, 200, t)
}

func TestRunInACircle(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  domain.Task
		want string
		err  string
	}{
		{"it completes", domain.Task{Status: domain.TaskCompleted, Output: "42"}, "42", ""},
		{"it fails", domain.Task{Status: domain.TaskError, Error: "no luck (line 1, position 1)"}, "", "no luck (line 1, position 1)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := &circleNode{tasks: map[string]*domain.Task{}, end: func(string) domain.Task { return tt.end }}
			got, err := open(t, n.ServeHTTP).Circle(1, "friends").Run(t.Context(), "40 + 2")
			if got != tt.want || (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
				t.Errorf("got %q, %v", got, err)
			}
			if failed := (*client.TaskError)(nil); tt.err != "" && !errors.As(err, &failed) {
				t.Errorf("got %T, want a TaskError", err)
			}
			if len(n.tasks) != 0 {
				t.Errorf("left behind: %v", n.tasks)
			}
		})
	}
}

// TestRunGivesUp: what nobody waits for any more is taken away.
func TestRunGivesUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	n := &circleNode{tasks: map[string]*domain.Task{}, end: func(string) domain.Task { return domain.Task{Status: domain.TaskProcessing} }}
	c := open(t, func(w http.ResponseWriter, r *http.Request) {
		n.ServeHTTP(w, r)
		if len(n.asked) == 3 {
			cancel()
		}
	})
	if got, err := c.Circle(1, "friends").Run(ctx, "loop {}"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %q, %v", got, err)
	}
	if len(n.tasks) != 0 || !slices.Contains(n.asked, http.MethodDelete) {
		t.Errorf("asked %v, left %v", n.asked, n.tasks)
	}
}

func ExampleCircle_Run() {
	// Stands in for a node whose circle has a worker.
	n := &circleNode{tasks: map[string]*domain.Task{}, end: func(string) domain.Task {
		return domain.Task{Status: domain.TaskCompleted, Output: "42"}
	}}
	node := httptest.NewServer(n)
	defer node.Close()

	c, err := client.New(client.Config{URL: node.URL})
	if err != nil {
		log.Fatal(err)
	}
	output, err := c.Circle(1, "friends").Run(context.Background(), "40 + 2")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(output)
	// Output: 42
}
