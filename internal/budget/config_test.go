package budget

import "testing"

// Inside the package: the machine is made up.
func TestDefaultsGoByTheMachine(t *testing.T) {
	for _, c := range []struct {
		name        string
		on          host
		connections int
		bytes       int64
	}{
		{"a large one", host{files: 1 << 20, memory: 64 << 30}, 10_000, 1 << 30},
		{"one of 4 GiB", host{files: 1 << 20, memory: 4 << 30}, 10_000, 512 << 20},
		{"a small one", host{files: 1 << 20, memory: 512 << 20}, 4096, 64 << 20},
		{"one with few files", host{files: 1024, memory: 4 << 30}, 768, 512 << 20},
		{"one with none to spare", host{files: 64, memory: 4 << 30}, 64, 512 << 20},
	} {
		got := Config{}.on(c.on)
		if got.Connections != c.connections || got.Bytes != c.bytes || got.Strangers != c.connections/8 || got.PerActor != c.connections/4 {
			t.Errorf("%s: got %+v", c.name, got)
		}
	}
	if got := (Config{Connections: 100}).on(someHost); got.Strangers != 12 || got.PerAddress != 25 {
		t.Errorf("what is set counts for what is not: got %+v", got)
	}
}
