package work

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/ramet-run/ramet/artifact"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// This file finds what jobs have left, and removes it.

// PairArtifacts makes sure that the nodes of a board keep artifacts in one store, whatever
// each calls it: the first leaves a mark in it, which the others look for. lose has a store
// without the mark taken all the same: then what was in the other one is lost.
//
// Errors: [domain.ErrInvalid] where this is another store; those of the board and the store.
func (e *Engine) PairArtifacts(ctx context.Context, lose bool) error {
	store := e.cfg.Artifacts
	recs, err := e.board.Get(ctx, 0, layout.ArtifactStore)
	if err != nil {
		return err
	}
	if mark := recs[0].Get(layout.ArtifactMark); mark != "" {
		r, _, err := store.Open(ctx, 0, mark, 0)
		if err == nil {
			return r.Close()
		}
		if !errors.Is(err, domain.ErrNotFound) || !lose {
			where := recs[0].Get(layout.ArtifactWhere)
			if errors.Is(err, domain.ErrNotFound) {
				err = domain.Invalidf("artifacts: %s is not the store in which the nodes of this board keep artifacts, which one of them calls %s: mount or name "+
					"that one here too, or copy all that is in it; with --accept-loss the node begins a new one", store.Where(), where)
			}
			return err
		}
	}
	text := fmt.Sprintf("artifacts of a board of Ramet, since %s at %s, %s\n", time.Now().UTC().Format(time.RFC3339Nano), store.Where(), rand.Text())
	blob, err := store.Put(ctx, 0, strings.NewReader(text))
	if err != nil {
		return err
	}
	b := board.Batch{}
	b.Equal(layout.ArtifactStore, layout.ArtifactMark, recs[0].Get(layout.ArtifactMark))
	b.Set(layout.ArtifactStore, board.Field{Name: layout.ArtifactWhere, Value: store.Where()}, board.Field{Name: layout.ArtifactMark, Value: blob.Sum})
	err = e.board.Commit(ctx, b)
	if errors.Is(err, domain.ErrConflict) { // another node was quicker
		return e.PairArtifacts(ctx, false)
	}
	return err
}

// artifactPage is how many members of the index are read at once.
const artifactPage = 500

// ArtifactsOf is what a job has left.
//
// Errors: [domain.ErrNotFound].
func (e *Engine) ArtifactsOf(ctx context.Context, t domain.TenantID, job domain.JobKey) (*domain.ArtifactSet, error) {
	recs, err := e.board.Get(ctx, layout.SpaceOf(t), layout.Artifacts(job))
	if err != nil {
		return nil, err
	}
	if recs[0] == nil {
		return nil, domain.NotFoundf("job %q of context %d has left no artifacts, or they have expired", job, t)
	}
	return layout.DecodeArtifacts(job, recs[0])
}

// ArtifactSets are what the jobs of a flow have left, or those of one of its steps, in the
// order of steps and indexes.
func (e *Engine) ArtifactSets(ctx context.Context, t domain.TenantID, flow domain.FlowID, step string) iter.Seq2[*domain.ArtifactSet, error] {
	prefix := layout.ArtifactFlow(flow)
	if step != "" {
		prefix = layout.ArtifactStep(flow, step)
	}
	return e.artifactSets(ctx, layout.SpaceOf(t), prefix, prefix)
}

// Leavers are the jobs whose files are meant: one, or those of a flow or of a step of it.
type Leavers struct {
	Job  domain.JobKey // its id is 0 for those of a flow
	Flow domain.FlowID
	Step string // "": of all steps
	// Index is which job of the step is meant. Default: all.
	Index *string
}

// LeftAt is a place in a list of files: behind that one.
type LeftAt struct {
	Member string // of the index of what jobs have left; "": the beginning
	Path   string
}

// LeftFile is a file with who has left it, and its place in the list.
type LeftFile struct {
	domain.Artifact
	Set *domain.ArtifactSet
	At  LeftAt
}

// Artifacts are the files that jobs have left, in the order of steps, indexes and paths,
// from a place on. What expires meanwhile is missing.
//
// Errors: [domain.ErrNotFound] for a job that has left none; those of the board and the
// store.
func (e *Engine) Artifacts(ctx context.Context, t domain.TenantID, of Leavers, after LeftAt) iter.Seq2[LeftFile, error] {
	return func(yield func(LeftFile, error) bool) {
		for set, err := range e.leftBy(ctx, t, of, after) {
			if err == nil && e.cfg.Artifacts == nil {
				err = noStore()
			}
			if err != nil {
				yield(LeftFile{}, err)
				return
			}
			if of.Index != nil && set.Index != *of.Index {
				continue
			}
			member := layout.ArtifactMember(set)
			for f, err := range artifact.Files(ctx, e.cfg.Artifacts, t, set.Manifest) {
				if err == nil && member == after.Member && f.Path <= after.Path {
					continue
				}
				if errors.Is(err, domain.ErrNotFound) {
					err = fmt.Errorf("%s has left files (%d), and their list is not there: %w", set.Job, set.Files, err)
				}
				if !yield(LeftFile{f, set, LeftAt{member, f.Path}}, err) || err != nil {
					return
				}
			}
		}
	}
}

// goneLooked bounds how many jobs a look asks the store for that is not to ask for all: a store that was emptied
// has nothing of any of them.
const goneLooked = 20

// ArtifactsGone finds what jobs of a context have left and the store does not have any more, oldest flows first, in so
// much time at most. Zero: of all of them, as long as it takes. A store that is away has lost nothing.
//
// Errors: those of the board.
func (e *Engine) ArtifactsGone(ctx context.Context, t domain.TenantID, within time.Duration) ([]domain.Finding, error) {
	if e.cfg.Artifacts == nil {
		return nil, nil
	}
	asking := ctx
	if within > 0 {
		var cancel context.CancelFunc
		asking, cancel = context.WithTimeout(ctx, within)
		defer cancel()
	}
	found, looked := domain.Finding{More: -1}, 0
	for set, err := range e.artifactSets(ctx, layout.SpaceOf(t), "", "") {
		if errors.Is(err, domain.ErrInvalid) {
			break // the sweep says so
		} else if err != nil {
			return nil, err
		}
		if looked++; within > 0 && looked > goneLooked {
			break
		}
		r, _, err := e.cfg.Artifacts.Open(asking, t, set.Manifest, 0)
		if err == nil {
			r.Close()
			continue
		} else if !errors.Is(err, domain.ErrNotFound) {
			break
		}
		if now, err := e.ArtifactsOf(ctx, t, set.Job); err != nil || now.Manifest != set.Manifest {
			continue // they expired just now, or it has left others since
		}
		if found.More++; found.More == 0 {
			found.Key = "artifacts of " + set.Job.String()
		}
	}
	if found.More < 0 {
		return nil, nil
	}
	found.Text = "the files are not in the artifact store " + e.cfg.Artifacts.Where() + ", where they were put: mount or bring back what was there; " +
		"else they are lost, and this is told until they would have expired or their flows are deleted"
	return []domain.Finding{found}, nil
}

// leftBy are the sets from the one on that a place is in.
func (e *Engine) leftBy(ctx context.Context, t domain.TenantID, of Leavers, after LeftAt) iter.Seq2[*domain.ArtifactSet, error] {
	if of.Job.ID != 0 {
		return func(yield func(*domain.ArtifactSet, error) bool) { yield(e.ArtifactsOf(ctx, t, of.Job)) }
	}
	prefix := layout.ArtifactFlow(of.Flow)
	if of.Step != "" {
		prefix = layout.ArtifactStep(of.Flow, of.Step)
	}
	if after.Member == "" {
		return e.artifactSets(ctx, layout.SpaceOf(t), prefix, prefix)
	}
	return func(yield func(*domain.ArtifactSet, error) bool) {
		if job, err := layout.ParseArtifactMember(after.Member); err == nil {
			set, err := e.ArtifactsOf(ctx, t, job)
			if !errors.Is(err, domain.ErrNotFound) && (!yield(set, err) || err != nil) {
				return
			}
		}
		for set, err := range e.artifactSets(ctx, layout.SpaceOf(t), prefix, after.Member) {
			if !yield(set, err) {
				return
			}
		}
	}
}

// artifactSets are those whose members of the index begin so, behind one.
func (e *Engine) artifactSets(ctx context.Context, space board.Space, prefix, after string) iter.Seq2[*domain.ArtifactSet, error] {
	return func(yield func(*domain.ArtifactSet, error) bool) {
		for after := after; ; {
			members, err := e.board.Members(ctx, space, layout.ArtifactIndex, after, artifactPage)
			if err != nil {
				yield(nil, err)
				return
			}
			whole := len(members) < artifactPage
			var jobs []domain.JobKey
			var keys []string
			for _, m := range members {
				if after = m; !strings.HasPrefix(m, prefix) {
					whole = true
					break
				}
				job, err := layout.ParseArtifactMember(m)
				if err != nil {
					continue // somebody else's
				}
				jobs, keys = append(jobs, job), append(keys, layout.Artifacts(job))
			}
			if len(keys) > 0 && !e.yieldSets(ctx, space, jobs, keys, yield) || whole {
				return
			}
		}
	}
}

func (e *Engine) yieldSets(ctx context.Context, space board.Space, jobs []domain.JobKey, keys []string, yield func(*domain.ArtifactSet, error) bool) bool {
	recs, err := e.board.Get(ctx, space, keys...)
	if err != nil {
		yield(nil, err)
		return false
	}
	for i, r := range recs {
		if r == nil {
			continue // removed meanwhile
		}
		set, err := layout.DecodeArtifacts(jobs[i], r)
		if !yield(set, err) || err != nil {
			return false
		}
	}
	return true
}

// DropArtifacts forgets what the jobs of a flow have left: its blobs go with the next sweep.
func (e *Engine) DropArtifacts(ctx context.Context, t domain.TenantID, flow domain.FlowID) error {
	for set, err := range e.ArtifactSets(ctx, t, flow, "") {
		if err != nil {
			return err
		}
		if err := e.dropArtifacts(ctx, layout.SpaceOf(t), set); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) dropArtifacts(ctx context.Context, space board.Space, set *domain.ArtifactSet) error {
	key := layout.Artifacts(set.Job)
	b := board.Batch{Space: space}
	b.Equal(key, layout.ArtifactManifest, set.Manifest)
	b.Delete(key).Exclude(layout.ArtifactIndex, layout.ArtifactMember(set)).Add(layout.ArtifactTotal, layout.ArtifactBytes, -set.Bytes)
	err := e.board.Commit(ctx, b)
	if errors.Is(err, domain.ErrConflict) {
		return nil // another node was quicker, or the job has left something else since
	}
	return err
}

// Swept is what a sweep came to.
type Swept struct {
	Sets  int   // jobs whose files have expired
	Blobs int   // removed from the store
	Bytes int64 // of those
}

// SweepArtifacts forgets what the jobs of a context left before an instant, and removes
// from the store what nobody names (mark and sweep). What was put within [artifact.Grace]
// stays: its job's end may not be committed yet. Several nodes may sweep at once.
func (e *Engine) SweepArtifacts(ctx context.Context, t domain.TenantID, keep time.Duration, now time.Time) (done Swept, err error) {
	store, space := e.cfg.Artifacts, layout.SpaceOf(t)
	if store == nil {
		return done, nil
	}
	// Blobs are listed first: what is put, or named, while names are read is none of them,
	// or is young.
	before := now.Add(-artifact.Grace)
	old := map[string]int64{}
	for b, err := range store.Blobs(ctx, t) {
		if err != nil {
			return done, err
		}
		if b.At.Before(before) {
			old[b.Sum] = b.Size
		}
	}
	for set, err := range e.artifactSets(ctx, space, "", "") {
		switch {
		case errors.Is(err, domain.ErrInvalid):
			return done, err // what cannot be read may name anything
		case err != nil:
			return done, err
		case set.AtMs < now.Add(-keep).UnixMilli():
			done.Sets++
			if err := e.dropArtifacts(ctx, space, set); err != nil {
				return done, err
			}
			continue
		}
		if len(old) == 0 {
			continue
		}
		delete(old, set.Manifest)
		for f, err := range artifact.Files(ctx, store, t, set.Manifest) {
			if errors.Is(err, domain.ErrNotFound) {
				break // forgotten and swept meanwhile, or lost: then whoever reads it is told
			}
			if err != nil {
				return done, err
			}
			delete(old, f.SHA256)
		}
	}
	for sum, size := range old {
		gone, err := store.Delete(ctx, t, sum, before)
		if err != nil {
			return done, err
		}
		if gone {
			done.Blobs++
			done.Bytes += size
		}
	}
	return done, nil
}
