package work

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/hide"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/script"
)

// Names in a job's folder.
const (
	resultName     = ".ramet-result"
	checkpointName = ".ramet-checkpoint"
	inputName      = ".ramet-input.json"
)

// ContextDir is a context's folder under the data folder.
func ContextDir(dataDir string, t domain.TenantID) string {
	return filepath.Join(dataDir, "contexts", strconv.FormatUint(uint64(t), 10))
}

// JobDir is where one attempt at a job works:
// <data>/contexts/<id>/jobs/<caller>-<id>-<attempt>.
func JobDir(dataDir string, t domain.TenantID, key domain.JobKey, attempt int64) string {
	return filepath.Join(ContextDir(dataDir, t), "jobs", fmt.Sprintf("%d-%d-%d", key.Caller, key.ID, attempt))
}

// folder is the work folder of a run: of a runtime inside the process, which
// needs none, the checkpoint alone. A nil folder is that of a run that has not
// come so far.
type folder struct {
	dir  string             // "": inside the process
	cell *script.Checkpoint // then
	hide *hide.Values       // what is not to stand in the checkpoint

	mu    sync.Mutex
	saved int64 // version of the checkpoint that is on the board; see checkpoint
	tried bool  // one may be on the board
}

// prepare makes the folder and what the script finds in it.
func (x *run) prepare() (script.Task, error) {
	task := script.Task{
		Name: x.Claimed.Item, Script: x.job.Script, Env: x.job.EnvVars, Limits: x.r.cfg.Limits, Level: x.level, Grace: x.r.cfg.StopGrace,
		Context: domain.TenantID(x.Claimed.Space), Caller: x.key.Caller, Attempt: x.Claimed.Token,
		TraceParent: x.traceParent(),
	}
	task.Secrets, task.Hide = x.secrets, x.hide
	if x.job.FlowEnv || x.job.EnvFill || !x.claimer.info.InProcess {
		env, err := x.environment()
		if err != nil {
			return task, err
		}
		task.Env = env
	}
	if x.claimer.info.InProcess {
		return task, x.prepareInside(&task)
	}
	env := task.Env
	maps.Copy(env, x.secrets)
	x.addNames(env)
	if _, chosen := env[traceVariable]; task.TraceParent != "" && !chosen {
		env[traceVariable] = task.TraceParent
	}
	in, err := x.input()
	if err != nil {
		return task, err
	}
	addParamNames(env, in.Params)
	task.Dir = JobDir(x.r.e.cfg.DataDir, domain.TenantID(x.Claimed.Space), x.key, x.Claimed.Token)
	task.ResultFile = filepath.Join(task.Dir, resultName)
	task.CheckpointFile = filepath.Join(task.Dir, checkpointName)
	task.InputFile = filepath.Join(task.Dir, inputName)
	env["RAMET_RESULT"], env["RAMET_CHECKPOINT"], env["RAMET_INPUT"] = task.ResultFile, task.CheckpointFile, task.InputFile
	checkpoint, found, err := x.earlierCheckpoint()
	if err != nil {
		return task, err
	}
	err = x.makeFolder(task, in, checkpoint, found)
	if errors.Is(err, fs.ErrPermission) {
		if mended := Reopen(x.r.e.cfg.DataDir); len(mended) > 0 {
			x.r.log.Warn(ClosedToItself, "data", x.r.e.cfg.DataDir, "mended", strings.Join(mended, " "))
			err = x.makeFolder(task, in, checkpoint, found)
		}
	}
	if err != nil {
		return task, fmt.Errorf("make the job's folder: %w", err)
	}
	if err := x.fetchArtifacts(&task, &in); err != nil {
		return task, err
	}
	return task, x.openChannel(&task, env)
}

func (x *run) makeFolder(task script.Task, in domain.Input, checkpoint string, found bool) error {
	// A power cut may have undone the claim of an attempt that left a folder.
	if err := script.RemoveFolder(task.Dir); err != nil {
		return err
	}
	if err := os.MkdirAll(task.Dir, 0o700); err != nil {
		return err
	}
	f := x.newFolder(task.Dir, nil)
	text, err := json.Marshal(in)
	if err != nil {
		return err
	}
	if err := os.WriteFile(task.InputFile, text, 0o600); err != nil || !found {
		return err
	}
	if err := os.WriteFile(task.CheckpointFile, []byte(checkpoint), 0o600); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.saved, f.tried = modified(task.CheckpointFile), true
	return nil
}

// prepareInside gives a script inside the process what others find in files.
func (x *run) prepareInside(task *script.Task) error {
	if x.hasInput() {
		task.Input = func() ([]byte, error) {
			in, err := x.input()
			if err != nil {
				return nil, err
			}
			return json.Marshal(in)
		}
	}
	data, found, err := x.earlierCheckpoint()
	if err != nil {
		return err
	}
	task.Checkpoint = script.NewCheckpoint(data)
	if err := x.openChannel(task, nil); err != nil {
		return err
	}
	f := x.newFolder("", task.Checkpoint)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tried = found
	return nil
}

func (x *run) newFolder(dir string, cell *script.Checkpoint) *folder {
	f := &folder{dir: dir, cell: cell, hide: x.hide}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.folder = f
	return f
}

// earlierCheckpoint reads what an earlier attempt has saved.
func (x *run) earlierCheckpoint() (data string, found bool, err error) {
	if x.Claimed.Token == 1 && x.job.Routine == "" {
		return "", false, nil
	}
	recs, err := x.r.e.board.Get(x.Ctx, x.Claimed.Space, layout.Checkpoint(x.key))
	if err != nil || recs[0] == nil {
		return "", false, err
	}
	return recs[0].Get(layout.CheckpointData), true, nil
}

// traceVariable is where programs look for the trace that they belong to.
//
// Source: OpenTelemetry, "Environment Variables as Context Propagation Carriers".
const traceVariable = "TRACEPARENT"

// addNames adds the variables by which a process knows itself.
func (x *run) addNames(env map[string]string) {
	env["RAMET_JOB"] = x.Claimed.Item
	env["RAMET_CONTEXT"] = strconv.FormatUint(uint64(x.Claimed.Space), 10)
	env["RAMET_CALLER"] = strconv.FormatUint(uint64(x.key.Caller), 10)
	env["RAMET_ATTEMPT"] = strconv.FormatInt(x.Claimed.Token, 10)
	if x.job.FlowID != 0 {
		env["RAMET_FLOW"] = domain.FlowKey(x.job.FlowID)
	}
	if x.job.Step != "" {
		env["RAMET_STEP"] = x.job.Step
	}
	if h := x.job.Hook; h != nil {
		env["RAMET_FLOW"], env["RAMET_HOOK"], env["RAMET_HOOK_TEXT"] = domain.FlowKey(h.Flow), string(h.On), h.Text
	}
	if p, ok := shardOf(x.job.Shard); ok {
		env["RAMET_SHARD_INDEX"], env["RAMET_SHARD_TOTAL"] = strconv.FormatInt(p.Index, 10), strconv.FormatInt(p.Total, 10)
	}
	if x.job.Round != 0 {
		env["RAMET_ROUND"] = strconv.Itoa(x.job.Round)
	}
	if x.job.Item != "" && len(x.job.Item) <= maxParamName {
		env["RAMET_ITEM"] = itemText(x.job.Item)
	}
	if p, ok := packOf(x.job.Pack); ok {
		env["RAMET_PACK_ID"] = strconv.FormatInt(p.ID, 10)
		env["RAMET_PACK_START"], env["RAMET_PACK_END"] = strconv.FormatInt(p.Start, 10), strconv.FormatInt(p.End, 10)
	}
}

// What a program can be started with is bounded by the kernel: Linux takes
// 128 KiB for one variable, and no less than 1 MiB for all.
const (
	maxParamName  = 64 << 10
	maxParamNames = 512 << 10
)

// addParamNames adds each param as RAMET_PARAM_<NAME>, for scripts that would find
// it hard to read JSON. What is too large for a variable stands in the input only.
func addParamNames(env, params map[string]string) {
	total := 0
	for _, name := range slices.Sorted(maps.Keys(params)) {
		value := params[name]
		if size := len(name) + len(value); size <= maxParamName && total+size <= maxParamNames {
			env[domain.ParamVariable(name)] = value
			total += size
		}
	}
}

// mayHaveParams reports whether jobs may have added params that j sees: not to
// one that was there from the start and needed none.
func mayHaveParams(j *domain.Job) bool {
	return j.FlowID != 0 && (j.Stepped || len(j.Dependends) > 0)
}

// hasInput reports whether there is anything in the input.
func (x *run) hasInput() bool {
	j := x.job
	return len(j.Dependends) > 0 || j.FlowID != 0 && j.Step != "" || len(j.Params) > 0 || len(j.Needs) > 0 || j.Shard != "" || j.Pack != "" ||
		j.Hook != nil
}

// input puts it together, or has it from when the environment was made of it.
func (x *run) input() (domain.Input, error) {
	if x.found != nil {
		return *x.found, nil
	}
	return x.r.e.inputOf(x.Ctx, x.Claimed.Space, x.job)
}

// inputOf puts together what a job finds.
func (e *Engine) inputOf(ctx context.Context, space board.Space, j *domain.Job) (in domain.Input, err error) {
	in = domain.Input{Needs: map[string]domain.Needed{}, Flow: j.FlowID, Step: j.Step, Round: j.Round, Hook: j.Hook}
	if p, ok := shardOf(j.Shard); ok {
		in.Shard = &p
	}
	if p, ok := packOf(j.Pack); ok {
		in.Pack = &p
	}
	if j.Item != "" && in.Shard != nil {
		in.Item, in.Index, in.Shard = json.RawMessage(j.Item), &in.Shard.Index, nil
	}
	var keys []string
	var names []string // of the steps; "" for a plain job
	if mayHaveParams(j) {
		keys, names = append(keys, layout.FlowParams(j.FlowID)), append(names, "")
	}
	for _, id := range j.Dependends {
		keys, names = append(keys, domain.JobKey{Caller: j.CallerID, ID: id}.String()), append(names, "")
	}
	for name, n := range j.Needs {
		in.Needs[name] = domain.Needed{State: n.State, Status: n.Status, Reason: n.Reason, Result: n.Result}
		if n.Result == nil {
			in.Needs[name] = domain.Needed{State: n.State, Status: n.Status, Reason: n.Reason, Result: map[string]string{}}
		}
		if n.Job != 0 {
			keys, names = append(keys, domain.JobKey{Caller: j.CallerID, ID: n.Job}.String()), append(names, name)
		}
		if err := e.addResults(ctx, &in, j, name, n); err != nil {
			return in, err
		}
	}
	addParamsOf(&in, j, nil)
	if len(keys) == 0 {
		return in, nil
	}
	recs, err := e.board.Get(ctx, space, keys...)
	if err != nil {
		return in, err
	}
	for i, r := range recs {
		if r == nil {
			continue // it has been cleared away since
		}
		if i == 0 && mayHaveParams(j) {
			addParamsOf(&in, j, r)
			continue
		}
		if err := addNeeded(&in, keys[i], names[i], r); err != nil {
			return in, err
		}
	}
	return in, nil
}

// addResults takes in the results of a step that was done for each element of a list.
func (e *Engine) addResults(ctx context.Context, in *domain.Input, j *domain.Job, name string, n domain.Need) (err error) {
	one := in.Needs[name]
	if one.Results = n.Results; n.Items > 0 {
		if one.Results, err = e.Results(ctx, j.ContextID, j.FlowID, n); err != nil {
			err = fmt.Errorf("step %s: %w", name, err)
			if errors.Is(err, domain.ErrLimit) || errors.Is(err, domain.ErrInvalid) {
				return &resultError{err}
			}
			return err
		}
	}
	if n.One && len(one.Results) == 1 {
		one.Result, one.Results = one.Results[0], nil
	}
	in.Needs[name] = one
	return nil
}

// itemText is an element as a variable has it: a text without its quotes.
func itemText(item string) string {
	var text string
	if json.Unmarshal([]byte(item), &text) == nil {
		return text
	}
	return item
}

// resultError says that the result of a job that was needed cannot be read: whoever
// runs the one that needs it, and however often.
type resultError struct{ error }

func (e *resultError) Unwrap() error { return e.error }

// addNeeded takes in a job that was needed, for the step named so.
func addNeeded(in *domain.Input, item, step string, r board.Record) error {
	key, err := domain.ParseJobKey(item)
	if err != nil {
		return err
	}
	j, _ := layout.DecodeJob(key, r) // a foreign runner may have spoilt what is of no matter here
	if _, err := layout.ReadResult(key, r); err != nil {
		return &resultError{err}
	}
	n := domain.Needed{Status: j.Status, Reason: j.Reason, Result: j.Result}
	if n.Result == nil {
		n.Result = map[string]string{}
	}
	left := domain.JobKey{}
	if len(j.Artifacts) > 0 {
		left = key
	}
	if step != "" {
		n.LeftBy = left
		n.State = in.Needs[step].State
		in.Needs[step] = n
		return nil
	}
	if j.Step != "" {
		n.State = "succeeded" // else the one that needs it would not run
		n.LeftBy = left
		in.Needs[j.Step] = n
		n.State, left = "", domain.JobKey{}
	}
	n.LeftBy = left
	in.Needs[strconv.FormatUint(uint64(idAtHome(j)), 10)] = n
	return nil
}

// idAtHome is the id that a job has where its scripts were written: one that
// came in a message has another here.
func idAtHome(j *domain.Job) domain.JobID {
	if home, _, sent := strings.Cut(j.Origin, "@"); sent {
		if key, err := domain.ParseJobKey(home); err == nil {
			return key.ID
		}
	}
	return j.ID
}

// modified is when a plain file was changed, in Unix nanoseconds; 0: there is none.
func modified(path string) int64 {
	st, err := os.Lstat(path)
	if err != nil || !st.Mode().IsRegular() {
		return 0
	}
	return st.ModTime().UnixNano()
}

// hasCheckpoint reports whether there may be one on the board.
func (f *folder) hasCheckpoint() bool {
	if f == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tried
}

// checkpoint reads what the script saved, and a version of it that is not 0,
// if it has changed since it was last written to the board.
func (f *folder) checkpoint() (data string, version int64, ok bool) {
	if f == nil {
		return "", 0, false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cell != nil {
		data, version = f.cell.Saved()
		ok = version != f.saved
		f.tried = f.tried || ok
		return f.hide.Text(data), version, ok
	}
	path := filepath.Join(f.dir, checkpointName)
	version = modified(path)
	if version == 0 || version == f.saved {
		return "", 0, false
	}
	file, err := os.OpenFile(path, os.O_RDONLY|oNoFollow, 0)
	if err != nil {
		return "", 0, false
	}
	defer file.Close()
	if st, err := file.Stat(); err != nil || !st.Mode().IsRegular() { // it may have been changed since
		return "", 0, false
	}
	b, err := io.ReadAll(io.LimitReader(file, script.MaxCheckpointBytes+1))
	if err != nil || len(b) > script.MaxCheckpointBytes {
		return "", 0, false
	}
	f.tried = true
	return f.hide.Text(string(b)), version, true
}

// checkpointSaved notes that the checkpoint of that version is on the board.
func (f *folder) checkpointSaved(version int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.saved = version
}

// saveCheckpoint writes a changed checkpoint to the board while the script
// runs, so that another node finds it should this one die.
func (x *run) saveCheckpoint(ctx context.Context) {
	x.mu.Lock()
	f := x.folder
	x.mu.Unlock()
	data, version, ok := f.checkpoint()
	if !ok {
		return
	}
	b := x.heldBatch()
	b.Set(layout.Checkpoint(x.key), board.Field{Name: layout.CheckpointData, Value: data})
	switch err := x.r.e.board.Commit(ctx, b); {
	case err == nil:
		f.checkpointSaved(version)
	case !errors.Is(err, domain.ErrConflict):
		x.r.log.Warn("checkpoint not saved; it is tried again with the next renewal of the lease", "job", x.Claimed.Item, "err", err)
	}
}

// closeFolder removes the folder, or leaves it for people to look at.
func (x *run) closeFolder(keep bool) error {
	if x.folder == nil || x.folder.dir == "" {
		return nil
	}
	if keep {
		_, err := x.r.e.leave(domain.TenantID(x.Claimed.Space), x.folder.dir)
		return err
	}
	return script.RemoveFolder(x.folder.dir)
}

func (e *Engine) traceless(t domain.TenantID) bool {
	return e.cfg.Traceless != nil && e.cfg.Traceless(t)
}

// tracelessFor is for how long a folder stays that a node which died has left,
// where none is to stay.
const tracelessFor = time.Minute

// keepIn is for how long a folder of a context stays.
func (e *Engine) keepIn(t domain.TenantID, keep time.Duration) time.Duration {
	if e.traceless(t) {
		return min(keep, tracelessFor)
	}
	return keep
}

// ClearFolders removes what failed attempts left in the data folder longer
// than keep ago, and the oldest of what a context has over its quota. It looks at
// this machine's files only, leaves the folders of
// what runs here alone however old they are, and may run at any time.
func (e *Engine) ClearFolders(keep time.Duration, now time.Time) (removed int, err error) {
	dirs, ages, err := e.leftFolders(now)
	errs := []error{err}
	for _, dir := range dirs {
		t, err := domain.ParseTenantID(filepath.Base(filepath.Dir(filepath.Dir(dir))))
		switch {
		case err != nil || e.worksIn(dir):
		case now.Sub(ages[dir]) > e.keepIn(t, keep):
			e.kept.forget(t, dir)
			errs = append(errs, script.RemoveFolder(dir))
			removed++
		case !e.kept.has(t, dir):
			n, err := e.leave(t, dir)
			errs = append(errs, err)
			removed += n
		}
	}
	return removed, errors.Join(errs...)
}

// leftFolders are the work folders that there are, the oldest first.
func (e *Engine) leftFolders(now time.Time) (dirs []string, ages map[string]time.Time, err error) {
	names, err := fs.Glob(os.DirFS(e.cfg.DataDir), "contexts/*/jobs/*")
	errs := []error{err}
	ages = map[string]time.Time{}
	for _, name := range names {
		dir := filepath.Join(e.cfg.DataDir, name)
		st, err := os.Lstat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			errs = append(errs, err)
			continue
		case st.ModTime().After(now):
			// A script may date its folder as it likes, to have it stay for ever.
			errs = append(errs, os.Chtimes(dir, now, now))
		}
		dirs, ages[dir] = append(dirs, dir), st.ModTime()
	}
	slices.SortStableFunc(dirs, func(a, b string) int { return ages[a].Compare(ages[b]) })
	return dirs, ages, errors.Join(errs...)
}

// leave lets a folder stay for people to look at, and removes the oldest of what its
// context has over its quota.
func (e *Engine) leave(t domain.TenantID, dir string) (removed int, err error) {
	var errs []error
	for _, gone := range e.kept.add(t, dir, script.UsageOf(dir, e.kept.limits)) {
		if !e.worksIn(gone) { // an attempt that a power cut undid is made in the same folder
			errs = append(errs, script.RemoveFolder(gone))
			removed++
		}
	}
	return removed, errors.Join(errs...)
}

// worksIn reports whether a run in this process has the folder.
func (e *Engine) worksIn(dir string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for r := range e.runners {
		if r.hasFolder(dir) {
			return true
		}
	}
	return false
}

func (r *Runner) hasFolder(dir string) bool {
	for _, x := range r.items.All() {
		x.mu.Lock()
		f := x.folder
		x.mu.Unlock()
		if f != nil && f.dir == dir {
			return true
		}
	}
	return false
}
