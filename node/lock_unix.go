//go:build unix

package node

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// lockPause is the pause between two tries at a folder that is in use.
const lockPause = 50 * time.Millisecond

// Lock makes a data folder this process's own until the file is closed or the
// process ends. It comes before anything else is done there. Where another process
// has it, that is given some time to leave: it may be a command that is a node of
// its own for a moment.
//
// Errors: [domain.ErrConflict] while another process has it; [domain.ErrUnavailable].
func Lock(ctx context.Context, dir string, wait time.Duration) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, domain.Unavailablef("make the data folder: %v", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "node.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, domain.Unavailablef("lock the data folder: %v", err)
	}
	for until := time.Now().Add(wait); ; {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) || !time.Now().Before(until) {
			break
		}
		select {
		case <-time.After(lockPause):
		case <-ctx.Done():
			f.Close()
			return nil, ctx.Err()
		}
	}
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		defer f.Close()
		return nil, inUse(dir, f)
	case err != nil:
		f.Close()
		return nil, domain.Unavailablef("lock the data folder: %v", err)
	}
	if err := f.Truncate(0); err == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0) // only for people
	}
	return f, nil
}

// inUse says who has the folder.
func inUse(dir string, f *os.File) error {
	who := ""
	if text, _ := io.ReadAll(io.LimitReader(f, 20)); len(text) > 0 {
		who = " (pid " + strings.TrimSpace(string(text)) + ")"
	}
	return domain.Conflictf("data folder %q is in use by another ramet process%s: stop that one, or use another folder", dir, who)
}
