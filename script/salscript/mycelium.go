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

// sendMessage sends text to a public key (64 hex digits) or an address. With a
// deadline of more than 0 s it waits for a reply and gives that; #{id} when none came.
func (h *host) sendMessage(api, dst, topic, text string, deadline int64) (value.Value, error) {
	if len(topic) > maxTopicBytes {
		return value.Value{}, fmt.Errorf("mycelium: the topic has %d bytes; at most %d are allowed", len(topic), maxTopicBytes)
	}
	to := map[string]string{"ip": dst}
	if publicKey.MatchString(dst) {
		to = map[string]string{"pk": dst}
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

// receiveMessage takes the oldest message of a topic ("" for any), for which it
// waits so many seconds; () when none came. It asks anew each second, because a
// Mycelium node answers nobody else while one waits.
func (h *host) receiveMessage(api, topic string, wait int64) (value.Value, error) {
	query := ""
	if topic != "" {
		query = "&topic=" + url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(topic)))
	}
	for left := max(wait, 0); ; left-- {
		status, v, err := h.mycelium(http.MethodGet, api, "/messages?timeout="+strconv.FormatInt(min(left, 1), 10)+query, nil, time.Second)
		if err != nil || status != http.StatusNoContent || left <= 1 {
			return opened(v), err
		}
	}
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
