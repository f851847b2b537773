//go:build unix

package cli

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"github.com/ramet-run/ramet/domain"
)

// makeSocketDir makes the folder of a socket path, for this user alone. A
// folder in a place that everybody may write to is not trusted where somebody
// else made it.
//
// Errors: [domain.ErrForbidden], [domain.ErrUnavailable].
func makeSocketDir(socket string) error {
	dir := filepath.Dir(socket)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return domain.Unavailablef("make the socket's folder: %v", err)
	}
	return ownDir(dir)
}

// ownDir checks that dir is a folder that nobody else may write to.
func ownDir(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return domain.Unavailablef("the socket's folder: %v", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || int(st.Uid) != os.Getuid() || info.Mode().Perm()&0o022 != 0 {
		return domain.Forbiddenf("%s: want a folder of user %d that nobody else may write to; remove it or set TMPDIR", dir, os.Getuid())
	}
	return nil
}
