package salscript_test

import (
	"strings"
	"testing"

	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/script/salscript"
	"github.com/ramet-run/ramet/script/scripttest"
)

func TestEscapes(t *testing.T) {
	needChild(t)
	scripttest.Escapes(t, scripttest.Escape{
		Open: func(t *testing.T, hide []string) script.Runtime {
			return salscript.New(salscript.Config{On: true, Hide: hide})
		},
		Exec: func(program string, args ...string) string {
			return "let r = " + strings.TrimSuffix(run("exec "+program+" "+strings.Join(args, " ")), ";\n") + "; ()\n"
		},
	})
}
