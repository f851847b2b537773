package identity

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"slices"
	"strings"
)

// This file judges a token's text before anybody believes a word of it: what two
// readers could read in two ways is refused.

// headerNames and claimNames are the names that mean something here; another
// case of one of them would be taken for it by Go's reader of JSON.
var (
	headerNames = []string{"alg", "typ", "crit"}
	claimNames  = []string{"iss", "sub", "aud", "exp", "nbf", "iat", "jti", "ramet"}
)

// checkTokenText refuses a token whose header or claims have a name twice, and
// one whose header asks for what this node does not know.
func checkTokenText(token string) error {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return errTokenForm
	}
	header, err := decodePart(parts[0], headerNames)
	if err != nil {
		return err
	}
	if _, err := decodePart(parts[1], claimNames); err != nil {
		return err
	}
	var h struct {
		Typ  any
		Crit json.RawMessage
	}
	if json.Unmarshal(header, &h) != nil {
		return errTokenForm
	}
	typ, text := h.Typ.(string)
	// Source: RFC 7515, 4.1.11: who does not understand what is critical refuses.
	if h.Crit != nil || h.Typ != nil && !(text && strings.EqualFold(typ, "JWT")) {
		return errTokenCrit
	}
	return nil
}

func decodePart(part string, known []string) ([]byte, error) {
	text, err := base64.RawURLEncoding.Strict().DecodeString(part)
	if err != nil {
		return nil, errTokenForm
	}
	return text, checkNames(text, known)
}

// maxTokenDepth bounds how deep a token's JSON is nested.
const maxTokenDepth = 8

// checkNames reads an object and refuses one that has a name twice, at any depth
// and in whatever case, or one of the known names in another case.
func checkNames(text []byte, known []string) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	first, err := dec.Token()
	if err != nil || first != json.Delim('{') {
		return errTokenForm
	}
	if err := checkObject(dec, known, 1); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return errTokenForm
	}
	return nil
}

// checkObject reads on behind a '{'.
func checkObject(dec *json.Decoder, known []string, depth int) error {
	var names []string
	for dec.More() {
		t, err := dec.Token()
		name, ok := t.(string)
		if err != nil || !ok {
			return errTokenForm
		}
		same := func(other string) bool { return strings.EqualFold(name, other) }
		if slices.ContainsFunc(names, same) || !slices.Contains(known, name) && slices.ContainsFunc(known, same) {
			return errTokenTwice
		}
		names = append(names, name)
		if err := checkValue(dec, depth); err != nil {
			return err
		}
	}
	return endOf(dec)
}

func checkValue(dec *json.Decoder, depth int) error {
	t, err := dec.Token()
	if err != nil || depth >= maxTokenDepth {
		return errTokenForm
	}
	switch t {
	case json.Delim('{'):
		return checkObject(dec, nil, depth+1)
	case json.Delim('['):
		for dec.More() {
			if err := checkValue(dec, depth+1); err != nil {
				return err
			}
		}
		return endOf(dec)
	}
	return nil
}

// endOf reads the bracket that ends an object or a list.
func endOf(dec *json.Decoder) error {
	if _, err := dec.Token(); err != nil {
		return errTokenForm
	}
	return nil
}
