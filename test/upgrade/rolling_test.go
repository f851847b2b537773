package upgrade

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/ramet-run/ramet/internal/redistest"
	"github.com/ramet-run/ramet/internal/testbinary"
)

// next is a program of the next format.
var next = sync.OnceValues(func() (string, error) {
	dir, err := testbinary.Build("-tags", "grpcnotrace,format_next")
	binaries.folder = dir
	return filepath.Join(dir, "ramet"), err
})

func nextProgram(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("it builds another program")
	}
	program, err := next()
	must(t, err)
	return program
}

// refused wants a node not to start on what a newer one has brought up to date.
func refused(t *testing.T, n *node, what string) {
	t.Helper()
	n.start()
	var exit *exec.ExitError
	if err := <-n.ended; !errors.As(err, &exit) || exit.ExitCode() != 5 {
		t.Errorf("an older program on a newer %s: got %v, want exit code 5", what, err)
	}
	for _, say := range []string{what, "has format 2, this program knows up to 1", "needs ramet 999.0.0 or newer", "restore a backup from before the upgrade"} {
		if !strings.Contains(n.log.String(), say) {
			t.Errorf("nothing says %q:\n%s", say, n.log.String())
		}
	}
}

// TestTwoFormatsOnOneBoard is a rolling upgrade of two nodes: both are at work beside each
// other, the board is brought up to date when the older one has gone, and then no older
// one starts.
func TestTwoFormatsOnOneBoard(t *testing.T) {
	program := nextProgram(t)
	server := redistest.Start(t)
	on := func(program, name string) *node {
		return &node{T: t, program: program, data: t.TempDir(), args: []string{"--name", name, "--board", "redis://" + server.Addr(), "--grace", "1s"}}
	}
	version := func() string {
		c := redis.NewClient(&redis.Options{Addr: server.Addr()})
		defer c.Close()
		v, err := c.HGet(t.Context(), "ramet:format", "version").Result()
		must(t, err)
		return v
	}
	first, second := on(binaries.today, "first"), on(binaries.today, "second")
	first.serve()
	second.serve()
	work := func(id string, n *node, others ...*node) {
		t.Helper()
		n.run("job", "submit", "done.sh")
		for _, n := range append(others, n) {
			n.shows("^status +finished", "job", "show", id)
		}
	}
	work("1", first, second)

	// One is newer. The board stays, and both do work of each other.
	must(t, second.end(syscall.SIGTERM))
	second.program = program
	second.start()
	second.log.Await(t, "the board stays as older nodes know it", 1)
	second.log.Await(t, "node started", 1)
	if v := version(); v != "1" {
		t.Errorf("beside an older node the board has format %s", v)
	}
	work("2", first, second)
	first.run("ban", "type", "shell", "--reason", "hands off") // so that it waits
	first.run("ban", "lift", "type", "shell")
	work("3", second, first)

	// Back is possible as long as one is older.
	must(t, second.end(syscall.SIGTERM))
	second.program = binaries.today
	second.serve()
	work("4", second, first)
	must(t, second.end(syscall.SIGTERM))
	second.program = program
	second.serve()

	// The last older one goes: the board is brought up to date, and it does not come back.
	must(t, first.end(syscall.SIGTERM))
	second.log.Await(t, "the board was brought up to date", 1)
	if v := version(); v != "2" {
		t.Errorf("without an older node the board has format %s", v)
	}
	work("5", second)
	refused(t, first, "the board")
	first.program = program
	first.serve()
	work("6", first, second)
}

// TestAFolderIsBroughtUpToDateAndNotBack goes there and back.
func TestAFolderIsBroughtUpToDateAndNotBack(t *testing.T) {
	program := nextProgram(t)
	n := &node{T: t, program: binaries.today, data: t.TempDir()}
	n.serve()
	n.run("job", "submit", "done.sh")
	n.shows("^status +finished", "job", "show", "1")
	must(t, n.end(syscall.SIGTERM))
	n.program = program
	n.serve()
	n.log.Await(t, "the board was brought up to date", 1)
	n.shows("^status +finished", "job", "show", "1")
	must(t, n.end(syscall.SIGTERM))
	n.program = binaries.today
	refused(t, n, "data folder")
	n.program = program
	n.serve()
}
