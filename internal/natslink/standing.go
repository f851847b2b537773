package natslink

import (
	"context"
	"encoding/json"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/ramet-run/ramet/domain"
)

// WhoAmI is the subject at which a server says who one is, and what one may do.
const WhoAmI = "$SYS.REQ.USER.INFO"

// standingTime is how long it may take to say so.
const standingTime = 2 * time.Second

// Standing is what a server says of us.
type Standing struct {
	Account     string `json:"account"`
	Permissions *struct {
		Publish   *Allowed `json:"publish"`
		Subscribe *Allowed `json:"subscribe"`
	} `json:"permissions"`
}

// Allowed are subjects that one may use; none allowed is all that are not denied.
type Allowed struct {
	Allow []string `json:"allow"`
	Deny  []string `json:"deny"`
}

// Standing asks the server who we are to it.
//
// Errors: [domain.ErrUnavailable] where it does not say.
func (w *Wire) Standing(ctx context.Context) (Standing, error) {
	ctx, cancel := context.WithTimeout(ctx, standingTime)
	defer cancel()
	var said struct {
		Data Standing `json:"data"`
	}
	answer, err := w.Request(ctx, &nats.Msg{Subject: WhoAmI})
	if err == nil {
		err = json.Unmarshal(answer.Data, &said)
	}
	if err != nil {
		return Standing{}, domain.Unavailablef("the NATS server does not say which rights this node has: %s", Words(err))
	}
	return said.Data, nil
}
