package myceliumtest

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/netip"
	"strings"

	"github.com/ramet-run/ramet/identity"
)

// This file reads what clients send as strictly as the real daemon, whose
// reader tells text that is no JSON (400) from JSON of another shape (422).

var errSyntax = errors.New("no JSON")

// shapeError is JSON of another shape.
type shapeError string

func (e shapeError) Error() string { return string(e) }

// decodeOutgoing reads {"dst": {"pk": …}, "topic": …, "payload": …}; what it
// does not know it passes over.
func decodeOutgoing(text []byte) (outgoing, error) {
	var m outgoing
	if !json.Valid(text) {
		return m, errSyntax
	}
	var body map[string]json.RawMessage
	if json.Unmarshal(text, &body) != nil || body == nil {
		return m, shapeError("invalid type, expected struct MessageSendInfo")
	}
	var err error
	if m.dst, err = decodeDestination(body["dst"]); err != nil {
		return m, err
	}
	if topic := body["topic"]; topic != nil && string(topic) != "null" {
		if m.topic, err = decodeBytes("topic", topic); err != nil {
			return m, err
		}
	}
	m.payload, err = decodeBytes("payload", body["payload"])
	return m, err
}

// decodeDestination reads {"ip": …} or {"pk": …}. One key too many or too few
// is a matter of syntax to the real reader.
func decodeDestination(text json.RawMessage) (netip.Addr, error) {
	if text == nil {
		return netip.Addr{}, shapeError("missing field `dst`")
	}
	var dst map[string]json.RawMessage
	if json.Unmarshal(text, &dst) != nil || dst == nil {
		return netip.Addr{}, shapeError("dst: invalid type, expected enum MessageDestination")
	}
	if len(dst) != 1 {
		return netip.Addr{}, errSyntax
	}
	for kind, val := range dst {
		var s string
		if json.Unmarshal(val, &s) != nil || string(val) == "null" {
			return netip.Addr{}, shapeError("dst: invalid type, expected a string")
		}
		switch kind {
		case "ip":
			if a, ok := parseIP(s); ok {
				return a, nil
			}
			return netip.Addr{}, shapeError("dst.ip: invalid IP address syntax")
		case "pk":
			if a, err := identity.MyceliumAddress(s); err == nil {
				return a, nil
			}
			return netip.Addr{}, shapeError("dst.pk: Public key is 64 characters long")
		}
	}
	return netip.Addr{}, shapeError("dst: unknown variant, expected `ip` or `pk`")
}

func decodeBytes(field string, text json.RawMessage) ([]byte, error) {
	if text == nil {
		return nil, shapeError("missing field `" + field + "`")
	}
	var s string
	if json.Unmarshal(text, &s) != nil || string(text) == "null" {
		return nil, shapeError(field + ": invalid type, expected a string")
	}
	raw, ok := decodeBase64(s)
	if !ok {
		return nil, shapeError(field + ": invalid base64")
	}
	return raw, nil
}

// decodeBase64 takes the standard alphabet with padding, and nothing around it.
func decodeBase64(s string) ([]byte, bool) {
	if strings.ContainsAny(s, "\r\n") { // Go's decoder passes over them
		return nil, false
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(s)
	return raw, err == nil
}

// parseIP takes addresses of both families, without a zone.
func parseIP(s string) (netip.Addr, bool) {
	a, err := netip.ParseAddr(s)
	return a, err == nil && a.Zone() == ""
}

// parseID reads the id of a message: 16 hex digits.
func parseID(s string) (string, bool) {
	raw, err := hex.DecodeString(s)
	return strings.ToLower(s), err == nil && len(raw) == 8
}
