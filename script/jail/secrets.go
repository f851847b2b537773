package jail

import (
	"os"
	"slices"
	"sync"
)

// Secrets are files and folders that no script may read, at any level: what a
// node is configured by. Jails share them, and they may become more: scripts
// that start later do not see the new ones either. It is safe for concurrent
// use, and nil has none.
type Secrets struct {
	mu    sync.Mutex // guards what follows
	paths []string
	edits int
	found []string // where they lay whenever somebody looked
}

// Add names more of them. What is there and neither a file nor a folder (a pipe
// of the shell's, say) is left out.
func (s *Secrets) Add(paths ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, path := range paths {
		info, err := os.Stat(path)
		if err == nil && !info.IsDir() && !info.Mode().IsRegular() || slices.Contains(s.paths, path) {
			continue
		}
		s.paths = append(s.paths, path)
		s.edits++
	}
}

// version is another number when they are others.
func (s *Secrets) version() int {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.edits
}
