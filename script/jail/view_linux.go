package jail

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ramet-run/ramet/domain"
)

// tick is longer than the steps in which file systems count time: a folder
// that changed within it before it was listed may change again without a
// trace.
const tick = 20 * time.Millisecond

// maxNeighbours is how many entries of a folder above a hidden one scripts may
// reach at level open: each takes a descriptor, and time at every start. What
// lies beside the hidden one in a fuller folder is not reached at all.
const maxNeighbours = 1024

// view is what scripts may reach besides their work folder, as it was found
// at one time: open descriptors, so that a start need not find it again.
type view struct {
	rules  []rule
	listed []listing
	closed []string // folders with more neighbours than can be allowed
	users  int      // starts that are using it; guarded by the fence's mutex
}

type rule struct {
	fd     int
	rights uint64
}

// listing is a folder above a hidden one, with the time of its last change
// when its entries were read. A change that may not show is the zero time.
type listing struct {
	fd      int
	changed unix.Timespec
}

// look finds everything but what is hidden.
//
// Errors: [domain.ErrUnavailable] when no more descriptors can be opened.
func look(hidden, write []string, handled uint64) (*view, error) {
	v := &view{}
	err := v.fill(hidden, write, handled)
	if err != nil {
		v.close()
		return nil, err
	}
	return v, nil
}

func (v *view) fill(hidden, write []string, handled uint64) error {
	above := parents(hidden)
	for _, dir := range above {
		names, err := v.list(dir)
		if err != nil {
			return err
		}
		if len(names) > maxNeighbours {
			v.closed = append(v.closed, dir)
			continue
		}
		for _, name := range names {
			path := filepath.Join(dir, name)
			if slices.Contains(hidden, path) || slices.Contains(above, path) {
				continue
			}
			if err := v.allow(path, unix.O_NOFOLLOW, readRights&handled); err != nil {
				return err
			}
		}
	}
	for _, path := range slices.Concat(devices, write) {
		if err := v.allow(path, 0, handled); err != nil {
			return err
		}
	}
	return nil
}

// list reads the names in a folder and remembers when it changed last. One
// that is not there or cannot be read has none.
func (v *view) list(dir string) (names []string, err error) {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, exhausted(dir, err)
	}
	l := listing{fd: fd, changed: changed(fd)}
	if since := time.Since(time.Unix(l.changed.Unix())); since < tick && since > -tick {
		l.changed = unix.Timespec{}
	}
	v.listed = append(v.listed, l)
	folder, err := os.Open(dir)
	if err != nil {
		return nil, exhausted(dir, err)
	}
	defer folder.Close()
	entries, err := folder.ReadDir(maxNeighbours + 1)
	if err == io.EOF {
		err = nil
	}
	if len(entries) > maxNeighbours {
		return make([]string, len(entries)), nil // too many to look at each
	}
	for _, entry := range entries {
		if entry.Type()&os.ModeSymlink == 0 { // the target of one is listed where it is
			names = append(names, entry.Name())
		}
	}
	return names, exhausted(dir, err)
}

// allow makes a rule; a path that is not there needs none.
func (v *view) allow(path string, flags int, rights uint64) error {
	fd, err := unix.Open(path, flags|unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return exhausted(path, err)
	}
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err == nil && stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= fileRights
	}
	v.rules = append(v.rules, rule{fd, rights})
	return nil
}

// exhausted is the error that must not pass for an empty folder. All others
// mean that there is nothing to be allowed.
func exhausted(path string, err error) error {
	if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ENOMEM) {
		return domain.Unavailablef("open %s, so that scripts may read it: %v; raise the limit of open files, or move the data folder to a place with "+
			"fewer neighbours", path, err)
	}
	return nil
}

// outdated tells whether anything was added to, removed from or renamed in the
// folders that were listed. A replaced one shows in its parent.
func (v *view) outdated() bool {
	return slices.ContainsFunc(v.listed, func(l listing) bool { return changed(l.fd) != l.changed })
}

func (v *view) close() {
	for _, r := range v.rules {
		unix.Close(r.fd)
	}
	for _, l := range v.listed {
		unix.Close(l.fd)
	}
}

// changed is when an open folder changed last; not the time of modification,
// which programs set back.
func changed(fd int) unix.Timespec {
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return unix.Timespec{}
	}
	return stat.Ctim
}

// hidden is all that scripts may not read, where it lies now and where it lay
// before: a link may lead elsewhere tomorrow, as those to keys do that are
// renewed, and what it led to is not for scripts either.
func (c Config) hidden() []string {
	hidden := resolve(c.Hide)
	s := c.Secrets
	if s == nil {
		return hidden
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, path := range resolve(s.paths) {
		if !slices.Contains(s.found, path) {
			s.found = append(s.found, path)
		}
	}
	return append(hidden, s.found...)
}

// resolve makes paths absolute and free of symbolic links.
func resolve(paths []string) (real []string) {
	for _, path := range paths {
		if path, err := filepath.Abs(path); err == nil {
			real = append(real, follow(path))
		}
	}
	return real
}

// follow follows the links in an absolute path as far as it exists: a folder
// that is made later must be hidden from the start.
func follow(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil || path == "/" {
		return real
	}
	return filepath.Join(follow(filepath.Dir(path)), filepath.Base(path))
}

// parents are all folders above the hidden ones: everything in them that is
// neither one of them nor hidden is the largest tree that can be allowed.
func parents(hidden []string) (above []string) {
	for _, path := range hidden {
		for dir := path; dir != "/"; {
			dir = filepath.Dir(dir)
			within := slices.ContainsFunc(hidden, func(h string) bool { return dir == h || strings.HasPrefix(dir, h+"/") })
			if !within && !slices.Contains(above, dir) {
				above = append(above, dir)
			}
		}
	}
	return above
}

// openMounts opens the kernel's list of mounts, which tells of changes: what is
// mounted over a folder is another folder, and the one below does not show it.
func openMounts() int {
	fd, err := unix.Open("/proc/self/mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	return fd
}

// mountsChanged tells whether anything was mounted or unmounted since it was
// asked last.
func mountsChanged(fd int) bool {
	if fd < 0 {
		return false
	}
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLPRI}}, 0)
	return n > 0 || err != nil
}
