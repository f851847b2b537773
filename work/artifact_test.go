package work_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/artifact"
	"github.com/ramet-run/ramet/artifact/folderstore"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/watched"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/work"
)

// awayStore is one that is away for some calls.
type awayStore struct {
	artifact.Store
	puts, opens atomic.Int32 // that fail still
	why         error        // nil: it is away
}

func (s *awayStore) Put(ctx context.Context, t domain.TenantID, src io.ReadSeeker) (artifact.Blob, error) {
	if s.puts.Add(-1) >= 0 {
		return artifact.Blob{}, cmp.Or(s.why, domain.Unavailablef("the store is away"))
	}
	return s.Store.Put(ctx, t, src)
}

func (s *awayStore) Open(ctx context.Context, t domain.TenantID, sum string, at int64) (io.ReadCloser, artifact.Blob, error) {
	if s.opens.Add(-1) >= 0 {
		return nil, artifact.Blob{}, domain.Unavailablef("the store is away")
	}
	return s.Store.Open(ctx, t, sum, at)
}

type artifactRig struct {
	*rig
	store *awayStore
	g     *goScript
	data  string
	read  map[string]string // by the last script "read"
}

// withArtifacts runs f with a runner whose scripts have folders, and a store.
func withArtifacts(t *testing.T, cfg work.Config, f func(r *artifactRig)) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		folder, err := folderstore.Open(filepath.Join(t.TempDir(), "artifacts"))
		if err != nil {
			t.Fatal(err)
		}
		a := &artifactRig{store: &awayStore{Store: folder}, g: newGoScript("go", 4)}
		a.g.on("read", func(_ context.Context, task script.Task, _ script.Host) script.Outcome {
			a.read = map[string]string{}
			dir := task.Env["RAMET_ARTIFACTS"]
			filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
				if err == nil && !e.IsDir() {
					st, _ := os.Stat(path)
					text, _ := os.ReadFile(path)
					a.read[strings.TrimPrefix(path, dir+"/")] = fmt.Sprintf("%o %s", st.Mode(), text)
				}
				return nil
			})
			return ok(nil)
		})
		a.data = t.TempDir()
		cfg.DataDir, cfg.Artifacts = a.data, a.store
		a.rig = startRunner(t, b, work.New(b, cfg), work.RunnerConfig{ID: 1, Owner: "n1/a", Runtimes: []script.Runtime{dirScript{a.g}}})
		defer a.stop()
		f(a)
	})
}

// leaves is a job that does something in its folder.
func (a *artifactRig) leaves(id domain.JobID, do func(dir string), patterns ...string) *domain.Job {
	text := fmt.Sprintf("leave %d", id)
	a.g.on(text, func(_ context.Context, task script.Task, _ script.Host) script.Outcome {
		do(task.Dir)
		return ok(nil)
	})
	j := job(id, text)
	j.Artifacts = patterns
	return j
}

func write(path, text string, mode os.FileMode) {
	os.MkdirAll(filepath.Dir(path), 0o755)
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		panic(err)
	}
}

func TestArtifactsAreHandedOn(t *testing.T) {
	withArtifacts(t, work.Config{}, func(r *artifactRig) {
		first := r.leaves(1, func(dir string) {
			write(dir+"/dist/app", "binary", 0o755)
			write(dir+"/dist/deep/er/x.txt", "x", 0o600)
			write(dir+"/report.html", "<b>", 0o644)
			write(dir+"/other", "not named", 0o644)
			if err := os.Symlink("app", dir+"/dist/link"); err != nil {
				panic(err)
			}
		}, "dist", "*.html")
		next := job(2, "read")
		next.Dependends = []domain.JobID{1}
		r.submit(first, next)
		r.want(2, domain.JobFinished, "")
		want := map[string]string{"1/dist/app": "555 binary", "1/dist/deep/er/x.txt": "444 x", "1/report.html": "444 <b>", "1/dist/link": "555 binary"}
		if fmt.Sprint(r.read) != fmt.Sprint(want) {
			t.Errorf("got  %v\nwant %v", r.read, want)
		}
		set, err := r.engine.ArtifactsOf(t.Context(), tenant, key(1))
		if err != nil || set.Files != 4 || set.Bytes != 16+4*128+int64(len("dist/app")+len("dist/deep/er/x.txt")+len("report.html")+len("dist/link")) {
			t.Errorf("got %+v, %v", set, err)
		}
		synctest.Wait()
		left, _ := filepath.Glob(filepath.Join(r.data, "contexts/*/jobs/*"))
		if len(left) > 0 {
			t.Errorf("folders stay: %v", left)
		}
	})
}

func TestArtifactsOfOneJobAreNotTheOthers(t *testing.T) {
	withArtifacts(t, work.Config{}, func(r *artifactRig) {
		first := r.leaves(1, func(dir string) { write(dir+"/a", "as it was", 0o644) }, "a")
		change := job(2, "change")
		change.Dependends = []domain.JobID{1}
		r.g.on("change", func(_ context.Context, task script.Task, _ script.Host) script.Outcome {
			path := task.Env["RAMET_ARTIFACTS"] + "/1/a"
			os.Chmod(path, 0o600)
			write(path, "changed", 0o600)
			return ok(nil)
		})
		last := job(3, "read")
		last.Dependends = []domain.JobID{1, 2}
		r.submit(first, change, last)
		r.want(3, domain.JobFinished, "")
		if r.read["1/a"] != "444 as it was" {
			t.Errorf("got %v", r.read)
		}
	})
}

func TestArtifactsThatCannotBeKept(t *testing.T) {
	for _, c := range []struct {
		name     string
		do       func(dir string)
		patterns []string
		want     string
	}{
		{"a pattern that names nothing", func(string) {}, []string{"dist/**"}, `nothing that "dist/**" names`},
		{"a folder with nothing in it", func(d string) { os.Mkdir(d+"/dist", 0o755) }, []string{"dist"}, `nothing that "dist" names`},
		{"a link out of the folder", func(d string) { os.Symlink("/etc/passwd", d+"/a") }, []string{"a"},
			"a is a link to what is not there or not in the job's folder"},
		{"a link up", func(d string) { os.Symlink("../../../../etc/passwd", d+"/a") }, []string{"a"}, "not in the job's folder"},
		{"a link to a folder", func(d string) { write(d+"/b/x", "x", 0o644); os.Symlink("b", d+"/a") }, []string{"a"}, "a link to what is no file"},
		{"a pipe", func(d string) { syscall.Mkfifo(d+"/a", 0o644) }, []string{"*"}, "artifact a is no file"},
		{"a name with a line end", func(d string) { write(d+"/a\nb", "x", 0o644) }, []string{"*"}, `"a\nb" has line ends`},
		{"a name that turns the direction", func(d string) { write(d+"/a\u202eb", "x", 0o644) }, []string{"*"}, `"a\u202eb" has line ends or other`},
		{"a name in no known encoding", func(d string) { write(d+"/a\xff", "x", 0o644) }, []string{"*"}, `"a\xff" has`},
		{"too much for the context", func(d string) { write(d+"/a", strings.Repeat("x", 101), 0o644) }, []string{"a"},
			"leaves 230 bytes, and its context has 0 of 100"},
		{"the engine's own files", func(string) {}, []string{".ramet-input.json"}, "nothing that"},
	} {
		t.Run(c.name, func(t *testing.T) {
			withArtifacts(t, work.Config{ArtifactBytes: 100}, func(r *artifactRig) {
				r.submit(r.leaves(1, c.do, c.patterns...))
				r.want(1, domain.JobError, domain.ReasonInvalid)
				if j := r.show(1); !strings.Contains(j.Error, c.want) {
					t.Errorf("got %q, want %q", j.Error, c.want)
				}
				if _, err := r.engine.ArtifactsOf(t.Context(), tenant, key(1)); err == nil {
					t.Error("something is named all the same")
				}
			})
		})
	}
}

func TestArtifactsWaitForTheirStore(t *testing.T) {
	withArtifacts(t, work.Config{}, func(r *artifactRig) {
		r.store.puts.Store(3)
		r.submit(r.leaves(1, func(dir string) { write(dir+"/a", "x", 0o644) }, "a"))
		r.want(1, domain.JobFinished, "")
		if n := r.g.count(key(1)); n != 1 {
			t.Errorf("the script was run %d times, want once: it had done its work", n)
		}
		if r.store.puts.Load() >= 0 {
			t.Error("the store was not away")
		}
		r.store.opens.Store(2)
		next := job(2, "read")
		next.Dependends = []domain.JobID{1}
		r.submit(next)
		r.want(2, domain.JobFinished, "")
		if j := r.show(2); j.Losses != 0 || j.Failures != 0 || r.read["1/a"] == "" {
			t.Errorf("got %d losses, %d failures, %v: a store that is away is nobody's fault", j.Losses, j.Failures, r.read)
		}
	})
}

// What waits for a full store is told to who sees the job and to the operator, and only the
// operator learns where the store is.
func TestAFullStoreIsTold(t *testing.T) {
	withArtifacts(t, work.Config{}, func(r *artifactRig) {
		r.store.why = fmt.Errorf("artifact store: %w: %w", domain.ErrExhausted, &os.PathError{Op: "write", Path: "/secret/place", Err: syscall.ENOSPC})
		r.store.puts.Store(1 << 30)
		r.submit(r.leaves(1, func(dir string) { write(dir+"/a", "x", 0o644) }, "a"))
		time.Sleep(time.Minute)
		x, err := r.engine.Explain(t.Context(), tenant, key(1))
		want := "; its script has done its work, and what it left waits until it can be kept: the artifact store is full"
		if err != nil || !strings.HasSuffix(x.Text, want) {
			t.Errorf("got %q, %v; want %q at its end", x.Text, err, want)
		}
		list := r.engine.Unkept()
		if len(list) != 1 || list[0].Job != key(1).String() || !list[0].Full || !strings.Contains(list[0].Why, "/secret/place") {
			t.Errorf("got %+v", list)
		}
		// So it is told by every other node, which knows it by the record of the one that has the job.
		other := work.New(r.board, work.Config{})
		about := domain.Node{Name: "n1", Unkept: list, SeenMs: r.board.Now().UnixMilli()}
		commit := func() {
			var b board.Batch
			b.Set(layout.Node("n1"), append(layout.EncodeNode(about), board.Field{Name: layout.NodeSeen, Value: strconv.FormatInt(about.SeenMs, 10)})...)
			if err := r.board.Commit(t.Context(), b); err != nil {
				t.Fatal(err)
			}
		}
		commit()
		if x, err := other.Explain(t.Context(), tenant, key(1)); err != nil || !strings.HasSuffix(x.Text, want) {
			t.Errorf("on another node: got %q, %v; want %q at its end", x.Text, err, want)
		}
		about.SeenMs -= domain.NodeSilence.Milliseconds()
		commit()
		if x, err := other.Explain(t.Context(), tenant, key(1)); err != nil || strings.Contains(x.Text, "artifact store") {
			t.Errorf("of a node that is silent: got %q, %v; want nothing of what it said last", x.Text, err)
		}
		r.store.puts.Store(0)
		r.want(1, domain.JobFinished, "")
		if list := r.engine.Unkept(); len(list) != 0 {
			t.Errorf("got %+v once there was room", list)
		}
		page, err := r.engine.Logs(t.Context(), tenant, key(1), 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprint(page)
		if !strings.Contains(text, "the artifact store is full") || strings.Contains(text, "secret") {
			t.Errorf("the job's log says %s", text)
		}
	})
}

func TestArtifactsOfACancelledJob(t *testing.T) {
	withArtifacts(t, work.Config{}, func(r *artifactRig) {
		r.store.puts.Store(1 << 30)
		r.submit(r.leaves(1, func(dir string) { write(dir+"/a", "x", 0o644) }, "a"))
		time.Sleep(time.Minute)
		if j := r.show(1); j.Final() {
			t.Fatalf("it ended as %s while its store was away", j.Status)
		}
		if _, err := r.engine.Cancel(t.Context(), tenant, key(1), 9); err != nil {
			t.Fatal(err)
		}
		r.want(1, domain.JobError, domain.ReasonCancelled)
	})
}

func TestArtifactsThatAreLost(t *testing.T) {
	withArtifacts(t, work.Config{}, func(r *artifactRig) {
		r.submit(r.leaves(1, func(dir string) { write(dir+"/a", "x", 0o644) }, "a"))
		r.want(1, domain.JobFinished, "")
		blob, _, _ := artifact.Sum(t.Context(), bytes.NewReader([]byte("x")))
		if gone, err := r.store.Delete(t.Context(), tenant, blob, time.Now().Add(100*365*24*time.Hour)); !gone || err != nil {
			t.Fatal(gone, err)
		}
		next := job(2, "read")
		next.Dependends = []domain.JobID{1}
		r.submit(next)
		r.want(2, domain.JobError, domain.ReasonInvalid)
		if j := r.show(2); !strings.Contains(j.Error, blob+" is not in the artifact store") {
			t.Errorf("got %q", j.Error)
		}
	})
}

// TestAStoreThatWasEmptiedIsAFinding before somebody needs what was in it, and one that is away is none: it has lost nothing.
func TestAStoreThatWasEmptiedIsAFinding(t *testing.T) {
	withArtifacts(t, work.Config{}, func(r *artifactRig) {
		for id := range domain.JobID(3) {
			r.submit(r.leaves(id+1, func(dir string) { write(dir+"/a", strconv.Itoa(int(id)), 0o644) }, "a"))
			r.want(id+1, domain.JobFinished, "")
		}
		look := func(within time.Duration) []domain.Finding {
			found, err := r.engine.ArtifactsGone(r.Context(), tenant, within)
			if err != nil {
				t.Fatal(err)
			}
			return found
		}
		if found := look(0); found != nil {
			t.Errorf("all are there: got %+v", found)
		}
		for b, err := range r.store.Blobs(t.Context(), tenant) {
			if err != nil {
				t.Fatal(err)
			}
			if gone, err := r.store.Delete(t.Context(), tenant, b.Sum, time.Now().Add(100*365*24*time.Hour)); !gone || err != nil {
				t.Fatal(gone, err)
			}
		}
		for _, within := range []time.Duration{0, time.Second} {
			found := look(within)
			if len(found) != 1 || found[0].Keys() != "artifacts of job:1:1 and 2 more" || !strings.Contains(found[0].Text, r.store.Where()) {
				t.Errorf("within %v: got %+v", within, found)
			}
		}
		for _, err := range r.engine.Artifacts(t.Context(), tenant, work.Leavers{Job: domain.JobKey{Caller: 1, ID: 2}}, work.LeftAt{}) {
			if !errors.Is(err, domain.ErrNotFound) || !strings.Contains(err.Error(), "job:1:2 has left files (1)") {
				t.Errorf("listed: got %v", err)
			}
		}
		r.store.opens.Store(1)
		if found := look(0); found != nil {
			t.Errorf("it is away: got %+v", found)
		}
	})
}

func TestSweepOfArtifacts(t *testing.T) {
	withArtifacts(t, work.Config{}, func(r *artifactRig) {
		r.submit(
			r.leaves(1, func(dir string) { write(dir+"/a", "shared", 0o644); write(dir+"/b", "of one", 0o644) }, "*"),
			r.leaves(2, func(dir string) { write(dir+"/a", "shared", 0o644) }, "*"))
		r.want(1, domain.JobFinished, "")
		r.want(2, domain.JobFinished, "")
		// What a node put that was killed before it could commit.
		if _, err := r.store.Put(t.Context(), tenant, bytes.NewReader([]byte("nobody's"))); err != nil {
			t.Fatal(err)
		}
		sweep := func(keep time.Duration, now time.Time, want work.Swept) {
			t.Helper()
			if got, err := r.engine.SweepArtifacts(t.Context(), tenant, keep, now); err != nil || got != want {
				t.Errorf("swept %+v, %v, want %+v", got, err, want)
			}
		}
		const long = 100 * 365 * 24 * time.Hour
		blobs, _ := os.Stat(strings.TrimPrefix(r.store.Where(), "file://"))
		put := blobs.ModTime() // files have the machine's time, not the bubble's
		sweep(long, put.Add(artifact.Grace/2), work.Swept{})
		sweep(long, put.Add(2*artifact.Grace), work.Swept{Blobs: 1, Bytes: 8})
		if err := r.engine.DropArtifacts(t.Context(), tenant, 0); err != nil { // those of plain jobs
			t.Fatal(err)
		}
		recs, err := r.board.Get(t.Context(), layout.SpaceOf(tenant), layout.ArtifactTotal)
		if err != nil || recs[0].Get(layout.ArtifactBytes) != "0" {
			t.Errorf("counted: %v, %v", recs, err)
		}
		got, err := r.engine.SweepArtifacts(t.Context(), tenant, long, put.Add(2*artifact.Grace))
		if err != nil || got.Blobs != 4 {
			t.Errorf("swept %+v, %v, want two files and two manifests", got, err)
		}
	})
}

func TestSweepForgetsWhatExpired(t *testing.T) {
	withArtifacts(t, work.Config{}, func(r *artifactRig) {
		r.submit(r.leaves(1, func(dir string) { write(dir+"/a", "x", 0o644) }, "*"))
		r.want(1, domain.JobFinished, "")
		for _, c := range []struct {
			after time.Duration
			sets  int
		}{{time.Hour, 0}, {3 * time.Hour, 1}, {4 * time.Hour, 0}} {
			if got, err := r.engine.SweepArtifacts(t.Context(), tenant, 2*time.Hour, time.Now().Add(c.after)); err != nil || got.Sets != c.sets {
				t.Errorf("after %v: %+v, %v", c.after, got, err)
			}
		}
		next := job(2, "read")
		next.Dependends = []domain.JobID{1}
		r.submit(next)
		r.want(2, domain.JobError, domain.ReasonInvalid)
		if j := r.show(2); !strings.Contains(j.Error, "artifact_retention is over") {
			t.Errorf("got %q", j.Error)
		}
	})
}

// Nodes of one board that keep artifacts in two places would not find each other's.
func TestNodesHaveOneStore(t *testing.T) {
	b := memboard.Open()
	defer b.Close()
	on := func(dir string) (*work.Engine, artifact.Store) {
		s, err := folderstore.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		return work.New(b, work.Config{Artifacts: s}), s
	}
	first, second := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	one, _ := on(first)
	other, _ := on(second)
	if err := one.PairArtifacts(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if err := one.PairArtifacts(t.Context(), false); err != nil {
		t.Errorf("again: %v", err)
	}
	err := other.PairArtifacts(t.Context(), false)
	if !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), first) || !strings.Contains(err.Error(), "--accept-loss") {
		t.Errorf("another store: got %v", err)
	}
	moved := filepath.Join(t.TempDir(), "moved")
	if err := os.CopyFS(moved, os.DirFS(first)); err != nil {
		t.Fatal(err)
	}
	if same, _ := on(moved); same.PairArtifacts(t.Context(), false) != nil {
		t.Error("a copy of the store is refused")
	}
	if err := other.PairArtifacts(t.Context(), true); err != nil {
		t.Errorf("where loss is accepted: %v", err)
	}
	if err := one.PairArtifacts(t.Context(), false); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("the one before: got %v", err)
	}
}

// A job of 100,000 files is one small record on the board.
func TestManyArtifacts(t *testing.T) {
	watched.Large(t)
	const many = 3000
	withArtifacts(t, work.Config{}, func(r *artifactRig) {
		first := r.leaves(1, func(dir string) {
			for i := range many {
				write(fmt.Sprintf("%s/dist/%d/%d", dir, i%30, i), "x", 0o644)
			}
		}, "dist")
		next := job(2, "read")
		next.Dependends = []domain.JobID{1}
		r.submit(first, next)
		r.want(2, domain.JobFinished, "")
		if len(r.read) != many {
			t.Errorf("found %d of %d", len(r.read), many)
		}
		recs, err := r.board.Get(t.Context(), layout.SpaceOf(tenant), layout.Artifacts(key(1)))
		if err != nil || recs[0].Bytes() > 300 {
			t.Errorf("the record has %d bytes, %v", recs[0].Bytes(), err)
		}
	})
}
