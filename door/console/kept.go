package console

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	nethttp "net/http"
	"net/url"
	"slices"
	"strings"
)

// This file has what somebody sent whose session had ended: it goes along through the page
// of signing in, in the browser's hands, and is offered again behind it. Nothing of it is
// kept here, and nothing is done before the person says so once more.

// secretField is the name of fields that have a key or a token: they are never sent back.
const secretField = "proof"

// keptForm is the form of a request as it goes along; "" where there is none, or where it
// is too long for what a stranger may send.
func keptForm(r *nethttp.Request) string {
	if r.Method != nethttp.MethodPost || r.ParseForm() != nil || r.PostForm.Has(secretField) {
		return ""
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write([]byte(r.PostForm.Encode())) // into memory
	_ = z.Close()
	return base64.RawURLEncoding.EncodeToString(packed.Bytes())
}

// fieldsOf are those of a form that went along; none where it cannot be read.
func fieldsOf(kept string) (list []field) {
	packed, err := base64.RawURLEncoding.DecodeString(kept)
	if err != nil {
		return nil
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(z, maxForm+1))
	if err != nil || len(text) > maxForm {
		return nil
	}
	form, err := url.ParseQuery(string(text))
	if err != nil {
		return nil
	}
	for name, values := range form {
		for _, value := range values {
			list = append(list, field{name, value})
		}
	}
	slices.SortStableFunc(list, func(a, b field) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// resumeBody is what is shown of a form that went along.
type resumeBody struct {
	Post   string
	Fields []field
}

// resume offers to send what went along through signing in.
func (v *visit) resume(to, kept string) error {
	v.render(nethttp.StatusOK, page{Title: "Signed in", Body: resumeBody{Post: next(to), Fields: fieldsOf(kept)}})
	return nil
}
