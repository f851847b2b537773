package client

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/post"
)

// SendMessage sends a message in the caller's own name: to the peer of that
// name, or, where peer is "", to where the message says.
//
// Errors: [domain.ErrInvalid], [domain.ErrForbidden], [domain.ErrConflict] for
// an id in use with other content.
func (c *Client) SendMessage(ctx context.Context, tenant domain.TenantID, m domain.Message, peer string) (api.MessageSent, error) {
	var out api.MessageSent
	err := c.call(ctx, http.MethodPost, contextPath(tenant)+"/messages", nil, api.SendParams{Message: m, Peer: peer}, &out)
	return out, err
}

// SendJobs is [Client.SendMessage] for jobs whose ids only say which depends on
// which: each is given a free one.
//
// Errors: as SendMessage.
func (c *Client) SendJobs(ctx context.Context, tenant domain.TenantID, m domain.Message, peer string) (api.MessageSent, error) {
	var out api.MessageSent
	err := c.call(ctx, http.MethodPost, contextPath(tenant)+"/messages", nil, api.SendParams{Message: m, Peer: peer, NumberJobs: true}, &out)
	return out, err
}

// Message reads one message.
//
// Errors: [domain.ErrNotFound].
func (c *Client) Message(ctx context.Context, tenant domain.TenantID, key domain.MessageKey) (api.MessageView, error) {
	var out api.MessageView
	err := c.call(ctx, http.MethodGet, messagePath(tenant, key), nil, nil, &out)
	return out, err
}

// WaitMessage returns a message once it has ended; it takes the connection up
// again where that breaks.
//
// Errors: [domain.ErrNotFound], [domain.ErrUnavailable].
func (c *Client) WaitMessage(ctx context.Context, tenant domain.TenantID, key domain.MessageKey) (api.MessageView, error) {
	p := pauses{}
	for {
		var out api.MessageView
		err := c.call(ctx, http.MethodGet, messagePath(tenant, key)+"/wait", nil, nil, &out)
		switch {
		case err == nil && out.Final():
			return out, nil
		case err == nil:
			p = pauses{met: true}
		case !errors.Is(err, domain.ErrUnavailable):
			return out, err
		}
		if !p.next(ctx) {
			return out, cmp.Or(ctx.Err(), err)
		}
	}
}

// ExplainMessage says where a message is, and what moves it on.
func (c *Client) ExplainMessage(ctx context.Context, tenant domain.TenantID, key domain.MessageKey) (post.Explanation, error) {
	var out post.Explanation
	err := c.call(ctx, http.MethodGet, messagePath(tenant, key)+"/explain", nil, nil, &out)
	return out, err
}

// MessageFilter says which messages to list; empty fields do not filter.
type MessageFilter struct {
	Status domain.MessageStatus
	Type   domain.MessageType
	Caller domain.ActorID
	Box    string // "sent" or "received"
	Most   int    // 0: all
}

// Messages lists messages, without their texts, jobs and logs.
func (c *Client) Messages(ctx context.Context, tenant domain.TenantID, f MessageFilter) ([]*api.MessageView, error) {
	q := url.Values{}
	for name, v := range map[string]string{"status": string(f.Status), "type": string(f.Type), "box": f.Box} {
		if v != "" {
			q.Set(name, v)
		}
	}
	if f.Caller != 0 {
		q.Set("caller", id(f.Caller))
	}
	list := []*api.MessageView{}
	for {
		var page api.MessageList
		if err := c.call(ctx, http.MethodGet, contextPath(tenant)+"/messages", q, nil, &page); err != nil {
			return nil, err
		}
		list = append(list, page.Messages...)
		if f.Most > 0 && len(list) >= f.Most {
			return list[:f.Most], nil
		}
		if page.Next == "" || page.Next == q.Get("cursor") {
			return list, nil
		}
		q.Set("cursor", page.Next)
	}
}

// Inbox reads the caller's own inbox in a context, oldest first: up to limit
// messages (at most 200) after the first from.
func (c *Client) Inbox(ctx context.Context, tenant domain.TenantID, from, limit int) ([]*api.MessageView, error) {
	q := url.Values{"from": {strconv.Itoa(from)}, "limit": {strconv.Itoa(limit)}}
	var out api.MessageList
	err := c.call(ctx, http.MethodGet, contextPath(tenant)+"/inbox", q, nil, &out)
	return out.Messages, err
}

// TakeMessage takes a message out of the caller's own inbox.
//
// Errors: [domain.ErrNotFound] where it is not in it.
func (c *Client) TakeMessage(ctx context.Context, tenant domain.TenantID, key domain.MessageKey) (api.MessageView, error) {
	var out api.MessageView
	err := c.call(ctx, http.MethodPost, contextPath(tenant)+"/inbox/take", nil, map[string]string{"key": key.String()}, &out)
	return out, err
}

func messagePath(tenant domain.TenantID, key domain.MessageKey) string {
	return contextPath(tenant) + "/messages/" + id(key.Caller) + "/" + id(key.ID)
}

// AddPeer makes another site known by its card, or changes what is known of it.
//
// Errors: [domain.ErrInvalid]; [domain.ErrConflict] for a node of this site or
// of another peer.
func (c *Client) AddPeer(ctx context.Context, p domain.Peer) (api.PeerView, error) {
	var out api.PeerView
	err := c.call(ctx, http.MethodPost, "/v1/peers", nil, p, &out)
	return out, err
}

// RemovePeer forgets a site.
//
// Errors: [domain.ErrNotFound].
func (c *Client) RemovePeer(ctx context.Context, name string) error {
	return c.call(ctx, http.MethodDelete, "/v1/peers/"+url.PathEscape(name), nil, nil, nil)
}

// Peers lists the sites that are known, for the operator. Others name a context
// in which they may send messages; 0 is none.
//
// Errors: [domain.ErrForbidden].
func (c *Client) Peers(ctx context.Context, in domain.TenantID) ([]api.PeerView, error) {
	var out api.PeerList
	err := c.call(ctx, http.MethodGet, "/v1/peers", inContext(in), nil, &out)
	return out.Peers, err
}

// OwnCard is what a NATS server of this site's own must know of its nodes: the
// card, with the link keys of streams.
func (c *Client) OwnCard(ctx context.Context) (domain.Peer, error) {
	var out domain.Peer
	err := c.call(ctx, http.MethodGet, "/v1/card", url.Values{"own": {"true"}, "name": {"here"}}, nil, &out)
	return out, err
}

// Card is what another site must know of this one. name is what it is to be
// called there; "": as the node is. For in see [Client.Peers].
func (c *Client) Card(ctx context.Context, name string, in domain.TenantID) (domain.Peer, error) {
	q := inContext(in)
	if name != "" {
		q.Set("name", name)
	}
	var out domain.Peer
	err := c.call(ctx, http.MethodGet, "/v1/card", q, nil, &out)
	return out, err
}
