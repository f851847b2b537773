package saga

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/saga/definition"
	"github.com/ramet-run/ramet/stream"
)

// From says where a new saga begins to read.
type From string

// The beginnings.
const (
	FromNow   From = "now"   // with what comes after it was applied
	FromStart From = "start" // with all that the streams still have
)

// read are the streams that sagas read.
var read = []stream.Name{stream.AggregateEvents, stream.WorkflowCommands, stream.WorkflowEvents}

// Apply stores a definition as the newest of its name, and has the saga
// served. from counts for a saga that is new, and for streams that it did not
// read before; default now.
//
// Errors: those of definition.Store.Apply; [domain.ErrUnavailable].
func (e *Engine) Apply(ctx context.Context, tenant domain.TenantID, actor domain.ActorID, def *domain.SagaDefinition, from From) (definition.Stored, bool, error) {
	if from != "" && from != FromNow && from != FromStart {
		return definition.Stored{}, false, domain.Invalidf("from %q: want now or start", from)
	}
	name, err := e.cfg.Names.TenantName(ctx, tenant)
	if err != nil {
		return definition.Stored{}, false, err
	}
	if n := len(name) + len(def.Name); n > maxNames {
		return definition.Stored{}, false, domain.Invalidf("saga %q: with the context's name %q it has %d bytes, the limit is %d: they are parts of keys and subjects", def.Name, name, n, maxNames)
	}
	if def.Name == "effect" {
		return definition.Stored{}, false, domain.Invalidf("saga %q: effects have marks of that name; choose another", def.Name)
	}
	stored, existing, err := e.store.Apply(ctx, tenant, actor, def)
	if err != nil {
		return stored, existing, err
	}
	if err := e.settle(ctx, tenant, name, def.Name, from); err != nil {
		return stored, existing, err
	}
	e.refresh(tenant, def.Name)
	return stored, existing, nil
}

// maxNames bounds the names of a context and a saga together, in bytes: the
// longest key, of the mark of an event, and the longest subject have both.
const maxNames = 100

// refresh has the workers of this process read a saga as it is now. Those of
// others see that its record changed.
func (e *Engine) refresh(tenant domain.TenantID, saga string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for w := range e.workers {
		w.reread(tenant, saga)
	}
}

// manyFilters is from where on everything of a kind is read, and what is not
// wanted passed over.
const manyFilters = 300

// narrow leaves out subjects that others cover: brokers take no filters that
// overlap.
func narrow(list []string) []string {
	slices.Sort(list)
	list = slices.Compact(list)
	if len(list) > manyFilters {
		for i, s := range list {
			parts := strings.Split(s, ".")
			parts[len(parts)-2] = "*"
			list[i] = strings.Join(parts, ".")
		}
		return slices.Compact(list) // they are sorted by what is before
	}
	return slices.DeleteFunc(list, func(s string) bool {
		i := strings.LastIndexByte(s[:len(s)-2], '.')
		all := s[:i] + ".*.*"
		return s != all && slices.Contains(list, all)
	})
}

// prefixes are the tenants that subjects of a context may name.
func prefixes(tenant domain.TenantID, name string) []string {
	number := strconv.FormatUint(uint64(tenant), 10)
	if name == number {
		return []string{name}
	}
	return []string{name, number}
}

func wanted(want map[stream.Name][]string, def *domain.SagaDefinition, tenants []string) {
	for _, t := range tenants {
		add := func(n stream.Name, kind domain.EventSource, of string) {
			want[n] = append(want[n], subject(t, string(kind), of, "*"))
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
	}
}
