package saga

import (
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/stream"
)

// Decode reads a message as the shards of a context's sagas do.
func Decode(tenant domain.TenantID, name string, m stream.Message) (*domain.Event, error) {
	r := &round{s: &shard{shardOf: shardOf{tenant: tenant}, name: name}}
	t := pending{m: m}
	err := r.decode(&t)
	return t.ev, err
}

// The types of events of our own that the machine is told of.
const (
	ControlPause  = controlPause
	ControlResume = controlResume
)

// Subjects are what a saga reads.
type Subjects = subjects

// ReadWith is what a definition reads that follows one which read old.
func ReadWith(def *domain.SagaDefinition, old Subjects) Subjects { return wanted(def).with(old) }
