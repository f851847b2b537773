package api

import "github.com/ramet-run/ramet/domain"

// FlowLogParams are the parameters of flow.logs.
type FlowLogParams struct {
	FlowParams
	// Step wants the lines of that step's jobs only.
	Step string `json:"-" query:"step"`
	LogWanted
	// Cursor is the next of the page before.
	Cursor string `json:"-" query:"cursor"`
	// Limit is how many lines a page has at the most, up to 10,000. 0: 1,000. A stream has
	// no limit.
	Limit int `json:"-" query:"limit"`
}

// FlowLog is a line of a flow's log: it says by job whose line it is, a job of the flow's
// caller, and by n which of that job's.
type FlowLog struct {
	domain.Log
	Step string `json:"step,omitzero"`
	// Part is which part of its step the job does: "<index>/<count>" of shards and lists,
	// "<first>-<last>" of ranges.
	Part string `json:"part,omitzero"`
}

// FlowLogPage is a part of a flow's log.
type FlowLogPage struct {
	Logs []FlowLog `json:"logs"`
	// Next is the cursor of the next page; "" is the end of what has been said so far.
	Next string `json:"next,omitzero"`
}
