package scripttest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Why the level open does not hold what the others hold.
const (
	openRootFiles = "open leaves what the node's user may read, and root may read all; let the node run as a user of its own"
	openProc      = "open shows the processes of the machine"
)

// fileAttempts are about the files of the node, of other jobs and of the machine.
var fileAttempts = slices.Concat(secretAttempts(), []attempt{
	{name: "list the data folder", try: func(w *world) error { return list(w.Data) }},
	{name: "list the work folders", try: func(w *world) error { return list(w.Work) }},
	{name: "list another job's folder", try: func(w *world) error { return list(w.VictimDir) }},
	{name: "read another job's file", try: func(w *world) error { return read(filepath.Join(w.VictimDir, "mine")) }},
	{name: "write another job's file", try: func(w *world) error { return write(filepath.Join(w.VictimDir, "mine")) }},
	{name: "make a file in another job's folder", try: func(w *world) error { return create(w.VictimDir, w) }},
	{name: "move another job's file here", try: func(w *world) error { return os.Rename(filepath.Join(w.VictimDir, "mine"), "theirs") }},
	{name: "leave the folder by its parent", try: func(w *world) error { return list("..") }},
	{name: "leave the folder by a link", try: func(w *world) error {
		if err := os.Symlink(w.Data, "way"); err != nil {
			return err
		}
		defer os.Remove("way")
		return read("way/operator.key")
	}},
	{name: "open a file by its handle", try: func(w *world) error {
		handle, mount, err := unix.NameToHandleAt(unix.AT_FDCWD, ".", 0)
		if err != nil {
			return err
		}
		_ = mount
		fd, err := unix.OpenByHandleAt(unix.AT_FDCWD, handle, unix.O_RDONLY)
		if err != nil {
			return err
		}
		return errors.Join(unix.Close(fd), through("opened"))
	}},
	{name: "read the machine's passwords", try: func(*world) error { return read("/etc/shadow") }, openRoot: openRootFiles},
	{name: "read root's folder", try: func(*world) error { return list("/root") }, openRoot: openRootFiles},
	{name: "open a disk or another device", try: openDevices, open: "open leaves devices to their own rights"},
	{name: "make a device", try: func(*world) error {
		if err := unix.Mknod("device", unix.S_IFBLK|0o600, int(unix.Mkdev(1, 0))); err != nil {
			return err
		}
		return through("made")
	}},
	{name: "leave a file elsewhere", try: createOutside},
	{name: "write to the kernel's settings", try: func(*world) error {
		return anyOf(write, "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/sys/kernel/uevent_helper", "/proc/sys/vm/drop_caches",
			"/proc/sys/kernel/hostname", "/sys/kernel/mm/transparent_hugepage/enabled", "/sys/power/state")
	}},
	{name: "change its own cgroup", try: func(*world) error {
		text, err := os.ReadFile("/proc/self/cgroup")
		if err != nil {
			return err
		}
		_, path, _ := strings.Cut(strings.TrimSpace(string(text)), "::")
		return anyOf(write, "/sys/fs/cgroup/cgroup.procs", filepath.Join("/sys/fs/cgroup", path, "cgroup.procs"),
			filepath.Join("/sys/fs/cgroup", path, "memory.max"))
	}},
	{name: "make a program with another's rights", try: func(*world) error {
		if err := os.WriteFile("setuid", nil, 0o700); err != nil {
			return err
		}
		defer os.Remove("setuid")
		if os.Getuid() == 0 {
			return os.Chown("setuid", 0, 42)
		}
		return os.Chown("setuid", 0, 0)
	}, openRoot: "open leaves root the rights that container engines leave; no_new_privs makes such a program useless to others' jobs"},
})

// secretAttempts are what there is to do with each file of the node.
func secretAttempts() (list []attempt) {
	for _, what := range []string{"the operator's key", "the board", "the archive", "the config file", "a secret", "the TLS key"} {
		list = append(list,
			attempt{name: "read " + what, try: func(w *world) error { return read(w.Secrets[what]) }},
			attempt{name: "write " + what, try: func(w *world) error { return write(w.Secrets[what]) }},
			attempt{name: "link to " + what, try: func(w *world) error { return os.Link(w.Secrets[what], "linked") }},
			attempt{name: "move " + what, try: func(w *world) error { return os.Rename(w.Secrets[what], "moved") }},
			attempt{name: "remove " + what, try: func(w *world) error { return os.Remove(w.Secrets[what]) }},
			attempt{name: "put another file in the place of " + what, try: func(w *world) error {
				if err := os.WriteFile("other", []byte("mine"), 0o600); err != nil {
					return err
				}
				return os.Rename("other", w.Secrets[what])
			}},
		)
	}
	return list
}

// anyOf tries a thing on several paths and ends with the first that goes through.
func anyOf(try func(path string) error, paths ...string) error {
	var all []error
	for _, path := range paths {
		err := try(path)
		if err == nil {
			return through(path)
		}
		if done := through(""); errors.As(err, &done) {
			return err
		}
		all = append(all, err)
	}
	return errors.Join(all...)
}

func read(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	var some [64]byte
	n, err := file.Read(some[:])
	if err != nil {
		return err
	}
	return through(fmt.Sprintf("read %d bytes of %s", n, path))
}

// write opens a file for writing, and does not write.
func write(path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	file.Close()
	return through("opened " + path + " for writing")
}

func list(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = entry.Name()
	}
	// A folder that is there for the one in it shows nothing of others.
	if here, err := os.Getwd(); err == nil && len(names) == 1 && strings.HasPrefix(here+"/", filepath.Join(path, names[0])+"/") {
		return errors.New("nothing but the way to its own folder")
	}
	if here, err := os.Getwd(); err == nil && path == ".." && len(names) == 1 && names[0] == filepath.Base(here) {
		return errors.New("nothing but its own folder")
	}
	if len(names) == 0 {
		return errors.New("it is empty")
	}
	return through(fmt.Sprintf("%s has %.100q", path, names))
}

// create leaves a file; the test looks whether it is on the machine.
func create(dir string, w *world) error {
	path := filepath.Join(dir, w.Token)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	return through("made " + path)
}

// createOutside leaves files wherever it can. Having made one is no escape: it
// may lie in a private place. The test looks after what is on the machine.
func createOutside(w *world) error {
	made := 0
	for _, dir := range append(outside, filepath.Dir(w.Data)) {
		if done := through(""); errors.As(create(dir, w), &done) {
			made++
		}
	}
	return fmt.Errorf("made %d, which must not be seen outside", made)
}

// harmless are the devices that every script may have.
var harmless = []string{"null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm", "fd", "stdin", "stdout", "stderr", "mqueue",
	"console", "core"}

func openDevices(*world) error {
	entries, err := os.ReadDir("/dev")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if slices.Contains(harmless, entry.Name()) || entry.IsDir() || entry.Type()&os.ModeSymlink != 0 {
			continue
		}
		fd, err := unix.Open("/dev/"+entry.Name(), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err == nil {
			unix.Close(fd)
			return through("opened /dev/" + entry.Name())
		}
	}
	return syscall.EACCES
}
