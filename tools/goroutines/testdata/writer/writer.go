// Package writer is written to while a program runs.
package writer

import (
	"io"
	"os/exec"
)

// Run runs a program.
func Run(to io.Writer) error {
	cmd := exec.Command("true")
	cmd.Stdout = to
	return cmd.Run()
}
