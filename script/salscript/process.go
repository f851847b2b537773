package salscript

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ramet-run/ramet/rhai/value"
)

// This file looks at processes and ends them.

// clockTicks is how Linux counts processor time in /proc, on all its platforms.
const clockTicks = 100

// processInfo is one process.
type processInfo struct {
	pid    int
	name   string
	memory float64 // MiB in use
	cpu    float64 // percent of one processor, over its life
}

func (p *processInfo) show() string { return fmt.Sprintf("%d %s", p.pid, p.name) }

func (h *host) processFunctions() []function {
	return []function{{"kill", kill}, {"process_list", h.processList}, {"process_get", processGet}}
}

// processes lists those whose name or command line contains the pattern; an
// empty one fits all.
func processes(pattern string) ([]*processInfo, error) {
	dirs, err := filepath.Glob("/proc/[1-9]*")
	if err != nil || len(dirs) == 0 {
		return nil, errors.New("processes cannot be seen: /proc is not mounted")
	}
	var list []*processInfo
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		line, _ := os.ReadFile(dir + "/cmdline")
		p := readProcess(pid, dir)
		if p == nil || pid == os.Getpid() || !strings.Contains(p.name, pattern) && !strings.Contains(strings.ReplaceAll(string(line), "\x00", " "), pattern) {
			continue
		}
		list = append(list, p)
	}
	return list, nil
}

// readProcess reads /proc/<pid>/stat; nil for a process that has ended.
func readProcess(pid int, dir string) *processInfo {
	text, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return nil
	}
	// The name stands in brackets and may hold any character.
	from, to := strings.IndexByte(string(text), '('), strings.LastIndexByte(string(text), ')')
	if from < 0 || to < from {
		return nil
	}
	fields := strings.Fields(string(text[to+1:])) // from field 3, state, on
	if len(fields) < 22 || fields[0] == "Z" {
		return nil
	}
	number := func(i int) float64 { f, _ := strconv.ParseFloat(fields[i-3], 64); return f }
	p := &processInfo{pid: pid, name: string(text[from+1 : to]), memory: number(24) * float64(os.Getpagesize()) / (1 << 20)}
	if age := uptime() - number(22)/clockTicks; age > 0 {
		p.cpu = 100 * (number(14) + number(15)) / clockTicks / age
	}
	return p
}

func (h *host) processList(pattern string) ([]value.Value, error) {
	found, err := processes(pattern)
	list := make([]value.Value, len(found))
	for i, p := range found {
		list[i] = h.processType.Value(*p)
	}
	return list, err
}

func processGet(pattern string) (*processInfo, error) {
	list, err := processes(pattern)
	switch {
	case err != nil:
		return nil, err
	case len(list) == 0:
		return nil, fmt.Errorf("process_get: no process matches '%s'", pattern)
	case len(list) > 1:
		return nil, fmt.Errorf("process_get: %d processes match '%s'", len(list), pattern)
	}
	return list[0], nil
}

// kill ends the processes of this job that match. Others are not a script's to
// end: on a node they are other people's jobs and the node itself.
func kill(pattern string) (string, error) {
	if pattern == "" {
		return "", errors.New("kill: the pattern is empty")
	}
	list, err := processes(pattern)
	if err != nil {
		return "", err
	}
	mine, ok := tag(os.Getpid())
	killed := 0
	for _, p := range list {
		if its, found := tag(p.pid); ok && found && its == mine && unix.Kill(p.pid, unix.SIGTERM) == nil {
			killed++
		}
	}
	if killed == 0 {
		return fmt.Sprintf("No matching processes found for '%s'", pattern), nil
	}
	return fmt.Sprintf("Successfully killed %d processes", killed), nil
}
