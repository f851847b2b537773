package natsstream

import (
	"time"

	"github.com/nats-io/nats.go"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/stream"
)

// incoming is a stored message as the contract has it. Others may publish
// anything: what is odd is handed over as it is.
func incoming(name domain.StreamName, subject string, header nats.Header, data []byte, seq uint64, at time.Time) stream.Message {
	m := stream.Message{Stream: name, Subject: subject, Data: data, Seq: seq, Time: at}
	for key, values := range header {
		switch {
		case len(values) == 0:
		case key == headerID:
			m.ID = values[0]
		case key == headerBatch, key == headerPosition, key == headerCommit:
		default:
			if m.Header == nil {
				m.Header = make(map[string]string, len(header))
			}
			m.Header[key] = values[0]
		}
	}
	if name == domain.WorkflowTroubles {
		m.Data = trouble(data)
	}
	return m
}
