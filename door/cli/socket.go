package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strconv"

	"github.com/ramet-run/ramet/identity/cookie"
)

// socketFile is a socket's name in a data folder.
const socketFile = "ramet.sock"

// maxSocketPath is what a unix socket's address holds on Linux, without the
// byte that ends it.
const maxSocketPath = 107

// SocketPath is where the node of a data folder listens: ramet.sock in it,
// or where that is too long for a socket, a path of its own in the folder for
// temporary files.
func SocketPath(dataDir string) string {
	if abs, err := filepath.Abs(dataDir); err == nil {
		dataDir = abs
	}
	path := filepath.Join(dataDir, socketFile)
	if len(path) <= maxSocketPath {
		return path
	}
	sum := sha256.Sum256([]byte(dataDir))
	dir := "ramet-" + strconv.Itoa(os.Getuid())
	return filepath.Join(os.TempDir(), dir, hex.EncodeToString(sum[:8])+".sock")
}

// CookiePath is where the node of a data folder writes its cookie. It is always
// in the folder, wherever the socket is, for nobody but its owner may read it.
func CookiePath(dataDir string) string { return filepath.Join(dataDir, cookie.File) }
