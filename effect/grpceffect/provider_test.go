package grpceffect_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
	"github.com/ramet-run/ramet/effect/effecttest"
	"github.com/ramet-run/ramet/effect/grpceffect"
	"github.com/ramet-run/ramet/egress"
)

func (s *server) options(others map[string]any) map[string]any {
	o := map[string]any{"address": s.addr, "tls": map[string]any{"ca": s.cert.CA}, "method": "shop.v1.Shop/Order",
		"metadata": map[string]any{"authorization": "Bearer ${secret:SECRET}"}}
	for k, v := range others {
		if o[k] = v; v == nil {
			delete(o, k)
		}
	}
	return o
}

func open(t testing.TB, s *server, others map[string]any) effect.Provider {
	t.Helper()
	p, err := grpceffect.Open(effecttest.Definition(t, domain.EffectGRPC, s.options(others)), effecttest.Host(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func TestProvider(t *testing.T) {
	for name, others := range map[string]map[string]any{
		"by reflection": nil,
		"by .proto":     {"proto": strings.ReplaceAll(strings.ReplaceAll(shop, `import "common.proto";`, ""), "common.Place to = 4;", "")},
	} {
		t.Run(name, func(t *testing.T) {
			effecttest.Run(t, effecttest.Config{
				Open: func(t *testing.T) (effect.Provider, effecttest.Target) {
					s := newServer(t)
					return open(t, s, others), target{s}
				},
				Payload: json.RawMessage(`{"name": "Ada", "amountCents": "4200"}`),
			})
		})
	}
}

const within = 30 * time.Second

func do(t testing.TB, p effect.Provider, payload string) (json.RawMessage, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	return p.Do(ctx, effect.Call{Tenant: 7, TenantName: "acme", CommandID: "018f5b1e-0000-7000-8000-000000000001", Effect: "tested",
		Payload: json.RawMessage(payload), Attempt: 1,
		Metadata: map[string]string{"trace_id": "4bf92f3577b34da6a3ce929d0e0e4736"}})
}

func refusal(t testing.TB, err error) *effect.Refused {
	t.Helper()
	var no *effect.Refused
	if !errors.As(err, &no) {
		t.Fatalf("got %v, want a refusal", err)
	}
	return no
}

func again(t testing.TB, err error, want string) {
	t.Helper()
	var no *effect.Refused
	if err == nil || errors.As(err, &no) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want an error after which it is tried again, with %q", err, want)
	}
}

const order = `{"name": "Ada Ü", "amountCents": 9007199254740993, "items": [{"sku": "a-1", "count": 2}], "to": {"city": "Ulm"}, "due": "2026-11-21T12:00:00Z",
	"extra": {"@type": "type.googleapis.com/shop.v1.Item", "sku": "x"}, "raw": "/wA="}`

func TestARequestIsThePayloadAndTheAnswerTheResponse(t *testing.T) {
	dir := t.TempDir()
	s := newServer(t)
	for name, text := range s.sources {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set := &descriptorpb.FileDescriptorSet{}
	files(t, s.sources).RangeFiles(func(f protoreflect.FileDescriptor) bool {
		set.File = append(set.File, protodesc.ToFileDescriptorProto(f))
		return true
	})
	text, err := proto.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "set.pb"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, reflection string
		others           map[string]any
	}{
		{"reflection", "v1", nil},
		{"reflection of old servers", "v1alpha", nil},
		{"a descriptor set", "none", map[string]any{"descriptor_set": filepath.Join(dir, "set.pb")}},
		{".proto files", "none", map[string]any{"proto_files": []string{"shop.proto"}, "proto_path": []string{dir}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newServer(t)
			s.stop()
			s.reflection = tc.reflection
			s.start()
			p := open(t, s, tc.others)
			if err := p.Check(t.Context(), 7); err != nil {
				t.Fatalf("check: %v", err)
			}
			answer, err := do(t, p, order)
			if err != nil {
				t.Fatal(err)
			}
			want := `{"orderId":"018f5b1e-0000-7000-8000-000000000001","paid":false,"totalCents":"0","text":""}`
			if string(answer) != want {
				t.Errorf("got %s, want %s", answer, want)
			}
			got, err := protojson.MarshalOptions{Resolver: dynamicpb.NewTypes(files(t, s.sources))}.Marshal(s.last())
			if err != nil {
				t.Fatal(err)
			}
			var a, b map[string]any
			if err := errors.Join(json.Unmarshal(got, &a), json.Unmarshal([]byte(strings.Replace(order, "9007199254740993", `"9007199254740993"`, 1)), &b)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(b, a); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
			md := s.lastMetadata()
			for key, want := range map[string]string{"idempotency-key": "018f5b1e-0000-7000-8000-000000000001", "x-tenant-id": "acme",
				"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-9d6d66a6fb80a4b3-01", "authorization": "Bearer " + effecttest.Secret} {
				if got := md.Get(key); !cmp.Equal(got, []string{want}) {
					t.Errorf("metadata %s: got %q, want %q", key, got, want)
				}
			}
		})
	}
}

func TestStatuses(t *testing.T) {
	s := newServer(t)
	p := open(t, s, nil)
	if _, err := do(t, p, order); err != nil {
		t.Fatal(err)
	}
	for code, refused := range map[codes.Code]bool{
		codes.Canceled: false, codes.Unknown: false, codes.InvalidArgument: true, codes.DeadlineExceeded: false, codes.NotFound: true,
		codes.AlreadyExists: true, codes.PermissionDenied: true, codes.ResourceExhausted: false, codes.FailedPrecondition: true,
		codes.Aborted: false, codes.OutOfRange: true, codes.Unimplemented: true, codes.Internal: false, codes.Unavailable: false,
		codes.DataLoss: true, codes.Unauthenticated: true, codes.Code(99): false,
	} {
		s.set(func() { s.fail = []error{status.Error(code, "because\nof it")} })
		_, err := do(t, p, order)
		var no *effect.Refused
		if err == nil || errors.As(err, &no) != refused || !strings.HasSuffix(err.Error(), ": because of it") {
			t.Errorf("%s: got %v, refused %v, want %v", code, err, no != nil, refused)
		}
	}
	s.set(func() { s.fail = []error{exhausted(90 * time.Second)} })
	_, err := do(t, p, order)
	var later *effect.RetryAfter
	if !errors.As(err, &later) || later.After != 90*time.Second {
		t.Errorf("got %v, want to come again after 90 s", err)
	}
}

func TestARefusalHasWhatTheServerSaid(t *testing.T) {
	s := newServer(t)
	p := open(t, s, nil)
	st, err := status.New(codes.InvalidArgument, "no such sku").WithDetails(
		&errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: "items[0].sku", Description: "unknown"}}})
	if err != nil {
		t.Fatal(err)
	}
	s.set(func() { s.fail = []error{st.Err()} })
	_, err = do(t, p, order)
	no := refusal(t, err)
	if no.Cause != "grpc: INVALID_ARGUMENT: no such sku" {
		t.Errorf("got %q", no.Cause)
	}
	var got struct {
		Code, Message string
		Details       []map[string]any
	}
	if err := json.Unmarshal(no.Answer, &got); err != nil {
		t.Fatal(err)
	}
	if got.Code != "INVALID_ARGUMENT" || got.Message != "no such sku" || len(got.Details) != 1 || !strings.Contains(fmt.Sprint(got.Details[0]), "items[0].sku") {
		t.Errorf("got %s", no.Answer)
	}
}

func TestHostilePayloadsAreRefused(t *testing.T) {
	s := newServer(t)
	p := open(t, s, nil)
	for _, payload := range []string{
		`{"nmae": "x"}`, `{"name": 5}`, `[]`, `"x"`, `{"amountCents": 1.5}`, `{"name": "x"} {}`, `{"name": "x", "name": "y"}`, `{"items": {"sku": "x"}}`,
		`{"extra": {"@type": "type.googleapis.com/no.Such", "a": 1}}`, `{"due": "yesterday"}`, `{"name": "\ud800"}`, `{`, strings.Repeat(`{"to":`, 20_000),
	} {
		_, err := do(t, p, payload)
		if no := refusal(t, err); !strings.HasPrefix(no.Cause, "grpc: the payload is no shop.v1.OrderRequest: ") || strings.Contains(no.Cause, "\u00a0") {
			t.Errorf("%.60s: got %q", payload, no.Cause)
		}
	}
	if n := (target{s}).Asked(""); n != 0 {
		t.Errorf("the server was asked %d times", n)
	}
}

func TestAResponseThatCannotBeReadIsNoFailure(t *testing.T) {
	s := newServer(t)
	p := open(t, s, map[string]any{"max_receive": 10_000})
	s.set(func() { s.size = 20_000 })
	answer, err := do(t, p, order)
	if err != nil || !strings.Contains(string(answer), `"truncated":true`) {
		t.Errorf("a response that is too large: got %s, %v", answer, err)
	}
	s.set(func() {
		s.size = 0
		s.answer = func(out *dynamicpb.Message) {
			out.SetUnknown([]byte{0x22, 0x02, 0xff, 0xfe}) // the field text, not UTF-8
		}
	})
	answer, err = do(t, p, order)
	if err != nil || !strings.Contains(string(answer), `{"unreadable":"the response is no shop.v1.OrderResponse: `) {
		t.Errorf("a response that is no such message: got %s, %v", answer, err)
	}
}

func TestAServerThatLearnsIsAskedAgain(t *testing.T) {
	s := newServer(t)
	p := open(t, s, nil)
	if _, err := do(t, p, order); err != nil {
		t.Fatal(err)
	}
	s.stop()
	s.sources = map[string]string{"shop.proto": strings.Replace(shop, "bytes raw = 7;", "bytes raw = 7; string coupon = 8;", 1), "common.proto": common}
	s.start()
	grpceffect.Age(p, time.Minute)
	_, err := do(t, p, `{"coupon": "x"}`)
	for end := time.Now().Add(within); errors.Is(err, domain.ErrUnavailable) && time.Now().Before(end); {
		_, err = do(t, p, `{"coupon": "x"}`) // the connection to the server as it was
	}
	if err != nil {
		t.Error(err)
	}
}

func TestServersThatDoNotTell(t *testing.T) {
	s := newServer(t)
	s.stop()
	s.reflection = "none"
	s.start()
	_, err := do(t, open(t, s, nil), order)
	if no := refusal(t, err); !strings.Contains(no.Cause, "no reflection") {
		t.Errorf("got %q", no.Cause)
	}
	s.stop()
	s.reflection = "v1"
	s.start()
	for method, want := range map[string]string{
		"shop.v1.Shop/Buy":     "has no method Buy; it has Order, Watch",
		"shop.v1.Shop/Watch":   "is a stream",
		"shop.v2.Shop/Order":   "shop.v2.Shop",
		"shop.v1.Item/Order":   "shop.v1.Item is no service",
		"shop.v1.Nothing/Here": "shop.v1.Nothing",
	} {
		p := open(t, s, map[string]any{"method": method})
		_, err := do(t, p, order)
		if no := refusal(t, err); !strings.Contains(no.Cause, want) {
			t.Errorf("%s: got %q, want %q in it", method, no.Cause, want)
		}
		if err := p.Check(t.Context(), 7); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("check of %s: got %v, want %q in it", method, err, want)
		}
	}
}

func TestConnections(t *testing.T) {
	s := newServer(t)
	_, err := do(t, open(t, s, map[string]any{"tls": nil}), order)
	again(t, err, "certificate")
	_, err = do(t, open(t, s, map[string]any{"tls": map[string]any{"ca": s.cert.CA, "server_name": "other.test"}}), order)
	again(t, err, "other.test")
	_, err = do(t, open(t, s, map[string]any{"security": "none", "tls": nil}), order)
	again(t, err, "grpc: ")
	if _, err := do(t, open(t, s, map[string]any{"tls": map[string]any{"insecure": true}}), order); err != nil {
		t.Error(err)
	}
	_, err = do(t, open(t, s, map[string]any{"metadata": map[string]any{"authorization": "Bearer wrong-${secret:SECRET}"}}), order)
	if no := refusal(t, err); !strings.Contains(no.Cause, "UNAUTHENTICATED") || strings.Contains(no.Cause, effecttest.Secret) ||
		strings.Contains(string(no.Answer), effecttest.Secret) {
		t.Errorf("got %q, %s", no.Cause, no.Answer)
	}

	rules, err := egress.Parse([]string{"public"})
	if err != nil {
		t.Fatal(err)
	}
	host := effecttest.Host(t)
	host.Dialer = effect.NewDialer(rules)
	p, err := grpceffect.Open(effecttest.Definition(t, domain.EffectGRPC, s.options(nil)), host)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for range 2 {
		_, err = do(t, p, order)
		if no := refusal(t, err); !strings.Contains(no.Cause, "egress") {
			t.Errorf("got %q", no.Cause)
		}
	}
}

func TestOptions(t *testing.T) {
	s := newServer(t)
	for _, tc := range []struct {
		name   string
		others map[string]any
		want   string
	}{
		{"no address", map[string]any{"address": nil}, `address is "": want host or host:port`},
		{"an address with a scheme", map[string]any{"address": "https://shop.test"}, "want host or host:port"},
		{"another resolver", map[string]any{"address": "unix:///run/x"}, "want host or host:port"},
		{"no method", map[string]any{"method": nil}, "want package.Service/Method"},
		{"a method with a header", map[string]any{"method": "a.B/C\r\nx: y"}, "want package.Service/Method"},
		{"security that there is not", map[string]any{"security": "ssl"}, "want tls or none"},
		{"metadata that is ours", map[string]any{"metadata": map[string]string{"idempotency-key": "x"}}, "is set already"},
		{"metadata that is the library's", map[string]any{"metadata": map[string]string{"grpc-timeout": "1S"}}, "begins not with grpc-"},
		{"a secret that there is not", map[string]any{"metadata": map[string]string{"a": "${secret:SECRETS}"}}, "did you mean SECRET?"},
		{"two descriptions", map[string]any{"proto": shop, "descriptor_set": "x"}, "want one of them"},
		{"a description that is not there", map[string]any{"descriptor_set": "/nowhere/x.pb"}, "no such file"},
		{"a description that is none", map[string]any{"descriptor_set": "doc.go"}, "is no descriptor set"},
		{"a .proto that cannot be read", map[string]any{"proto": "syntax = ;"}, "syntax error"},
		{"a .proto that imports what is not there", map[string]any{"proto": shop}, "common.proto"},
		{"a .proto without the method", map[string]any{"proto": common}, "method there is no service shop.v1.Shop"},
		{"a limit that is none", map[string]any{"max_receive": 1}, "want 1024 to"},
		{"a misspelt option", map[string]any{"meta": "x"}, "unknown field"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := grpceffect.Open(effecttest.Definition(t, domain.EffectGRPC, s.options(tc.others)), effecttest.Host(t))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q in it", err, tc.want)
			}
		})
	}
	if got, want := open(t, s, map[string]any{"address": "shop.test"}).Target(), "grpc://shop.test:443"; got != want {
		t.Errorf("got the target %s, want %s", got, want)
	}
}
