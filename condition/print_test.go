package condition_test

import (
	"os"
	"testing"

	"github.com/ramet-run/ramet/condition"
)

// TestNothingIsPrinted: a stranger's condition must not write lines into the log of a node.
func TestNothingIsPrinted(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	was := os.Stdout
	os.Stdout = w
	for _, compile := range []func(string, ...string) (*condition.Condition, error){condition.Compile, condition.CompileList} {
		for _, text := range []string{`print("a line") == ()`, `debug("a line") == ()`} {
			c, err := compile(text)
			if err == nil {
				_, err = c.Value(t.Context())
			}
			if err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
	os.Stdout = was
	w.Close()
	var text [100]byte
	if n, _ := r.Read(text[:]); n > 0 {
		t.Errorf("it was printed: %q", text[:n])
	}
}
