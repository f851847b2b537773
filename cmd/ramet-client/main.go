// Command ramet-client is the command line without a node in it: it talks to nodes
// elsewhere, on Windows too, where no node runs.
package main

import (
	"os"

	"github.com/ramet-run/ramet/door/cli"
	"github.com/ramet-run/ramet/door/cli/program"
)

// linkedVersion is set by the linker, as scripts/release has it do.
var linkedVersion string

func main() { os.Exit(program.Run(cli.Hooks{Version: program.Version(linkedVersion), Client: true})) }
