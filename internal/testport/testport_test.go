package testport_test

import (
	"net"
	"testing"

	"github.com/ramet-run/ramet/internal/testport"
)

// TestAPortIsOneTests draws more ports than could be told apart by luck, while no server has come yet.
func TestAPortIsOneTests(t *testing.T) {
	given := map[string]bool{}
	for range 500 {
		addr := testport.Free(t)
		if given[addr] {
			t.Fatalf("%s is given twice", addr)
		}
		given[addr] = true
	}
}

func TestAServerCanCome(t *testing.T) {
	server, err := net.Listen("tcp", testport.Free(t))
	if err != nil {
		t.Fatal(err)
	}
	server.Close()
}
