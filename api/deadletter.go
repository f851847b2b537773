package api

import "github.com/ramet-run/ramet/domain"

// The operations on dead letters.
var (
	DeadLetterList = op[DeadLetterPage](Operation{
		Name: "deadletter.list", Method: "GET", Path: "/v1/contexts/{context}/deadletters", Right: domain.VerbRead, Much: true,
		Summary: "List dead letters page by page, without what they were.",
	}, ListDeadLettersParams{Context: 7, DeadLetterFilter: DeadLetterFilter{Kind: domain.DeadEvent}})
	DeadLetterShow = op[*domain.DeadLetter](Operation{
		Name: "deadletter.show", Method: "GET", Path: "/v1/contexts/{context}/deadletters/{kind}/{id}", Right: domain.VerbRead,
		Summary: "Show a dead letter with what it was.",
	}, DeadLetterParams{Context: 7, Kind: domain.DeadEvent, ID: "e-17"})
	DeadLetterReplay = op[DeadLettersDone](Operation{
		Name: "deadletter.replay", Method: "POST", Path: "/v1/contexts/{context}/deadletters/replay", Right: domain.VerbRetry, ByHand: true,
		Summary: "Give a dead letter another chance; with all, an older form of deadletter.replay_all, 500 that a filter fits.",
	}, ChooseDeadLettersParams{Context: 7, DeadLetterChoice: DeadLetterChoice{Kind: domain.DeadEvent, ID: "e-17"}})
	DeadLetterDrop = op[DeadLettersDone](Operation{
		Name: "deadletter.drop", Method: "POST", Path: "/v1/contexts/{context}/deadletters/drop", Right: domain.VerbDelete, ByHand: true,
		Summary: "Forget a dead letter; with all, an older form of deadletter.drop_all, 500 that a filter fits.",
	}, ChooseDeadLettersParams{Context: 7, DeadLetterChoice: DeadLetterChoice{Saga: "order", All: true}})
)

// DeadLetterPage is a page of dead letters, in no order, without what they were.
type DeadLetterPage struct {
	DeadLetters domain.List[*domain.DeadLetter] `json:"deadletters"`
	// Next is the cursor of the next page; "" is the end. A page may be empty
	// while more is to come.
	Next string `json:"next,omitzero"`
	// Count is there where it was asked for.
	Count *Counted `json:"count,omitzero"`
}

// DeadLetterChoice says which dead letter is meant, by kind and id. The rest of it is the
// older form of deadletter.replay_all and deadletter.drop_all, which go on by themselves
// however many there are: with all set, those that fit the filter, 500 a call.
type DeadLetterChoice struct {
	Kind   domain.DeadKind `json:"kind,omitzero"`
	ID     string          `json:"id,omitzero"`
	Saga   string          `json:"saga,omitzero"`
	Effect string          `json:"effect,omitzero"`
	// Cause is a part of the sentence that says why.
	Cause string `json:"cause,omitzero"`
	// BeforeMs is when they are younger than that, in Unix milliseconds.
	BeforeMs int64 `json:"before_ms,omitzero"`
	// All must be set where no id is given.
	All bool `json:"all,omitzero"`
	// CountOnly does nothing but count.
	CountOnly bool `json:"count_only,omitzero"`
	// Cursor is the next of the answer before.
	Cursor string `json:"cursor,omitzero"`
}

// DeadLettersDone answers. A filter may fit more than one call deals with: then
// Next is the cursor to go on with.
type DeadLettersDone struct {
	// Count is how many dead letters this call found, and Done how many of them it
	// dealt with.
	Count  int                           `json:"count"`
	Done   int                           `json:"done"`
	Failed domain.List[FailedDeadLetter] `json:"failed,omitzero"`
	Next   string                        `json:"next,omitzero"`
}

// FailedDeadLetter is one that could not be dealt with.
type FailedDeadLetter struct {
	Kind  domain.DeadKind `json:"kind"`
	ID    string          `json:"id"`
	Error Problem         `json:"error"`
}

// DeadLetterFilter says which dead letters are meant. Empty filters do not filter.
type DeadLetterFilter struct {
	Kind   domain.DeadKind `json:"-" query:"kind"`
	Saga   string          `json:"-" query:"saga"`
	Effect string          `json:"-" query:"effect"`
	Cause  string          `json:"-" query:"cause"` // a part of the sentence
	// BeforeMs leaves out those that are younger, in Unix milliseconds: the same as to_ms.
	BeforeMs int64 `json:"-" query:"before_ms"`
	// Where is a Rhai expression over `letter`, such as letter.attempts > 3.
	Where string `json:"-" query:"where"`
	Narrowing
}

// ListDeadLettersParams are the parameters of deadletter.list.
type ListDeadLettersParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	DeadLetterFilter
	// Count counts what the filter fits, and lists nothing.
	Count bool `json:"-" query:"count"`
	// Cursor is the next of the page before.
	Cursor string `json:"-" query:"cursor"`
	// Limit is how many a page has at the most, up to 500. 0: 100.
	Limit int `json:"-" query:"limit"`
}

// DeadLetterParams name a dead letter.
type DeadLetterParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Kind    domain.DeadKind `json:"-" path:"kind"`
	ID      string          `json:"-" path:"id"`
}

// ChooseDeadLettersParams are the parameters of deadletter.replay and deadletter.drop.
type ChooseDeadLettersParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	DeadLetterChoice
}
