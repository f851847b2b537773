package pythonscript_test

import "testing"

// TestTheModuleIsThereBeforeTheFork, so that no job pays for what is the same for all: what was made
// before it is none of the objects that a job's collector of garbage looks at.
func TestTheModuleIsThereBeforeTheFork(t *testing.T) {
	if line := printed(t, "import gc, ramet\nprint(any(o is ramet.Steps for o in gc.get_objects()))\n"); line != "False" {
		t.Errorf("got %q, want that the module was there", line)
	}
}
