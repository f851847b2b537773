package cluster

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/mail"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/cli"
	"github.com/ramet-run/ramet/internal/postgrestest"
)

// weddingSaga asks for a mail, and when that is sent for a row and a call.
const weddingSaga = `
name: wedding
triggers: [{of: Couple, types: [Engaged]}]
correlation: event.aggregate_id
initial: new
effects: [invite, register, ring]
states:
  new: {on: {Engaged: handle, "*": fail}}
  inviting: {on: {invite.Succeeded: handle, "*": fail}}
  both: {on: {register.Succeeded: handle, ring.Succeeded: handle, "*": fail}}
  wed: {final: true}
data: {left: 2}
script: |
  fn on_event(state, event) {
    switch event.type {
      "Engaged" => #{
        work: [#{effect: "invite", payload: #{to: "guest@example.org", subject: "Come", text: "We are " + event.aggregate_id}}],
        next: "inviting",
      },
      "invite.Succeeded" => #{
        work: [
          #{effect: "register", payload: #{couple: event.correlation}},
          #{effect: "ring", payload: #{couple: event.correlation}},
        ],
        next: "both",
      },
      _ => {
        state.left -= 1;
        #{state: state, next: if state.left == 0 { "wed" } else { "both" }}
      }
    }
  }
`

// TestOneEventIsAMailARowAndACall kills the node at the instant at which the
// call is done but not answered, and the row waits for a lock: neither comes
// twice.
func TestOneEventIsAMailARowAndACall(t *testing.T) {
	t.Parallel()
	bin, err := binary() // which may take minutes to be built, and is no matter of the time below
	if err != nil {
		t.Fatal(err)
	}
	post, bell := openPostOffice(t), openBell(t)
	pg := postgrestest.Start(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	db, err := pgx.Connect(ctx, pg.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(context.Background())
	if _, err := db.Exec(ctx, "CREATE TABLE register (couple text)"); err != nil {
		t.Fatal(err)
	}
	locked, err := db.Begin(ctx)
	if err == nil {
		_, err = locked.Exec(ctx, "LOCK TABLE register IN EXCLUSIVE MODE")
	}
	if err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	config := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(config, []byte(weddingConfig(post.addr, bell.addr, pg.Socket())), 0o600); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	node := newDaemon(t, "node", func() *exec.Cmd {
		return exec.Command(bin, "serve", "--data", data, "--config", config, "--lease", siteLease.String())
	})
	c, err := client.New(client.Config{Socket: cli.SocketPath(data), Cookie: cli.CookiePath(data)})
	if err != nil {
		t.Fatal(err)
	}
	node.awaken(c)
	if _, err := c.ApplySagaText(ctx, 1, "wedding.yaml", weddingSaga, domain.SagaFromNow); err != nil {
		t.Fatal(err)
	}
	if _, err := c.PublishEvent(ctx, 1, api.EventInput{Type: "Engaged", AggregateType: "Couple", AggregateID: "anna-bo"}); err != nil {
		t.Fatal(err)
	}

	select { // the first call is done, and nobody has answered
	case <-bell.rung:
	case <-ctx.Done():
		t.Fatal("the bell was not rung")
	}
	awaitBlocked(ctx, t, pg.URL())
	node.alive()
	node.kill()
	bell.answer()
	if err := locked.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	node.start()
	node.awaken(c)

	in, err := c.FollowHistory(ctx, 1, "wedding", "anna-bo", func(domain.SagaEntry) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if in.State != "wed" || in.Version != 4 {
		t.Errorf("got the instance in state %s, version %d, want wed, 4", in.State, in.Version)
	}
	if diff := cmp.Diff([]string{"guest@example.org: Come: We are anna-bo"}, post.all()); diff != "" {
		t.Errorf("mails (-want +got):\n%s", diff)
	}
	rows, err := db.Query(ctx, "SELECT couple FROM register")
	if err != nil {
		t.Fatal(err)
	}
	couples, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"anna-bo"}, couples); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if done, asked := bell.all(); !cmp.Equal(done, []string{"anna-bo"}) || asked < 2 {
		t.Errorf("got the bell rung for %q in %d calls, want once for anna-bo, in at least two calls under one key", done, asked)
	}
	node.end()
}

func weddingConfig(mail, bell, socket string) string {
	return fmt.Sprintf(`
egress: [127.0.0.1, "unix:%s"]
effects:
  - {name: invite, kind: smtp, address: %q, security: none, from: us@example.org}
  - name: register
    kind: sql
    driver: postgres
    address: "unix:%[1]s"
    database: postgres
    user: ramet
    dedupe_table: ramet_effects
    create_dedupe_table: true
    statements: ["INSERT INTO register (couple) VALUES (:couple)"]
  - name: ring
    kind: grpc
    address: %[3]q
    security: none
    method: church.v1.Church/Ring
    proto: |
      syntax = "proto3";
      package church.v1;
      import "google/protobuf/struct.proto";
      service Church { rpc Ring(google.protobuf.Struct) returns (google.protobuf.Struct); }
`, socket, mail, bell)
}

// awaitBlocked waits until somebody waits for a lock of the database.
func awaitBlocked(ctx context.Context, t *testing.T, url string) {
	t.Helper()
	db, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(context.Background())
	for n := 0; n == 0; time.Sleep(10 * time.Millisecond) { // another process cannot be waited for in any other way
		if err := db.QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'").Scan(&n); err != nil {
			t.Fatal(err)
		}
	}
}

// postOffice is a mail server.
type postOffice struct {
	addr string

	mu    sync.Mutex
	mails []string // recipient: subject: text
}

func openPostOffice(t *testing.T) *postOffice {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &postOffice{addr: l.Addr().String()}
	srv := smtp.NewServer(p)
	srv.Domain = "mail.test"
	go srv.Serve(l)
	t.Cleanup(func() { srv.Close() })
	return p
}

// NewSession begins one conversation.
func (p *postOffice) NewSession(*smtp.Conn) (smtp.Session, error) { return &counter{office: p}, nil }

func (p *postOffice) all() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mails
}

// counter is where one mail at a time is handed in.
type counter struct {
	office *postOffice
	to     string
}

func (c *counter) Mail(string, *smtp.MailOptions) error { return nil }
func (c *counter) Rcpt(to string, _ *smtp.RcptOptions) error {
	c.to = to
	return nil
}

func (c *counter) Data(r io.Reader) error {
	m, err := mail.ReadMessage(r)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(m.Body)
	if err != nil {
		return err
	}
	c.office.mu.Lock()
	defer c.office.mu.Unlock()
	c.office.mails = append(c.office.mails, c.to+": "+m.Header.Get("Subject")+": "+strings.TrimSpace(string(text)))
	return nil
}

func (c *counter) Reset()        {}
func (c *counter) Logout() error { return nil }

// bell is a gRPC server that rings once for each key. It does not answer its
// first caller.
type bell struct {
	addr     string
	rung     chan struct{} // closed when it was rung first
	answered chan struct{} // closed by answer

	mu    sync.Mutex
	keys  map[string]bool
	done  []string // the couples
	asked int
}

func openBell(t *testing.T) *bell {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &bell{addr: l.Addr().String(), rung: make(chan struct{}), answered: make(chan struct{}), keys: map[string]bool{}}
	srv := grpc.NewServer()
	srv.RegisterService(&grpc.ServiceDesc{ServiceName: "church.v1.Church", HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{{
		MethodName: "Ring",
		Handler: func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			in := new(structpb.Struct)
			if err := decode(in); err != nil {
				return nil, err
			}
			md, _ := metadata.FromIncomingContext(ctx)
			return b.ring(ctx, strings.Join(md.Get("idempotency-key"), ","), in.Fields["couple"].GetStringValue())
		},
	}}}, nil)
	go srv.Serve(l)
	t.Cleanup(srv.Stop)
	return b
}

func (b *bell) ring(ctx context.Context, key, couple string) (*structpb.Struct, error) {
	b.mu.Lock()
	b.asked++
	if !b.keys[key] {
		b.keys[key], b.done = true, append(b.done, couple)
	}
	if b.asked == 1 {
		close(b.rung)
	}
	b.mu.Unlock()
	select {
	case <-b.answered:
	case <-ctx.Done():
	}
	return new(structpb.Struct), ctx.Err()
}

// answer lets callers have their answers.
func (b *bell) answer() { close(b.answered) }

// all are the couples for whom it was rung, and how often it was asked to.
func (b *bell) all() (couples []string, asked int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.done, b.asked
}
