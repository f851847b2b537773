package http

import (
	"net"
	"time"
)

// LookEvery has a local socket be looked after so often.
func LookEvery(ln net.Listener, every time.Duration) { ln.(*socketListener).every = every }

// KeepSocket looks after a local socket now.
func KeepSocket(ln net.Listener) { ln.(*socketListener).keep() }
