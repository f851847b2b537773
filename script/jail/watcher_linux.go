package jail

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// watchScript waits until its stdin ends, which only the node's end can cause,
// and then kills what carries the node's prefix. Several rounds: processes may
// be forking while it looks.
const watchScript = `trap '' HUP INT QUIT TERM PIPE
while read -r line; do :; done
round=0
while [ $round -lt 100 ]; do
	found=
	for file in $(grep -ls "^Max realtime timeout .* $1[0-9]\{11\}  *us" /proc/[0-9]*/limits 2>/dev/null); do
		pid=${file#/proc/}
		kill -9 "${pid%/limits}" 2>/dev/null && found=1
	done
	[ "$found" ] || exit 0
	round=$((round + 1))
	[ $round -lt 5 ] || sleep 1
done`

// watcher is the shell that outlives the node.
type watcher struct {
	prefix   uint64
	pid      int
	node     *os.File      // the write end of its stdin; ours for as long as we live
	replaced chan struct{} // closed by watch when another took its place
}

func startWatcher(prefix uint64) (*watcher, error) {
	stdin, node, err := os.Pipe()
	if err != nil {
		return nil, domain.Unavailablef("start watcher: %v", err)
	}
	defer stdin.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		node.Close()
		return nil, domain.Unavailablef("start watcher: %v", err)
	}
	defer null.Close()
	pid, err := syscall.ForkExec("/bin/sh", []string{"ramet-watcher", "-c", watchScript, "ramet-watcher", fmt.Sprint(prefix)},
		&syscall.ProcAttr{
			Dir: "/", Env: []string{"PATH=/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL=C"},
			Files: []uintptr{stdin.Fd(), null.Fd(), null.Fd()},
			// A session of its own: what ends the node's group must not end it.
			Sys: &syscall.SysProcAttr{Setsid: true},
		})
	if err != nil {
		node.Close()
		return nil, domain.Unavailablef("start watcher: /bin/sh: %v", err)
	}
	return &watcher{prefix: prefix, pid: pid, node: node, replaced: make(chan struct{})}, nil
}

// watch starts the watcher again should anything end it, and lets it go when
// the reaper closes: with nothing left to kill, it just ends.
func (r *reaper) watch() {
	for {
		ended := make(chan struct{})
		go func(pid int) {
			defer close(ended)
			_, _ = wait(pid)
		}(r.watcher.pid)
		select {
		case <-r.stop:
			r.watcher.node.Close()
			<-ended
			return
		case <-ended:
			r.watcher.node.Close()
		}
		for {
			next, err := startWatcher(r.prefix)
			if err == nil {
				r.mu.Lock()
				last := r.watcher
				r.watcher = next
				r.mu.Unlock()
				close(last.replaced)
				break
			}
			select {
			case <-r.stop:
				return
			case <-time.After(time.Second): // out of processes or memory: try again
			}
		}
	}
}
