package jail

import (
	"fmt"
	"os"
	"slices"
	"sync"
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

// errNoLandlock is that of a kernel without.
var errNoLandlock = domain.Unavailablef("this kernel has no Landlock, or it is not switched on")

// fence is a Landlock ruleset in the making: all but the rule for the work
// folder. It is safe for concurrent use.
type fence struct {
	abi     int
	handled uint64 // rights that are denied unless a rule gives them
	scoped  uint64
	cfg     Config
	mounts  int // the kernel's list of mounts, to be told of new ones; -1 where nobody needs it

	mu   sync.Mutex // guards what follows, and the users of every view
	view *view      // what scripts may reach now; nil when it is not known
	hide []string   // what it leaves out
}

// newFence opens what scripts may reach.
//
// Errors: [domain.ErrUnavailable] where the kernel has no Landlock.
func newFence(cfg Config) (*fence, error) {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return nil, fmt.Errorf("%w: %v", errNoLandlock, errno)
	}
	f := &fence{abi: int(abi), handled: writeRights, cfg: cfg, mounts: -1}
	if abi >= 2 {
		f.handled |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi >= 3 {
		f.handled |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= 6 {
		f.scoped = unix.LANDLOCK_SCOPE_SIGNAL // no signals to the node, its pools, or other jobs
	}
	if len(cfg.Hide) > 0 || cfg.Secrets != nil {
		f.handled |= readRights
		f.mounts = openMounts()
	}
	v, err := f.current()
	if err != nil {
		f.close()
		return nil, err
	}
	f.release(v)
	return f, nil
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
	v, err := f.current()
	if err != nil {
		return -1, err
	}
	defer f.release(v)
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
	for _, r := range append(slices.Clip(v.rules), rule{work, f.handled}) {
		beneath := unix.LandlockPathBeneathAttr{Allowed_access: r.rights, Parent_fd: int32(r.fd)}
		if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, ruleset, unix.LANDLOCK_RULE_PATH_BENEATH,
			uintptr(unsafe.Pointer(&beneath)), 0, 0, 0); errno != 0 {
			return -1, os.NewSyscallError("landlock_add_rule", errno)
		}
	}
	return int(ruleset), nil
}

// current is what scripts may reach now: it looks again if anything was added
// since. The caller releases it.
//
// Errors: [domain.ErrUnavailable] when no more descriptors can be opened.
func (f *fence) current() (*view, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	// The mounts are asked always, for they tell only what is new since the last time.
	mounted := mountsChanged(f.mounts)
	hide := f.cfg.hidden()
	if f.view != nil && (mounted || f.view.outdated() || !slices.Equal(hide, f.hide)) {
		f.drop()
	}
	if f.view == nil {
		v, err := look(hide, slices.Concat([]string{"/dev/shm"}, f.cfg.Write), f.handled)
		if err != nil {
			return nil, err
		}
		f.view, f.hide = v, hide
	}
	f.view.users++
	return f.view, nil
}

// release gives back what current gave.
func (f *fence) release(v *view) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if v.users--; v.users == 0 && v != f.view {
		v.close()
	}
}

// drop forgets the view; its last user closes it. f.mu is held.
func (f *fence) drop() {
	if f.view != nil && f.view.users == 0 {
		f.view.close()
	}
	f.view = nil
}

func (f *fence) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drop()
	if f.mounts >= 0 {
		unix.Close(f.mounts)
		f.mounts = -1
	}
}
