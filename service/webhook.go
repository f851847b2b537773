package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/webhook"
	"github.com/ramet-run/ramet/work"
)

// Webhooks is what the operations need of the webhooks of contexts.
type Webhooks interface {
	Create(ctx context.Context, tenant domain.TenantID, def domain.Webhook, secret string, by domain.ActorID) (*domain.Webhook, string, error)
	Update(ctx context.Context, tenant domain.TenantID, def domain.Webhook, by domain.ActorID) (*domain.Webhook, error)
	Rotate(ctx context.Context, tenant domain.TenantID, name, secret string, keep time.Duration) (*domain.Webhook, string, error)
	Show(ctx context.Context, tenant domain.TenantID, name string) (*domain.Webhook, error)
	Secret(ctx context.Context, tenant domain.TenantID, name, rotated string) (*domain.Webhook, string, error)
	List(ctx context.Context, tenant domain.TenantID) ([]domain.Webhook, error)
	Opens(ctx context.Context, tenant domain.TenantID, name string) error
	Delete(ctx context.Context, tenant domain.TenantID, name string) (*domain.Webhook, error)
	Receive(ctx context.Context, tenant domain.TenantID, name string, d webhook.Delivery) (webhook.Asked, error)
	Settle(ctx context.Context, tenant domain.TenantID, a webhook.Asked, err error)
	TurnedAway(outcome string)
}

// deliverTries is how often a delivery is looked at anew because its webhook was changed
// right then.
const deliverTries = 3

// mayWebhook asks for a right on a webhook.
func (c Caller) mayWebhook(ctx context.Context, verb domain.Verb, tenant domain.TenantID, name string) (Webhooks, error) {
	if _, err := c.may(ctx, verb, tenant, "webhook:"+name); err != nil {
		return nil, err
	}
	if c.api.parts.Webhooks == nil {
		return nil, domain.Unavailablef("this node has no webhooks")
	}
	return c.api.parts.Webhooks, nil
}

// webhookView is a webhook as callers get it.
func (c Caller) webhookView(tenant domain.TenantID, w *domain.Webhook, err error) (api.Webhook, error) {
	if err != nil {
		return api.Webhook{}, err
	}
	out := api.Webhook{Webhook: *w, Path: w.Path(tenant)}
	if base := c.api.parts.PublicURL; base != "" {
		out.URL = base + out.Path
	}
	return out, nil
}

// webhookLook is a webhook as those get it who look at it: with whether its secret can be
// opened here.
func (c Caller) webhookLook(ctx context.Context, tenant domain.TenantID, w *domain.Webhook, err error) (api.Webhook, error) {
	out, err := c.webhookView(tenant, w, err)
	if err != nil {
		return out, err
	}
	switch err := c.api.parts.Webhooks.Opens(ctx, tenant, w.Name); {
	case errors.Is(err, domain.ErrConflict), errors.Is(err, domain.ErrInvalid):
		out.Locked = err.Error()
	}
	return out, nil
}

// startFits asks whether there is a blueprint that takes params of these names, and that the
// caller may make flows of.
func (c Caller) startFits(ctx context.Context, tenant domain.TenantID, name string, version int, params map[string]string) error {
	if err := c.mayMake(ctx, tenant, flow.Request{Blueprint: name, Version: version}); err != nil {
		return err
	}
	stored, err := c.api.parts.Blueprints.Get(ctx, tenant, name, version)
	if err != nil {
		return err
	}
	return blueprint.TakesNames(&stored.Blueprint, params)
}

// CreateWebhook makes a webhook; its flows are in the caller's name.
func (c Caller) CreateWebhook(ctx context.Context, p api.WebhookCreateParams) (api.WebhookMade, error) {
	hooks, err := c.mayWebhook(ctx, domain.VerbGrant, p.Context, p.Name)
	if err == nil {
		err = p.Webhook.Validate()
	}
	if err == nil {
		err = c.startFits(ctx, p.Context, p.Blueprint, p.Version, p.Params)
	}
	if err != nil {
		return api.WebhookMade{}, err
	}
	return c.makesWebhook(ctx, p.Context, p.Name, p.Secret, func(ctx context.Context) (*domain.Webhook, string, error) {
		return hooks.Create(ctx, p.Context, p.Webhook, p.Secret, c.who.Actor)
	})
}

// makesWebhook makes a webhook, or another secret of one. It answers with the secret where whoever asks
// has not given it; done before, while it is that of the webhook.
func (c Caller) makesWebhook(ctx context.Context, tenant domain.TenantID, name, given string,
	do func(ctx context.Context) (*domain.Webhook, string, error)) (api.WebhookMade, error) {
	answer := func(w *domain.Webhook, secret string, err error) (api.WebhookMade, error) {
		if given != "" {
			secret = ""
		}
		view, err := c.webhookView(tenant, w, err)
		return api.WebhookMade{Webhook: view, Secret: secret}, err
	}
	return makes(ctx, c, thingOf(tenant, layout.Webhook(name), layout.WebhookRotatedMs), func(ctx context.Context) (api.WebhookMade, error) {
		return answer(do(ctx))
	}, func(ctx context.Context, was made) (api.WebhookMade, error) {
		out, err := answer(c.api.parts.Webhooks.Secret(ctx, tenant, name, was.value))
		if err == nil && given == "" && out.Secret == "" {
			out.Rotated = fmt.Sprintf("the secret of then was rotated since, and is told no more; `ramet webhook rotate %s` makes another", name)
		}
		return out, err
	})
}

// UpdateWebhook changes a webhook.
func (c Caller) UpdateWebhook(ctx context.Context, p api.WebhookUpdateParams) (api.Webhook, error) {
	hooks, err := c.mayWebhook(ctx, domain.VerbGrant, p.Context, p.Name)
	if err != nil {
		return api.Webhook{}, err
	}
	w, err := hooks.Show(ctx, p.Context, p.Name)
	if err != nil {
		return api.Webhook{}, err
	}
	w.Summary, w.Blueprint, w.Version, w.When, w.Params = p.Summary, p.Blueprint, p.Version, p.When, p.Params
	w.PerMinute, w.Paused = p.PerMinute, p.Paused
	if err = w.Validate(); err == nil {
		err = c.startFits(ctx, p.Context, p.Blueprint, p.Version, p.Params)
	}
	if err != nil {
		return api.Webhook{}, err
	}
	w, err = hooks.Update(ctx, p.Context, *w, c.who.Actor)
	return c.webhookView(p.Context, w, err)
}

// ListWebhooks lists those of a context.
func (c Caller) ListWebhooks(ctx context.Context, p api.WebhookListParams) (api.Webhooks, error) {
	out := api.Webhooks{Webhooks: []api.Webhook{}}
	hooks, err := c.mayWebhook(ctx, domain.VerbRead, p.Context, "")
	if err != nil {
		return out, err
	}
	list, err := hooks.List(ctx, p.Context)
	if err != nil {
		return out, err
	}
	lacks := c.lacksOf(ctx, p.Context)
	for i := range list {
		view, _ := c.webhookLook(ctx, p.Context, &list[i], nil)
		view.Lacks = lacks(list[i].Blueprint, list[i].Version)
		out.Webhooks = append(out.Webhooks, view)
	}
	return out, nil
}

// ShowWebhook reads one.
func (c Caller) ShowWebhook(ctx context.Context, p api.WebhookParams) (api.Webhook, error) {
	hooks, err := c.mayWebhook(ctx, domain.VerbRead, p.Context, p.Name)
	if err != nil {
		return api.Webhook{}, err
	}
	w, err := hooks.Show(ctx, p.Context, p.Name)
	out, err := c.webhookLook(ctx, p.Context, w, err)
	if err == nil {
		out.Lacks = c.lacksOf(ctx, p.Context)(w.Blueprint, w.Version)
	}
	return out, err
}

// DeleteWebhook removes one and returns it as it was.
func (c Caller) DeleteWebhook(ctx context.Context, p api.WebhookParams) (api.Webhook, error) {
	hooks, err := c.mayWebhook(ctx, domain.VerbGrant, p.Context, p.Name)
	if err != nil {
		return api.Webhook{}, err
	}
	w, err := hooks.Delete(ctx, p.Context, p.Name)
	return c.webhookView(p.Context, w, err)
}

// RotateWebhook gives one another secret.
func (c Caller) RotateWebhook(ctx context.Context, p api.WebhookRotateParams) (api.WebhookMade, error) {
	hooks, err := c.mayWebhook(ctx, domain.VerbGrant, p.Context, p.Name)
	if err != nil {
		return api.WebhookMade{}, err
	}
	keep := domain.DefaultWebhookKeep
	if p.Keep != nil {
		keep = *p.Keep
	}
	return c.makesWebhook(ctx, p.Context, p.Name, p.Secret, func(ctx context.Context) (*domain.Webhook, string, error) {
		return hooks.Rotate(ctx, p.Context, p.Name, p.Secret, keep.Time())
	})
}

// Deliver takes what a program outside sends to a webhook. It has no token: its signature is
// what lets it in, and from there on it is done in the name of who made the webhook. settle
// is to be called once the answer is sent. home is the number or the alias of the context.
//
// Errors: [domain.ErrUnauthenticated] for whoever cannot prove to have the secret, whatever it is that
// there is not; others are told what is the matter.
func (s *Service) Deliver(ctx context.Context, home, name string, d webhook.Delivery) (out api.Delivered, settle func(), err error) {
	if s.parts.Webhooks == nil {
		return out, func() {}, domain.Unavailablef("this node has no webhooks")
	}
	tenant, err := s.hookedIn(ctx, home)
	if err != nil {
		return out, func() {}, err
	}
	var a webhook.Asked
	for range deliverTries {
		if a, err = s.parts.Webhooks.Receive(ctx, tenant, name, d); err != nil || a.Request == nil {
			break
		}
		if out, err = s.deliver(ctx, tenant, a); !errors.Is(err, domain.ErrConflict) || !s.changed(ctx, tenant, a) {
			break
		}
	}
	a.Existing, out.Ignored = out.Existing, err == nil && a.Request == nil
	return out, func() { s.parts.Webhooks.Settle(context.WithoutCancel(ctx), tenant, a, err) }, err
}

// hookedIn is the context that the address of a delivery names by its number or its alias; 0 where there
// is none, which has no webhooks: the sender is told of it what he is told of a wrong signature.
func (s *Service) hookedIn(ctx context.Context, home string) (domain.TenantID, error) {
	tenant, err := s.parts.Directory.TenantByName(ctx, home)
	if home == "" || errors.Is(err, domain.ErrNotFound) || errors.Is(err, domain.ErrInvalid) {
		return 0, nil
	}
	return tenant, err
}

// DeliveryTurnedAway counts a delivery that a door has refused before it was read, by one of
// [webhook.Outcomes].
func (s *Service) DeliveryTurnedAway(outcome string) {
	if s.parts.Webhooks != nil {
		s.parts.Webhooks.TurnedAway(outcome)
	}
}

// changed reports whether a webhook is another than it was for a delivery.
func (s *Service) changed(ctx context.Context, tenant domain.TenantID, a webhook.Asked) bool {
	now, err := s.parts.Webhooks.Show(ctx, tenant, a.Webhook.Name)
	return err != nil || now.State.Revision != a.Webhook.State.Revision
}

// deliver makes the flow of a delivery that was let in.
func (s *Service) deliver(ctx context.Context, tenant domain.TenantID, a webhook.Asked) (api.Delivered, error) {
	w, c := a.Webhook, s.As(a.Webhook.CallerID)
	err := c.maySubmit(ctx, tenant, "webhook:"+w.Name)
	if errors.Is(err, domain.ErrForbidden) {
		return api.Delivered{}, fmt.Errorf("webhook %q makes flows for actor %d: %w", w.Name, w.CallerID, err)
	} else if err != nil {
		return api.Delivered{}, err
	}
	r := *a.Request
	r.TraceID = TraceID(ctx)
	began := time.Now()
	receipts, err := s.parts.Flows.Submit(ctx, tenant, []flow.Request{r})
	if err == nil {
		err = receipts[0].Err
	}
	// The address and what is sent are right: what it starts is gone, or nobody has made known who runs it.
	if errors.Is(err, domain.ErrNotFound) || errors.As(err, new(*work.UnknownTypeError)) {
		err = domain.Conflictf("webhook %q can start nothing: %v", w.Name, err)
	}
	if err != nil {
		return api.Delivered{}, err
	}
	got := receipts[0]
	if !got.Existing {
		c.asked(ctx, tenant, began, domain.FlowKey(got.ID))
	}
	return api.Delivered{Flow: domain.FlowKey(got.ID), Existing: got.Existing}, nil
}
