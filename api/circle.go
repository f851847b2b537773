package api

import "github.com/ramet-run/ramet/domain"

// The operations on circles and their tasks.
var (
	CircleList = op[CirclePage](Operation{
		Name: "circle.list", Method: "GET", Path: "/v1/contexts/{context}/circles", Right: domain.VerbRead,
		Summary: "List the circles of a context: how many tasks wait in each, and which nodes serve it.",
	}, ListCirclesParams{Context: 7})
	CircleSubmit = op[TaskSubmitted](Operation{
		Name: "circle.submit", Method: "POST", Path: "/v1/contexts/{context}/circles/{circle}/tasks", Right: domain.VerbCreate,
		Summary: "Put a Rhai script into a circle, to be run once by whoever serves it.",
	}, SubmitTaskParams{Context: 7, Circle: "reports", TaskInput: TaskInput{Script: "40 + 2"}})
	CircleShow = op[*domain.Task](Operation{
		Name: "circle.show", Method: "GET", Path: "/v1/contexts/{context}/tasks/{task}", Right: domain.VerbRead,
		Summary: "Show a circle's task.",
	}, TaskParams{Context: 7, ID: "t1"})
	CircleWait = op[*domain.Task](Operation{
		Name: "circle.wait", Method: "GET", Path: "/v1/contexts/{context}/tasks/{task}/wait", Right: domain.VerbRead, Waits: true,
		Summary: "Wait until a circle's task has ended.",
	}, WaitTaskParams{TaskParams: TaskParams{Context: 7, ID: "t1"}, TimeoutMs: 30_000})
	CircleExplain = op[domain.TaskExplanation](Operation{
		Name: "circle.explain", Method: "GET", Path: "/v1/contexts/{context}/tasks/{task}/explain", Right: domain.VerbRead,
		Summary: "Say what a circle's task waits for, and who holds it.",
	}, TaskParams{Context: 7, ID: "t1"})
	CircleDelete = op[*domain.Task](Operation{
		Name: "circle.delete", Method: "DELETE", Path: "/v1/contexts/{context}/tasks/{task}", Right: domain.VerbDelete,
		Summary: "Take a circle's task away: from its circle while it waits, from its worker while it runs.",
	}, TaskParams{Context: 7, ID: "t1"})
)

// TaskInput asks for a script to be run by whoever serves a circle.
type TaskInput struct {
	Script string `json:"script"`
	// ID names the task; the same one can be submitted again without harm.
	// Default: one is made.
	ID string `json:"task_id,omitzero"`
	// ClientRPCID comes back with the reply.
	ClientRPCID string `json:"client_rpc_id,omitzero"`
	// ReplyToQueue is a list that gets a message at the end, for programs that
	// speak to the board as to Redis. Default: none.
	ReplyToQueue string `json:"reply_to_queue,omitzero"`
}

// TaskSubmitted is the answer.
type TaskSubmitted struct {
	TaskID   string `json:"task_id"`
	Existing bool   `json:"existing,omitzero"`
	// Durability is what the acknowledged task survives: memory, process, disk, quorum.
	Durability string `json:"durability"`
}

// CirclePage lists the circles of a context.
type CirclePage struct {
	Circles domain.List[Circle] `json:"circles"`
}

// Circle is one circle, and which nodes serve it. Foreign workers do not tell.
type Circle struct {
	domain.Circle
	Nodes domain.List[string] `json:"nodes"`
}

// ListCirclesParams are the parameters of circle.list.
type ListCirclesParams struct {
	Context domain.TenantID `json:"-" path:"context"`
}

// SubmitTaskParams are the parameters of circle.submit.
type SubmitTaskParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Circle  string          `json:"-" path:"circle"`
	TaskInput
}

// TaskParams name a task.
type TaskParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	ID      string          `json:"-" path:"task"`
}

// WaitTaskParams are the parameters of circle.wait.
type WaitTaskParams struct {
	TaskParams
	// TimeoutMs is how long to wait, up to 60,000. 0: that.
	TimeoutMs int64 `json:"-" query:"timeout_ms"`
}
