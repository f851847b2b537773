package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ramet-run/ramet/internal/testcert"
)

func TestCertificatesAreReadAsTheyLieOnTheDisk(t *testing.T) {
	made := testcert.New(t)
	cert, key := made.Cert, made.Key
	broken := filepath.Join(t.TempDir(), "broken.pem")
	if err := os.WriteFile(broken, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &parts{options: options{tlsCert: cert, tlsKey: key, boardURL: "etcds://host:2379/?cert=" + cert + "&key=" + key,
		archiveURL: "postgres://host/db?sslcert=" + broken, streamURL: "nats:?listen=:1&tls_cert=" + filepath.Join(t.TempDir(), "none")}}
	list := p.certificates()
	if len(list) != 4 {
		t.Fatalf("got %+v, want four", list)
	}
	for i, of := range []string{"the doors", "the board", "the archive", "the event streams"} {
		good := i < 2
		if c := list[i]; c.Of != of || good != (c.Error == "") || good != (c.UntilMs > c.FromMs) {
			t.Errorf("got %+v of %s", c, of)
		}
	}
}
