package console

import (
	"cmp"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// happening is a line of what happened: when, who or what, and how it stood afterwards.
type happening struct {
	At     moment
	Who    string
	Text   string
	State  state
	Link   string
	Detail string
}

// auditLook is how many lines of the audit log are looked through for those of one thing.
const auditLook = 1000

// flowHistory is what happened to a flow, oldest first: what its steps did, and what
// people did to it, as far as who looks may see that.
func (v *visit) flowHistory(f *domain.FlowView) (list []happening, err error) {
	add := func(ms int64, who, text string, st state, link string) {
		if ms != 0 {
			list = append(list, happening{At: v.at(ms), Who: who, Text: text, State: st, Link: link})
		}
	}
	add(int64(f.CreatedAt)*1000, "actor "+strconv.Itoa(int(f.CallerID)), "submitted the flow", state{"waiting", waiting}, "")
	for i := range f.Steps {
		s := &f.Steps[i]
		link := v.path("flows/%d", f.ID) + query("step", s.Name)
		add(s.SinceMs, s.Name, "began", state{"running", running}, link)
		if s.Status.Done() {
			st := stepState(s)
			add(s.EndMs, s.Name, st.Word, st, link)
		}
	}
	if f.Final() {
		st := flowEnd(&f.Flow)
		add(f.FinishedMs, "the flow", st.Word, st, "")
	}
	acts, err := v.acts(f.Key())
	list = append(list, acts...)
	slices.SortStableFunc(list, func(a, b happening) int { return cmp.Compare(a.At.Ms, b.At.Ms) })
	return list, err
}

// acts are what people did to one thing of the context, and what they were kept from.
// Who may not read the audit log sees none.
func (v *visit) acts(object string) (list []happening, err error) {
	if !v.may(api.AuditLog.Operation) {
		return nil, nil
	}
	lines, err := call(v, api.AuditLog, api.AuditLogParams{Context: v.tenant.ID, AuditLogFilter: api.AuditLogFilter{Limit: auditLook}})
	if err != nil {
		return nil, err
	}
	for _, e := range lines.Entries {
		if e.Object != object {
			continue
		}
		st := state{string(e.Outcome), succeeded}
		if e.Outcome != domain.AuditDone {
			st.Class = errored
		}
		list = append(list, happening{At: v.past(e.AtMs), Who: "actor " + strconv.Itoa(int(e.Actor)), Text: actText(&e), State: st,
			Detail: e.Detail})
	}
	return list, nil
}

// past are the verbs of the audit log as one tells of them.
var past = map[string]string{
	"approve": "approved", "apply": "applied", "backfill": "began a backfill of", "backfill_cancel": "ended the backfill of", "cancel": "cancelled",
	"create": "created", "delete": "deleted", "discard": "discarded", "done": "marked as done", "drop": "dropped",
	"fork": "forked", "pause": "paused", "reject": "rejected", "replay": "replayed", "rerun": "ran again",
	"resume": "resumed", "retry": "retried", "set": "set", "signal": "sent a signal to", "skip": "accepted",
	"run": "ran", "submit": "submitted", "test": "tested", "trigger": "triggered", "update": "changed",
}

// actText says what somebody did to the thing that is looked at, or was kept from; the line's
// detail names the step to which it was done.
func actText(e *domain.AuditEntry) string {
	did, known := past[e.Verb]
	switch {
	case e.Outcome != domain.AuditDone:
		return "was not allowed to " + strings.ReplaceAll(e.Verb, "_", " ")
	case !known:
		did = strings.ReplaceAll(e.Verb, "_", " ") + ":"
	}
	if strings.HasPrefix(e.Detail, "step ") {
		return did
	}
	return did + " it"
}

// notThere reports whether an error says that something does not exist.
func notThere(err error) bool { return errors.Is(err, domain.ErrNotFound) }

// urlEscape is a text within a query string.
func urlEscape(text string) string { return url.QueryEscape(text) }
