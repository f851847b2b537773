package saga_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/saga"
	"github.com/ramet-run/ramet/stream"
)

// sends is a saga that sends a command under a step, and keeps what it is told.
const sends = `fn on_event(state, event) {
  if event.type == "tell.Refused" { return #{state: #{n: 1, why: event.payload, trace: event.metadata.trace_id}, next: "closed"} }
  #{work: [#{command: #{aggregate_type: "T", aggregate_id: "7"}, step: "tell", payload: 1}]}
}`

// TestARefusedCommandComesBack: a no of the gateway is an event, told once, also
// where the node ends right after it has heard it.
func TestARefusedCommandComesBack(t *testing.T) {
	bubble(t, func(r *rig) {
		def := machineOf("s", sends)
		def.Commands = []string{"tell"}
		r.apply(shop, def)
		var asked atomic.Int32
		cfg := saga.WorkerConfig{Gateway: door(func(domain.SubmitCommandRequest) int { asked.Add(1); return 422 }).config()}
		stop := r.work(cfg)
		ev := goes("1", `{"id":"1"}`)
		ev.Metadata = map[string]string{domain.MetaTrace: "t-1"}
		r.publish(shop, ev)
		time.Sleep(10 * time.Second)
		stop()
		defer r.work(cfg)()
		time.Sleep(time.Minute)
		x := r.instance(shop, "s", "1")
		if data := string(x.Data); x.State != "closed" || !strings.Contains(data, `"error":"gateway refuses the command: `) ||
			!strings.Contains(data, `"reason":"refused"`) ||
			!strings.Contains(data, `"aggregate_id":"7"`) || !strings.Contains(data, `"trace":"t-1"`) || len(x.Steps) != 0 {
			t.Errorf("got state %s, %d steps, %s", x.State, len(x.Steps), data)
		}
		if got := r.left("deadletter:", "outbox"); len(got) != 0 || asked.Load() != 1 {
			t.Errorf("it is a dead letter, too, or was asked again: %q, %d times", got, asked.Load())
		}
	})
}

// TestWithoutAGatewayCommandsWaitForAPerson: that is the operator's to mend.
func TestWithoutAGatewayCommandsWaitForAPerson(t *testing.T) {
	bubble(t, func(r *rig) {
		def := machineOf("s", sends)
		def.Commands = []string{"tell"}
		r.apply(shop, def)
		defer r.work(saga.WorkerConfig{})()
		r.publish(shop, goes("1", `{"id":"1"}`))
		time.Sleep(10 * time.Second)
		if got := r.left("deadletter:"); len(got) != 1 || r.instance(shop, "s", "1").State != "open" {
			t.Errorf("got %q", got)
		}
	})
}

// TestNobodyElseSaysThatACommandWasRefused: an order is not cancelled because
// somebody publishes what the gateway might have said.
func TestNobodyElseSaysThatACommandWasRefused(t *testing.T) {
	bubble(t, func(r *rig) {
		def := machineOf("s", sends)
		def.Commands = []string{"tell"}
		r.apply(shop, def)
		defer r.work(saga.WorkerConfig{Gateway: door(func(domain.SubmitCommandRequest) int { return 200 }).config()})()
		r.publish(shop, goes("1", `{"id":"1"}`))
		time.Sleep(time.Second) // streams have no order among them, and without an instance nothing comes of what follows
		r.publish(shop, domain.Event{Type: "tell.Refused", Saga: "s", Correlation: "1"})
		life := domain.Event{ID: "forged", Type: "tell.Refused", Saga: "s", Correlation: "1", Life: "1"}
		if _, err := r.engine.Publish(r.Context(), shop, &life); err == nil {
			t.Error("anybody may say for which life an event is")
		}
		text, err := json.Marshal(life)
		r.must(err)
		r.must(r.log.Publish(r.Context(), stream.Message{Stream: domain.WorkflowCommands, Subject: "tenant.acme.workflow.s.1", Data: text}))
		time.Sleep(10 * time.Second)
		got := causes(r.deadLetters(shop))
		if x := r.instance(shop, "s", "1"); x.State != "open" || x.Held != "" || len(got) != 2 {
			t.Errorf("it is in %s, held %q, dead letters %q", x.State, x.Held, got)
		}
	})
}

// TestARefusalIsForTheLifeThatSentTheCommand: the gateway was away for longer than
// the instance was there. Its no begins none, and is none of the next one's.
func TestARefusalIsForTheLifeThatSentTheCommand(t *testing.T) {
	for _, lives := range []int{1, 2} {
		bubble(t, func(r *rig) {
			def := machineOf("s", `fn on_event(state, event) {
  if event.payload?.stop ?? false { return #{next: "closed"} }
  if event.type == "tell.Refused" { return #{next: "refused"} }
  if event.payload?.quiet ?? false { return () }
  #{work: [#{command: #{aggregate_type: "T", aggregate_id: "7"}, step: "tell", payload: 1}]}
}`)
			def.Commands, def.Retention, def.Dedupe = []string{"tell"}, 60, 30
			def.Triggers = append(def.Triggers, domain.SagaTrigger{Source: domain.SourceWorkflow, Types: []string{"tell.Refused"}})
			def.States = append(def.States, domain.SagaState{Name: "refused", On: map[string]domain.Reaction{"*": domain.Ignore}})
			r.apply(shop, def)
			var up atomic.Bool
			defer r.work(saga.WorkerConfig{Gateway: door(func(domain.SubmitCommandRequest) int {
				if up.Load() {
					return 422
				}
				return 503
			}).config()})()
			r.publish(shop, goes("1", `{"id":"1"}`))
			r.publish(shop, goes("2", `{"id":"1","stop":true}`))
			time.Sleep(5 * time.Minute)
			if lives == 2 {
				r.publish(shop, goes("3", `{"id":"1","quiet":true}`))
			}
			time.Sleep(time.Second)
			up.Store(true)
			time.Sleep(time.Minute)
			x, err := r.engine.Instance(r.Context(), shop, "s", "1")
			got := causes(r.deadLetters(shop))
			if lives == 1 && (!errors.Is(err, domain.ErrNotFound) || len(got) != 0) {
				t.Errorf("it began again: %+v, %v, dead letters %q", x, err, got)
			}
			if lives == 2 && (err != nil || x.State != "open" || len(got) != 1 || !strings.Contains(got[0], "an earlier life")) {
				t.Errorf("got %+v, %v, dead letters %q", x, err, got)
			}
		})
	}
}

// TestACommandThatIsTriedInVainIsGivenUp by its saga's policy: the saga learns of it as of a no, and that it
// was none. What was tried before a node ended counts.
func TestACommandThatIsTriedInVainIsGivenUp(t *testing.T) {
	for _, tt := range []struct {
		name   string
		policy *domain.SagaGateway
		// It waits still at from, and is given up at until; most is how often it is tried at the most, 0: any number.
		from, until time.Duration
		most        int32
	}{
		{"after an hour", &domain.SagaGateway{GiveUp: 3600}, 59 * time.Minute, 61 * time.Minute, 0},
		{"after some attempts", &domain.SagaGateway{Attempts: 20, MaxBackoff: 60}, 5 * time.Second, 5 * time.Minute, 20},
		{"by default, after an outage of a day and a half", nil, 35 * time.Hour, 37 * time.Hour, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				def := machineOf("s", sends)
				def.Commands, def.Gateway = []string{"tell"}, tt.policy
				r.apply(shop, def)
				var asked atomic.Int32
				cfg := saga.WorkerConfig{Gateway: door(func(domain.SubmitCommandRequest) int { asked.Add(1); return 503 }).config(), Grace: time.Second}
				stop := r.work(cfg)
				began := time.Now()
				r.publish(shop, goes("1", `{"id":"1"}`))
				time.Sleep(3 * time.Second)
				stop()
				before := asked.Load()
				defer func() { stop() }()
				stop = r.work(cfg)
				time.Sleep(time.Until(began.Add(tt.from)))
				x, err := r.engine.Explain(r.Context(), shop, "s", "1")
				r.must(err)
				if len(x.Unsent) != 1 || x.Standing != domain.StandingOutbox || !strings.HasPrefix(x.Text, "1 work item waits in the outbox") {
					t.Fatalf("it does not wait any more: %+v", x)
				}
				u := x.Unsent[0]
				if want := fmt.Sprintf(": %s (%d attempts)", u.Error, u.Attempts); !strings.HasSuffix(x.Text, "to be sent"+want) {
					t.Errorf("explain says %q, want why and how often it was tried, %q", x.Text, want)
				}
				if least := time.UnixMilli(u.GiveUpMs); u.Attempts <= int(before)-1 || u.Attempts > int(asked.Load()) || least.Before(began) ||
					!strings.Contains(u.String(), "Service Unavailable; it is given up at ") {
					t.Errorf("of %d attempts, %d before the node ended, explain says %s", asked.Load(), before, u.String())
				}
				time.Sleep(time.Until(began.Add(tt.until)))
				in := r.instance(shop, "s", "1")
				if data := string(in.Data); in.State != "closed" || !strings.Contains(data, `"reason":"given_up"`) ||
					!strings.Contains(data, `"error":"given up after `) || !strings.Contains(data, "Service Unavailable") {
					t.Errorf("got state %s, %s", in.State, data)
				}
				if got := r.left("deadletter:", "outbox"); len(got) != 0 || tt.most > 0 && asked.Load() > tt.most {
					t.Errorf("%q are left, and it was tried %d times", got, asked.Load())
				}
			})
		})
	}
}

// broken is a way to the gateway that fails.
type broken struct{ err error }

func (b broken) RoundTrip(*http.Request) (*http.Response, error) { return nil, b.err }

// TestASagaIsNotToldWhereTheGatewayIs, however it cannot be reached: neither its program nor who asks for an
// instance is told of names and addresses of the operator's.
func TestASagaIsNotToldWhereTheGatewayIs(t *testing.T) {
	host, at := "gw.internal", &net.TCPAddr{IP: net.IPv4(10, 255, 255, 53), Port: 53}
	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Source: at, Addr: at, Err: err} }
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"refused", dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)), "connection refused"},
		{"in the middle", &net.OpError{Op: "read", Net: "tcp", Source: at, Addr: at, Err: syscall.ECONNRESET}, "connection reset"},
		{"no name", dial(&net.DNSError{Err: "no such host", Name: host, Server: at.String(), IsNotFound: true}), "name cannot be looked up"},
		{"no answer about the name", &net.DNSError{Err: "i/o timeout", Name: host, Server: at.String(), IsTimeout: true}, "name cannot be looked up"},
		{"no answer", dial(os.ErrDeadlineExceeded), "does not answer in time"},
		{"another's certificate", &tls.CertificateVerificationError{Err: x509.HostnameError{Certificate: &x509.Certificate{DNSNames: []string{host}}, Host: host}},
			"certificate is not accepted"},
		{"closed", io.EOF, "closed the connection"},
		{"a proxy", fmt.Errorf("proxyconnect tcp: %w", &net.AddrError{Err: "missing port", Addr: host}), "cannot be reached"},
		{"what nobody knows", errors.New("http: malformed answer of " + host), "cannot be reached"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				def := machineOf("s", sends)
				def.Commands, def.Gateway = []string{"tell"}, &domain.SagaGateway{Attempts: 9, MaxBackoff: 60}
				r.apply(shop, def)
				client := &http.Client{Transport: broken{tt.err}}
				defer r.work(saga.WorkerConfig{Gateway: saga.GatewayConfig{URL: "http://" + host + "/hidden", Client: client}})()
				r.publish(shop, goes("1", `{"id":"1"}`))
				told := func(what, text string) {
					t.Helper()
					if !strings.Contains(text, tt.want) || strings.Contains(text, host) || strings.Contains(text, "10.255") || strings.Contains(text, "hidden") {
						t.Errorf("%s: got %s, want %q and no address", what, text, tt.want)
					}
				}
				time.Sleep(5 * time.Second)
				x, err := r.engine.Explain(r.Context(), shop, "s", "1")
				r.must(err)
				if len(x.Unsent) != 1 {
					t.Fatalf("got %+v", x)
				}
				told("explain", x.Unsent[0].Error)
				time.Sleep(5 * time.Minute)
				told("the program", string(r.instance(shop, "s", "1").Data))
			})
		})
	}
}

// TestACommandWithoutAStepThatIsGivenUpIsADeadLetter, which says how often it was tried.
func TestACommandWithoutAStepThatIsGivenUpIsADeadLetter(t *testing.T) {
	bubble(t, func(r *rig) {
		def := machineOf("s", `fn on_event(state, event) { #{work: [#{command: #{aggregate_type: "T", aggregate_id: "7"}}]} }`)
		def.Gateway = &domain.SagaGateway{Attempts: 4}
		r.apply(shop, def)
		defer r.work(saga.WorkerConfig{Gateway: door(func(domain.SubmitCommandRequest) int { return 503 }).config()})()
		r.publish(shop, goes("1", `{"id":"1"}`))
		time.Sleep(time.Minute)
		list := r.deadLetters(shop)
		if len(list) != 1 || list[0].Kind != domain.DeadWork || list[0].Attempts != 4 || !strings.HasPrefix(list[0].Cause, "given up after 4 attempts in ") {
			t.Errorf("got %q", causes(list))
		}
	})
}
