package saga

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// read are the streams that sagas read.
var read = []domain.StreamName{domain.AggregateEvents, domain.WorkflowCommands, domain.WorkflowEvents}

// subjects are what a saga reads of each stream: "<kind>.<of>", as in
// "aggregate.Order".
type subjects map[domain.StreamName][]string

// wanted are the subjects of a definition.
func wanted(def *domain.SagaDefinition) subjects {
	want := subjects{}
	add := func(n domain.StreamName, kind domain.EventSource, of string) {
		want[n] = append(want[n], string(kind)+"."+of)
	}
	add(domain.WorkflowCommands, domain.SourceWorkflow, def.Name)
	effects := def.Effects
	if def.Compensation != nil {
		effects = slices.Concat(effects, def.Compensation.Effects)
	}
	for _, name := range effects {
		add(domain.WorkflowEvents, domain.SourceResult, name)
	}
	for _, tr := range def.Triggers {
		switch tr.Source {
		case domain.SourceWorkflow: // read always
		case domain.SourceResult, domain.SourceFact:
			add(domain.WorkflowEvents, tr.Source, tr.Of)
		default:
			add(domain.AggregateEvents, domain.SourceAggregate, tr.Of)
		}
	}
	return want.with(nil)
}

// with are those of both, each once. What no stream has is left out: definitions
// of earlier versions could name such types, and would keep those that mended them from being read.
func (s subjects) with(others subjects) subjects {
	all := subjects{}
	for _, n := range read {
		list := slices.DeleteFunc(slices.Concat(s[n], others[n]), func(text string) bool {
			kind, of, _ := strings.Cut(text, ".")
			return domain.EventSource(kind) == domain.SourceAggregate && of != domain.AnyEvent && domain.ValidateAggregateType(of) != nil
		})
		if len(list) > 0 {
			slices.Sort(list)
			all[n] = slices.Compact(list)
		}
	}
	return all
}

// manyFilters is from where on everything of a kind is read, and what is not
// wanted passed over.
const manyFilters = 300

// filters are what is read of a stream for a context that has these names.
// None covers another: brokers take no filters that overlap.
func (s subjects) filters(n domain.StreamName, tenants []string) []string {
	kinds := map[string]bool{} // of which all is read
	for _, text := range s[n] {
		kind, of, _ := strings.Cut(text, ".")
		if of == domain.AnyEvent || len(tenants)*len(s[n]) > manyFilters {
			kinds[kind] = true
		}
	}
	var list []string
	for _, t := range tenants {
		for _, text := range s[n] {
			kind, of, _ := strings.Cut(text, ".")
			if kinds[kind] {
				of = "*"
			}
			list = append(list, subject(t, kind, of, "*"))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// prefixes are the tenants that subjects of a context may name.
func prefixes(tenant domain.TenantID, name string) []string {
	number := strconv.FormatUint(uint64(tenant), 10)
	if name == number {
		return []string{name}
	}
	return []string{name, number}
}
