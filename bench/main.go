// Command bench measures Ramet: each measure runs in a process of its own on
// a fresh board and prints one JSON line. See docs/performance.md.
//
//	go run ./bench                          everything
//	go run ./bench -what drain -board pebble -n 100000
//	go run ./bench -what growth -board pebble    how costs grow
//	go run ./bench -list                    the measures
//	go run ./bench -check                   compare ratios with the recorded ones
//	go run ./bench -record                  record the ratios anew
//	go run ./bench -beside FILE             measure in turn with other programs
//
// The figures of one run are comparable with each other, not with those of
// another machine or another hour: the machine may be shared.
package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/pprof"
	"slices"
	"strings"
	"syscall"

	"github.com/ramet-run/ramet/internal/leash"
)

var (
	what       = flag.String("what", "", "measures, separated by commas; default all")
	boards     = flag.String("board", "pebble,redis-everysec,redis-always", "boards: mem, pebble, redis-everysec, redis-always; etcd for nodes")
	jobs       = flag.Int("n", 100_000, "jobs of a measure")
	dir        = flag.String("dir", "", "folder to work under; default the system's")
	list       = flag.Bool("list", false, "list the measures")
	one        = flag.Bool("one", false, "internal: measure in this process")
	cpuPath    = flag.String("cpuprofile", "", "write a CPU profile of the measure (with one -what and one -board)")
	contexts   = flag.Int("contexts", 1, "contexts that the jobs are spread over")
	archiveURL = flag.String("archive", "sqlite", "where growth-archive archives: sqlite, or the URL of an empty PostgreSQL database on this machine")
	ramet      = flag.String("ramet", "bin/ramet", "programs that start measures, separated by commas; `make build` makes the first")
	encrypt    = flag.String("encrypt", "off", "none: a bare board; off: as a node has it; on: with encrypted contexts")
	compare    = flag.Bool("check", false, "measure the ratios and compare them with "+recordedPath)
	others     = flag.String("beside", "", "file of commands of other programs, to measure in turn with ours; see docs/performance.md")
	rounds     = flag.Int("rounds", 3, "how often, with -beside")
	anew       = flag.Bool("record", false, "measure the ratios and write them to "+recordedPath)
)

// figures are what one measure found.
type figures map[string]any

// measure is one benchmark.
type measure struct {
	name    string
	summary string
	// boards lists the boards it makes sense on; nil is all.
	boards []string
	run    func(r *rig) figures
}

// growth names all measures of how a cost grows.
const growth = "growth"

// asked reports whether the measure is one of those to be made.
func (m *measure) asked() bool {
	names := strings.Split(*what, ",")
	return slices.Contains(names, m.name) || slices.Contains(names, growth) && strings.HasPrefix(m.name, growth+"-")
}

var measures = []measure{
	{"submit", "submits a second: one caller, 64 callers, batches of 1,000", nil, submitRates},
	{"batches", "the submits in batches alone", nil, batchRate},
	{"metrics", "what counting costs: a backlog that is drained in parts, every other one with a node's metrics and a scrape every second", nil, metricsCost},
	{"traces", "what spans cost: the same with no job in a trace, one of a hundred, all, and a collector on the loopback", nil, tracesCost},
	{"drain", "no-op jobs a second from a backlog until the board says that all have ended", nil, drainRate},
	{"cycle", "no-op jobs a second with 64 callers that submit while the runner works", nil, cycleRate},
	{"latency", "idle: from the call of submit to the start of the script, and to its result", nil, latency},
	{"backlog", "cost of a job at backlogs of 1,000, 100,000 and 1,000,000", nil, backlogCost},
	{"contexts", "cost of a job with 1 and with 1,000 contexts", nil, contextCost},
	{"memory", "peak memory with a million no-op jobs queued", []string{"pebble"}, memory},
	{"copy", "items a second from one board to an embedded one, compared; a backup, beside what the disk takes", nil, copyRate},
	{"backup", "a backup, beside what the disk takes; jobs a second of a drain, alone and while backups are written", nil, backupCost},
	{"python", "Python jobs a second: forked pool against python3 for each", []string{"pebble"}, pythonRate},
	{"durable", "Rhai jobs a second with three remembered steps and their processor time, beside the same without; idle: submit to result", nil, durableRate},
	{"durable-python", "the same of Python", nil, durablePythonRate},
	{"sleepers", "what each of 10,000 scripts that sleep takes of the heap and of the board's folder", nil, sleeperCost},
	{"bare", "processor time of the bare store for the writes of a no-op job", []string{"pebble", "redis-everysec", "redis-always"}, bareCost},
	{"schedules", "10,000 schedules within five seconds: how late their flows are", nil, scheduleLateness},
	{"flows", "flows of three steps a second, with 1,000, 5,000 and 20,000 at once", nil, flowRate},
	{"flow-latency", "idle: from the call of submit to the known end of a flow of three steps", nil, flowLatency},
	{"flow-shapes", "cost of a job in flows of 100 and 10,000: chain, fan-out, lattice", nil, flowShapes},
	{"shards", "a fan-out of 10,000 shards in one step", nil, flowShards},
	{"each", "a fan-out of 10,000 elements of a list, beside one of as many shards", nil, flowEach},
	{"stream", "sustained rate of an endless pack", nil, flowStream},
	{"messages", "signed messages a second between two contexts of a board: chat, jobs with their results; round trip when idle", nil, messagesHere},
	{"messages-nats", "the same between two sites with boards of their own, over embedded NATS and a leaf link", nil, messagesNATS},
	{"sagas", "transitions of sagas a second on embedded NATS with a sync for each message, beside JetStream used bare for the same messages", nil, sagaRate},
	{"saga-latency", "idle: from an event to the command that follows, and to the result of its effect", nil, sagaLatency},
	{"saga-three", "instances of sagas with three effects a second", nil, sagaThree},
	{"saga-timers", "100,000 instances with a timer each that come at one time", []string{"pebble"}, sagaTimers},
	{"circles", "scripts of a circle a second from submit to reply, 64 clients; latency of one; on Redis beside a worker that does the " +
		"protocol by hand", nil, circleRate},
	{"resp", "the Redis door beside Redis, by redis-benchmark: requests a second and processor time", []string{"mem"}, respRate},
	{"worker", "no-op jobs a second of a worker over HTTP on the loopback, beside a node of -ramet", []string{"mem"}, workerRate},
	{"worker-latency", "from the submit of a job to its start in an idle worker, over HTTP on the loopback, beside a node of -ramet",
		[]string{"mem"}, workerLatency},
	{"http", "single submits and reads of a job a second over 64 connections to a node of -ramet, beside a server of net/http that does nothing",
		[]string{"mem"}, httpRate},
	{"start", "from the start of -ramet to the first 200 of /ready, and what that, and a call of the command line, costs", []string{"mem"}, startTimes},
	{"growth-ready", "from the start of -ramet to the first 200 of /ready on a folder with 10,000, 100,000 and 1,000,000 jobs that wait",
		[]string{"mem"}, readyCost},
	{"nodes", "cycles of submit, claim and finish on one queue, by eight nodes on one etcd server beside one", []string{"etcd"}, manyNodes},
	{"idle", "processor time of a node with nothing to do", nil, idleCPU},
	{"growth-waiting", "processor time of a node while 1,000, 10,000 and 100,000 jobs wait for a file", nil, waitingCPU("file:in.csv")},
	{"growth-names", "the same while they wait for a name", nil, waitingCPU("the lab is open")},
	{"growth-chain", "cost of a step in flows of 100, 1,000 and 10,000 that a keeper moves on: a chain", nil, grownFlows(needsBefore, oneMayFail)},
	{"growth-when", "the same for a chain in which each step has a condition", nil, grownFlows(needsBefore, allWhen)},
	{"growth-lattice", "the same for layers of ten, in which each step needs three", nil, grownFlows(needsLayer, oneMayFail)},
	{"growth-fans", "the same for fans of fifty, one after the other", nil, grownFlows(needsFan, oneMayFail)},
	{"growth-hot", "until others have their event that is behind 1,000, 10,000 and 50,000 of one instance of a saga, and until all have",
		[]string{"pebble"}, hotInstance},
	{"growth-failure", "cost of a job that ends because the one that 100, 1,000 and 10,000 need did not end well", nil, failureCost},
	{"growth-fan", "the same for one fan of all steps", nil, grownFlows(needsFirst, oneMayFail)},
	{"growth-contexts", "start and idle processor time of a node with 1, 10,000 and 100,000 contexts in which nothing happens", []string{"pebble"}, tenantCost},
	{"growth-audit", "one audit of a context with 10,000, 100,000 and 1,000,000 jobs queued", nil, auditCost},
	{"growth-fair", "jobs that end while a flow of three steps waits beside five fan-outs of its context", nil, fairness},
	{"growth-fair-slots", "slot time and waits of a context with short jobs beside one with long ones, on two slots", nil, slotShares},
	{"growth-lists", "processor time of the first hundred of each list, with 1,000, 10,000 and 100,000 flows and jobs on the board", nil, listCost},
	{"growth-archive", "cost of a record from the board to the archive, at backlogs of 10,000, 100,000 and 1,000,000, and of searches after", nil, archiveCost},
}

func main() {
	flag.Parse()
	if *list {
		for _, m := range measures {
			fmt.Printf("%-10s %s\n", m.name, m.summary)
		}
		return
	}
	if *one {
		measureHere()
		return
	}
	if do := comparison(); do != nil {
		if err := do(); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	failed := false
	for _, m := range measures {
		if *what != "" && !m.asked() {
			continue
		}
		for _, b := range strings.Split(*boards, ",") {
			if m.boards != nil && !slices.Contains(m.boards, b) {
				continue
			}
			if err := measureApart(trial{m.name, b, *jobs}, os.Stdout); err != nil {
				fmt.Fprintf(os.Stderr, "bench: %s on %s: %v\n", m.name, b, err)
				failed = true
			}
		}
	}
	if failed {
		os.Exit(1)
	}
}

// comparison is what is to be done instead of measuring, if anything.
func comparison() func() error {
	switch {
	case *compare:
		return func() error { return checkRecorded(recordedPath, os.Stdout) }
	case *anew:
		return func() error { return record(recordedPath) }
	case *others != "":
		return func() error {
			file, err := os.Open(*others)
			if err != nil {
				return err
			}
			defer file.Close()
			theirs, err := readSides(file)
			if err != nil {
				return err
			}
			return beside(append(ownSides(cmp.Or(*what, besideMeasures), *boards), theirs...), *rounds, os.Stdout)
		}
	}
	return nil
}

// measureApart runs one measure in a child process, so that its memory and
// processor time are its own.
func measureApart(t trial, out io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "-one", "-what", t.measure, "-board", t.board, "-n", fmt.Sprint(t.jobs), "-dir", *dir,
		"-contexts", fmt.Sprint(*contexts), "-encrypt", *encrypt, "-cpuprofile", *cpuPath, "-archive", *archiveURL, "-ramet", *ramet)
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	return leash.Run(cmd, syscall.SIGKILL)
}

func measureHere() {
	i := slices.IndexFunc(measures, func(m measure) bool { return m.name == *what })
	if i < 0 {
		fmt.Fprintf(os.Stderr, "bench: no measure %q; see -list\n", *what)
		os.Exit(2)
	}
	r, err := openRig(*boards, *dir)
	check(err)
	if *cpuPath != "" {
		f, err := os.Create(*cpuPath)
		check(err)
		check(pprof.StartCPUProfile(f))
		defer func() { pprof.StopCPUProfile(); check(f.Close()) }()
	}
	before := selfCPU() + r.serverCPU()
	f := measures[i].run(r)
	f["measure"], f["board"] = *what, *boards
	f["cpu_s"] = round(selfCPU() + r.serverCPU() - before)
	r.close()
	line, err := json.Marshal(f)
	check(err)
	fmt.Println(string(line))
}

// check ends the measure: a benchmark that met an error has no figures.
func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}
