package work

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// nodeFiles are what a node has in its data folder, beside key files and archives.
var nodeFiles = []string{"board", "contexts", "keys", "nats", "streams", "node.json", "node.lock", "cookie", "ramet.sock"}

// ClosedToItself is what the log says where [Reopen] mended something.
const ClosedToItself = "the data folder was closed to the node's own user and no longer is; a script at isolation open may have done that"

// Reopen gives the node's user back the rights to what is his in a data folder, and
// names what it mended, by paths in the folder. A script at level open is that user: it
// can neither read nor write there, but it can change modes, and so shut the node out.
// Key files that may be read stay as they are, and so does what jobs made.
func Reopen(dataDir string) (mended []string) {
	_ = filepath.WalkDir(dataDir, func(path string, entry fs.DirEntry, err error) error {
		name, relErr := filepath.Rel(dataDir, path)
		if err != nil || relErr != nil {
			return nil // its error is told by who needs it
		}
		parts := strings.Split(name, string(filepath.Separator))
		key := strings.HasSuffix(name, ".key")
		known := name == "." || slices.Contains(nodeFiles, parts[0]) || key || strings.HasPrefix(name, "archive.db")
		if !known || parts[0] == "contexts" && (len(parts) > 3 || !entry.IsDir() || len(parts) == 3 && parts[2] != "jobs") {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		wanted := fs.FileMode(0o600)
		switch {
		case entry.IsDir():
			wanted = 0o700
		case key:
			wanted = 0o400
		case entry.Type() != 0 && entry.Type() != fs.ModeSocket:
			return nil
		}
		info, err := entry.Info()
		if err != nil || info.Mode().Perm()&wanted == wanted {
			return nil
		}
		if os.Chmod(path, info.Mode().Perm()|wanted) == nil { // another user's is not ours to mend
			mended = append(mended, name)
		}
		return nil
	})
	return mended
}
