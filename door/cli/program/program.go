// Package program is what the programs with the command line have in common: arguments
// that others of the machine may see, signals, keys in files. What a program is besides (a
// node, in cmd/ramet) it gives as hooks.
//
// # Goroutines
//
// One waits for the first signal; it ends with the process.
package program

import (
	"cmp"
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/cli"
	"github.com/ramet-run/ramet/internal/cmdline"
	_ "github.com/ramet-run/ramet/internal/heap" // the first collection of garbage comes late
)

// Version is what a program calls its version: what the linker has set, as `make build` and
// scripts/release have it do; else what `go install …@v1.2.3` and `go build` in a checkout
// write into the program; else "dev".
func Version(linked string) string {
	built := ""
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "(devel)" {
		built = info.Main.Version
	}
	return cmp.Or(linked, built, "dev")
}

// Run runs the command line of this process and returns its exit code. Of the hooks it
// gives those about keys, signatures and the environment itself.
func Run(h cli.Hooks) int {
	args, env := cmdline.Take(domain.ShowArgument, cli.SecretVariables...)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// From the first signal on the next one kills at once, as people expect.
	context.AfterFunc(ctx, stop)
	h.Env, h.NewKey, h.Token, h.SignMessage, h.Rekey = env, newKey, token, signMessage, rekey
	return cli.Main(ctx, args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, h)
}
