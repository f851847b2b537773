package machine

import (
	"strings"
	"testing"
)

func TestAPanicOfTheInterpreterIsAnError(t *testing.T) {
	fail := func() (err error) {
		defer survive(&err)
		panic("out of range")
	}
	if err := fail(); err == nil || !strings.Contains(err.Error(), "BUG: the interpreter failed: out of range") {
		t.Errorf("%v", err)
	}
}
