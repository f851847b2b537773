package main

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/ramet-run/ramet/domain"
)

// killsScripts says that the processes which the node has started can be found.
const killsScripts = true

// killScripts kills the processes below this one that a job of a context has, and says how many they were; job "": all.
func killScripts(job string, tenant domain.TenantID) (n int, err error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, err
	}
	children := map[int][]int{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // it has ended
		}
		// The name in brackets may have anything in it.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(fields) < 2 {
			continue
		}
		parent, _ := strconv.Atoi(fields[1])
		children[parent] = append(children[parent], pid)
	}
	var errs []error
	for below := children[os.Getpid()]; len(below) > 0; {
		pid := below[0]
		below = append(below[1:], children[pid]...)
		if job != "" && !runs(pid, job, tenant) {
			continue
		}
		switch err := syscall.Kill(pid, syscall.SIGKILL); {
		case err == nil:
			n++
		case !errors.Is(err, syscall.ESRCH):
			errs = append(errs, err)
		}
	}
	return n, errors.Join(errs...)
}

// runs reports whether a process is one of a job: its environment says of which.
func runs(pid int, job string, tenant domain.TenantID) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false // it has ended
	}
	lines := strings.Split(string(env), "\x00")
	return slices.Contains(lines, "RAMET_JOB="+job) && slices.Contains(lines, "RAMET_CONTEXT="+strconv.FormatUint(uint64(tenant), 10))
}
