package natsstream

import (
	"encoding/json"

	"github.com/ramet-run/ramet/stream"
)

// What the server says of messages that it gives up on, before "<stream>.<consumer>".
const (
	advisoryMaxDeliver = "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES."
	advisoryTerminated = "$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED."
)

// trouble is an advisory as the contract has it. What is none stays as it is:
// others may publish there.
//
// Source: NATS ADR-7, "io.nats.jetstream.advisory.v1.max_deliver" and
// "….terminated".
func trouble(advisory []byte) []byte {
	var t stream.Trouble // its names are the advisory's
	if err := json.Unmarshal(advisory, &t); err != nil || t.Stream == "" || t.Consumer == "" {
		return advisory
	}
	data, err := json.Marshal(t)
	if err != nil {
		return advisory
	}
	return data
}
