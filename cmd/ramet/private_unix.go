//go:build unix

package main

import "golang.org/x/sys/unix"

// keepPrivate has all that this process and its libraries make be for its user
// alone, whatever the umask was: databases and their side files, logs, exports.
func keepPrivate() { unix.Umask(unix.Umask(0o077) | 0o077) }
