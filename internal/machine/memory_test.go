package machine

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTheLeastLimitOfTheGroupsAboveCounts(t *testing.T) {
	root := t.TempDir()
	for file, text := range map[string]string{
		"memory.max":                              "max\n",
		"system.slice/memory.max":                 "4000\n",
		"system.slice/ramet.service/memory.max":   "3000\n",
		"system.slice/ramet.service/n/memory.max": "max\n",
		"user.slice/memory.max":                   "max\n",
		"memory/docker/memory.limit_in_bytes":     "2000\n",
		"memory/memory.limit_in_bytes":            "9223372036854771712\n",
		"memory/rubbish/memory.limit_in_bytes":    "-5 lots\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, file)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for groups, want := range map[string]int64{
		"":                                 0,
		"rubbish":                          0,
		"0::/":                             0,
		"0::/user.slice/x\n":               0,
		"0::/system.slice/ramet.service/n": 3000,
		"0::/system.slice/other\n":         4000,
		"0::/../../system.slice\n":         4000,
		"5:cpu,cpuacct:/system.slice\n4:memory:/docker\n":         2000,
		"4:memory:/docker/gone\n0::/system.slice/ramet.service\n": 2000,
		"4:memory:/rubbish\n":                                            9223372036854771712,
		"1:name=systemd:/system.slice\n":                                 0,
		"4:memory:/rubbish\n0::/system.slice/ramet.service/gone/again\n": 3000,
	} {
		if got := groupLimit(groups, root); got != want {
			t.Errorf("%q: got %d, want %d", groups, got, want)
		}
	}
}

func TestMemoryIsAssumedWhereTheSystemDoesNotTell(t *testing.T) {
	if got := Memory(1 << 30); installed() == 0 && got > 1<<30 || got <= 0 {
		t.Errorf("got %d", got)
	}
}
