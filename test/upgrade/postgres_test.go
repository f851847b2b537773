package upgrade

import (
	"strconv"
	"syscall"
	"testing"

	"github.com/ramet-run/ramet/format"
	"github.com/ramet-run/ramet/internal/postgrestest"
)

// TestGoldenPostgres opens the archive of each format that lies on PostgreSQL, with the data
// folder of its node, and lets all in it go on.
func TestGoldenPostgres(t *testing.T) {
	if *update {
		server := postgrestest.Start(t)
		n := &node{T: t, program: binaries.today, data: t.TempDir(), args: []string{"--name", "golden", "--archive", server.URL()}}
		populate(n, true)
		_ = n.end(syscall.SIGTERM)
		pack(t, n.data, golden(format.Ours.Newest(), "postgres-folder.tar.gz"))
		writeAll(t, golden(format.Ours.Newest(), "postgres.json.gz"), []string{server.Dump()})
	}
	for version := range format.Ours {
		t.Run(strconv.Itoa(version+1), func(t *testing.T) {
			server := postgrestest.Start(t)
			for _, text := range readAll[string](t, golden(version+1, "postgres.json.gz")) {
				server.Load(text)
			}
			n := &node{T: t, program: binaries.today, data: t.TempDir(), args: []string{"--config", "open.yaml", "--archive", server.URL()}}
			unpack(t, golden(version+1, "postgres-folder.tar.gz"), n.data)
			n.serve()
			goesOn(n, true)
			n.shows("^status +finished", "job", "show", "1")
			if err := n.end(syscall.SIGTERM); err != nil {
				t.Error(err)
			}
		})
	}
}
