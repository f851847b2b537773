package salscript

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ramet-run/ramet/rhai/value"
)

// This file speaks to a Mycelium node through its HTTP API. Answers come as
// maps with the API's own keys; payload and topic, which the API carries as
// base64, as text, or as a blob where they are none.
//
// Source: mycelium docs/api.yaml, and what its code does where that differs.

const (
	// myceliumTime bounds a call beside the time that it is told to wait.
	myceliumTime = 15 * time.Second
	// maxAnswerBytes bounds an answer.
	maxAnswerBytes = 16 << 20
	// maxTopicBytes is Mycelium's own limit.
	maxTopicBytes = 255
	// maxMyceliumWait bounds the seconds for which a script may wait.
	maxMyceliumWait = 24 * 60 * 60
	// The pauses between looks at the inbox.
	minMyceliumPause = 10 * time.Millisecond
	maxMyceliumPause = 250 * time.Millisecond
)

func (h *host) myceliumFunctions() []function {
	get := func(place string) func(string) (value.Value, error) {
		return func(api string) (value.Value, error) {
			_, v, err := h.mycelium(http.MethodGet, api, place, nil, 0)
			return v, err
		}
	}
	return []function{
		{"mycelium_get_node_info", get("/admin")}, {"mycelium_list_peers", get("/admin/peers")},
		{"mycelium_list_selected_routes", get("/admin/routes/selected")}, {"mycelium_list_fallback_routes", get("/admin/routes/fallback")},
		{"mycelium_add_peer", func(api, peer string) (bool, error) {
			_, _, err := h.mycelium(http.MethodPost, api, "/admin/peers", map[string]string{"endpoint": peer}, 0)
			return err == nil, err
		}},
		{"mycelium_remove_peer", func(api, peer string) (bool, error) {
			_, _, err := h.mycelium(http.MethodDelete, api, "/admin/peers/"+url.PathEscape(peer), nil, 0)
			return err == nil, err
		}},
		{"mycelium_send_message", h.sendMessage}, {"mycelium_receive_messages", h.receiveMessage},
	}
}

var publicKey = regexp.MustCompile(`^[0-9a-fA-F]{64}$`)

// sendMessage sends text to a public key (64 hex digits) or an IPv6 address. With
// a deadline of more than 0 s it waits for a reply and gives that; #{id} when
// none came.
func (h *host) sendMessage(api, dst, topic, text string, deadline int64) (value.Value, error) {
	if err := checkMessage(topic, deadline); err != nil {
		return value.Value{}, err
	}
	to := map[string]string{"pk": dst}
	if !publicKey.MatchString(dst) {
		// A node takes an IPv4 address too, and then never sends the message.
		if a, err := netip.ParseAddr(dst); err != nil || !a.Is6() || a.Zone() != "" {
			return value.Value{}, fmt.Errorf("mycelium: %q is neither a public key of 64 hex digits nor an IPv6 address", dst)
		}
		to = map[string]string{"ip": dst}
	}
	body := map[string]any{"dst": to, "payload": base64.StdEncoding.EncodeToString([]byte(text))}
	if topic != "" {
		body["topic"] = base64.StdEncoding.EncodeToString([]byte(topic))
	}
	place, wait := "/messages", time.Duration(0)
	if deadline > 0 {
		place, wait = place+"?reply_timeout="+strconv.FormatInt(deadline, 10), time.Duration(deadline)*time.Second
	}
	_, v, err := h.mycelium(http.MethodPost, api, place, body, wait)
	return opened(v), err
}

// receiveMessage takes the oldest message of a topic, "" for those that have
// none, and waits for it so many seconds; () when none came. There is no way to
// take just any message: all programs of a machine have one inbox, and what one
// takes the others never see.
//
// It looks again and again, because a Mycelium node answers nobody else while a
// call waits.
func (h *host) receiveMessage(api, topic string, wait int64) (value.Value, error) {
	if err := checkMessage(topic, wait); err != nil {
		return value.Value{}, err
	}
	place := "/messages?timeout=0&topic=" + url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(topic)))
	until := time.Now().Add(time.Duration(max(wait, 0)) * time.Second)
	for pause := minMyceliumPause; ; pause = min(2*pause, maxMyceliumPause) {
		status, v, err := h.mycelium(http.MethodGet, api, place, nil, 0)
		left := time.Until(until)
		if err != nil || status != http.StatusNoContent || left <= 0 {
			return opened(v), err
		}
		select {
		case <-time.After(min(pause, left)):
		case <-h.ctx.Done():
			return value.Value{}, fmt.Errorf("mycelium: %w", h.ctx.Err())
		}
	}
}

// checkMessage checks what both sending and receiving are given.
func checkMessage(topic string, seconds int64) error {
	switch {
	case len(topic) > maxTopicBytes:
		return fmt.Errorf("mycelium: the topic has %d bytes; at most %d are allowed", len(topic), maxTopicBytes)
	case seconds > maxMyceliumWait:
		return fmt.Errorf("mycelium: %d s are too long to wait; at most %d are allowed", seconds, maxMyceliumWait)
	}
	return nil
}

// mycelium makes one call. An answer without a body is ().
func (h *host) mycelium(method, api, place string, body any, wait time.Duration) (int, value.Value, error) {
	if err := webAddress(api); err != nil {
		return 0, value.Value{}, fmt.Errorf("mycelium: %w", err)
	}
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return 0, value.Value{}, err
		}
		content = bytes.NewReader(text)
	}
	ctx, cancel := context.WithTimeout(h.ctx, wait+myceliumTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(api, "/")+"/api/v1"+place, content)
	if err != nil {
		return 0, value.Value{}, errors.New("mycelium: the address cannot be used")
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, value.Value{}, fmt.Errorf("mycelium: %w", bare(err))
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes+1))
	switch {
	case err != nil:
		return 0, value.Value{}, fmt.Errorf("mycelium: %w", err)
	case len(text) > maxAnswerBytes:
		return 0, value.Value{}, fmt.Errorf("mycelium: the answer has more than %d bytes", maxAnswerBytes)
	case resp.StatusCode/100 != 2 && resp.StatusCode != http.StatusRequestTimeout: // 408: sent, no reply yet
		return 0, value.Value{}, fmt.Errorf("mycelium: %s%s", resp.Status, remark(string(text)))
	case len(bytes.TrimSpace(text)) == 0:
		return resp.StatusCode, value.Unit, nil
	}
	v, err := value.ReadJSON(string(text))
	if err != nil {
		return 0, value.Value{}, fmt.Errorf("mycelium: the answer is no JSON: %w", err)
	}
	return resp.StatusCode, v, nil
}

// opened decodes payload and topic of a message.
func opened(v value.Value) value.Value {
	if !v.Is(value.MapKind) {
		return v
	}
	for _, key := range []string{"payload", "topic"} {
		coded := v.AsMap().Get(key)
		if !coded.Is(value.StringKind) {
			continue
		}
		if raw, err := base64.StdEncoding.DecodeString(coded.AsString()); err == nil {
			plain := value.NewBlob(raw)
			if utf8.Valid(raw) {
				plain = value.Str(string(raw))
			}
			v.AsMap().Set(key, plain)
		}
	}
	return v
}
