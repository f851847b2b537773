package api

import "github.com/ramet-run/ramet/domain"

// InstancePage is a page of a saga's instances, in no order, without what their
// steps and deferred events carry.
type InstancePage struct {
	Instances domain.List[*domain.SagaInstance] `json:"instances"`
	// Next is the cursor of the next page; "" is the end. A page may be empty
	// while more is to come.
	Next string `json:"next,omitzero"`
	// Count is there where it was asked for.
	Count *Counted `json:"count,omitzero"`
}

// HistoryPage is what an instance went through, oldest first.
type HistoryPage struct {
	Lines domain.List[domain.SagaEntry] `json:"lines"`
}

// SagaDone answers what a person asked of a saga or an instance. Done is false
// where it is noted, and carried out as soon as whoever serves the instance has
// come to it.
type SagaDone struct {
	Saga        string `json:"saga"`
	Correlation string `json:"correlation_id,omitzero"`
	Done        bool   `json:"done"`
}

// InstanceFilter says which instances of a saga are meant. Empty filters do not filter.
type InstanceFilter struct {
	// State is the state that they are in, by its name in the definition.
	State string `json:"-" query:"state"`
	// Where is a Rhai condition over an instance, such as
	// state == "Paying" && data.total > 100.
	Where string `json:"-" query:"where"`
	Narrowing
}

// ListInstancesParams are the parameters of saga.instances.
type ListInstancesParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Name    string          `json:"-" path:"saga"`
	InstanceFilter
	// Count counts what the filter fits, and lists nothing.
	Count bool `json:"-" query:"count"`
	// Cursor is the next of the page before.
	Cursor string `json:"-" query:"cursor"`
	// Limit is how many a page has at the most, up to 500. 0: 100.
	Limit int `json:"-" query:"limit"`
}

// InstanceParams name an instance.
type InstanceParams struct {
	Context     domain.TenantID `json:"-" path:"context"`
	Name        string          `json:"-" path:"saga"`
	Correlation string          `json:"-" path:"correlation"`
}

// HistoryParams are the parameters of saga.history.
type HistoryParams struct {
	InstanceParams
	// From leaves out lines of versions before it.
	From int64 `json:"-" query:"from"`
	// Limit is how many of the newest lines are wanted, up to 1,000. 0: that.
	Limit int `json:"-" query:"limit"`
}

// SteerSagaParams are the parameters of saga.pause and saga.resume.
type SteerSagaParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Name    string          `json:"-" path:"saga"`
	// Correlation names an instance; "" is the saga with all of them.
	Correlation string `json:"correlation_id"`
}

func (p *SteerSagaParams) AuditDetail() string { return p.Correlation }
