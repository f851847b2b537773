package scripts

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// most is what the program may weigh, in MB of 1,000,000 bytes: docs/building.md says what it does.
const most = 75

// TestTheProgramHasNoMethodsThatNobodyCalls holds its weight. One call of a method by a name made at run time, such as
// those of Go's templates, makes the linker keep all methods of all types, which are 18 MB (docs/decisions/0063).
func TestTheProgramHasNoMethodsThatNobodyCalls(t *testing.T) {
	program, err := os.ReadFile(filepath.Join(bin, "ramet"))
	if err != nil {
		t.Fatal(err)
	}
	// The names of functions stand in it for the traces of panics.
	for _, name := range []string{"text/template.(*state).evalField", "html/template.(*Template).Execute"} {
		if bytes.Contains(program, []byte(name)) {
			t.Errorf("the program has %s: who calls it? go build -ldflags=-dumpdep names it beside ReflectMethod", name)
		}
	}
	if mb := len(program) / 1e6; mb > most {
		t.Errorf("the program has %d MB, want at most %d", mb, most)
	}
}
