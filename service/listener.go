package service

import (
	"context"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// Listeners is what the operations need of the listeners of contexts.
type Listeners interface {
	Apply(ctx context.Context, tenant domain.TenantID, def domain.Listener, by domain.ActorID) (*domain.Listener, error)
	Show(ctx context.Context, tenant domain.TenantID, name string) (*domain.Listener, error)
	List(ctx context.Context, tenant domain.TenantID) ([]domain.Listener, error)
	Pause(ctx context.Context, tenant domain.TenantID, name string, paused bool) (*domain.Listener, error)
	Delete(ctx context.Context, tenant domain.TenantID, name string) (*domain.Listener, error)
	Behind(ctx context.Context, tenant domain.TenantID, l *domain.Listener) (uint64, error)
}

// mayListen asks for a right on a listener.
func (c Caller) mayListen(ctx context.Context, verb domain.Verb, tenant domain.TenantID, name string) (Listeners, error) {
	if _, err := c.may(ctx, verb, tenant, "listener:"+name); err != nil {
		return nil, err
	}
	if c.api.parts.Listeners == nil {
		return nil, c.noStreams()
	}
	return c.api.parts.Listeners, nil
}

// ApplyListener makes or changes a listener; its flows are in the caller's name.
func (c Caller) ApplyListener(ctx context.Context, p api.ListenerApplyParams) (api.Listener, error) {
	all, err := c.mayListen(ctx, domain.VerbCreate, p.Context, p.Name)
	if err == nil {
		err = p.Listener.Validate()
	}
	if err == nil {
		err = c.startFits(ctx, p.Context, p.Blueprint, p.Version, p.Params)
	}
	if err != nil {
		return api.Listener{}, err
	}
	return listenerView(makes(ctx, c, thingOf(p.Context, layout.Listener(p.Name), ""), func(ctx context.Context) (*domain.Listener, error) {
		return all.Apply(ctx, p.Context, p.Listener, c.who.Actor)
	}, func(ctx context.Context, _ made) (*domain.Listener, error) {
		return all.Show(ctx, p.Context, p.Name)
	}))
}

func listenerView(l *domain.Listener, err error) (api.Listener, error) {
	if err != nil {
		return api.Listener{}, err
	}
	return api.Listener{Listener: *l}, nil
}

// ListListeners lists those of a context.
func (c Caller) ListListeners(ctx context.Context, p api.ListenerListParams) (api.Listeners, error) {
	out := api.Listeners{Listeners: []api.Listener{}}
	all, err := c.mayListen(ctx, domain.VerbRead, p.Context, "")
	if err != nil {
		return out, err
	}
	list, err := all.List(ctx, p.Context)
	if err != nil {
		return out, err
	}
	lacks := c.listenerLacks(ctx, p.Context)
	for _, l := range list {
		out.Listeners = append(out.Listeners, api.Listener{Listener: l, Lacks: lacks(&l)})
	}
	return out, nil
}

// listenerLacks returns what says why a listener starts no flows now, as an audit does: nobody reads
// events, or no flow of its blueprint is made.
func (c Caller) listenerLacks(ctx context.Context, tenant domain.TenantID) func(*domain.Listener) string {
	away := c.api.streams.trouble(ctx, infoTime)
	if away != "" && !c.who.Operates(domain.VerbInspect, c.group) { // it may name a server
		away = "the streams take nothing now, and the operator is told why"
	}
	unserved, err := c.listenersUnserved(ctx, tenant)
	lacks := c.lacksOf(ctx, tenant)
	return func(l *domain.Listener) string {
		if away != "" {
			return "no event comes: " + away
		}
		if err == nil && len(unserved) > 0 && !l.Paused {
			return unserved[0].Text
		}
		return lacks(l.Blueprint, l.Version)
	}
}

// ShowListener reads one, and asks its stream how far it is.
func (c Caller) ShowListener(ctx context.Context, p api.ListenerParams) (api.Listener, error) {
	all, err := c.mayListen(ctx, domain.VerbRead, p.Context, p.Name)
	if err != nil {
		return api.Listener{}, err
	}
	out, err := listenerView(all.Show(ctx, p.Context, p.Name))
	if err == nil {
		out.Lacks = c.listenerLacks(ctx, p.Context)(&out.Listener)
		out.Behind, err = all.Behind(ctx, p.Context, &out.Listener)
	}
	return out, err
}

// DeleteListener removes one and returns it as it was.
func (c Caller) DeleteListener(ctx context.Context, p api.ListenerParams) (api.Listener, error) {
	all, err := c.mayListen(ctx, domain.VerbDelete, p.Context, p.Name)
	if err != nil {
		return api.Listener{}, err
	}
	return listenerView(all.Delete(ctx, p.Context, p.Name))
}

// PauseListener keeps one from taking events.
func (c Caller) PauseListener(ctx context.Context, p api.ListenerParams) (api.Listener, error) {
	return c.pauseListener(ctx, p, true)
}

// ResumeListener lets one go on.
func (c Caller) ResumeListener(ctx context.Context, p api.ListenerParams) (api.Listener, error) {
	return c.pauseListener(ctx, p, false)
}

func (c Caller) pauseListener(ctx context.Context, p api.ListenerParams, paused bool) (api.Listener, error) {
	all, err := c.mayListen(ctx, domain.VerbStart, p.Context, p.Name)
	if err != nil {
		return api.Listener{}, err
	}
	return listenerView(all.Pause(ctx, p.Context, p.Name, paused))
}
