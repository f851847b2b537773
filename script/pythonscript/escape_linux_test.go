package pythonscript_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/script/pythonscript"
	"github.com/ramet-run/ramet/script/scripttest"
)

func TestPoolEscapes(t *testing.T)   { testEscapes(t, pythonscript.Config{}) }
func TestReusedEscapes(t *testing.T) { testEscapes(t, pythonscript.Config{Reuse: 100}) }
func TestPlainEscapes(t *testing.T)  { testEscapes(t, pythonscript.Config{Plain: true}) }

func testEscapes(t *testing.T, cfg pythonscript.Config) {
	scripttest.Escapes(t, scripttest.Escape{
		Open: func(t *testing.T, hide []string) script.Runtime {
			cfg.Interpreter, cfg.Hide = "/usr/bin/python3", hide
			return open(t, cfg)
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
