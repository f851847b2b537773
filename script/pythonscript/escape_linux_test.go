package pythonscript_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/script/pythonscript"
	"github.com/ramet-run/ramet/script/scripttest"
)

func TestPoolEscapes(t *testing.T)  { testEscapes(t, false) }
func TestPlainEscapes(t *testing.T) { testEscapes(t, true) }

func testEscapes(t *testing.T, plain bool) {
	scripttest.Escapes(t, scripttest.Escape{
		Open: func(t *testing.T, hide []string) script.Runtime {
			return open(t, pythonscript.Config{Interpreter: "/usr/bin/python3", Plain: plain, Hide: hide})
		},
		Exec: func(program string, args ...string) string {
			words := make([]string, len(args))
			for i, arg := range args {
				words[i] = strconv.Quote(arg)
			}
			return "import os\nos.execv('" + program + "', ['" + program + "', " + strings.Join(words, ", ") + "])\n"
		},
	})
}
