package definition

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/ramet-run/ramet/document"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/rhai/value"
)

// Canonical is the one form of a definition: compact JSON with the fields in
// the order of the Go types, names of maps sorted, nothing that is empty, and
// without the version, which is given when it is stored.
func Canonical(d *domain.SagaDefinition) []byte {
	plain := *d
	plain.Version = 0
	plain.Data = canonicalData(d.Data)
	plain.Effects, plain.Timers = unlessEmpty(d.Effects), unlessEmpty(d.Timers)
	plain.Commands, plain.Nodes = unlessEmpty(d.Commands), unlessEmpty(d.Nodes)
	plain.Triggers = append([]domain.SagaTrigger{}, d.Triggers...) // never null
	for i := range plain.Triggers {
		plain.Triggers[i].Types = unlessEmpty(plain.Triggers[i].Types)
	}
	plain.States = append([]domain.SagaState{}, d.States...)
	for i := range plain.States {
		if len(plain.States[i].On) == 0 {
			plain.States[i].On = nil
		}
	}
	plain.Events = unlessEmpty(append([]domain.SagaEvent{}, d.Events...))
	for i := range plain.Events {
		plain.Events[i].Upcast = unlessEmpty(plain.Events[i].Upcast)
	}
	if c := d.Compensation; c != nil {
		slim := *c
		slim.Steps = append([]string{}, c.Steps...)
		slim.Effects, slim.Nodes = unlessEmpty(c.Effects), unlessEmpty(c.Nodes)
		plain.Compensation = &slim
	}
	return document.Encode(&plain)
}

func unlessEmpty[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}

// canonicalData sorts names; what is no JSON stays as it is, to be refused.
func canonicalData(text json.RawMessage) json.RawMessage {
	if len(text) == 0 {
		return nil
	}
	v, err := value.ReadJSON(string(text))
	if err != nil {
		return json.RawMessage("null")
	}
	if v.Is(value.MapKind) && v.AsMap().Len() == 0 {
		return nil
	}
	if text, err = value.AppendJSON(nil, v); err != nil {
		return json.RawMessage("null")
	}
	return text
}

// Hash is the SHA-256 of the canonical form, in hex. Definitions that differ
// in nothing but the version have the same.
func Hash(d *domain.SagaDefinition) string {
	sum := sha256.Sum256(Canonical(d))
	return hex.EncodeToString(sum[:])
}

func tooLong(n int) string {
	return fmt.Sprintf("it has %d bytes as JSON, the limit is %d", n, domain.MaxSagaBytes)
}

// Diff says what makes b of a, in the order of their fields' names. States,
// nodes and events are the same when their names are. Versions are not compared.
func Diff(a, b *domain.SagaDefinition) []domain.DocumentChange {
	return document.Diff(Canonical(a), Canonical(b), map[string]string{
		"states": "name", "nodes": "name", "events": "type", "compensation.nodes": "name",
	})
}
