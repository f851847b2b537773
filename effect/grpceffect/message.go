package grpceffect

import (
	"bytes"
	"encoding/json"
	"fmt"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/ramet-run/ramet/effect"
)

// request makes the bytes of a request of a payload.
func (s *schema) request(payload json.RawMessage) ([]byte, error) {
	if trimmed := bytes.TrimSpace(payload); len(trimmed) == 0 || string(trimmed) == "null" {
		payload = json.RawMessage("{}")
	}
	m := dynamicpb.NewMessage(s.in)
	if err := (protojson.UnmarshalOptions{Resolver: s.types}).Unmarshal(payload, m); err != nil {
		return nil, effect.Refusedf("grpc: the payload is no %s: %s", s.in.FullName(), plain(err))
	}
	text, err := proto.Marshal(m)
	if err != nil {
		return nil, effect.Refusedf("grpc: the payload is no %s: %s", s.in.FullName(), plain(err))
	}
	return text, nil
}

// answer makes an answer of the bytes of a response. The method was done: what
// cannot be read is said, and is no error.
func (s *schema) answer(response []byte) json.RawMessage {
	m := dynamicpb.NewMessage(s.out)
	err := proto.Unmarshal(response, m)
	var text []byte
	if err == nil {
		// Scripts see false and 0 too, and need not know what was left out.
		text, err = protojson.MarshalOptions{Resolver: s.types, EmitDefaultValues: true}.Marshal(m)
	}
	var flat bytes.Buffer
	if err == nil {
		err = json.Compact(&flat, text) // the library puts spaces where it likes
	}
	if err != nil {
		return asJSON(map[string]string{"unreadable": fmt.Sprintf("the response is no %s: %s", s.out.FullName(), plain(err))})
	}
	return effect.Body(flat.Bytes(), int64(flat.Len()))
}

// bytesCodec hands messages through as bytes: what cannot be read in a response
// must not make the library say that the call failed.
type bytesCodec struct{}

// Name is that of the codec whose bytes they are.
func (bytesCodec) Name() string { return "proto" }

func (bytesCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

func (bytesCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}
