package smtpeffect_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/emersion/go-smtp"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
	"github.com/ramet-run/ramet/effect/effecttest"
	"github.com/ramet-run/ramet/effect/smtpeffect"
	"github.com/ramet-run/ramet/egress"
)

func TestAnswersOfServers(t *testing.T) {
	answer := func(code int) error {
		return &smtp.SMTPError{Code: code, EnhancedCode: smtp.NoEnhancedCode, Message: "because"}
	}
	for _, tc := range []struct {
		name    string
		set     func(s *server)
		refused bool
		want    string
	}{
		{"the sender is never taken", func(s *server) { s.mail = answer(550) }, true, "mail: send from shop@example.com: 550 because"},
		{"the sender is taken later", func(s *server) { s.mail = answer(451) }, false, "mail: send from shop@example.com: 451 because"},
		{"a recipient is never taken", func(s *server) { s.rcpt["a@example.com"] = answer(550) }, true, "mail: send to a@example.com: 550 because"},
		{"a recipient is taken later", func(s *server) { s.rcpt["a@example.com"] = answer(450) }, false, "mail: send to a@example.com: 450 because"},
		{"one later, another never", func(s *server) {
			s.rcpt["a@example.com"], s.rcpt["b@example.com"] = answer(450), answer(551)
		}, true, "mail: send to b@example.com: 551 because"},
		{"the mail is never taken", func(s *server) { s.fail = []error{answer(552)} }, true, "mail: send: 552 because"},
		{"the mail is taken later", func(s *server) { s.fail = []error{answer(452)} }, false, "mail: send: 452 because"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newServer(t)
			tc.set(s)
			_, err := send(t, open(t, s, nil), `{"to":["a@example.com","b@example.com"]}`)
			var no *effect.Refused
			if err == nil || errors.As(err, &no) != tc.refused || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("got %v, refused %v; want %q, %v", err, no != nil, tc.want, tc.refused)
			}
			if tc.refused && !strings.Contains(string(no.Answer), `"code":5`) {
				t.Errorf("got the answer %s, want one with the code", no.Answer)
			}
			if n := len(s.all()); n != 0 {
				t.Errorf("%d mails were sent", n)
			}
		})
	}
}

func TestALostAnswerToTheMailIsTriedAgainUnderTheSameMessageID(t *testing.T) {
	s := newServer(t)
	p := open(t, s, nil)
	s.mu.Lock()
	s.drop = true
	s.mu.Unlock()
	_, err := send(t, p, order)
	var no *effect.Refused
	if err == nil || errors.As(err, &no) {
		t.Fatalf("got %v, want an error after which it is tried again", err)
	}
	s.mu.Lock()
	s.drop = false
	s.mu.Unlock()
	if _, err := send(t, p, order); err != nil {
		t.Fatal(err)
	}
	l := s.all()
	if len(l) != 2 || l[0].msg.Header.Get("Message-Id") != l[1].msg.Header.Get("Message-Id") {
		t.Errorf("got %d mails, want two with one Message-ID", len(l))
	}
}

func TestAWrongPasswordIsTriedAgainAndNotRepeated(t *testing.T) {
	s := newServer(t)
	p := open(t, s, map[string]any{"password": "hunter2-${secret:SECRET}"})
	_, err := send(t, p, order)
	var no *effect.Refused
	if err == nil || errors.As(err, &no) || !strings.Contains(err.Error(), `log in as "ramet" by PLAIN: the server answers 535`) {
		t.Errorf("got %v, want an error after which it is tried again", err)
	}
	if strings.Contains(fmt.Sprint(err), effecttest.Secret) || strings.Contains(fmt.Sprint(err), "hunter2") {
		t.Errorf("the password is in %q", err)
	}
}

// fake is a server that says these lines to the commands that come, and
// returns what it heard.
func fake(t *testing.T, lines ...string) (addr string, heard func() string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	done := make(chan string, 1)
	go func() {
		var all strings.Builder
		defer func() { done <- all.String() }()
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		in := bufio.NewReader(c)
		for _, line := range lines {
			fmt.Fprint(c, line)
			got, err := in.ReadString('\n')
			all.WriteString(got)
			if err != nil {
				return
			}
		}
	}()
	return l.Addr().String(), func() string { l.Close(); return <-done }
}

func TestNothingIsSentInTheOpen(t *testing.T) {
	const greeting, ehlo = "220 hi\r\n", "250-hi\r\n250 AUTH PLAIN LOGIN\r\n"
	for _, tc := range []struct {
		name    string
		options map[string]any
		lines   []string
		want    string
	}{
		{"a server without STARTTLS", nil, []string{greeting, ehlo, "502 what?\r\n"}, "make the connection private (STARTTLS): 502"},
		{"a server that takes STARTTLS and goes on in the open", nil, []string{greeting, ehlo, "220 go\r\n", "250 hi\r\n"}, "make the connection private (STARTTLS)"},
		{"a password without a private connection", map[string]any{"security": "none"}, []string{greeting, ehlo, "221 bye\r\n"}, "offers no way that we would take"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newServer(t)
			addr, heard := fake(t, tc.lines...)
			others := map[string]any{"address": addr}
			for k, v := range tc.options {
				others[k] = v
			}
			_, err := send(t, open(t, s, others), order)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q in it", err, tc.want)
			}
			if text := heard(); strings.Contains(text, "AUTH") || strings.Contains(text, "MAIL") {
				t.Errorf("the server heard %q", text)
			}
		})
	}
}

func TestACertificateOfSomebodyElseIsNotTaken(t *testing.T) {
	s := newServer(t)
	_, err := send(t, open(t, s, map[string]any{"tls": nil}), order)
	if err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("got %v, want that the certificate is not known", err)
	}
	if _, err := send(t, open(t, s, map[string]any{"tls": map[string]any{"insecure": true}}), order); err != nil {
		t.Errorf("insecure: %v", err)
	}
	_, err = send(t, open(t, s, map[string]any{"tls": map[string]any{"ca": s.cert.CA, "server_name": "other.test"}}), order)
	if err == nil || !strings.Contains(err.Error(), "other.test") {
		t.Errorf("got %v, want that the certificate is for another name", err)
	}
}

func TestAServerThatTalksWithoutEndIsLeft(t *testing.T) {
	addr, _ := fake(t, strings.Repeat("220-"+strings.Repeat("x", 1000)+"\r\n", 2000))
	s := newServer(t)
	_, err := send(t, open(t, s, map[string]any{"address": addr}), order)
	if err == nil || !strings.Contains(err.Error(), "talks too much") {
		t.Errorf("got %v, want that it talks too much", err)
	}
}

func TestAClosedAddressIsRefused(t *testing.T) {
	s := newServer(t)
	host := effecttest.Host(t)
	rules, err := egress.Parse([]string{"public"})
	if err != nil {
		t.Fatal(err)
	}
	host.Dialer = effect.NewDialer(rules)
	p, err := smtpeffect.Open(effecttest.Definition(t, domain.EffectSMTP, s.options(nil)), host)
	if err != nil {
		t.Fatal(err)
	}
	_, err = send(t, p, order)
	if no := refusal(t, err); !strings.Contains(no.Cause, "egress") {
		t.Errorf("got %q", no.Cause)
	}
}

func TestPrivateFromTheStart(t *testing.T) {
	s := newServer(t)
	s.stop()
	s.implicit = true
	s.start()
	p := open(t, s, map[string]any{"security": "tls"})
	if err := p.Check(context.Background(), 7); err != nil {
		t.Fatal(err)
	}
	if _, err := send(t, p, order); err != nil {
		t.Fatal(err)
	}
	if n := len(s.all()); n != 1 {
		t.Errorf("got %d mails", n)
	}
}

func TestOptions(t *testing.T) {
	s := newServer(t)
	for _, tc := range []struct {
		name   string
		others map[string]any
		want   string
	}{
		{"no sender", map[string]any{"from": nil}, `from is missing`},
		{"a sender that is none", map[string]any{"from": "shop"}, `from mail: "shop" is no address`},
		{"a password without a user", map[string]any{"user": nil}, "user and password go together"},
		{"a secret that there is not", map[string]any{"password": "${secret:SECRETS}"}, "did you mean SECRET?"},
		{"security that there is not", map[string]any{"security": "ssl"}, `security "ssl": want starttls, tls or none`},
		{"an address with a path", map[string]any{"address": "mail.example.com/x"}, "want host or host:port"},
		{"a name with a line feed to greet with", map[string]any{"hello": "a\r\nQUIT"}, "want the name of a host"},
		{"a recipient that the domains leave out", map[string]any{"to": "a@b.test", "recipient_domains": []string{"example.com"}},
			"does not let this effect write to"},
		{"a CA that is not there", map[string]any{"tls": map[string]any{"ca": "/nowhere/ca.pem"}}, "no such file"},
		{"a misspelt option", map[string]any{"adress": "x"}, "did you mean address?"},
		{"too many recipients", map[string]any{"max_recipients": 1000}, "want 1 to 100"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := smtpeffect.Open(effecttest.Definition(t, domain.EffectSMTP, s.options(tc.others)), effecttest.Host(t))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q in it", err, tc.want)
			}
		})
	}
	for address, want := range map[string]string{"mail.example.com": "smtp://mail.example.com:587", "[::1]": "smtp://[::1]:587", "m.test:25": "smtp://m.test:25"} {
		if got := open(t, s, map[string]any{"address": address}).Target(); got != want {
			t.Errorf("%s: got the target %s, want %s", address, got, want)
		}
	}
}
