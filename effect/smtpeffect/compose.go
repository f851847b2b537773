package smtpeffect

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/mail"
	"strings"

	gomail "github.com/wneessen/go-mail"

	"github.com/ramet-run/ramet/effect"
)

// outgoing is a mail as it goes over the wire.
type outgoing struct {
	from string
	to   []string // everyone, the hidden ones too
	id   string   // its Message-ID, without <>
	body []byte
}

// compose makes the mail of a call.
//
// Errors: *[effect.Refused].
func (o *Options) compose(call effect.Call) (*outgoing, error) {
	p, err := parse(call.Payload)
	if err != nil {
		return nil, err
	}
	if err := o.decided(&p); err != nil {
		return nil, err
	}
	from, err := o.sender(p.From)
	if err != nil {
		return nil, err
	}
	to, err := list(p.To, o.RecipientDomains)
	if err != nil {
		return nil, err
	}
	cc, err := list(p.Cc, o.RecipientDomains)
	if err != nil {
		return nil, err
	}
	bcc, err := list(p.Bcc, o.RecipientDomains)
	if err != nil {
		return nil, err
	}
	l := &outgoing{from: from.Address}
	l.to = everyone(to, cc, bcc)
	switch {
	case len(l.to) == 0:
		return nil, refused("mail: it is to nobody")
	case len(l.to) > o.MaxRecipients:
		return nil, refused("mail: it is to too many")
	}
	l.id = messageID(call.CommandID, from.Address)

	m := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	m.FromMailAddress(from)
	m.SetMessageIDWithValue(l.id)
	// Programs that answer mail by themselves leave such a one alone.
	m.SetGenHeader("Auto-Submitted", "auto-generated")
	m.Subject(p.Subject)
	if len(to) > 0 {
		m.ToMailAddress(to...)
	}
	if len(cc) > 0 {
		m.CcMailAddress(cc...)
	}
	if p.ReplyTo != "" {
		a, err := address(p.ReplyTo)
		if err != nil {
			return nil, err
		}
		m.ReplyToMailAddress(a)
	}
	if p.Text != "" || p.HTML == "" {
		m.SetBodyString(gomail.TypeTextPlain, p.Text)
	}
	if p.HTML != "" {
		m.AddAlternativeString(gomail.TypeTextHTML, p.HTML)
	}
	for _, a := range p.Attachments {
		m.AttachReadSeeker(a.Name, bytes.NewReader(a.Content), gomail.WithFileContentType(gomail.ContentType(a.Type)))
	}
	var b bytes.Buffer
	if _, err := m.WriteTo(&b); err != nil {
		return nil, refused("mail: it cannot be written: " + err.Error())
	}
	if b.Len() > o.MaxBytes {
		return nil, refused("mail: it is too large")
	}
	l.body = b.Bytes()
	return l, nil
}

// decided sets what the operator decided. A payload that says it too is refused,
// so that nobody believes to have written to somebody else.
func (o *Options) decided(p *payload) error {
	if len(o.To) > 0 {
		if len(p.To)+len(p.Cc)+len(p.Bcc) > 0 {
			return refused("mail: whom this effect writes to is the operator's decision: leave to, cc and bcc out")
		}
		p.To = addresses(o.To)
	}
	if o.Subject != "" {
		if p.Subject != "" {
			return refused("mail: the subject is the operator's decision: leave it out")
		}
		p.Subject = o.Subject
	}
	if p.ReplyTo == "" {
		p.ReplyTo = o.ReplyTo
	}
	return nil
}

// sender is the operator's, or one of the operator's that the payload chose.
func (o *Options) sender(wanted string) (*mail.Address, error) {
	if wanted == "" {
		return address(o.From[0])
	}
	a, err := address(wanted)
	if err != nil {
		return nil, err
	}
	for _, text := range o.From {
		if own, err := address(text); err == nil && strings.EqualFold(own.Address, a.Address) {
			return own, nil // with the operator's name, not the payload's
		}
	}
	return nil, refused("mail: the operator does not let this effect write from " + quote(a.Address))
}

// everyone is the addresses of the lists, each once.
func everyone(lists ...[]*mail.Address) []string {
	var out []string
	seen := map[string]bool{}
	for _, l := range lists {
		for _, a := range l {
			if !seen[a.Address] {
				seen[a.Address] = true
				out = append(out, a.Address)
			}
		}
	}
	return out
}

// messageID is the name of the mail that all attempts have: the command id, or
// its hash where that has characters that none may have.
func messageID(commandID, from string) string {
	if !idPattern.MatchString(commandID) {
		sum := sha256.Sum256([]byte(commandID))
		commandID = hex.EncodeToString(sum[:])
	}
	return commandID + from[strings.LastIndexByte(from, '@'):]
}
