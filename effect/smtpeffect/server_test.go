package smtpeffect_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"github.com/ramet-run/ramet/effect/effecttest"
	"github.com/ramet-run/ramet/internal/testcert"
	"github.com/ramet-run/ramet/internal/testport"
)

// taken is a mail that the server took.
type taken struct {
	from string
	to   []string
	raw  string
	msg  *mail.Message
	body string
}

// server is a mail server with STARTTLS and a login.
type server struct {
	t    testing.TB
	cert testcert.Certificate
	addr string

	mu      sync.Mutex
	running *smtp.Server
	listens net.Listener   // it may be closed before the server knows it
	asked   map[string]int // by command id
	mails   []taken
	fail    []error // what the next mails end with
	rcpt    map[string]error
	mail    error
	hang    chan struct{} // closed by release
	arrived chan struct{}
	after   bool // hang after the mail was taken
	// implicit is whether it is private from the start.
	implicit bool
	drop     bool // close the connection instead of an answer to the mail
}

func newServer(t testing.TB) *server {
	s := &server{t: t, cert: testcert.New(t), addr: testport.Free(t), asked: map[string]int{}, rcpt: map[string]error{}}
	s.start()
	t.Cleanup(s.stop)
	return s
}

func (s *server) start() {
	s.t.Helper()
	l, err := net.Listen("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	if s.implicit {
		l = tls.NewListener(l, s.cert.Server)
	}
	srv := smtp.NewServer(s)
	srv.Domain, srv.TLSConfig, srv.MaxMessageBytes, srv.ErrorLog = "mail.test", s.cert.Server, 1<<20, silent{}
	s.mu.Lock()
	s.running, s.listens = srv, l
	s.mu.Unlock()
	go srv.Serve(l)
}

type silent struct{}

func (silent) Printf(string, ...any) {}
func (silent) Println(...any)        {}

func (s *server) stop() {
	s.mu.Lock()
	srv, l := s.running, s.listens
	s.mu.Unlock()
	l.Close()
	srv.Close()
}

// NewSession begins one conversation.
func (s *server) NewSession(c *smtp.Conn) (smtp.Session, error) {
	return &conversation{s: s, c: c}, nil
}

type conversation struct {
	s    *server
	c    *smtp.Conn
	user string
	mail taken
}

func (c *conversation) AuthMechanisms() []string { return []string{sasl.Plain} }

func (c *conversation) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != "ramet" || password != effecttest.Secret {
			// A server that tells what it was told.
			return &smtp.SMTPError{Code: 535, EnhancedCode: smtp.EnhancedCode{5, 7, 8}, Message: "no such login: " + user + " " + password}
		}
		c.user = user
		return nil
	}), nil
}

func (c *conversation) Mail(from string, _ *smtp.MailOptions) error {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if c.user == "" {
		return smtp.ErrAuthRequired
	}
	if _, private := c.c.TLSConnectionState(); !private {
		return errors.New("BUG: the connection is not private")
	}
	c.mail.from = from
	return c.s.mail
}

func (c *conversation) Rcpt(to string, _ *smtp.RcptOptions) error {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.mail.to = append(c.mail.to, to)
	return c.s.rcpt[to]
}

func (c *conversation) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	l := c.mail
	l.raw = string(raw)
	if l.msg, err = mail.ReadMessage(strings.NewReader(l.raw)); err != nil {
		return err
	}
	body, err := io.ReadAll(l.msg.Body)
	if err != nil {
		return err
	}
	l.body = string(body)
	return c.s.take(c.c, l)
}

func (c *conversation) Reset()        { c.mail = taken{} }
func (c *conversation) Logout() error { return nil }

// key is the command id that a mail has in its Message-ID.
func key(m *mail.Message) string {
	id, _, _ := strings.Cut(strings.TrimPrefix(m.Header.Get("Message-Id"), "<"), "@")
	return id
}

func (s *server) take(c *smtp.Conn, l taken) error {
	s.mu.Lock()
	k := key(l.msg)
	s.asked[k]++
	hang, arrived, after, drop := s.hang, s.arrived, s.after, s.drop
	var err error
	if len(s.fail) > 0 {
		err, s.fail = s.fail[0], s.fail[1:]
	}
	if err == nil && (hang == nil || after) {
		s.mails = append(s.mails, l)
	}
	s.mu.Unlock()
	if drop {
		c.Conn().Close()
	}
	if hang == nil || err != nil {
		return err
	}
	arrived <- struct{}{}
	<-hang
	return errors.New("nobody is here to hear this")
}

// all are the mails that were taken.
func (s *server) all() []taken {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]taken(nil), s.mails...)
}

// target is the server as the suite asks it.
type target struct{ *server }

func (s target) Asked(k string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k != "" {
		return s.asked[k]
	}
	n := 0
	for _, m := range s.asked {
		n += m
	}
	return n
}

func (s target) Applied(k string) int {
	n := 0
	for _, l := range s.all() {
		if key(l.msg) == k {
			n++
		}
	}
	return n
}

func (s target) Fail(n int, refused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}, Message: "later, " + effecttest.Secret}
	if refused {
		err = &smtp.SMTPError{Code: 554, EnhancedCode: smtp.EnhancedCode{5, 7, 1}, Message: "never, " + effecttest.Secret}
	}
	for range n {
		s.fail = append(s.fail, err)
	}
}

func (s target) Hang(applied bool) (<-chan struct{}, func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	hang := make(chan struct{})
	s.hang, s.after, s.arrived = hang, applied, make(chan struct{}, 100)
	var once sync.Once
	return s.arrived, func() {
		once.Do(func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			close(hang)
			s.hang = nil
		})
	}
}

func (s target) Away() func() {
	s.stop()
	return s.start
}

func (target) Answer(int) {}

// within is long enough for what comes at once.
const within = 30 * time.Second
