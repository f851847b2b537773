package cli

import (
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/domain"
)

// This file keeps passwords of URLs off the command line.

// SecretVariables are the environment variables that may hold one.
var SecretVariables = []string{"RAMET_BOARD", "RAMET_ARCHIVE", "RAMET_STREAM", "RAMET_BUS"}

// secretFlags are the flags for the same.
var secretFlags = []string{"board", "archive", "stream", "bus"}

// fromVariable gives a flag that was not typed the value of its variable. It is
// no default of the flag, for help prints those.
func (a *app) fromVariable(c *cobra.Command, flag string, value *string) {
	if !c.Flags().Changed(flag) {
		*value = a.variable(flag)
	}
}

// variable is the value of a flag's variable.
func (a *app) variable(flag string) string { return a.lookUp("RAMET_" + strings.ToUpper(flag)) }

// lookUp is the value of an environment variable, also of one that may hold a secret.
func (a *app) lookUp(name string) string {
	if a.hooks.Env != nil && slices.Contains(SecretVariables, name) {
		return a.hooks.Env[name]
	}
	return os.Getenv(name)
}

// warnOfSecrets tells who typed a password that others could read it.
func (a *app) warnOfSecrets(c *cobra.Command) {
	for _, name := range secretFlags {
		if f := c.Flags().Lookup(name); f != nil && f.Changed && domain.HasSecret(f.Value.String()) {
			a.complain("warning: --" + name + " has a login on the command line, where others may have seen it: put the URL into a file and write --" +
				name + " @FILE, or into $RAMET_" + strings.ToUpper(name))
		}
	}
}
