package jail

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// onOwnThread runs f in a new goroutine on an OS thread that ends with it,
// so f may change what Linux keeps per thread.
func onOwnThread(f func()) {
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread dies with the goroutine
		if unix.Gettid() != unix.Getpid() {
			f()
			return
		}
		// The main thread cannot die, and /proc/self shows its state: leave it
		// as it is. It stays locked here while another thread does the work.
		done := make(chan struct{})
		go func() {
			runtime.LockOSThread()
			close(done)
			f()
		}()
		<-done
		runtime.UnlockOSThread()
	}()
}

// keptCapabilities are what root's scripts keep of root's powers: those about
// files, identity and low ports, the set that container engines leave. The
// others govern the machine; CAP_SYS_RESOURCE among them could undo limits.
var keptCapabilities = mask(unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FSETID, unix.CAP_FOWNER,
	unix.CAP_NET_RAW, unix.CAP_SETGID, unix.CAP_SETUID, unix.CAP_SETFCAP, unix.CAP_SETPCAP,
	unix.CAP_NET_BIND_SERVICE, unix.CAP_SYS_CHROOT, unix.CAP_KILL, unix.CAP_AUDIT_WRITE)

func mask(capabilities ...int) (set uint64) {
	for _, c := range capabilities {
		set |= 1 << c
	}
	return set
}

// dropCapabilities takes all but keptCapabilities from this thread, for good.
// Without any capabilities there is nothing to do.
func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return err
	}
	if data[0].Permitted == 0 && data[1].Permitted == 0 {
		return nil
	}
	if data[0].Effective&(1<<unix.CAP_SETPCAP) != 0 {
		// A program that root executes gets what the bounding set allows.
		for c := range unix.CAP_LAST_CAP + 1 {
			if keptCapabilities&(1<<c) == 0 {
				if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0); err != nil && err != unix.EINVAL {
					return err
				}
			}
		}
	}
	for i := range data {
		keep := uint32(keptCapabilities >> (32 * i))
		data[i].Effective &= keep
		data[i].Permitted &= keep
		data[i].Inheritable &= keep
	}
	return unix.Capset(&header, &data[0])
}
