package smtpeffect

import (
	"cmp"
	"net"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
)

// Options are what an operator says of an effect of kind smtp beside what all
// effects have.
type Options struct {
	// Address is host or host:port. Default port: 587, or 465 where Security is
	// tls.
	Address string `yaml:"address"`
	// Security is starttls (the default: the connection is made private before
	// anything is said, or no mail is sent), tls (private from the start), or
	// none.
	Security string `yaml:"security"`

	// TLS is for starttls and tls.
	TLS effect.TLS `yaml:"tls"`

	User     string      `yaml:"user"`
	Password effect.Text `yaml:"password"`
	// Hello is the name by which the server is greeted. Default: localhost.
	Hello string `yaml:"hello"`

	// From is the senders that a payload may choose from; the first is taken
	// where it says none.
	From oneOrMore `yaml:"from"`
	// To and Subject, where the operator says them, are said by no payload.
	To      oneOrMore `yaml:"to"`
	Subject string    `yaml:"subject"`
	// ReplyTo is what mails have that say none.
	ReplyTo string `yaml:"reply_to"`
	// RecipientDomains are the domains that may be written to; "*.example.com"
	// is all that is under example.com. None: all.
	RecipientDomains []string `yaml:"recipient_domains"`
	// MaxRecipients bounds to, cc and bcc together. Default and most: 100.
	MaxRecipients int `yaml:"max_recipients"`
	// MaxBytes bounds a mail as it goes over the wire. Default: 10 MB.
	MaxBytes int `yaml:"max_bytes"`
}

// The ways of a connection.
const (
	securityStartTLS = "starttls"
	securityTLS      = "tls"
	securityNone     = "none"
)

// defaultMaxBytes is what nearly every server takes.
const defaultMaxBytes = 10 << 20

// fill sets defaults and looks whether all is right; else it names the field.
func (o *Options) fill(secrets *effect.Secrets) (field string, err error) {
	o.Security = cmp.Or(o.Security, securityStartTLS)
	o.Hello = cmp.Or(o.Hello, "localhost")
	o.MaxRecipients = cmp.Or(o.MaxRecipients, MaxRecipients)
	o.MaxBytes = cmp.Or(o.MaxBytes, defaultMaxBytes)
	port := "587"
	switch o.Security {
	case securityTLS:
		port = "465"
	case securityNone:
		port = "25"
	case securityStartTLS:
	default:
		return "security", domain.Invalidf("%q: want starttls, tls or none", o.Security)
	}
	if o.Address, err = withPort(o.Address, port); err != nil {
		return "address", err
	}
	if !helloName(o.Hello) {
		return "hello", domain.Invalidf("%q: want the name of a host", o.Hello)
	}
	if (o.User == "") != o.Password.IsZero() {
		return "user", domain.Invalidf("and password go together")
	}
	for _, name := range o.Password.Secrets() {
		if err := secrets.Known(name); err != nil {
			return "password", err
		}
	}
	return o.fillMail()
}

func (o *Options) fillMail() (field string, err error) {
	if len(o.From) == 0 {
		return "from", domain.Invalidf("is missing: want the address that mails are sent from")
	}
	for _, l := range []struct {
		field string
		list  []string
	}{{"from", o.From}, {"to", o.To}, {"reply_to", one(o.ReplyTo)}} {
		for _, a := range l.list {
			if _, err := address(a); err != nil {
				return l.field, err
			}
		}
	}
	if _, err := list(o.To, o.RecipientDomains); err != nil {
		return "to", err
	}
	for _, d := range o.RecipientDomains {
		if name := strings.TrimPrefix(d, "*."); !helloName(name) {
			return "recipient_domains", domain.Invalidf("%q: want a domain such as example.com or *.example.com", d)
		}
	}
	if !oneLine(o.Subject) || len(o.Subject) > MaxSubject {
		return "subject", domain.Invalidf("want one line of up to %d bytes", MaxSubject)
	}
	if o.MaxRecipients < 1 || o.MaxRecipients > MaxRecipients {
		return "max_recipients", domain.Invalidf("is %d: want 1 to %d", o.MaxRecipients, MaxRecipients)
	}
	if o.MaxBytes < 1<<10 || o.MaxBytes > 100<<20 {
		return "max_bytes", domain.Invalidf("is %d: want 1024 to %d", o.MaxBytes, 100<<20)
	}
	return "", nil
}

func one(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

// withPort is host:port of an address that may be without a port.
func withPort(address, port string) (string, error) {
	host, p, err := net.SplitHostPort(address)
	if err != nil {
		host, p = strings.Trim(address, "[]"), port
	}
	n, err := strconv.ParseUint(p, 10, 16)
	if err != nil || n == 0 || host == "" || strings.ContainsAny(host, " /@\r\n") {
		return "", domain.Invalidf("%q: want host or host:port", address)
	}
	return net.JoinHostPort(host, p), nil
}

// helloName reports whether a text can be a host's name.
func helloName(s string) bool {
	return s != "" && len(s) <= 253 && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '.'
	})
}

// oneOrMore is a list of texts, or one.
type oneOrMore []string

// UnmarshalYAML reads a text or a list.
func (l *oneOrMore) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		*l = make(oneOrMore, 1)
		return node.Decode(&(*l)[0])
	}
	return node.Decode((*[]string)(l))
}
