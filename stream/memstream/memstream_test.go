package memstream_test

import (
	"testing"

	"github.com/ramet-run/ramet/stream"
	"github.com/ramet-run/ramet/stream/memstream"
	"github.com/ramet-run/ramet/stream/streamtest"
)

func TestLog(t *testing.T) {
	streamtest.Run(t, streamtest.Factory{
		Open: func(t *testing.T) streamtest.Broker {
			b := memstream.New()
			return streamtest.Broker{
				Log: func(t *testing.T) stream.Log { return b.Log() },
				Restart: func(t *testing.T) {
					b.Fault(memstream.Faults{Away: true})
					b.Fault(memstream.Faults{})
				},
			}
		},
		Features: streamtest.Features{Bubble: true},
	})
}
