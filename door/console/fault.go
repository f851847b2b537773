package console

import (
	"context"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// This file has the faults that people cause on a node for development (`ramet serve
// --dev`). Other nodes have none: there is no button, and nothing to send one to.

// Faults causes faults on purpose.
type Faults interface {
	List() []Fault
	// Cause causes the fault of a name, and says what it did and what follows.
	//
	// Errors: [domain.ErrNotFound].
	Cause(ctx context.Context, name string) (said string, err error)
}

// Fault is a fault that can be caused: Will says what happens.
type Fault struct{ Name, Title, Will string }

func (c *Console) mountFaults() {
	if c.cfg.Faults != nil {
		c.page("POST fault", (*visit).causeFault)
	}
}

// faultActions are what the tray offers, to who may end the node.
func (v *visit) faultActions() (list []action) {
	if v.console.cfg.Faults == nil || !v.mayOnNode(api.NodeDrain.Operation) {
		return nil
	}
	for _, f := range v.console.cfg.Faults.List() {
		list = append(list, action{Name: f.Title, Verb: f.Title, Post: Path + "fault", Fields: []field{{"fault", f.Name}, {"next", v.r.URL.RequestURI()}},
			Will: f.Will})
	}
	return list
}

func (v *visit) causeFault() error {
	if !v.mayOnNode(api.NodeDrain.Operation) {
		return domain.Forbiddenf("actor %d may not break this node", v.who.Actor)
	}
	name := v.r.PostFormValue("fault")
	said, err := v.console.cfg.Faults.Cause(v.r.Context(), name)
	if err == nil {
		v.console.cfg.Audit.Record(domain.AuditEntry{Actor: v.who.Actor, Verb: "fault", Object: "node", Outcome: domain.AuditDone,
			Detail: domain.PlainText(name, 20)})
	}
	return v.did(next(v.r.PostFormValue("next")), said, err)
}
