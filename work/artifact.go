package work

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ramet-run/ramet/artifact"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/script"
)

// This file keeps the files that a script leaves, and gives those of earlier jobs to the
// next. Files are put into the store while the lease is held, and named on the board by the
// commit that ends the job: whoever sees that the job has ended finds them.

const (
	// DefaultArtifactBytes is how much a context's jobs may leave where nothing else is set.
	DefaultArtifactBytes = 10 << 30
	// artifactsName is the folder in a job's folder where it finds what others have left.
	artifactsName = ".ramet-artifacts"
	// ownNames begin the names in a job's folder that are no files of the script's.
	ownNames = ".ramet-"
	// artifactsAtOnce is how many files are put or fetched at once, for stores far away.
	artifactsAtOnce = 8
	// storeMin and storeMax bound the pause before a store that is away is tried again.
	storeMin = time.Second
	storeMax = 30 * time.Second
	// maxUnkeptWhy bounds what a node's record says of a store, in bytes.
	maxUnkeptWhy = 500
)

// noStore says what to do where a node keeps no artifacts.
func noStore() error {
	return domain.Invalidf("artifacts: this node has nowhere to keep them; set artifacts: in the config file of all nodes of the board, " +
		"to file:///PATH of a folder that all have mounted or to s3://BUCKET")
}

// storeError says that the artifact store did not do its part: neither the job's fault
// nor the machine's.
type storeError struct{ error }

func (e *storeError) Unwrap() error { return e.error }

// unkept are the jobs of this process whose scripts have done their work and whose end waits
// for the artifact store, each with why.
type unkept struct {
	mu      sync.Mutex
	why     map[ref]error
	changed chan struct{} // has room for one
}

func newUnkept() *unkept { return &unkept{why: map[ref]error{}, changed: make(chan struct{}, 1)} }

func (u *unkept) set(job ref, why error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.why) == 0 {
		u.tell()
	}
	u.why[job] = why
}

func (u *unkept) forget(job ref) {
	u.mu.Lock()
	defer u.mu.Unlock()
	_, had := u.why[job]
	if delete(u.why, job); had && len(u.why) == 0 {
		u.tell()
	}
}

func (u *unkept) tell() {
	select {
	case u.changed <- struct{}{}:
	default:
	}
}

// Unkept are the jobs of this process that wait with their end for the artifact store, as the
// node's record has them.
func (e *Engine) Unkept() []domain.Unkept {
	e.unkept.mu.Lock()
	defer e.unkept.mu.Unlock()
	list := make([]domain.Unkept, 0, len(e.unkept.why))
	for job, why := range e.unkept.why {
		list = append(list, domain.Unkept{Context: domain.TenantID(job.space), Job: job.key.String(), Full: errors.Is(why, domain.ErrExhausted),
			Why: domain.PlainText(why.Error(), maxUnkeptWhy)})
	}
	slices.SortFunc(list, func(a, b domain.Unkept) int {
		return cmp.Or(cmp.Compare(a.Context, b.Context), cmp.Compare(a.Job, b.Job))
	})
	return list[:min(len(list), domain.MaxUnkept)]
}

// UnkeptChanged is readable once the first job waits for the artifact store, and once none does any more.
func (e *Engine) UnkeptChanged() <-chan struct{} { return e.unkept.changed }

// unkeptBy finds a job among those of which the node that has it leased says that they wait for the artifact
// store. Those of this process are found before their node has said so.
func (e *Engine) unkeptBy(ctx context.Context, owner string, job ref) (u domain.Unkept, is bool, err error) {
	list := e.Unkept()
	if !slices.ContainsFunc(list, job.isUnkept) {
		node, _, _ := strings.Cut(owner, "/")
		recs, err := e.board.Get(ctx, 0, layout.Node(node))
		if err != nil {
			return u, false, err
		}
		n, err := layout.DecodeNode(layout.Node(node), recs[0])
		if err != nil || !n.Seen(e.board.Now()).Alive {
			return u, false, nil // what it said last may be long over
		}
		list = n.Unkept
	}
	i := slices.IndexFunc(list, job.isUnkept)
	if i < 0 {
		return u, false, nil
	}
	return list[i], true, nil
}

func (r ref) isUnkept(u domain.Unkept) bool {
	return u.Context == domain.TenantID(r.space) && u.Job == r.key.String()
}

func ofStore(err error) bool {
	return errors.Is(err, domain.ErrUnavailable) || errors.Is(err, domain.ErrExhausted)
}

// sayStore says of an error of the store what those may read who see the job: not where the node
// has it, by path or address, which the node's own log has.
func sayStore(err error) string { return storeText(errors.Is(err, domain.ErrExhausted)) }

func storeText(full bool) string {
	if full {
		return "the artifact store is full"
	}
	return "the artifact store is away; the node's log says why"
}

// keepArtifacts puts what a script has left into the store. While that is away, or full,
// the job's end waits: the script has done its work, and is not run again for that.
func (x *run) keepArtifacts(out script.Outcome) script.Outcome {
	defer x.r.e.unkept.forget(x.ref())
	for try := 0; ; try++ {
		set, err := x.putArtifacts()
		switch {
		case err == nil:
			x.left = set
			return out
		case x.Ctx.Err() != nil:
			out.Verdict = script.Stopped
			return out
		case !ofStore(err):
			out.Verdict, out.Invalid, out.Error = script.Errored, true, err.Error()
			return out
		}
		x.r.e.unkept.set(x.ref(), err)
		next := pause.Doubled(storeMin, storeMax, try)
		if try == 0 {
			x.r.log.Warn("artifacts not kept: the job's end waits for the store", "job", x.Claimed.Item, "context", uint32(x.Claimed.Space), "err", err)
		}
		x.log.Log("ramet", fmt.Appendf(nil, "artifacts are not kept yet, which is tried again %s: %v", after(next), sayStore(err)))
		pause.For(x.Ctx, next)
	}
}

// putArtifacts puts the files that the job names into the store, with a manifest of them.
//
// Errors: those of the store; [domain.ErrInvalid] and [domain.ErrLimit], with what to do.
func (x *run) putArtifacts() (*domain.ArtifactSet, error) {
	store, t := x.r.e.cfg.Artifacts, domain.TenantID(x.Claimed.Space)
	switch {
	case x.folder == nil || x.folder.dir == "":
		return nil, domain.Invalidf("artifacts: a script of type %s has no folder to leave files in", x.job.ScriptType)
	case store == nil:
		return nil, noStore()
	case x.r.e.traceless(t):
		return nil, domain.Invalidf("artifacts: context %d is encrypted, and the store would have its files in plain", t)
	}
	root, err := os.OpenRoot(x.folder.dir)
	if err != nil {
		return nil, &storeError{fmt.Errorf("artifacts: %w: %w", domain.ErrUnavailable, err)}
	}
	defer root.Close()
	files, err := leftFiles(x.Ctx, root, x.job.Artifacts, x.job.Script)
	if err != nil {
		return nil, err
	}
	set := &domain.ArtifactSet{Job: x.key, Flow: x.job.FlowID, Step: x.job.Step, Index: indexOf(x.job), Files: len(files)}
	for _, f := range files {
		if x.hide.Text(f.Path) != f.Path {
			return nil, domain.Invalidf("artifacts: the name of a file has a secret of the job in it")
		}
		set.Bytes += f.Size + int64(len(f.Path)) + nameBytes
	}
	if err := x.r.e.mayLeave(x.Ctx, x.Claimed.Space, set); err != nil {
		return nil, err
	}
	g, ctx := errgroup.WithContext(x.Ctx)
	g.SetLimit(artifactsAtOnce)
	for i := range files {
		if ctx.Err() != nil {
			break
		}
		g.Go(func() (err error) {
			files[i].SHA256, err = putFile(ctx, store, t, root, &files[i])
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	blob, err := store.Put(x.Ctx, t, artifact.Manifest(files))
	set.Manifest, set.AtMs = blob.Sum, x.r.e.board.Now().UnixMilli()
	return set, err
}

// nameBytes is what a file counts beside what it has and its name: its line of the manifest.
const nameBytes = 128

// putFile puts one file, and returns its sum.
func putFile(ctx context.Context, store artifact.Store, t domain.TenantID, root *os.Root, a *domain.Artifact) (sum string, err error) {
	f, err := root.OpenFile(filepath.FromSlash(a.Path), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", unreadableFile(a.Path, err)
	}
	defer f.Close()
	was, err := f.Stat()
	if err != nil {
		return "", unreadableFile(a.Path, err)
	}
	blob, err := store.Put(ctx, t, f)
	if err != nil {
		return "", err
	}
	is, err := f.Stat()
	if err != nil || !was.Mode().IsRegular() || blob.Size != a.Size || is.Size() != a.Size || !is.ModTime().Equal(was.ModTime()) {
		return "", domain.Invalidf("artifact %s was changed while it was read: does something that the script started still write?", a.Path)
	}
	return blob.Sum, nil
}

func unreadableFile(path string, err error) error {
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		err = p.Err // without the node's own path
	}
	return domain.Invalidf("artifact %s cannot be read: %v", domain.PlainText(path, domain.MaxArtifactPath), err)
}

// leftFiles finds the files below a folder that some of the patterns name, but for that with the
// script itself.
//
// Errors: [domain.ErrInvalid] for what cannot be kept, and for a pattern that names nothing.
func leftFiles(ctx context.Context, root *os.Root, patterns []string, text string) (files []domain.Artifact, err error) {
	found := make([]bool, len(patterns))
	err = fs.WalkDir(root.FS(), ".", func(path string, e fs.DirEntry, err error) error {
		if err == nil && isScript(root, path, e, text) {
			return nil
		}
		named := false
		for i, p := range patterns {
			if path != "." && !strings.HasPrefix(path, ownNames) && artifact.Match(p, path) {
				named, found[i] = true, found[i] || e == nil || !e.IsDir()
			}
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && named:
			return unreadableFile(path, err)
		case err != nil && e != nil && e.IsDir():
			return fs.SkipDir
		case err != nil || path == ".":
			return err
		case strings.HasPrefix(path, ownNames) && e.IsDir():
			return fs.SkipDir
		case e.IsDir() && len(path) > domain.MaxArtifactPath && !named:
			return fs.SkipDir
		case e.IsDir() && len(path) <= domain.MaxArtifactPath || !named:
			return nil
		}
		f, err := leftFile(root, path, e)
		if err == nil && len(files) == domain.MaxArtifactFiles {
			err = domain.Limitf("artifacts: there are more than %d files; leave them as one archive, as tar makes it", domain.MaxArtifactFiles)
		}
		files = append(files, f)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i, p := range patterns {
		if !found[i] {
			return nil, domain.Invalidf("artifacts: the script has left nothing that %q names", p)
		}
	}
	return files, nil
}

// isScript reports whether a file is the one that a runtime has written the script to: script,
// and what its language wants after that.
func isScript(root *os.Root, path string, e fs.DirEntry, text string) bool {
	name, _, _ := strings.Cut(path, ".")
	if name != "script" || !e.Type().IsRegular() {
		return false
	}
	if info, err := e.Info(); err != nil || info.Size() != int64(len(text)) {
		return false
	}
	is, err := root.ReadFile(path)
	return err == nil && string(is) == text
}

// leftFile looks at one file that is to be kept.
func leftFile(root *os.Root, path string, e fs.DirEntry) (f domain.Artifact, err error) {
	if err := artifact.CheckPath(path); err != nil {
		return f, err
	}
	if !e.Type().IsRegular() && e.Type() != fs.ModeSymlink {
		return f, domain.Invalidf("artifact %s is no file (%v): only files are kept", path, e.Type())
	}
	st, err := root.Stat(filepath.FromSlash(path))
	switch {
	case err != nil && e.Type() == fs.ModeSymlink:
		return f, domain.Invalidf("artifact %s is a link to what is not there or not in the job's folder: only what is in it is kept", path)
	case err != nil:
		return f, unreadableFile(path, err)
	case !st.Mode().IsRegular():
		return f, domain.Invalidf("artifact %s is a link to what is no file: only files are kept; name the folder itself", path)
	}
	f = domain.Artifact{Path: path, Size: st.Size(), Mode: 0o644}
	if st.Mode()&0o100 != 0 {
		f.Mode = 0o755
	}
	return f, nil
}

// indexOf is a job's place among those of its step, "" where it is the only one.
func indexOf(j *domain.Job) string {
	if p, ok := shardOf(j.Shard); ok {
		return strconv.FormatInt(p.Index, 10)
	}
	if p, ok := packOf(j.Pack); ok {
		return strconv.FormatInt(p.ID, 10)
	}
	return ""
}

// mayLeave reports whether a context has room for what a job leaves.
//
// Errors: [domain.ErrLimit].
func (e *Engine) mayLeave(ctx context.Context, space board.Space, set *domain.ArtifactSet) error {
	recs, err := e.board.Get(ctx, space, layout.ArtifactTotal, layout.Artifacts(set.Job))
	if err != nil {
		return &storeError{err}
	}
	used := number64(recs[0], layout.ArtifactBytes) - number64(recs[1], layout.ArtifactBytes)
	if most := e.cfg.ArtifactBytes; most > 0 && used+set.Bytes > most {
		return domain.Limitf("artifacts: the job leaves %d bytes, and its context has %d of %d already; "+
			"`ramet flow delete` removes what flows have left, and artifact_bytes in the config file says how much there may be", set.Bytes, used, most)
	}
	return nil
}

// ArtifactRoom is how much the jobs of a context have left, and how much they may.
//
// Errors: those of the board.
func (e *Engine) ArtifactRoom(ctx context.Context, tenant domain.TenantID) (domain.ArtifactRoom, error) {
	recs, err := e.board.Get(ctx, layout.SpaceOf(tenant), layout.ArtifactTotal)
	if err != nil {
		return domain.ArtifactRoom{}, err
	}
	return domain.ArtifactRoom{Bytes: number64(recs[0], layout.ArtifactBytes), Limit: max(e.cfg.ArtifactBytes, 0)}, nil
}

func number64(r board.Record, field string) int64 {
	n, _ := strconv.ParseInt(r.Get(field), 10, 64)
	return n
}

// addArtifacts names what the job has left in the commit that ends it.
func (x *run) addArtifacts(b *board.Batch) {
	if x.left == nil {
		return
	}
	key, was := layout.Artifacts(x.key), int64(0)
	if x.Claimed.Token > 1 { // an earlier life may have left something
		if recs, err := x.r.e.board.Get(context.WithoutCancel(x.Ctx), x.Claimed.Space, key); err == nil {
			was = number64(recs[0], layout.ArtifactBytes)
		}
	}
	b.Delete(key)
	b.Set(key, layout.EncodeArtifacts(x.left)...)
	b.Include(layout.ArtifactIndex, layout.ArtifactMember(x.left))
	b.Add(layout.ArtifactTotal, layout.ArtifactBytes, x.left.Bytes-was)
}

// fetchArtifacts gives a script what the jobs before it have left, in a folder of its own
// folder, where it may do with its copy what it likes.
//
// Errors: a [storeError] where the store is away, a [resultError] where something is gone.
func (x *run) fetchArtifacts(task *script.Task, in *domain.Input) error {
	sets, err := x.neededArtifacts(in)
	if err != nil || len(sets) == 0 {
		return err
	}
	dir := filepath.Join(task.Dir, artifactsName)
	task.Env["RAMET_ARTIFACTS"] = dir
	for _, name := range sets {
		if err := x.fetchSet(filepath.Join(dir, filepath.FromSlash(name.Folder(name.as))), name.ArtifactSet); err != nil {
			return err
		}
	}
	return nil
}

// namedSet is what a job has left, as the job after it knows that one.
type namedSet struct {
	*domain.ArtifactSet
	as string
}

func (x *run) neededArtifacts(in *domain.Input) (sets []namedSet, err error) {
	for name, n := range in.Needs {
		if n.LeftBy == (domain.JobKey{}) {
			continue
		}
		set, err := x.r.e.ArtifactsOf(x.Ctx, domain.TenantID(x.Claimed.Space), n.LeftBy)
		if errors.Is(err, domain.ErrNotFound) && n.Status == domain.JobFinished {
			return nil, &resultError{domain.Invalidf("the artifacts of %s (%s) are gone: artifact_retention is over; have it run again", name, n.LeftBy)}
		}
		if errors.Is(err, domain.ErrNotFound) {
			continue // it failed, which was accepted
		}
		if err != nil {
			return nil, err
		}
		sets = append(sets, namedSet{set, name})
	}
	for name, n := range x.job.Needs {
		if n.LeftBy != "" {
			set, err := x.takenArtifacts(name, n.LeftBy)
			if err != nil {
				return nil, err
			}
			sets = append(sets, namedSet{set, name})
			continue
		}
		if !n.Artifacts {
			continue
		}
		for set, err := range x.r.e.ArtifactSets(x.Ctx, domain.TenantID(x.Claimed.Space), x.job.FlowID, name) {
			if err != nil {
				return nil, err
			}
			sets = append(sets, namedSet{set, name})
		}
	}
	if len(sets) > 0 && x.r.e.cfg.Artifacts == nil {
		return nil, &resultError{noStore()}
	}
	slices.SortFunc(sets, func(a, b namedSet) int { return strings.Compare(a.as, b.as) })
	return sets, nil
}

// takenArtifacts is what the job of another flow has left whose result was taken from the cache.
func (x *run) takenArtifacts(step, job string) (*domain.ArtifactSet, error) {
	key, err := domain.ParseJobKey(job)
	if err != nil {
		return nil, &resultError{fmt.Errorf("step %s: %w", step, err)}
	}
	set, err := x.r.e.ArtifactsOf(x.Ctx, domain.TenantID(x.Claimed.Space), key)
	if errors.Is(err, domain.ErrNotFound) {
		return nil, &resultError{domain.Invalidf("the artifacts of step %s, taken from the cache, are gone with %s; rerun the flow, with --no-cache", step, job)}
	}
	return set, err
}

func (x *run) fetchSet(dir string, set *domain.ArtifactSet) error {
	store, t := x.r.e.cfg.Artifacts, domain.TenantID(x.Claimed.Space)
	g, ctx := errgroup.WithContext(x.Ctx)
	g.SetLimit(artifactsAtOnce)
	var failed error
	for f, err := range artifact.Files(ctx, store, t, set.Manifest) {
		if failed = err; err != nil {
			break
		}
		g.Go(func() error {
			return fetchFile(ctx, store, t, f, filepath.Join(dir, filepath.FromSlash(f.Path)))
		})
	}
	err := g.Wait()
	if err == nil || failed != nil && !errors.Is(failed, context.Canceled) {
		err = failed
	}
	switch {
	case err == nil || x.Ctx.Err() != nil:
		return err
	case errors.Is(err, domain.ErrNotFound) || errors.Is(err, domain.ErrInvalid):
		return &resultError{fmt.Errorf("artifacts of %s: %w", set.Job, err)}
	case ofStore(err):
		return &storeError{fmt.Errorf("artifacts of %s: %w", set.Job, err)}
	}
	return err
}

// fetchFile copies one file to where a script finds it, which has what was put or is not
// there.
func fetchFile(ctx context.Context, store artifact.Store, t domain.TenantID, f domain.Artifact, path string) error {
	r, err := artifact.Read(ctx, store, t, f.SHA256)
	if err != nil {
		return err
	}
	defer r.Close()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = artifact.Copy(ctx, to, r)
	mode := os.FileMode(0o444)
	if f.Mode&0o100 != 0 {
		mode = 0o555
	}
	return errors.Join(err, to.Chmod(mode), to.Close())
}

// awaitStore puts a job aside that could not be given what it needs, because the store is
// away. That is no loss: it is tried again, however long it takes.
func (x *run) awaitStore(b *board.Batch, err error) ended {
	x.r.log.Warn("artifacts not fetched: the job waits for the store", "job", x.Claimed.Item, "context", uint32(x.Claimed.Space), "err", err)
	now, text := x.r.e.board.Now(), "put back, as what it needs of others cannot be had: "+sayStore(err)
	x.later(b, now, now.Add(storeMax), text)
	return ended{status: domain.JobStarted, text: text}
}

// ArtifactStore is where the node keeps artifacts; nil: nowhere.
func (e *Engine) ArtifactStore() artifact.Store { return e.cfg.Artifacts }

// OpenArtifact reads a file that a job has left, from an offset on.
//
// Errors: [domain.ErrNotFound]; those of the store.
func (e *Engine) OpenArtifact(ctx context.Context, t domain.TenantID, sum string, offset int64) (io.ReadCloser, error) {
	if e.cfg.Artifacts == nil {
		return nil, noStore()
	}
	r, _, err := e.cfg.Artifacts.Open(ctx, t, sum, offset)
	return r, err
}
