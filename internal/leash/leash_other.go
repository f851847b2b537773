//go:build !linux

package leash

import "syscall"

// tie does nothing: only Linux can. Elsewhere processes have to be stopped.
func tie(*syscall.SysProcAttr, syscall.Signal) {}
