package jail

import (
	"slices"

	"golang.org/x/sys/unix"
)

// This file is for runs whose processes are forked by a pool that was started
// with [Spec].Parent, and not by the jail itself.

// NextTag is a tag for such a run.
func (j *Jail) NextTag() Tag { return j.reaper.next() }

// Fenced tells whether Ruleset gives anything.
func (j *Jail) Fenced() bool { return j.fence != nil }

// Ruleset makes the fence of files for a run in dir, as a descriptor for
// landlock_restrict_self. The caller closes it. Only where [Jail.Fenced].
func (j *Jail) Ruleset(dir string) (fd int, err error) { return j.fence.ruleset(dir) }

// Sweep kills everything that is left of a run whose first process has ended,
// and returns when it is gone.
func (j *Jail) Sweep(tag Tag) { j.reaper.sweep(tag) }

// Adopt takes over the process of a run whose parent has died, and that has so
// become the node's child. Pid 0 means that the parent did not tell: it is
// found by its tag. False means that there is no such process.
func (j *Jail) Adopt(pid int, tag Tag) (*Process, bool) {
	found := j.reaper.claim(func(candidate int) bool {
		return tagOf(candidate) == tag && (candidate == pid || pid == 0 && leads(candidate))
	})
	if len(found) == 0 {
		return nil, false
	}
	slices.Sort(found)
	for _, other := range found[1:] { // the sweep at the run's end takes these
		j.reaper.disclaim(other)
	}
	p := &Process{Pid: found[0], Tag: tag, jail: j, done: make(chan struct{}), hard: make(chan struct{})}
	go func() {
		defer j.reaper.disclaim(p.Pid)
		p.follow()
	}()
	return p, true
}

// leads tells whether a process leads its session, as a run's first one does.
func leads(pid int) bool {
	session, err := unix.Getsid(pid)
	return err == nil && session == pid
}
