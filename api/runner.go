package api

import "github.com/ramet-run/ramet/domain"

// The operations on runners.
var (
	RunnerList = op[RunnerPage](Operation{
		Name: "runner.list", Method: "GET", Path: "/v1/runners", Right: domain.VerbInspect, Much: true,
		Summary: "List runners: what they serve, what not and why, and what isolates their scripts; with a context, to those who may read there, what they serve.",
	}, ListRunnersParams{})
	RunnerShow = op[domain.Runner](Operation{
		Name: "runner.show", Method: "GET", Path: "/v1/runners/{runner}", Right: domain.VerbInspect,
		Summary: "Show one runner.",
	}, RunnerParams{Runner: 3})
)

// ListRunnersParams are the parameters of runner.list.
type ListRunnersParams struct {
	// Context, if given, adds the runners that foreign programs registered in
	// that context; it needs the right to read there. Who is not the operator has
	// to give one.
	Context domain.TenantID `json:"-" query:"context"`
	// Cursor is the next of the page before.
	Cursor string `json:"-" query:"cursor"`
	// Limit is about how many a page has, up to 500. 0: that.
	Limit int `json:"-" query:"limit"`
}

// RunnerParams name a runner.
type RunnerParams struct {
	Runner domain.RunnerID `json:"-" path:"runner"`
	// Context, if given, looks for a runner that a foreign program registered in
	// that context; it needs the right to read there.
	Context domain.TenantID `json:"-" query:"context"`
}

// RunnerPage lists runners: of the nodes, and then one context's own, by their ids on each page.
type RunnerPage struct {
	Runners []domain.Runner `json:"runners"`
	// Next is the cursor of the next page; "" is the end.
	Next string `json:"next,omitzero"`
}
