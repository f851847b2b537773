package scripts

import (
	"os"

	"github.com/rogpeppe/go-internal/testscript"
)

// sites starts two organisations that know each other: alpha on the folder A,
// where other sites link to, and beta on B, where alpha's operator, actor 2
// there, is admin of context 7.
func (r *rig) sites(ts *testscript.TestScript, _ []string) {
	r.serve(ts, []string{"alpha", "--data", "A", "--name", "alpha", "--listen", "127.0.0.1:0", "--bus", "nats:?leaf_listen=127.0.0.1:0"})
	r.serve(ts, []string{"beta", "--data", "B", "--name", "beta", "--bus", "nats:?leaf=nats://" + ts.Getenv("LEAF")})
	for _, site := range []struct{ data, name string }{{"A", "alpha"}, {"B", "beta"}} {
		card := run(ts, []string{"--data", site.data, "peer", "card", "--name", site.name})
		ts.Check(os.WriteFile(ts.MkAbs(site.name+".json"), []byte(card.out), 0o600))
	}
	for _, args := range [][]string{
		{"--data", "A", "peer", "add", "beta.json"},
		{"--data", "B", "peer", "add", "alpha.json"},
		{"--data", "B", "context", "create", "--id", "7"},
		{"--data", "B", "context", "grant", "7", "2", "--role", "admin"},
	} {
		if got := run(ts, args); got.code != 0 {
			ts.Fatalf("ramet %q: got exit code %d: %s", args, got.code, got.err)
		}
	}
}
