package natslink_test

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/ramet-run/ramet/internal/natslink"
)

// sluggish is a server in this process that gets no processor for a while.
type sluggish struct{ until time.Duration }

func (s sluggish) InProcessConn() (net.Conn, error) {
	ours, theirs := net.Pipe()
	go func() {
		defer theirs.Close()
		time.Sleep(s.until)
		if _, err := io.WriteString(theirs, `INFO {"server_id":"x","version":"2.12.0","headers":true,"max_payload":1048576}`+"\r\n"); err != nil {
			return
		}
		for lines := bufio.NewScanner(theirs); lines.Scan(); {
			if strings.HasPrefix(lines.Text(), "PING") {
				if _, err := io.WriteString(theirs, "PONG\r\n"); err != nil {
					return
				}
			}
		}
	}()
	return ours, nil
}

// TestAServerInThisProcessIsWaitedFor: it is there, and nobody would ask it again.
func TestAServerInThisProcessIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, err := natslink.Dial("", natslink.Embedded, slog.New(slog.DiscardHandler), nats.InProcessServer(sluggish{20 * time.Second}))
		if err != nil {
			t.Fatal(err)
		}
		w.Conn.Close()
	})
}
