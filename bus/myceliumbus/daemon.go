package myceliumbus

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/ramet-run/ramet/bus"
	"github.com/ramet-run/ramet/domain"
)

const (
	// callTime bounds a call. While any program waits for a message, the daemon
	// answers nobody else, so a call may take as long as that.
	callTime = 15 * time.Second
	// maxAnswer bounds an answer: a parcel in base64, and what stands around it.
	maxAnswer = bus.MaxParcel/3*4 + 4<<10
)

// daemon is the HTTP API of a Mycelium daemon.
//
// Source: mycelium docs/api.yaml, and its code where that differs.
type daemon struct {
	api    string // http://127.0.0.1:8989
	topic  []byte
	next   string // path and query of the next message
	client *http.Client
}

func newDaemon(api *url.URL, topic string) *daemon {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil // what is between us and the daemon can send as this node
	transport.MaxIdleConnsPerHost = 8
	return &daemon{
		api: api.String(), topic: []byte(topic),
		// timeout=0: see poll.go.
		next: "/api/v1/messages?timeout=0&topic=" + url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(topic))),
		client: &http.Client{Transport: transport, Timeout: callTime, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}},
	}
}

func (d *daemon) close() { d.client.CloseIdleConnections() }

// key asks for the daemon's public key.
func (d *daemon) key(ctx context.Context) (string, error) {
	var info struct {
		Pubkey string `json:"nodePubkey"`
	}
	status, err := d.call(ctx, http.MethodGet, "/api/v1/admin", nil, &info)
	if err == nil && (status != http.StatusOK || !isKey(info.Pubkey)) {
		err = d.strange(status)
	}
	return info.Pubkey, err
}

// push queues a parcel for the daemon with a key and returns its id.
func (d *daemon) push(ctx context.Context, to string, body []byte) (string, error) {
	type destination struct {
		PK string `json:"pk"`
	}
	text, err := json.Marshal(struct { // []byte is base64 as the daemon wants it
		Dst     destination `json:"dst"`
		Topic   []byte      `json:"topic"`
		Payload []byte      `json:"payload"`
	}{destination{to}, d.topic, body})
	if err != nil {
		return "", fmt.Errorf("encode parcel: %w", err)
	}
	var made struct {
		ID string `json:"id"`
	}
	status, err := d.call(ctx, http.MethodPost, "/api/v1/messages", text, &made)
	if err == nil && (status != http.StatusCreated || !isID(made.ID)) {
		err = d.strange(status)
	}
	return made.ID, err
}

// message is one as the daemon gives it.
type message struct {
	From    string `json:"srcPk"`
	Payload []byte `json:"payload"`
}

// pop takes the oldest message of the topic; false when there is none. One that
// is too large for a parcel is taken too, and comes without a payload.
func (d *daemon) pop(ctx context.Context) (message, bool, error) {
	var l message
	status, err := d.call(ctx, http.MethodGet, d.next, nil, &l)
	switch {
	case errors.Is(err, errTooLong):
		return message{}, true, nil
	case err != nil:
		return message{}, false, err
	case status == http.StatusNoContent:
		return message{}, false, nil
	case status != http.StatusOK:
		return message{}, false, d.strange(status)
	}
	return l, true, nil
}

// pending reports whether a message of ours waits for its receiver's daemon to
// answer at all.
func (d *daemon) pending(ctx context.Context, id string) (bool, error) {
	var info struct {
		// State is a word, or an object while chunks are on their way.
		State json.RawMessage `json:"state"`
	}
	status, err := d.call(ctx, http.MethodGet, "/api/v1/messages/status/"+id, nil, &info)
	return status == http.StatusOK && string(info.State) == `"pending"`, err
}

var errTooLong = domain.Unavailablef("mycelium daemon: answer is too long")

// call makes one call. Answers in JSON go into result.
//
// Errors: the context's own; [domain.ErrUnavailable], errTooLong among them.
func (d *daemon) call(ctx context.Context, method, path string, body []byte, result any) (int, error) {
	req, err := http.NewRequestWithContext(ctx, method, d.api+path, bytes.NewReader(body))
	if err != nil {
		return 0, domain.Unavailablef("mycelium daemon at %s: %v", d.api, err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := d.client.Do(req)
	if err != nil {
		return 0, d.failed(ctx, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return 0, d.failed(ctx, err)
	case len(text) > maxAnswer:
		return 0, errTooLong
	case resp.StatusCode/100 != 2 || len(text) == 0:
		return resp.StatusCode, nil
	}
	if err := json.Unmarshal(text, result); err != nil {
		return 0, domain.Unavailablef("mycelium daemon at %s: answer is not its JSON", d.api)
	}
	return resp.StatusCode, nil
}

func (d *daemon) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return domain.Unavailablef("mycelium daemon at %s: %v", d.api, bare(err))
}

// strange is for answers that no Mycelium daemon gives to what we ask: something
// else is there, or between us.
func (d *daemon) strange(status int) error {
	return domain.Unavailablef("mycelium daemon at %s: unexpected answer %d %s", d.api, status, http.StatusText(status))
}
