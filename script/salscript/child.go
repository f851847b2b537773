package salscript

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/durable"
	"github.com/ramet-run/ramet/rhai"
	"github.com/ramet-run/ramet/rhai/value"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/script/rhaiscript"
)

// This file is the child's side. It runs the script as the rhai runtime does,
// with the catalogue added; what it says through its files and its exit code
// becomes the outcome again at the node.

// reportFile is the descriptor on which the child says why it failed.
const reportFile = 3

// Exit codes for ends that have none of their own. From 125 on they are
// errors, as those of other processes.
const (
	exitErrored = 125
	exitUsedUp  = 128 + int(unix.SIGXCPU)
)

// The sizes of single values, so that there is a message before the memory is
// gone.
const (
	maxStringBytes = 64 << 20
	maxItems       = 1 << 20
)

// childConfig is the child's one argument.
type childConfig struct {
	Script      string   `json:"script"` // file name
	Tools       []string `json:"tools,omitempty"`
	MemoryBytes int64    `json:"memory_bytes,omitempty"`
	FileBytes   int64    `json:"file_bytes,omitempty"`
}

// Main is the program as a child: it runs the script that args tell of, in the
// present folder and environment, and returns the exit code.
func Main(args []string) int {
	var cfg childConfig
	if len(args) != 1 || json.Unmarshal([]byte(args[0]), &cfg) != nil {
		fmt.Fprintln(os.Stderr, "ramet: "+ChildCommand+" is what a node starts for jobs of type sal; there is no other use for it")
		return exitErrored
	}
	unix.CloseOnExec(reportFile) // not for the commands of the script
	report := os.NewFile(reportFile, "report")
	if cfg.MemoryBytes > 0 {
		debug.SetMemoryLimit(cfg.MemoryBytes)
	}
	os.Setenv("PATH", binFolder()+string(os.PathListSeparator)+os.Getenv("PATH"))
	usedUp := make(chan os.Signal, 1)
	signal.Notify(usedUp, unix.SIGXCPU) // which Go programs do not heed
	go func() {
		<-usedUp
		say(report, "it used up its processor time")
		os.Exit(exitUsedUp)
	}()
	// Not to die at once: the command that runs now has been told too, and may
	// be writing its checkpoint.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	outcome, err := execute(ctx, cfg)
	if err != nil {
		say(report, err.Error())
		return exitErrored
	}
	say(report, outcome.Error)
	return exitCode(outcome)
}

// say leaves one line for the node.
func say(report io.Writer, text string) {
	if len(text) > maxReportBytes {
		text = text[:maxReportBytes]
	}
	_, _ = io.WriteString(report, text)
}

// execute runs the script and writes its result file.
func execute(ctx context.Context, cfg childConfig) (script.Outcome, error) {
	task, err := readTask(cfg)
	if err != nil {
		return script.Outcome{}, err
	}
	h := newHost(ctx, cfg, task)
	defer h.close()
	runtime := rhaiscript.New(rhaiscript.Config{
		MaxOperations: -1, // processor time is bounded from outside
		MaxMemory:     cfg.MemoryBytes, Slots: 1, CacheBytes: 1, Extend: h.extend,
	})
	outcome, err := runtime.Run(ctx, task, h)
	if err != nil {
		return outcome, err
	}
	return outcome, writeResult(task.ResultFile, outcome.Result)
}

// readTask puts together again what the node has spread over files and
// environment.
func readTask(cfg childConfig) (script.Task, error) {
	text, err := os.ReadFile(cfg.Script)
	if err != nil {
		return script.Task{}, err
	}
	task := script.Task{
		Name: os.Getenv("RAMET_JOB"), Script: string(text), Env: map[string]string{},
		ResultFile: os.Getenv("RAMET_RESULT"), CheckpointFile: os.Getenv("RAMET_CHECKPOINT"), InputFile: os.Getenv("RAMET_INPUT"),
	}
	for _, pair := range os.Environ() {
		key, val, _ := strings.Cut(pair, "=")
		task.Env[key] = val
	}
	task.Secrets = task.Env // the node has put them there, and the script may read all of it
	context, _ := strconv.ParseUint(os.Getenv("RAMET_CONTEXT"), 10, 32)
	caller, _ := strconv.ParseUint(os.Getenv("RAMET_CALLER"), 10, 32)
	task.Attempt, _ = strconv.ParseInt(os.Getenv("RAMET_ATTEMPT"), 10, 64)
	task.Context, task.Caller = domain.TenantID(context), domain.ActorID(caller)
	if task.Dir, err = os.Getwd(); err != nil {
		return task, err
	}
	if path := os.Getenv("RAMET_CHANNEL"); path != "" {
		task.Channel = durable.Dial(path)
	}
	// Whoever runs a script without a node may put what it likes there.
	if input, err := os.ReadFile(task.InputFile); err == nil && json.Valid(input) {
		task.Input = func() ([]byte, error) { return input, nil }
	}
	return task, nil
}

// exitCode is what the child's end tells the node.
func exitCode(outcome script.Outcome) int {
	if outcome.Verdict == script.Errored && outcome.ExitCode < exitErrored {
		return exitErrored
	}
	return outcome.ExitCode
}

// writeResult leaves the script's result for the node. A script without one
// may have written the file itself, through a command.
func writeResult(path string, result map[string]string) error {
	delete(result, script.KeyExitCode) // the node knows
	if len(result) == 0 || path == "" {
		return nil
	}
	text, err := json.Marshal(result)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

// host is what the catalogue works with.
type host struct {
	ctx            context.Context // ends when the script is told to stop
	cfg            childConfig
	task           script.Task
	stdout, stderr io.Writer
	redis          redisConn

	processType rhai.TypeOf[processInfo]
	repoType    rhai.TypeOf[gitRepo]
}

func newHost(ctx context.Context, cfg childConfig, task script.Task) *host {
	return &host{ctx: ctx, cfg: cfg, task: task, stdout: os.Stdout, stderr: os.Stderr}
}

func (h *host) close() { h.redis.reset() }

// Log writes a line of the script to this process's own output.
func (h *host) Log(stream string, line []byte) {
	out := h.stdout
	if stream != script.KeyStdout {
		out = h.stderr
	}
	_, _ = out.Write(append(line[:len(line):len(line)], '\n'))
}

// extend adds the catalogue to an engine.
func (h *host) extend(e *rhai.Engine) {
	e.Sizes = value.Limits{MaxString: maxStringBytes, MaxArray: maxItems, MaxMap: maxItems}
	h.registerTypes(e)
	for _, f := range h.catalogue() {
		if err := e.RegisterFunc(f.name, f.call); err != nil {
			panic("BUG: " + err.Error())
		}
	}
}

// setCheckpoint keeps v for the next attempt at once, not at the script's end.
func (h *host) setCheckpoint(v value.Value) error {
	text, err := value.AppendJSON(nil, v)
	if err != nil {
		return fmt.Errorf("set_checkpoint: %w", err)
	}
	if len(text) > script.MaxCheckpointBytes {
		return fmt.Errorf("set_checkpoint: %d bytes; at most %d are allowed", len(text), script.MaxCheckpointBytes)
	}
	fresh := filepath.Join(h.task.Dir, ".checkpoint")
	if err := os.WriteFile(fresh, text, 0o600); err != nil {
		return fmt.Errorf("set_checkpoint: %w", err)
	}
	return os.Rename(fresh, h.task.CheckpointFile)
}

// checkpoint is what an earlier attempt has saved, () when nothing.
func (h *host) checkpoint() (value.Value, error) {
	text, err := os.ReadFile(h.task.CheckpointFile)
	if len(text) == 0 || err != nil {
		return value.Unit, nil
	}
	v, err := value.ReadJSON(string(text))
	if err != nil {
		return value.Str(string(text)), nil // a command has written it
	}
	return v, nil
}
