package client_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
)

// TestANodeThatDoesNothingAnyMoreEndsARequest: it takes what is sent, as the system does for a process that was stopped.
// One that works on it is waited for, however long that takes.
func TestANodeThatDoesNothingAnyMoreEndsARequest(t *testing.T) {
	for _, c := range []struct {
		name string
		node func(far net.Conn)
		err  error
		most time.Duration
	}{
		{"it is stopped", func(far net.Conn) { io.Copy(io.Discard, far) }, domain.ErrUnavailable, 16 * time.Second},
		{"it is stopped within its answer", func(far net.Conn) {
			if r, err := http.ReadRequest(bufio.NewReader(far)); err == nil && r.URL.Path != "/health" {
				fmt.Fprint(far, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
			}
			io.Copy(io.Discard, far)
		}, domain.ErrUnavailable, 16 * time.Second},
		{"it works", func(far net.Conn) {
			defer far.Close()
			for in := bufio.NewReader(far); ; {
				r, err := http.ReadRequest(in)
				if err != nil {
					return
				}
				if r.URL.Path != "/health" {
					time.Sleep(10 * time.Minute)
				}
				fmt.Fprint(far, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
			}
		}, nil, 10 * time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, err := client.Dialled(func() net.Conn {
					near, far := net.Pipe()
					go c.node(far)
					return near
				})
				if err != nil {
					t.Fatal(err)
				}
				defer n.Close()
				begun := time.Now()
				_, err = n.Info(t.Context())
				if took := time.Since(begun); !errors.Is(err, c.err) || took > c.most || err != nil && !strings.Contains(err.Error(), "not answered GET /health") {
					t.Errorf("after %v: got %v, want %v after %v at most", took, err, c.err, c.most)
				}
			})
		})
	}
}

// TestASocketTellsWhoListens is what the error of a node that hangs names.
func TestASocketTellsWhoListens(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux is asked")
	}
	at := t.TempDir() + "/s"
	l, err := net.Listen("unix", at)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := net.Dial("unix", at)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if pid := client.PeerOf(conn.(*net.UnixConn)); pid != os.Getpid() {
		t.Errorf("got %d, want %d", pid, os.Getpid())
	}
}
