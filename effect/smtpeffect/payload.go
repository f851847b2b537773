package smtpeffect

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"net/mail"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/ramet-run/ramet/effect"
)

// Limits of one mail.
const (
	MaxRecipients  = 100
	MaxAttachments = 20
	MaxSubject     = 500 // bytes
)

// payload is a mail as a saga writes it.
type payload struct {
	From        string       `json:"from"`
	ReplyTo     string       `json:"reply_to"`
	To          addresses    `json:"to"`
	Cc          addresses    `json:"cc"`
	Bcc         addresses    `json:"bcc"`
	Subject     string       `json:"subject"`
	Text        string       `json:"text"`
	HTML        string       `json:"html"`
	Attachments []attachment `json:"attachments"`
}

// attachment is a file: its content is in base64, or text as it is.
type attachment struct {
	Name    string `json:"name"`
	Type    string `json:"type"` // default: application/octet-stream, or text/plain
	Content []byte `json:"content"`
	Text    string `json:"text"`
}

// addresses are a list, or one text.
type addresses []string

func (a *addresses) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		*a = make(addresses, 1)
		return json.Unmarshal(data, &(*a)[0])
	}
	return json.Unmarshal(data, (*[]string)(a))
}

// refused is an answer of ours: the payload cannot become a mail.
func refused(cause string) error { return &effect.Refused{Cause: cause} }

// parse reads a payload. A field that there is not is refused: a mail without
// what somebody misspelt is worse than none.
func parse(data json.RawMessage) (payload, error) {
	var p payload
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return p, refused("mail: the payload cannot be read: " + err.Error())
	}
	if _, err := d.Token(); err != io.EOF {
		return p, refused("mail: the payload has something after its JSON object")
	}
	switch {
	case len(p.Subject) > MaxSubject:
		return p, refused("mail: the subject is too long")
	case !oneLine(p.Subject):
		return p, refused("mail: the subject is not one line of text")
	case len(p.Attachments) > MaxAttachments:
		return p, refused("mail: it has too many attachments")
	}
	for i := range p.Attachments {
		if err := p.Attachments[i].check(); err != nil {
			return p, err
		}
	}
	return p, nil
}

// idPattern is what may stand in a Message-ID before its @.
var idPattern = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)

// typePattern is a media type without parameters: a parameter could be a header.
var typePattern = compiled(`^[a-z0-9][a-z0-9.+-]{0,63}/[a-z0-9][a-z0-9.+-]{0,63}$`)

// compiled is a pattern that is compiled at its first use: these take long, and every
// start of the program, for any command, would pay for them.
func compiled(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

func (a *attachment) check() error {
	if a.Name == "" || len(a.Name) > 255 || !oneLine(a.Name) || strings.ContainsAny(a.Name, `/\"`) {
		return refused("mail: an attachment wants a name of one line, without slashes and quotes")
	}
	if a.Text != "" && len(a.Content) > 0 {
		return refused("mail: an attachment has either content or text")
	}
	if a.Text != "" {
		a.Content = []byte(a.Text)
		a.Type = defaultTo(a.Type, "text/plain")
	}
	a.Type = defaultTo(a.Type, "application/octet-stream")
	if !typePattern().MatchString(a.Type) {
		return refused("mail: the type of an attachment is not a media type such as text/csv")
	}
	if a.Type == "text/plain" {
		a.Type = mime.FormatMediaType(a.Type, map[string]string{"charset": "utf-8"})
	}
	return nil
}

func defaultTo(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// oneLine reports whether a text is UTF-8 that cannot end a line: no control
// characters, and none of Unicode's line breaks.
func oneLine(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsControl(r) || r == '\u2028' || r == '\u2029'
	})
}

// addressPattern is narrower than RFC 5322: what is quoted, commented or a
// literal address is what injections are made of, and nobody's address.
var addressPattern = compiled(`^[A-Za-z0-9.!#$%&'*+/=?^_` + "`" + `{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$`)

// address reads one address, with or without a name before it.
func address(s string) (*mail.Address, error) {
	if len(s) > 512 || !oneLine(s) {
		return nil, refused("mail: an address is not one line of text")
	}
	a, err := mail.ParseAddress(s)
	if err != nil || !addressPattern().MatchString(a.Address) || strings.Contains(a.Address, "..") {
		return nil, refused("mail: " + quote(s) + " is no address; want name@example.com")
	}
	return a, nil
}

// quote is for texts of strangers in causes.
func quote(s string) string {
	b, _ := json.Marshal(s) // of a string: no error
	return string(b)
}

// list reads addresses and looks whether they may be written to.
func list(texts []string, domains []string) ([]*mail.Address, error) {
	var out []*mail.Address
	for _, s := range texts {
		a, err := address(s)
		if err != nil {
			return nil, err
		}
		if len(domains) > 0 && !slices.ContainsFunc(domains, func(d string) bool { return inDomain(a.Address, d) }) {
			return nil, refused("mail: the operator does not let this effect write to " + quote(a.Address))
		}
		out = append(out, a)
	}
	return out, nil
}

// inDomain reports whether an address is in a domain; "*." before it stands for
// all that is under it.
func inDomain(address, domain string) bool {
	_, host, _ := strings.Cut(address, "@")
	if under, ok := strings.CutPrefix(domain, "*"); ok {
		return len(host) > len(under) && strings.EqualFold(host[len(host)-len(under):], under)
	}
	return strings.EqualFold(host, domain)
}
