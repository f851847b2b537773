package client

import (
	"cmp"
	"context"
	"errors"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// SendMessage sends a message in the caller's own name: to the peer of that
// name, or, where peer is "", to where the message says.
//
// Errors: [domain.ErrInvalid], [domain.ErrForbidden], [domain.ErrConflict] for
// an id in use with other content.
func (c *Client) SendMessage(ctx context.Context, tenant domain.TenantID, m domain.Message, peer string) (api.MessageSent, error) {
	return Call(ctx, c, api.MessageSend, api.SendParams{Context: tenant, Message: m, Peer: peer})
}

// Message reads one message.
//
// Errors: [domain.ErrNotFound].
func (c *Client) Message(ctx context.Context, tenant domain.TenantID, key domain.MessageKey) (api.MessageView, error) {
	return Call(ctx, c, api.MessageShow, messageParams(tenant, key))
}

// WaitMessage returns a message once it has ended; it takes the connection up
// again where that breaks.
//
// Errors: [domain.ErrNotFound], [domain.ErrUnavailable].
func (c *Client) WaitMessage(ctx context.Context, tenant domain.TenantID, key domain.MessageKey) (api.MessageView, error) {
	p := pauses{}
	for {
		out, err := Call(ctx, c, api.MessageWait, api.WaitMessageParams{MessageParams: messageParams(tenant, key)})
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
func (c *Client) ExplainMessage(ctx context.Context, tenant domain.TenantID, key domain.MessageKey) (domain.MessageExplanation, error) {
	return Call(ctx, c, api.MessageExplain, messageParams(tenant, key))
}

// Messages lists up to most messages, 0 is all, without their texts, jobs and logs.
func (c *Client) Messages(ctx context.Context, p api.ListMessagesParams, most int) ([]*api.MessageView, error) {
	p.Limit = min(most, 500)
	list := []*api.MessageView{}
	for {
		page, err := Call(ctx, c, api.MessageList, p)
		if err != nil {
			return nil, err
		}
		list = append(list, page.Messages...)
		if most > 0 && len(list) >= most {
			return list[:most], nil
		}
		if page.Next == "" || page.Next == p.Cursor {
			return list, nil
		}
		p.Cursor = page.Next
	}
}

// Inbox reads the caller's own inbox in a context, oldest first: up to limit
// messages (at most 200) after the first from.
func (c *Client) Inbox(ctx context.Context, tenant domain.TenantID, from, limit int) ([]*api.MessageView, error) {
	out, err := Call(ctx, c, api.InboxList, api.InboxParams{Context: tenant, From: from, Limit: limit})
	return out.Messages, err
}

// TakeMessage takes a message out of the caller's own inbox.
//
// Errors: [domain.ErrNotFound] where it is not in it.
func (c *Client) TakeMessage(ctx context.Context, tenant domain.TenantID, key domain.MessageKey) (api.MessageView, error) {
	return Call(ctx, c, api.InboxTake, api.TakeParams{Context: tenant, Key: key.String()})
}

func messageParams(tenant domain.TenantID, key domain.MessageKey) api.MessageParams {
	return api.MessageParams{Context: tenant, Caller: key.Caller, ID: key.ID}
}

// AddPeer makes another site known by its card, or changes what is known of it.
//
// Errors: [domain.ErrInvalid]; [domain.ErrConflict] for a node of this site or
// of another peer.
func (c *Client) AddPeer(ctx context.Context, p domain.Peer) (api.PeerView, error) {
	return Call(ctx, c, api.PeerAdd, api.AddPeerParams{Peer: p})
}

// RemovePeer forgets a site.
//
// Errors: [domain.ErrNotFound].
func (c *Client) RemovePeer(ctx context.Context, name string) error {
	_, err := Call(ctx, c, api.PeerRemove, api.PeerParams{Name: name})
	return err
}

// Peers lists the sites that are known, for the operator. Others name a context
// in which they may send messages; 0 is none.
//
// Errors: [domain.ErrForbidden].
func (c *Client) Peers(ctx context.Context, in domain.TenantID) ([]api.PeerView, error) {
	out, err := Call(ctx, c, api.PeerList, api.ListPeersParams{Context: in})
	return out.Peers, err
}

// OwnCard is what a NATS server of this site's own must know of its nodes: the
// card, with the link keys of streams.
func (c *Client) OwnCard(ctx context.Context) (domain.Peer, error) {
	return Call(ctx, c, api.PeerCard, api.CardParams{Own: true, Name: "here"})
}

// Card is what another site must know of this one. name is what it is to be
// called there; "": as the node is. For in see [Client.Peers].
func (c *Client) Card(ctx context.Context, name string, in domain.TenantID) (domain.Peer, error) {
	return Call(ctx, c, api.PeerCard, api.CardParams{Name: name, Context: in})
}
