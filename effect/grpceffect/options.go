package grpceffect

import (
	"cmp"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
	"github.com/ramet-run/ramet/internal/pattern"
)

// Options are what an operator says of an effect of kind grpc beside what all
// effects have.
type Options struct {
	// Address is host or host:port. Default port: 443, or 80 without security.
	Address string `yaml:"address"`
	// Method is package.Service/Method.
	Method string `yaml:"method"`
	// Security is tls (the default) or none.
	Security string     `yaml:"security"`
	TLS      effect.TLS `yaml:"tls"`
	// Metadata is sent with each call.
	Metadata map[string]effect.Text `yaml:"metadata"`

	// DescriptorSet is a file as protoc --descriptor_set_out --include_imports
	// and buf build make it.
	DescriptorSet string `yaml:"descriptor_set"`
	// Proto is the text of a .proto file, which imports no others but those that
	// come with Protocol Buffers.
	Proto string `yaml:"proto"`
	// ProtoFiles are .proto files, by their names below one of ProtoPath.
	ProtoFiles []string `yaml:"proto_files"`
	ProtoPath  []string `yaml:"proto_path"`

	// MaxReceive bounds a response, in bytes. Default: 4 MiB.
	MaxReceive int `yaml:"max_receive"`
}

const (
	securityTLS  = "tls"
	securityNone = "none"
)

const defaultMaxReceive = 4 << 20

var (
	methodPattern = pattern.Late(`^([A-Za-z_][A-Za-z0-9_]*\.)*[A-Za-z_][A-Za-z0-9_]*/[A-Za-z_][A-Za-z0-9_]*$`)
	keyPattern    = pattern.Late(`^[a-z0-9_.-]{1,100}$`)
)

// Metadata of ours.
const (
	keyIdempotency = "idempotency-key"
	keyTenant      = "x-tenant-id"
	keyTrace       = "traceparent"
)

// fill sets defaults and looks whether all is right; else it names the field.
func (o *Options) fill(secrets *effect.Secrets) (field string, err error) {
	o.Security = cmp.Or(o.Security, securityTLS)
	o.MaxReceive = cmp.Or(o.MaxReceive, defaultMaxReceive)
	if o.Security != securityTLS && o.Security != securityNone {
		return "security", domain.Invalidf("is %q: want tls or none", o.Security)
	}
	port := map[string]string{securityTLS: "443", securityNone: "80"}[o.Security]
	if o.Address, err = withPort(o.Address, port); err != nil {
		return "address", err
	}
	o.Method = strings.TrimPrefix(o.Method, "/")
	if !methodPattern().MatchString(o.Method) {
		return "method", domain.Invalidf("is %q: want package.Service/Method", o.Method)
	}
	if o.MaxReceive < 1<<10 || o.MaxReceive > 64<<20 {
		return "max_receive", domain.Invalidf("is %d: want 1024 to %d", o.MaxReceive, 64<<20)
	}
	given := 0
	for _, there := range []bool{o.DescriptorSet != "", o.Proto != "", len(o.ProtoFiles) > 0} {
		if there {
			given++
		}
	}
	if given > 1 {
		return "descriptor_set", domain.Invalidf(", proto and proto_files: want one of them, or none where the server tells it itself")
	}
	return o.fillMetadata(secrets)
}

func (o *Options) fillMetadata(secrets *effect.Secrets) (field string, err error) {
	for key, value := range o.Metadata {
		if !keyPattern().MatchString(key) || strings.HasPrefix(key, "grpc-") || strings.HasSuffix(key, "-bin") {
			return "metadata", domain.Invalidf("%q: want a key of a-z, 0-9, '_', '.' and '-', which begins not with grpc- and ends not in -bin", key)
		}
		if slices.Contains([]string{keyIdempotency, keyTenant, keyTrace, "content-type", "user-agent", "te"}, key) {
			return "metadata", domain.Invalidf("%q is set already", key)
		}
		for _, name := range value.Secrets() {
			if err := secrets.Known(name); err != nil {
				return "metadata", err
			}
		}
	}
	return "", nil
}

// withPort is host:port of an address that may be without a port.
func withPort(address, port string) (string, error) {
	host, p, err := net.SplitHostPort(address)
	if err != nil {
		host, p = strings.Trim(address, "[]"), port
	}
	n, err := strconv.ParseUint(p, 10, 16)
	if err != nil || n == 0 || host == "" || strings.ContainsAny(host, " /@?\r\n") {
		return "", domain.Invalidf("is %q: want host or host:port", address)
	}
	return net.JoinHostPort(host, p), nil
}
