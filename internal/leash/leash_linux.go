package leash

import "syscall"

func tie(attr *syscall.SysProcAttr, signal syscall.Signal) { attr.Pdeathsig = signal }
