package console

import (
	"context"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// This file has the faults that people cause on a node for development (`ramet serve
// --dev`). Other nodes have none: there is no button, and nothing to send one to.

// Faults causes faults on purpose.
type Faults interface {
	List() []Fault
	// Cause causes the fault of a name, of one thing where it is a fault of one, and says what it did and what follows.
	//
	// Errors: [domain.ErrNotFound]; [domain.ErrConflict] where the thing is not as the fault needs it.
	Cause(ctx context.Context, name string, of Target) (said string, err error)
}

// Fault is a fault that can be caused: Will says what happens. Of is what a fault of one thing is of: it is
// offered on that one's page.
type Fault struct {
	Name, Title, Will string
	Of                TargetKind
}

// TargetKind is what a fault is of: of the node, where it is "".
type TargetKind string

// The kinds of things that have faults of their own.
const (
	FaultOfJob    TargetKind = "job" // one that runs
	FaultOfEffect TargetKind = "effect"
)

// Target is the thing that a fault is of; the zero one is the node.
type Target struct {
	Kind   TargetKind
	Tenant domain.TenantID
	// Name is the key of a job, or the name of an effect.
	Name string
}

func (c *Console) mountFaults() {
	if c.cfg.Faults != nil {
		c.page("POST fault", (*visit).causeFault)
	}
}

// faultActions are what the tray offers on the page of a thing, or of none, to who may end the node: the faults of
// the thing come first.
func (v *visit) faultActions(of Target) (list []action) {
	if v.console.cfg.Faults == nil || !v.mayOnNode(api.NodeDrain.Operation) {
		return nil
	}
	var own []action
	for _, f := range v.console.cfg.Faults.List() {
		do := action{Name: f.Title, Verb: f.Title, Post: Path + "fault", Fields: []field{{"fault", f.Name}, {"next", v.r.URL.RequestURI()}}, Will: f.Will}
		switch f.Of {
		case "":
			list = append(list, do)
		case of.Kind:
			do.Fields = append(do.Fields, field{"of", of.Name}, field{"in", strconv.FormatUint(uint64(of.Tenant), 10)})
			own = append(own, do)
		}
	}
	return append(own, list...)
}

func (v *visit) causeFault() error {
	if !v.mayOnNode(api.NodeDrain.Operation) {
		return domain.Forbiddenf("actor %d may not break this node", v.who.Actor)
	}
	name, of := v.r.PostFormValue("fault"), Target{Name: v.r.PostFormValue("of")}
	for _, f := range v.console.cfg.Faults.List() {
		if f.Name == name {
			of.Kind = f.Of
		}
	}
	tenant, _ := strconv.ParseUint(v.r.PostFormValue("in"), 10, 32) // what is no number has no such thing
	of.Tenant = domain.TenantID(tenant)
	said, err := v.console.cfg.Faults.Cause(v.r.Context(), name, of)
	if err == nil {
		v.console.cfg.Audit.Record(domain.AuditEntry{Actor: v.who.Actor, Verb: "fault", Object: "node", Outcome: domain.AuditDone,
			Detail: domain.PlainText(strings.TrimSpace(name+" "+of.Name), 100)})
	}
	return v.did(next(v.r.PostFormValue("next")), said, err)
}
