package rhaiscript_test

import (
	"testing"

	"github.com/ramet-run/ramet/script/rhaiscript"
	"github.com/ramet-run/ramet/script/scripttest"
)

func TestDurable(t *testing.T) {
	scripttest.Durable(t, rhaiscript.New(rhaiscript.Config{}), scripttest.DurableRhai)
}

func TestOsisDurable(t *testing.T) {
	scripttest.Durable(t, osis(t, memory(t)), scripttest.DurableRhai)
}
