// Command myceliumd is one daemon of package myceliumtest as a process, with the
// flags of the real mycelium daemon, for tests that kill it, cut its links and
// run it beside nodes of several processes:
//
//	myceliumd --key-file a.key --api-addr 127.0.0.1:8989 --jsonrpc-addr 127.0.0.1:8990 --tcp-listen-port 9651
//	myceliumd --key-file b.key --api-addr 127.0.0.1:8991 --jsonrpc-addr 127.0.0.1:8992 --tcp-listen-port 9652 --peers tcp://127.0.0.1:9651
//
// It listens on 127.0.0.1 only. What befalls the messages that arrive here is
// set with --faults, and while it runs with
//
//	curl -X PUT 127.0.0.1:8989/stand-in/faults -d '{"lose":0.1,"double":0.1,"delay_ns":5000000,"seed":7}'
//
// Links are cut and healed as on the real daemon, by DELETE and POST of
// /api/v1/admin/peers.
package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/ramet-run/ramet/internal/myceliumtest"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "myceliumd:", err)
		os.Exit(1)
	}
}

func run() error {
	var c myceliumtest.Config
	var faults myceliumtest.Faults
	flag.StringVar(&c.API, "api-addr", "127.0.0.1:8989", "where the HTTP API listens")
	flag.StringVar(&c.RPC, "jsonrpc-addr", "127.0.0.1:8990", "where the JSON-RPC API listens")
	port := flag.Int("tcp-listen-port", 9651, "the port for links")
	keyFile := flag.String("key-file", "priv_key.bin", "the private key, 32 bytes; made if it is not there")
	flag.Func("peers", "an endpoint to link with; may be repeated", func(s string) error {
		c.Peers = append(c.Peers, s)
		return nil
	})
	flag.Func("faults", "what befalls arriving messages, as JSON", func(s string) error { return json.Unmarshal([]byte(s), &faults) })
	for _, name := range []string{"no-tun", "disable-quic", "disable-peer-discovery", "silent"} {
		flag.Bool(name, false, "as it is")
	}
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}

	var err error
	if c.Key, err = loadKey(*keyFile); err != nil {
		return err
	}
	c.Link = net.JoinHostPort("127.0.0.1", strconv.Itoa(*port))
	network := myceliumtest.NewNetwork()
	network.SetFaults(faults)
	d, err := network.Open(c)
	if err != nil {
		return err
	}
	defer d.Stop()
	fmt.Println(d.Key(), d.Address(), d.URL(), d.Endpoint())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	<-ctx.Done()
	return nil
}

func loadKey(path string) ([]byte, error) {
	key, err := os.ReadFile(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	key = make([]byte, 32)
	rand.Read(key) // never fails
	return key, os.WriteFile(path, key, 0o600)
}
