package saga

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/stream"
)

// read are the streams that sagas read.
var read = []stream.Name{stream.AggregateEvents, stream.WorkflowCommands, stream.WorkflowEvents}

// subjects are what a saga reads of each stream: "<kind>.<of>", as in
// "aggregate.Order".
type subjects map[stream.Name][]string

// wanted are the subjects of a definition.
func wanted(def *domain.SagaDefinition) subjects {
	want := subjects{}
	add := func(n stream.Name, kind domain.EventSource, of string) {
		want[n] = append(want[n], string(kind)+"."+of)
	}
	add(stream.WorkflowCommands, domain.SourceWorkflow, def.Name)
	effects := def.Effects
	if def.Compensation != nil {
		effects = slices.Concat(effects, def.Compensation.Effects)
	}
	for _, name := range effects {
		add(stream.WorkflowEvents, domain.SourceResult, name)
	}
	for _, tr := range def.Triggers {
		switch tr.Source {
		case domain.SourceWorkflow: // read always
		case domain.SourceResult, domain.SourceFact:
			add(stream.WorkflowEvents, tr.Source, tr.Of)
		default:
			add(stream.AggregateEvents, domain.SourceAggregate, tr.Of)
		}
	}
	return want.with(nil)
}

// with are those of both, each once.
func (s subjects) with(others subjects) subjects {
	all := subjects{}
	for _, n := range read {
		if list := slices.Concat(s[n], others[n]); len(list) > 0 {
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
func (s subjects) filters(n stream.Name, tenants []string) []string {
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
