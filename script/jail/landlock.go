package jail

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ramet-run/ramet/domain"
)

// Landlock's rights, by what they are about.
const (
	readRights  = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR | unix.LANDLOCK_ACCESS_FS_EXECUTE
	writeRights = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM
	// fileRights are those that a rule on a single file may give.
	fileRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE
)

// devices may be written by every script.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts"}

// fence is a Landlock ruleset in the making: all rules but that for the work
// folder, as open descriptors.
type fence struct {
	abi     int
	handled uint64 // rights that are denied unless a rule gives them
	scoped  uint64
	rules   []rule
}

type rule struct {
	fd     int
	rights uint64
}

// newFence opens what scripts may reach.
//
// Errors: [domain.ErrUnavailable] where the kernel has no Landlock.
func newFence(hide, write []string) (*fence, error) {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return nil, domain.Unavailablef("this kernel has no Landlock, or it is not switched on: %v", errno)
	}
	f := &fence{abi: int(abi), handled: writeRights}
	if abi >= 2 {
		f.handled |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi >= 3 {
		f.handled |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= 6 {
		f.scoped = unix.LANDLOCK_SCOPE_SIGNAL // no signals to the node, its pools, or other jobs
	}
	if len(hide) > 0 {
		f.handled |= readRights
		for _, path := range beside(hide) {
			f.add(path, readRights)
		}
	}
	for _, path := range slices.Concat(devices, write) {
		f.add(path, f.handled)
	}
	return f, nil
}

// add makes a rule; a path that is not there needs none.
func (f *fence) add(path string, rights uint64) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err == nil && stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= fileRights
	}
	f.rules = append(f.rules, rule{fd, rights & f.handled})
}

// enter puts the fence on this thread, with dir as the work folder.
func (f *fence) enter(dir string) error {
	ruleset, err := f.ruleset(dir)
	if err != nil {
		return err
	}
	defer unix.Close(ruleset)
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), 0, 0); errno != 0 {
		return os.NewSyscallError("landlock_restrict_self", errno)
	}
	return nil
}

// ruleset makes a descriptor of the fence for the work folder dir.
func (f *fence) ruleset(dir string) (fd int, err error) {
	// Older kernels know a shorter struct; they take a longer one whose rest is zero.
	attr := unix.LandlockRulesetAttr{Handled_access_fs: f.handled, Scoped: f.scoped}
	ruleset, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return -1, os.NewSyscallError("landlock_create_ruleset", errno)
	}
	defer func() {
		if err != nil {
			unix.Close(int(ruleset))
		}
	}()
	work, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	defer unix.Close(work)
	for _, r := range append(slices.Clip(f.rules), rule{work, f.handled}) {
		beneath := unix.LandlockPathBeneathAttr{Allowed_access: r.rights, Parent_fd: int32(r.fd)}
		if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, ruleset, unix.LANDLOCK_RULE_PATH_BENEATH,
			uintptr(unsafe.Pointer(&beneath)), 0, 0, 0); errno != 0 {
			return -1, os.NewSyscallError("landlock_add_rule", errno)
		}
	}
	return int(ruleset), nil
}

func (f *fence) close() {
	for _, r := range f.rules {
		unix.Close(r.fd)
	}
}

// beside lists the largest trees that hold everything but the hidden ones:
// for /a/b, all of / but /a, and all of /a but /a/b.
func beside(hide []string) []string {
	var hidden []string
	for _, path := range hide {
		path, err := filepath.Abs(path)
		if err != nil {
			continue
		}
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		hidden = append(hidden, path)
	}
	var open []string
	var walk func(dir string)
	walk = func(dir string) {
		entries, _ := os.ReadDir(dir)
		for _, entry := range entries {
			path := filepath.Join(dir, entry.Name())
			above := slices.ContainsFunc(hidden, func(h string) bool { return strings.HasPrefix(h, path+"/") })
			switch {
			case slices.Contains(hidden, path):
			case above:
				walk(path)
			case entry.Type()&os.ModeSymlink != 0: // its target is listed where it is
			default:
				open = append(open, path)
			}
		}
	}
	walk("/")
	return open
}
