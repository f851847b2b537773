package grpceffect

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/ramet-run/ramet/domain"
)

// schema is what is known of a method.
type schema struct {
	in, out protoreflect.MessageDescriptor
	types   *dynamicpb.Types // of all that its files have, for Any and extensions
}

// newSchema finds a method in files.
//
// Errors: [domain.ErrInvalid] for what does not fit together,
// [domain.ErrNotFound] for a method that is not there.
func newSchema(set *descriptorpb.FileDescriptorSet, method string) (*schema, error) {
	// What files import for options alone need not be there.
	files, err := protodesc.FileOptions{AllowUnresolvable: true}.NewFiles(set)
	if err != nil {
		return nil, domain.Invalidf("the description does not fit together: %s", plain(err))
	}
	service, name, _ := strings.Cut(method, "/")
	found, err := files.FindDescriptorByName(protoreflect.FullName(service))
	if err != nil {
		return nil, domain.NotFoundf("there is no service %s", service)
	}
	s, ok := found.(protoreflect.ServiceDescriptor)
	if !ok {
		return nil, domain.NotFoundf("%s is no service", service)
	}
	m := s.Methods().ByName(protoreflect.Name(name))
	if m == nil {
		return nil, domain.NotFoundf("service %s has no method %s; it has %s", service, name, methodNames(s))
	}
	if m.IsStreamingClient() || m.IsStreamingServer() {
		return nil, domain.Invalidf("method %s is a stream; an effect is one request and one response", method)
	}
	if m.Input().IsPlaceholder() || m.Output().IsPlaceholder() {
		return nil, domain.Invalidf("the description lacks the messages of %s", method)
	}
	return &schema{in: m.Input(), out: m.Output(), types: dynamicpb.NewTypes(files)}, nil
}

func methodNames(s protoreflect.ServiceDescriptor) string {
	var names []string
	for i := range min(s.Methods().Len(), 20) {
		names = append(names, string(s.Methods().Get(i).Name()))
	}
	return strings.Join(names, ", ")
}

// read reads the schema that the operator gave; nil: none was.
func (o *Options) read(ctx context.Context) (s *schema, field string, err error) {
	var set *descriptorpb.FileDescriptorSet
	switch {
	case o.DescriptorSet != "":
		field = "descriptor_set"
		set, err = readDescriptorSet(o.DescriptorSet)
	case o.Proto != "":
		field = "proto"
		const name = "effect.proto"
		set, err = compile(ctx, &protocompile.SourceResolver{Accessor: protocompile.SourceAccessorFromMap(map[string]string{name: o.Proto})}, name)
	case len(o.ProtoFiles) > 0:
		field = "proto_files"
		paths := o.ProtoPath
		if len(paths) == 0 {
			paths = []string{"."}
		}
		set, err = compile(ctx, &protocompile.SourceResolver{ImportPaths: paths}, o.ProtoFiles...)
	default:
		return nil, "", nil
	}
	if err != nil {
		return nil, field, err
	}
	if s, err = newSchema(set, o.Method); err != nil {
		return nil, "method", err
	}
	return s, "", nil
}

func readDescriptorSet(path string) (*descriptorpb.FileDescriptorSet, error) {
	text, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return nil, domain.FileErrorf(err, "%v", err)
	}
	set := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(text, set); err != nil || len(set.File) == 0 {
		return nil, domain.Invalidf("%s is no descriptor set: want what protoc --descriptor_set_out --include_imports writes", path)
	}
	return set, nil
}

// compile reads .proto files and all that they import.
func compile(ctx context.Context, from *protocompile.SourceResolver, names ...string) (*descriptorpb.FileDescriptorSet, error) {
	c := protocompile.Compiler{Resolver: protocompile.WithStandardImports(from)}
	files, err := c.Compile(ctx, names...)
	if err != nil {
		return nil, domain.Invalidf("%s", plain(err))
	}
	set := &descriptorpb.FileDescriptorSet{}
	seen := map[string]bool{}
	for _, f := range files {
		addFile(set, seen, f)
	}
	return set, nil
}

// addFile adds a file after those that it imports.
func addFile(set *descriptorpb.FileDescriptorSet, seen map[string]bool, f protoreflect.FileDescriptor) {
	if seen[f.Path()] || f.IsPlaceholder() {
		return
	}
	seen[f.Path()] = true
	for i := range f.Imports().Len() {
		addFile(set, seen, f.Imports().Get(i).FileDescriptor)
	}
	set.File = append(set.File, protodesc.ToFileDescriptorProto(f))
}

// standard is a file that comes with Protocol Buffers.
func standard(name string) (*descriptorpb.FileDescriptorProto, bool) {
	if !strings.HasPrefix(name, "google/protobuf/") {
		return nil, false
	}
	f, err := protoregistry.GlobalFiles.FindFileByPath(name)
	if err != nil {
		return nil, false
	}
	return protodesc.ToFileDescriptorProto(f), true
}

// plain is an error in one line; the library puts spaces of several kinds into
// its texts.
func plain(err error) string {
	const most = 500 // bytes
	s := strings.ToValidUTF8(strings.Join(strings.Fields(err.Error()), " "), "?")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}
