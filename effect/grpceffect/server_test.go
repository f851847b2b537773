package grpceffect_test

import (
	"context"
	"errors"
	"maps"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bufbuild/protocompile"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	reflectionv1alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/ramet-run/ramet/effect/effecttest"
	"github.com/ramet-run/ramet/internal/testcert"
	"github.com/ramet-run/ramet/internal/testport"
)

// shop is the service of the tests; common is what it imports.
const (
	shop = `syntax = "proto3";
package shop.v1;
import "google/protobuf/timestamp.proto";
import "google/protobuf/any.proto";
import "common.proto";
service Shop {
  rpc Order(OrderRequest) returns (OrderResponse);
  rpc Watch(OrderRequest) returns (stream OrderResponse);
}
message OrderRequest {
  string name = 1;
  int64 amount_cents = 2;
  repeated Item items = 3;
  common.Place to = 4;
  google.protobuf.Timestamp due = 5;
  google.protobuf.Any extra = 6;
  bytes raw = 7;
}
message Item { string sku = 1; int32 count = 2; }
message OrderResponse { string order_id = 1; bool paid = 2; int64 total_cents = 3; string text = 4; google.protobuf.Any extra = 5; }
`
	common = `syntax = "proto3";
package common;
message Place { string city = 1; }
`
)

// files compiles the sources of a server.
func files(t testing.TB, sources map[string]string) *protoregistry.Files {
	t.Helper()
	c := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{Accessor: protocompile.SourceAccessorFromMap(sources)})}
	compiled, err := c.Compile(t.Context(), "shop.proto")
	if err != nil {
		t.Fatal(err)
	}
	set, seen := &descriptorpb.FileDescriptorSet{}, map[string]bool{}
	var add func(f protoreflect.FileDescriptor)
	add = func(f protoreflect.FileDescriptor) {
		if seen[f.Path()] {
			return
		}
		seen[f.Path()] = true
		for i := range f.Imports().Len() {
			add(f.Imports().Get(i).FileDescriptor)
		}
		set.File = append(set.File, protodesc.ToFileDescriptorProto(f))
	}
	add(compiled[0])
	out, err := protodesc.NewFiles(set)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// server is a gRPC server with a method that counts what it is asked for.
type server struct {
	t          testing.TB
	addr       string
	cert       testcert.Certificate
	sources    map[string]string
	reflection string // v1, v1alpha or none

	mu       sync.Mutex
	running  *grpc.Server
	listens  net.Listener // it may be closed before the server knows it
	asked    map[string]int
	applied  map[string]int
	fail     []error
	hang     chan struct{}
	after    bool
	arrived  chan struct{}
	size     int
	requests []*dynamicpb.Message
	metadata metadata.MD
	answer   func(out *dynamicpb.Message)
}

func newServer(t testing.TB) *server {
	s := &server{t: t, addr: testport.Free(t), cert: testcert.New(t), reflection: "v1", asked: map[string]int{}, applied: map[string]int{},
		sources: map[string]string{"shop.proto": shop, "common.proto": common}}
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
	known := files(s.t, s.sources)
	found, err := known.FindDescriptorByName("shop.v1.Shop")
	if err != nil {
		s.t.Fatal(err)
	}
	method := found.(protoreflect.ServiceDescriptor).Methods().ByName("Order")
	srv := grpc.NewServer(grpc.Creds(credentials.NewTLS(s.cert.Server)), grpc.MaxSendMsgSize(1<<30))
	srv.RegisterService(&grpc.ServiceDesc{ServiceName: "shop.v1.Shop", HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{{MethodName: "Order",
		Handler: func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			in := dynamicpb.NewMessage(method.Input())
			if err := decode(in); err != nil {
				return nil, err
			}
			return s.order(ctx, in, dynamicpb.NewMessage(method.Output()))
		}}}}, nil)
	options := reflection.ServerOptions{Services: srv, DescriptorResolver: known}
	switch s.reflection {
	case "v1":
		reflectionv1.RegisterServerReflectionServer(srv, reflection.NewServerV1(options))
	case "v1alpha":
		reflectionv1alpha.RegisterServerReflectionServer(srv, reflection.NewServer(options))
	}
	s.mu.Lock()
	s.running, s.listens = srv, l
	s.mu.Unlock()
	go srv.Serve(l)
}

func (s *server) stop() {
	s.mu.Lock()
	srv, l := s.running, s.listens
	s.mu.Unlock()
	l.Close()
	srv.Stop()
}

func (s *server) order(ctx context.Context, in, out *dynamicpb.Message) (*dynamicpb.Message, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	k := strings.Join(md.Get("idempotency-key"), ",")
	s.mu.Lock()
	s.metadata = md
	s.requests = append(s.requests, in)
	s.asked[k]++
	var err error
	if len(s.fail) > 0 {
		err, s.fail = s.fail[0], s.fail[1:]
	}
	if strings.Join(md.Get("authorization"), ",") != "Bearer "+effecttest.Secret {
		err = status.Error(codes.Unauthenticated, "not "+strings.Join(md.Get("authorization"), ","))
	}
	hang, after, arrived, size := s.hang, s.after, s.arrived, s.size
	if err == nil && s.applied[k] == 0 && (hang == nil || after) {
		s.applied[k]++
	}
	answer := s.answer
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if hang != nil {
		arrived <- struct{}{}
		select {
		case <-hang:
		case <-ctx.Done():
		}
		return nil, errors.New("nobody is here to hear this")
	}
	fields := out.Descriptor().Fields()
	out.Set(fields.ByName("order_id"), protoreflect.ValueOfString(k))
	out.Set(fields.ByName("text"), protoreflect.ValueOfString(strings.Repeat("x", size)))
	if answer != nil {
		answer(out)
	}
	return out, nil
}

// last is the newest request, as the server read it.
func (s *server) last() *dynamicpb.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[len(s.requests)-1]
}

func (s *server) lastMetadata() metadata.MD {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.metadata)
}

func (s *server) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
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
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.applied[k]
}

func (s target) Fail(n int, refused bool) {
	st := status.New(codes.Unavailable, "later, "+effecttest.Secret)
	if refused {
		st = status.New(codes.FailedPrecondition, "never, "+effecttest.Secret)
	}
	s.set(func() {
		for range n {
			s.fail = append(s.fail, st.Err())
		}
	})
}

func (s target) Hang(applied bool) (<-chan struct{}, func()) {
	hang, arrived := make(chan struct{}), make(chan struct{}, 100)
	s.set(func() { s.hang, s.after, s.arrived = hang, applied, arrived })
	var once sync.Once
	return arrived, func() {
		once.Do(func() { s.set(func() { close(hang); s.hang = nil }) })
	}
}

func (s target) Away() func() {
	s.stop()
	return s.start
}

func (s target) Answer(n int) { s.set(func() { s.size = n }) }

// exhausted says when to come again.
func exhausted(after time.Duration) error {
	st, err := status.New(codes.ResourceExhausted, "too many").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(after)})
	if err != nil {
		panic(err)
	}
	return st.Err()
}
