package http

import (
	"errors"
	nethttp "net/http"
	"strconv"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/webhook"
)

// This file takes what programs outside send to webhooks. They have no token: the signature
// of what they send is their proof, so that it is read before anybody is known. All of them
// together are one caller, with that one's share of requests and bytes; one address has a
// quarter of it, so that nobody shuts out the others by beginning many and ending none.

// hookPath is where deliveries come in.
const hookPath = "/v1/hooks/{context}/{webhook}"

// hook takes a delivery. What is wrong in the address is answered as a wrong signature is.
func (d *Door) hook(rw nethttp.ResponseWriter, r *nethttp.Request) {
	w := rw.(*response)
	w.operation = "webhook.deliver"
	leave, err := d.enter(w, r, strangers, false)
	if err != nil {
		d.turnDeliveryAway(w, r, err)
		return
	}
	defer leave()
	body, err := w.readAll(r, domain.MaxWebhookBody)
	if err != nil {
		d.turnDeliveryAway(w, r, err)
		return
	}
	_ = nethttp.NewResponseController(w).SetReadDeadline(noDeadline)
	out, settle, err := d.api.Deliver(r.Context(), r.PathValue("context"), r.PathValue("webhook"), webhook.Delivery{Header: r.Header, Body: body})
	if err != nil {
		d.refuseDelivery(w, r, err)
	} else {
		d.writeJSON(w, r, nethttp.StatusAccepted, out)
	}
	// The sender has its answer before anything is written down: see [webhook.Store.Settle].
	_ = nethttp.NewResponseController(w).Flush()
	settle()
}

// turnDeliveryAway answers and counts a delivery that was not read.
func (d *Door) turnDeliveryAway(w *response, r *nethttp.Request, err error) {
	outcome := webhook.Cut
	switch {
	case errors.As(err, new(*bodyTooLarge)):
		outcome = webhook.TooLarge
	case errors.Is(err, domain.ErrExhausted):
		outcome = webhook.NoRoom
	}
	d.api.DeliveryTurnedAway(outcome)
	d.turnAway(w, r, err)
}

// strangers is the actor that all deliveries are counted as: nobody's number.
const strangers = domain.ActorID(0)

// refuseDelivery answers a delivery that started nothing. A wrong signature is noted as a wrong
// token is, but does not count against the address: senders such as GitHub call from the same
// for everybody, and whoever gave one a wrong secret would shut out the others.
func (d *Door) refuseDelivery(w *response, r *nethttp.Request, err error) {
	if errors.Is(err, domain.ErrUnauthenticated) {
		d.refused("from " + addressOf(r) + ": a delivery to a webhook: " + err.Error())
	}
	if often := (*webhook.TooOften)(nil); errors.As(err, &often) {
		w.Header().Set("Retry-After", strconv.Itoa(1+int(often.After.Seconds())))
	}
	d.fail(w, r, err)
}
