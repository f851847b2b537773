package natsstream_test

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
)

// fake is a NATS server that chooses its nonces.
type fake struct {
	url string
	mu  sync.Mutex
	got []string
}

func (f *fake) said() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.got, "\n")
}

// fakeServer listens, sends this nonce to whoever comes, and writes down what is
// answered.
func fakeServer(t *testing.T, nonce string) *fake {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{url: "nats://" + ln.Addr().String()}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				fmt.Fprintf(conn,
					"INFO {\"server_id\":\"X\",\"version\":\"2.15.2\",\"proto\":1,\"headers\":true,\"auth_required\":true,\"max_payload\":1048576,\"nonce\":%q}\r\n", nonce)
				lines := bufio.NewScanner(conn)
				for lines.Scan() {
					f.mu.Lock()
					f.got = append(f.got, lines.Text())
					f.mu.Unlock()
				}
			}()
		}
	}()
	return f
}
