// Package machine tells what this process may have of the machine that it runs on.
package machine

import (
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// Where the kernel tells of control groups.
const (
	groupsFile = "/proc/self/cgroup"
	groupsRoot = "/sys/fs/cgroup"
)

// Memory is how many bytes of memory the process may have: the machine's, or those of
// its control group, or of one above that, where they are less. It is assumed where
// the system does not tell.
func Memory(assumed int64) int64 {
	all := installed()
	if all == 0 {
		all = assumed
	}
	groups, _ := os.ReadFile(groupsFile)
	if limit := groupLimit(string(groups), groupsRoot); limit > 0 {
		all = min(all, limit)
	}
	return all
}

// groupLimit is the least limit of the groups of a process and of those above them, 0
// where there is none. Lines are "hierarchy:controllers:path"; version 2 has number 0
// and no controllers. In a container the path may be that outside of it, so that only
// the root is found, which is the container's own group.
func groupLimit(groups, root string) (least int64) {
	look := func(file string) {
		text, _ := os.ReadFile(file)
		n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // version 2 says "max", version 1 a number beyond all machines
		if err == nil && n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	for line := range strings.Lines(groups) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		under, file := root, "memory.max"
		if parts[1] == "memory" {
			under, file = filepath.Join(root, "memory"), "memory.limit_in_bytes"
		} else if parts[0] != "0" {
			continue
		}
		for at := path.Clean("/" + parts[2]); ; at = path.Dir(at) {
			look(filepath.Join(under, at, file))
			if at == "/" {
				break
			}
		}
	}
	return least
}
