package grpceffect

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
)

// final are the codes that say the same however often one asks.
//
// Source: google.golang.org/grpc/codes; the guide of gRPC on status codes.
var final = map[codes.Code]bool{
	codes.InvalidArgument: true, codes.NotFound: true, codes.AlreadyExists: true, codes.PermissionDenied: true, codes.Unauthenticated: true,
	codes.FailedPrecondition: true, codes.OutOfRange: true, codes.Unimplemented: true, codes.DataLoss: true,
}

// translate makes a status one of our errors, without secrets.
func (p *Provider) translate(ctx context.Context, s *schema, err error) error {
	if err == nil {
		return nil
	}
	if closed := p.closedAddress.Load(); closed != nil && status.Code(err) == codes.Unavailable {
		return closed
	}
	st, ok := status.FromError(err)
	if !ok || ctx.Err() != nil && (st.Code() == codes.Canceled || st.Code() == codes.DeadlineExceeded || st.Code() == codes.Unavailable) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return domain.Unavailablef("grpc: %s", p.hide(err.Error()))
	}
	message := p.hide(st.Message())
	text := "grpc: " + codeName(st.Code()) + ": " + message
	if final[st.Code()] {
		return &effect.Refused{Cause: text, Answer: p.refusal(st, message, s)}
	}
	err = domain.Unavailablef("%s", text)
	for _, d := range st.Details() {
		if info, ok := d.(*errdetails.RetryInfo); ok && info.GetRetryDelay().AsDuration() > 0 {
			return &effect.RetryAfter{Err: err, After: info.GetRetryDelay().AsDuration()}
		}
	}
	return err
}

// codeName is a code as documents have it: INVALID_ARGUMENT.
func codeName(c codes.Code) string {
	if c > codes.Unauthenticated {
		return "CODE_" + strconv.Itoa(int(c))
	}
	var b strings.Builder
	for i, r := range c.String() {
		if i > 0 && unicode.IsUpper(r) && c != codes.OK {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToUpper(r))
	}
	return b.String()
}

// refusal is what a saga gets of a status: {"code", "message", "details"}.
func (p *Provider) refusal(st *status.Status, message string, s *schema) json.RawMessage {
	answer := struct {
		Code    string            `json:"code"`
		Message string            `json:"message"`
		Details []json.RawMessage `json:"details,omitempty"`
	}{Code: codeName(st.Code()), Message: message}
	for _, d := range st.Proto().GetDetails() {
		answer.Details = append(answer.Details, detail(d, s))
	}
	if text := asJSON(answer); len(text) <= maxDetails {
		return json.RawMessage(p.lent.Secrets.Redact(string(text)))
	}
	answer.Details = nil
	return asJSON(answer)
}

// maxDetails bounds what is kept of a refusal, in bytes.
const maxDetails = 64 << 10

// detail is one detail as JSON; of a type that nobody here knows, its name.
func detail(d *anypb.Any, s *schema) json.RawMessage {
	text, err := protojson.Marshal(d)
	if err != nil && s != nil {
		text, err = protojson.MarshalOptions{Resolver: s.types}.Marshal(d)
	}
	if err != nil {
		return asJSON(map[string]string{"@type": d.GetTypeUrl()})
	}
	return text
}

// tooLarge reports whether the response was too large to be read: the library
// gives it the code of a server that is exhausted, but the method was done.
func tooLarge(err error) bool {
	st, ok := status.FromError(err)
	return ok && st.Code() == codes.ResourceExhausted &&
		(strings.HasPrefix(st.Message(), "grpc: received message larger than max") ||
			strings.HasPrefix(st.Message(), "grpc: received message after decompression larger than max"))
}

// hide takes secrets out of a text, and makes it one line.
func (p *Provider) hide(text string) string {
	return plain(errors.New(p.lent.Secrets.Redact(text)))
}

// asJSON is for values that all can be written.
func asJSON(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		panic("BUG: cannot be written as JSON: " + err.Error())
	}
	return text
}
