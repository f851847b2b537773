package api

import "github.com/ramet-run/ramet/domain"

// The operations on listeners, which start flows for events of streams.
var (
	ListenerApply = op[Listener](Operation{
		Name: "listener.apply", Method: "POST", Path: "/v1/contexts/{context}/listeners", Right: domain.VerbCreate, ByHand: true,
		Summary: "Make a listener, which starts a flow for each event that comes from now on, or change the one of that name.",
	}, ListenerApplyParams{Context: 7, Listener: domain.Listener{Name: "shipped", Blueprint: "nightly", On: domain.SagaTrigger{Of: "Order",
		Types: []string{"OrderShipped"}}, When: "event.payload.country == \"BE\"", Params: map[string]string{"region": "event.payload.region"}}})
	ListenerList = op[Listeners](Operation{
		Name: "listener.list", Method: "GET", Path: "/v1/contexts/{context}/listeners", Right: domain.VerbRead, Much: true,
		Summary: "List the listeners of a context, with what they started last and why events wait.",
	}, ListenerListParams{Context: 7})
	ListenerShow = op[Listener](Operation{
		Name: "listener.show", Method: "GET", Path: "/v1/contexts/{context}/listeners/{listener}", Right: domain.VerbRead,
		Summary: "Show a listener, with how many events are behind.",
	}, ListenerParams{Context: 7, Name: "shipped"})
	ListenerDelete = op[Listener](Operation{
		Name: "listener.delete", Method: "DELETE", Path: "/v1/contexts/{context}/listeners/{listener}", Right: domain.VerbDelete, ByHand: true,
		Summary: "Remove a listener; its flows stay.",
	}, ListenerParams{Context: 7, Name: "shipped"})
	ListenerPause = op[Listener](Operation{
		Name: "listener.pause", Method: "POST", Path: "/v1/contexts/{context}/listeners/{listener}/pause", Right: domain.VerbStart, ByHand: true,
		Summary: "Keep a listener from taking events; they wait in their stream.",
	}, ListenerParams{Context: 7, Name: "shipped"})
	ListenerResume = op[Listener](Operation{
		Name: "listener.resume", Method: "POST", Path: "/v1/contexts/{context}/listeners/{listener}/resume", Right: domain.VerbStart, ByHand: true,
		Summary: "Let a paused listener go on where it was.",
	}, ListenerParams{Context: 7, Name: "shipped"})
)

// Listener is a listener as callers get it.
type Listener struct {
	domain.Listener
	// Behind is about how many events of its subjects are not dealt with; only where one is shown.
	Behind uint64 `json:"behind,omitzero"`
	// Lacks says why no flow that it asks for is made now; only where listeners are listed and shown.
	Lacks string `json:"lacks,omitzero"`
}

// Listeners is the answer to listener.list.
type Listeners struct {
	Listeners []Listener `json:"listeners"`
}

// ListenerApplyParams are the parameters of listener.apply. What callers hand in of caller_id,
// created_at, updated_at and state is not looked at.
type ListenerApplyParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	domain.Listener
}

// ListenerParams name a listener.
type ListenerParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Name    string          `json:"-" path:"listener"`
}

// ListenerListParams are the parameters of listener.list.
type ListenerListParams struct {
	Context domain.TenantID `json:"-" path:"context"`
}
