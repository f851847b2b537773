// Command ramet runs scripts and workflows that must not be lost. This
// package is wiring only: flags and file -> parts -> run.
package main

import (
	"os"
	_ "time/tzdata" // schedules have zones, and not every machine does

	"github.com/ramet-run/ramet/door/cli"
	"github.com/ramet-run/ramet/door/cli/program"
	"github.com/ramet-run/ramet/durable/shell"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/script/salscript"
)

// linkedVersion is set by the linker, as `make build` and scripts/release have it do.
var linkedVersion string

var version = program.Version(linkedVersion)

func main() {
	if len(os.Args) > 1 && os.Args[1] == salscript.ChildCommand { // not for people, so no command of door/cli
		os.Exit(salscript.Main(os.Args[2:]))
	}
	if args := os.Args[1:]; shell.Is(args) { // a script calls it, perhaps thousands of times
		os.Exit(shell.Main(args, os.Stdin, os.Stdout, os.Stderr))
	}
	keepPrivate()
	os.Exit(program.Run(cli.Hooks{Version: version, Without: without, Serve: serve, Embedded: embedded, TempFolder: tempFolder, NATSConfig: natsConfig,
		Config: inspectConfig, CheckConfig: checkConfig, Restore: restore, CopyBoard: copyBoard, PlayBlueprint: flow.Play}))
}
