package salscript_test

import (
	"testing"

	"github.com/ramet-run/ramet/script/salscript"
	"github.com/ramet-run/ramet/script/scripttest"
)

func TestDurable(t *testing.T) {
	runtime := salscript.New(salscript.Config{On: true, Jail: cell(t)})
	defer runtime.Close()
	scripttest.Durable(t, runtime, scripttest.DurableRhai)
}
