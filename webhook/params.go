package webhook

import (
	"context"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ramet-run/ramet/condition"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/start"
	"github.com/ramet-run/ramet/rhai/value"
)

// names are those that a webhook's expressions have: the body, the headers by their names in
// lower case, and the delivery's id.
var names = []string{"body", "headers", "id"}

// values are those of the names.
func values(d Delivery, id string) ([]value.Value, error) {
	body, err := bodyOf(d)
	return []value.Value{body, headersOf(d.Header), value.Str(id)}, err
}

// bodyOf is a body as expressions see it: JSON as what it is, whatever the sender calls it, a
// form as a map of texts, anything else as a text.
//
// Errors: [domain.ErrInvalid].
func bodyOf(d Delivery) (value.Value, error) {
	if !utf8.Valid(d.Body) {
		return value.Unit, domain.Invalidf("the body is no UTF-8")
	}
	text := string(d.Body)
	v, err := value.ReadJSON(text)
	if err == nil {
		return v, nil
	}
	switch media, _, _ := mime.ParseMediaType(d.Header.Get("Content-Type")); {
	case media == "application/json" || strings.HasSuffix(media, "+json"):
		return value.Unit, domain.Invalidf("the body is no JSON: %v", err)
	case media == "application/x-www-form-urlencoded":
		form, err := url.ParseQuery(text)
		if err != nil {
			return value.Unit, domain.Invalidf("the body is no form: %v", err)
		}
		fields := make(map[string]string, len(form))
		for name, list := range form {
			fields[name] = list[0]
		}
		return condition.Texts(fields), nil
	}
	return value.Str(text), nil
}

// headersOf are those that are no proof.
func headersOf(h http.Header) value.Value {
	list := make(map[string]string, len(h))
	for name, texts := range h {
		if text := strings.Join(texts, ", "); !slices.Contains(unsaid, name) && utf8.ValidString(text) {
			list[strings.ToLower(name)] = text
		}
	}
	return condition.Texts(list)
}

// check looks at a webhook's expressions.
//
// Errors: [domain.ErrInvalid] naming the field.
func check(w *domain.Webhook) error {
	if err := w.Validate(); err != nil {
		return err
	}
	if err := start.Check(w.When, w.Params, names...); err != nil {
		return fmt.Errorf("webhook %q: %w", w.Name, err)
	}
	return nil
}

// wants says whether a delivery starts a flow, and with which params.
//
// Errors: [domain.ErrInvalid].
func wants(ctx context.Context, w *domain.Webhook, d Delivery, id string) (params map[string]string, holds bool, err error) {
	if w.When == "" && len(w.Params) == 0 {
		return nil, true, nil
	}
	vals, err := values(d, id)
	if err != nil {
		return nil, false, err
	}
	return start.Params(ctx, w.When, w.Params, names, vals)
}
