package console

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/doctor"
	"github.com/ramet-run/ramet/domain"
)

// This file has what `ramet doctor` finds, for the overview and the page of health: one
// says that all is well only where the other does.

// lookKept is for how long what was found of unfinished things is shown.
const lookKept = 10 * time.Second

// unfinished is what an audit would say of the context, and repairs nothing. It is nil where
// who looks may not ask.
func (v *visit) unfinished() (*api.AuditReport, error) {
	if !v.may(api.AuditLook.Operation) {
		return nil, nil
	}
	report, err := v.console.looks.get(v, func(v *visit) (found[api.AuditReport], error) {
		r, err := call(v, api.AuditLook, api.LookParams{Context: v.tenant.ID})
		return found[api.AuditReport]{r, r.Looked, lookKept}, err
	})
	if err != nil {
		return nil, err
	}
	return &report, nil
}

// runnersKept is for how long it is shown who runs jobs where these are many. Their records are
// written every ten seconds.
const runnersKept = 10 * time.Second

// runners are those of the nodes and of the context. Where these are many they are read once for all who look.
func (v *visit) runners() ([]domain.Runner, error) {
	read := func(v *visit) (f found[[]domain.Runner], err error) {
		p := api.ListRunnersParams{Context: v.tenant.ID}
		for pages := 0; pages == 0 || p.Cursor != ""; pages++ {
			page, err := call(v, api.RunnerList, p)
			if err != nil {
				return f, err
			}
			f.what, p.Cursor = append(f.what, page.Runners...), page.Next
			for _, r := range page.Runners {
				f.looked += len(r.Serves)
			}
			if pages > 0 {
				f.keep = runnersKept
			}
		}
		return f, nil
	}
	if !v.who.Permits(v.tenant, domain.VerbRead, false, api.RunnerList.Group()) {
		f, err := read(v) // which says why not
		return f.what, err
	}
	as := 0
	if v.mayOnNode(api.RunnerList.Operation) {
		as = 1
	}
	return v.console.runners[as].get(v, read)
}

// checkUp asks what `ramet doctor` asks, as far as who looks may.
func (v *visit) checkUp(info api.Info) (doctor.Report, error) {
	told := doctor.Answers{Info: info, Contexts: []domain.Tenant{v.tenant}}
	runners, err := v.runners()
	switch {
	case err == nil:
		told.Runners = &api.RunnerPage{Runners: runners}
	case !errors.Is(err, domain.ErrForbidden): // a token may be narrowed to other nouns
		return doctor.Report{}, err
	}
	if told.Audit, err = v.unfinished(); err != nil {
		return doctor.Report{}, err
	}
	// The rest is not there on every node, and not for everybody to see.
	if circles, err := call(v, api.CircleList, api.ListCirclesParams{Context: v.tenant.ID}); err == nil {
		told.Circles = circles.Circles
	}
	for _, kind := range doctor.DeadKinds {
		if dead, err := call(v, api.DeadLetterList, api.ListDeadLettersParams{Context: v.tenant.ID, DeadLetterFilter: api.DeadLetterFilter{Kind: kind}}); err == nil {
			told.Add(dead)
		}
	}
	if list, err := call(v, api.ListenerList, api.ListenerListParams{Context: v.tenant.ID}); err == nil { // not on a node without streams
		told.Listeners = list.Listeners
	}
	if list, err := call(v, api.WebhookList, api.WebhookListParams{Context: v.tenant.ID}); err == nil {
		told.Webhooks = list.Webhooks
	}
	if page, err := call(v, api.ScheduleList, api.ScheduleListParams{Context: v.tenant.ID}); err == nil {
		told.Schedules = page.Schedules
	}
	if page, err := call(v, api.RoutineList, api.ListRoutinesParams{Context: v.tenant.ID}); err == nil {
		told.Routines = page.Routines
	}
	if list, err := call(v, api.SecretList, api.ListSecretsParams{Context: v.tenant.ID}); err == nil {
		told.Secrets = list.Secrets
	}
	if v.mayOnNode(api.PeerList.Operation) {
		if peers, err := call(v, api.PeerList, api.ListPeersParams{}); err == nil {
			told.Peers = peers.Peers
		}
	}
	if v.mayOnNode(api.NodeList.Operation) {
		if nodes, err := call(v, api.NodeList, api.ListNodesParams{}); err == nil {
			told.Nodes = nodes.Nodes
		}
	}
	found := doctor.Of(told, info.Version, v.now)
	// What is worst comes first.
	order := []string{doctor.Bad, doctor.Warning, doctor.OK}
	slices.SortStableFunc(found.Findings, func(x, y doctor.Finding) int { return slices.Index(order, x.State) - slices.Index(order, y.State) })
	return found, nil
}

// findingStates are how findings look.
var findingStates = map[string]state{doctor.OK: {"ok", succeeded}, doctor.Warning: {"warning", failed}, doctor.Bad: {"bad", errored}}

// sagaFinding begins the key of a finding that is about a saga as a whole.
const sagaFinding = "saga "

// sagaSentence says of a saga what an audit would: who is not there to serve it. Nil: nothing.
func (v *visit) sagaSentence(name string) (*sentence, error) {
	found, err := v.unfinished()
	if err != nil || found == nil {
		return nil, err
	}
	for _, f := range found.Lacking {
		if f.Key == sagaFinding+name {
			return &sentence{State: state{"waits", failed}, Text: upper(f.Text) + "."}, nil
		}
	}
	return nil, nil
}

// findingLink is where something of the board is shown, by its key; the page of health where
// it has none of its own.
func (v *visit) findingLink(key string) string {
	if name, ok := strings.CutPrefix(key, sagaFinding); ok {
		return v.sagaPath(name)
	}
	key, _, _ = strings.Cut(key, " ")
	if link := v.jobLink(key); link != "" {
		return link
	}
	if id, err := domain.ParseFlowKey(key); err == nil && strings.HasPrefix(key, "flow:") {
		return v.path("flows/%d", id)
	}
	return v.path("operate")
}
