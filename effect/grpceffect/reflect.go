package grpceffect

import (
	"context"
	"io"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	reflection "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/ramet-run/ramet/domain"
)

// Limits of what a server may tell of itself.
const (
	maxFiles     = 1_000
	maxFileBytes = 16 << 20 // of all together
)

// The services by which servers tell of themselves, the newer one first. Their
// messages are the same.
var reflections = []string{
	"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
	"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
}

// ask asks a server what a method is.
//
// Errors: [domain.ErrNotFound] where it does not know the method,
// [domain.ErrInvalid] where it does not tell; those of the connection.
func ask(ctx context.Context, conn *grpc.ClientConn, method string) (*schema, error) {
	var err error
	for _, service := range reflections {
		var set *descriptorpb.FileDescriptorSet
		if set, err = askAt(ctx, conn, service, method); err == nil {
			return newSchema(set, method)
		}
		switch status.Code(err) {
		case codes.Unimplemented:
		case codes.NotFound:
			return nil, domain.NotFoundf("the server knows no service %s", serviceOf(method))
		default:
			return nil, err
		}
	}
	return nil, domain.Invalidf("the server does not tell of itself (no reflection): give a descriptor_set, proto or proto_files")
}

func serviceOf(method string) string {
	service, _, _ := strings.Cut(method, "/")
	return service
}

func askAt(ctx context.Context, conn *grpc.ClientConn, service, method string) (*descriptorpb.FileDescriptorSet, error) {
	ctx, cancel := context.WithCancel(ctx) // ends the stream
	defer cancel()
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, service, grpc.MaxCallRecvMsgSize(maxFileBytes))
	if err != nil {
		return nil, err
	}
	q := &questions{stream: stream, files: map[string]*descriptorpb.FileDescriptorProto{}}
	symbol := &reflection.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: serviceOf(method)}
	err = q.put(&reflection.ServerReflectionRequest{MessageRequest: symbol})
	for err == nil && len(q.wanted) > 0 {
		name := q.wanted[0]
		q.wanted = q.wanted[1:]
		if q.files[name] == nil {
			err = q.file(name)
		}
	}
	if err != nil {
		return nil, err
	}
	set := &descriptorpb.FileDescriptorSet{}
	for _, f := range q.files {
		set.File = append(set.File, f)
	}
	return set, nil
}

// questions are those to one server, and what it answered.
type questions struct {
	stream grpc.ClientStream
	files  map[string]*descriptorpb.FileDescriptorProto
	wanted []string
	size   int
}

// file gets one file that another imports.
func (q *questions) file(name string) error {
	if f, ok := standard(name); ok {
		return q.add(f)
	}
	err := q.put(&reflection.ServerReflectionRequest{MessageRequest: &reflection.ServerReflectionRequest_FileByFilename{FileByFilename: name}})
	if status.Code(err) == codes.NotFound {
		return nil // imported for options alone, perhaps; else it shows
	}
	return err
}

func (q *questions) put(request *reflection.ServerReflectionRequest) error {
	// Where this fails, the answer says why.
	if err := q.stream.SendMsg(request); err != nil && err != io.EOF {
		return err
	}
	response := &reflection.ServerReflectionResponse{}
	if err := q.stream.RecvMsg(response); err != nil {
		if err == io.EOF {
			return domain.Invalidf("the server ends before it has told what it is asked for")
		}
		return err
	}
	if e := response.GetErrorResponse(); e != nil {
		return status.Errorf(codes.Code(e.GetErrorCode()), "%s", e.GetErrorMessage())
	}
	for _, text := range response.GetFileDescriptorResponse().GetFileDescriptorProto() {
		if q.size += len(text); q.size > maxFileBytes {
			return domain.Invalidf("the server tells more than %d bytes of itself", maxFileBytes)
		}
		f := &descriptorpb.FileDescriptorProto{}
		if err := proto.Unmarshal(text, f); err != nil {
			return domain.Invalidf("the server tells of itself what cannot be read: %s", plain(err))
		}
		if err := q.add(f); err != nil {
			return err
		}
	}
	return nil
}

func (q *questions) add(f *descriptorpb.FileDescriptorProto) error {
	if q.files[f.GetName()] != nil {
		return nil
	}
	if len(q.files) == maxFiles {
		return domain.Invalidf("the server tells of more than %d files", maxFiles)
	}
	q.files[f.GetName()] = f
	q.wanted = append(q.wanted, f.GetDependency()...)
	return nil
}
