package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/ramet-run/ramet/work"
)

// ours are the names in a data folder of what a node makes there. Key files are
// not among them: one that others may read is refused, not mended.
var ours = []string{boardFolder, "contexts", "keys", "nats", streamsFolder, "node.json", "node.lock"}

// tighten gives the node's user back what is his, and takes from other users what a node of an earlier version, or a copy,
// left open to them in the data folder. The folder itself stays as it is, for
// it may hold more than the node's.
func tighten(dataDir string, log *slog.Logger) {
	if mended := work.Reopen(dataDir); len(mended) > 0 {
		log.Warn(work.ClosedToItself, "data", dataDir, "mended", strings.Join(mended, " "))
	}
	var mended []string
	for _, name := range ours {
		path := filepath.Join(dataDir, name)
		info, err := os.Lstat(path)
		if err != nil || info.Mode()&os.ModeSymlink != 0 || info.Mode().Perm()&0o077 == 0 {
			continue
		}
		if err := os.Chmod(path, info.Mode().Perm()&^0o077); err != nil {
			log.Warn("other users may look into the data folder", "at", path, "err", err)
			continue
		}
		mended = append(mended, name)
	}
	if len(mended) > 0 {
		log.Warn("other users could look into the data folder and no longer can; they may have read what is there", "data", dataDir,
			"mended", strings.Join(mended, " "))
	}
}
