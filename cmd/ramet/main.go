// Command ramet runs scripts and workflows that must not be lost. This
// package is wiring only: flags and file -> parts -> run.
package main

import (
	"cmp"
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	_ "time/tzdata" // schedules have zones, and not every machine does

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/cli"
	"github.com/ramet-run/ramet/internal/cmdline"
	"github.com/ramet-run/ramet/script/salscript"
)

// linkedVersion is set by the linker, as `make build` and scripts/release have it do.
var linkedVersion string

var version = cmp.Or(linkedVersion, builtVersion(), "dev")

// builtVersion is the version that `go install …@v1.2.3` and `go build` in a
// checkout write into the program; "" where there is none.
func builtVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return ""
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == salscript.ChildCommand { // not for people, so no command of door/cli
		os.Exit(salscript.Main(os.Args[2:]))
	}
	keepPrivate()
	args, env := cmdline.Take(domain.ShowArgument, cli.SecretVariables...)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// From the first signal on the next one kills at once, as people expect.
	context.AfterFunc(ctx, stop)
	code := cli.Main(ctx, args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, cli.Hooks{
		Version: version, Without: without, Env: env, Serve: serve, Embedded: embedded, NewKey: newKey,
		Token: token, SignMessage: signMessage, NATSConfig: natsConfig, Rekey: rekey,
	})
	stop()
	os.Exit(code)
}
