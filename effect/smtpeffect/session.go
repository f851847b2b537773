package smtpeffect

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"regexp"
	"strings"
	"time"

	"github.com/wneessen/go-mail/smtp"

	"github.com/ramet-run/ramet/effect"
)

// maxHeard is how much a server may say in one session, in bytes: its greeting,
// what it can and an answer to each recipient fit many times over.
const maxHeard = 1 << 20

// goodbye is how long a server may take to let us go.
const goodbye = time.Second

// session is one conversation with the server.
type session struct {
	client *smtp.Client
	conn   net.Conn
	// stop takes away what closes the connection when the context ends.
	stop   func() bool
	redact func(string) string // takes secrets out of what the server says
}

// login connects, makes the connection a private one and shows who we are.
// What goes wrong here has nothing to do with the mail: all of it may be tried
// again.
func (p *Provider) login(ctx context.Context) (*session, error) {
	conn, err := p.lent.Dialer.DialContext(ctx, "tcp", p.options.Address)
	if err != nil {
		return nil, fmt.Errorf("mail: connect: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	s, err := p.greet(ctx, &meter{Conn: conn, left: maxHeard})
	if err != nil {
		stop()
		conn.Close()
		return nil, spoken(ctx, err)
	}
	s.conn, s.stop, s.redact = conn, stop, p.lent.Secrets.Redact
	return s, nil
}

func (p *Provider) greet(ctx context.Context, conn net.Conn) (*session, error) {
	if p.options.Security == securityTLS {
		wrapped := tls.Client(conn, p.tls.Clone())
		if err := wrapped.HandshakeContext(ctx); err != nil {
			return nil, fmt.Errorf("mail: make the connection private: %w", err)
		}
		conn = wrapped
	}
	c, err := smtp.NewClient(conn, p.host)
	if err != nil {
		return nil, fmt.Errorf("mail: read the greeting: %w", err)
	}
	if err := c.Hello(p.options.Hello); err != nil {
		return nil, fmt.Errorf("mail: greet: %w", err)
	}
	if p.options.Security == securityStartTLS {
		// Not when the server says it can: who sits between would take that out.
		if err := c.StartTLS(p.tls.Clone()); err != nil {
			return nil, fmt.Errorf("mail: make the connection private (STARTTLS): %w", err)
		}
	}
	if p.options.User == "" {
		return &session{client: c}, nil
	}
	password, err := p.options.Password.Read(ctx, p.lent.Secrets)
	if err != nil {
		return nil, fmt.Errorf("mail: log in: %w", err)
	}
	p.lent.Secrets.Hide(password)
	if err := p.auth(c, password); err != nil {
		return nil, err
	}
	return &session{client: c}, nil
}

// mechanisms are the ways to log in, in the order in which they are chosen.
// Those that send the password itself are for private connections only.
var mechanisms = []struct {
	name  string
	plain bool
	auth  func(user, password, host string) smtp.Auth
}{
	{"SCRAM-SHA-256", false, func(user, password, _ string) smtp.Auth { return smtp.ScramSHA256Auth(user, password) }},
	{"PLAIN", true, func(user, password, host string) smtp.Auth { return smtp.PlainAuth("", user, password, host, false) }},
	{"LOGIN", true, func(user, password, host string) smtp.Auth { return smtp.LoginAuth(user, password, host, false) }},
	{"CRAM-MD5", false, func(user, password, _ string) smtp.Auth { return smtp.CRAMMD5Auth(user, password) }},
}

func (p *Provider) auth(c *smtp.Client, password string) error {
	_, offered := c.Extension("AUTH")
	for _, m := range mechanisms {
		if !hasWord(offered, m.name) || m.plain && p.options.Security == securityNone {
			continue
		}
		if err := c.Auth(m.auth(p.options.User, password, p.host)); err != nil {
			return fmt.Errorf("mail: log in as %q by %s: %s", p.options.User, m.name, codesOf(err))
		}
		return nil
	}
	return fmt.Errorf("mail: log in: the server offers no way that we would take; it offers %q", offered)
}

func hasWord(text, word string) bool {
	for _, w := range strings.Fields(text) {
		if strings.EqualFold(w, word) {
			return true
		}
	}
	return false
}

var enhanced = regexp.MustCompile(`^[245]\.\d{1,3}\.\d{1,3}\b`)

// codesOf is what a server's answer to a login says in numbers. Its text is
// left out: it may repeat what it was sent.
func codesOf(err error) string {
	var answer *textproto.Error
	if !errors.As(err, &answer) {
		return "the conversation broke off"
	}
	return strings.TrimSpace(fmt.Sprintf("the server answers %d %s", answer.Code, enhanced.FindString(answer.Msg)))
}

// send hands over a mail and returns what the server said to it. Nobody gets
// it unless everybody does.
func (s *session) send(ctx context.Context, l *outgoing) (string, error) {
	if err := s.client.Mail("<" + l.from + ">"); err != nil {
		return "", s.answered(ctx, "send from "+l.from, err)
	}
	if err := s.recipients(ctx, l.to); err != nil {
		return "", err
	}
	w, err := s.client.Data()
	if err != nil {
		return "", s.answered(ctx, "send", err)
	}
	if _, err := w.Write(l.body); err != nil {
		return "", s.answered(ctx, "send", err)
	}
	// Without an answer to this the server may have taken it: no number, so it
	// is tried again under the same Message-ID.
	if err := w.Close(); err != nil {
		return "", s.answered(ctx, "send", err)
	}
	if d, ok := w.(*smtp.DataCloser); ok {
		return s.redact(oneLineOf(d.ServerResponse())), nil
	}
	return "", nil
}

// recipients names all of them, so that one who will never be taken ends it
// even where another is only asked to come again.
func (s *session) recipients(ctx context.Context, to []string) error {
	var later error
	for _, a := range to {
		err := s.client.Rcpt("<" + a + ">")
		if err == nil {
			continue
		}
		err = s.answered(ctx, "send to "+a, err)
		var no *effect.Refused
		if errors.As(err, &no) || codeOf(err) == 0 {
			return err
		}
		if later == nil {
			later = err
		}
	}
	return later
}

// end says good-bye. Whatever comes of that, the mail is delivered: a server
// that is slow to answer is not waited for.
func (s *session) end() {
	s.conn.SetDeadline(time.Now().Add(goodbye))
	_ = s.client.Quit()
	s.stop()
	_ = s.client.Close()
}

// serverError is a number that a server answered, from 400 to 599.
type serverError struct {
	verb string
	code int
	text string
}

func (e *serverError) Error() string { return fmt.Sprintf("mail: %s: %d %s", e.verb, e.code, e.text) }

// answer is what a saga gets of it.
func (e *serverError) answer() json.RawMessage {
	text, _ := json.Marshal(map[string]any{"code": e.code, "message": e.text}) // of a number and a text: no error
	return text
}

func codeOf(err error) int {
	var e *serverError
	if errors.As(err, &e) {
		return e.code
	}
	return 0
}

// answered is an error of one step of the conversation: 5xx stays what it is,
// all else may be tried again.
func (s *session) answered(ctx context.Context, verb string, err error) error {
	var answer *textproto.Error
	if !errors.As(err, &answer) {
		return spoken(ctx, fmt.Errorf("mail: %s: %w", verb, err))
	}
	e := &serverError{verb, answer.Code, s.redact(oneLineOf(answer.Msg))}
	if answer.Code >= 500 && answer.Code < 600 {
		return &effect.Refused{Cause: e.Error(), Answer: e.answer()}
	}
	return e
}

// spoken gives the context's end where that closed the connection.
func spoken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// maxText is how much of a server's answer is kept, in bytes.
const maxText = 500

func oneLineOf(s string) string {
	s = strings.ToValidUTF8(strings.Join(strings.Fields(s), " "), "?")
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "") + "..."
	}
	return s
}

// meter ends a connection on which the other side says too much.
type meter struct {
	net.Conn
	left int
}

var errTooMuch = errors.New("the server talks too much")

func (m *meter) Read(b []byte) (int, error) {
	if m.left <= 0 {
		return 0, errTooMuch
	}
	n, err := m.Conn.Read(b[:min(len(b), m.left)])
	m.left -= n
	if n == 0 && err == nil && len(b) > 0 {
		err = io.ErrNoProgress
	}
	return n, err
}
