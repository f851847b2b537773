package leash

import (
	"os/exec"
	"runtime"
	"syscall"
)

var starts = make(chan func())

func init() {
	go func() {
		runtime.LockOSThread() // for ever: the signal comes when this thread ends
		for start := range starts {
			start()
		}
	}()
}

// Start starts a command that gets a signal when this program ends, however it
// ends. The kernel sends it when the thread ends that started the command: so
// that is one that lives as long as the program. Others may end before, as those
// do that a jail starts scripts on.
func Start(cmd *exec.Cmd, signal syscall.Signal) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	tie(cmd.SysProcAttr, signal)
	done := make(chan error)
	starts <- func() { done <- cmd.Start() }
	return <-done
}

// Run is Start, and waits for the command to end.
func Run(cmd *exec.Cmd, signal syscall.Signal) error {
	if err := Start(cmd, signal); err != nil {
		return err
	}
	return cmd.Wait()
}
