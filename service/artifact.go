package service

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/artifact"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/work"
)

// ListJobArtifacts lists the files that a job has left.
func (c Caller) ListJobArtifacts(ctx context.Context, p api.JobArtifactsParams) (api.ArtifactPage, error) {
	if _, err := c.mayJob(ctx, domain.VerbRead, p.JobParams); err != nil {
		return api.ArtifactPage{}, err
	}
	return c.listArtifacts(p.ArtifactFilter, func(after leftAt) iter.Seq2[leftFile, error] {
		return c.leftBy(ctx, p.Context, work.Leavers{Job: p.Key()}, after, "")
	})
}

// ListFlowArtifacts lists the files that the jobs of a flow have left.
func (c Caller) ListFlowArtifacts(ctx context.Context, p api.FlowArtifactsParams) (api.ArtifactPage, error) {
	if _, err := c.mayFlow(ctx, domain.VerbRead, p.FlowParams); err != nil {
		return api.ArtifactPage{}, err
	}
	page, err := c.listArtifacts(p.ArtifactFilter, func(after leftAt) iter.Seq2[leftFile, error] {
		return c.leftByFlow(ctx, p.FlowParams, p.Step, nil, after)
	})
	if err == nil && len(page.Artifacts) == 0 && page.Next == "" { // or there is no such flow
		err = c.hasStep(ctx, p.FlowParams, p.Step)
	}
	return page, err
}

// hasStep says which steps a flow has that has none of a name; "" is any.
//
// Errors: [domain.ErrNotFound].
func (c Caller) hasStep(ctx context.Context, p api.FlowParams, step string) error {
	v, err := c.wholeFlow(ctx, p)
	if err != nil || step == "" || slices.ContainsFunc(v.Steps, func(s domain.StepView) bool { return s.Name == step }) {
		return err
	}
	names := make([]string, len(v.Steps))
	for i := range v.Steps {
		names[i] = v.Steps[i].Name
	}
	if near := domain.Nearest(step, names); near != "" {
		return domain.NotFoundf("flow %d has no step %q; did you mean %q?", p.Flow, domain.PlainText(step, domain.MaxNameBytes), near)
	}
	more := ""
	if len(names) > maxStepsNamed {
		more, names = fmt.Sprintf(" and %d more", len(names)-maxStepsNamed), names[:maxStepsNamed]
	}
	return domain.NotFoundf("flow %d has no step %q; it has %s%s", p.Flow, domain.PlainText(step, domain.MaxNameBytes), strings.Join(names, ", "), more)
}

// maxStepsNamed is how many steps an error names.
const maxStepsNamed = 20

// ArtifactRoom says how much the jobs of a context have left, and how much they may.
func (c Caller) ArtifactRoom(ctx context.Context, p api.ContextParams) (domain.ArtifactRoom, error) {
	if _, err := c.may(ctx, domain.VerbRead, p.Context, "artifacts"); err != nil {
		return domain.ArtifactRoom{}, err
	}
	return c.api.parts.Jobs.ArtifactRoom(ctx, p.Context)
}

// leftFile is a file that was left, and its place in the list.
type leftFile struct {
	work.LeftFile
	at leftAt
}

// leftAt is a place in a list of files: behind that one.
type leftAt struct {
	work.LeftAt
	taken string // the step that has taken the job's result from the cache; "": none
}

// leftBy are the files that jobs have left; taken is the step for which another flow's did.
func (c Caller) leftBy(ctx context.Context, t domain.TenantID, of work.Leavers, after leftAt, taken string) iter.Seq2[leftFile, error] {
	return func(yield func(leftFile, error) bool) {
		for f, err := range c.api.parts.Jobs.Artifacts(ctx, t, of, after.LeftAt) {
			if err == nil && taken != "" {
				set := *f.Set
				set.Step, f.Set = taken, &set // as this flow calls it
			}
			if !yield(leftFile{f, leftAt{f.At, taken}}, err) || err != nil {
				return
			}
		}
	}
}

// leftByFlow are the files that the jobs of a flow have left, or those of a step of it, and
// behind them what its steps have taken from the cache: the jobs of other flows left that.
func (c Caller) leftByFlow(ctx context.Context, p api.FlowParams, step string, index *string, after leftAt) iter.Seq2[leftFile, error] {
	return func(yield func(leftFile, error) bool) {
		if after.taken == "" {
			for f, err := range c.leftBy(ctx, p.Context, work.Leavers{Flow: p.Flow, Step: step, Index: index}, after, "") {
				if !yield(f, err) || err != nil {
					return
				}
			}
		}
		v, err := c.wholeFlow(ctx, p)
		if errors.Is(err, domain.ErrNotFound) {
			return // it is gone, with what it has taken
		}
		if err != nil {
			yield(leftFile{}, err)
			return
		}
		begun := after.taken == ""
		for i := range v.Steps {
			s, from := &v.Steps[i], leftAt{}
			if s.Cached == nil || step != "" && s.Name != step {
				continue
			}
			if s.Name == after.taken {
				begun, from = true, after
			}
			if begun && !c.leftByTaken(ctx, p.Context, s, index, from, yield) {
				return
			}
		}
	}
}

// leftByTaken yields the files of the job whose result a step has taken; none where it has left
// none, or they have expired.
func (c Caller) leftByTaken(ctx context.Context, t domain.TenantID, s *domain.StepView, index *string, after leftAt, yield func(leftFile, error) bool) bool {
	key, err := domain.ParseJobKey(s.Cached.Job)
	if err == nil {
		_, err = c.api.parts.Jobs.ArtifactsOf(ctx, t, key)
	}
	if errors.Is(err, domain.ErrNotFound) {
		return true
	}
	if err != nil {
		return yield(leftFile{}, err) && false
	}
	for f, err := range c.leftBy(ctx, t, work.Leavers{Job: key, Index: index}, after, s.Name) {
		if !yield(f, err) || err != nil {
			return false
		}
	}
	return true
}

// listArtifacts is a page of the files that come behind a place.
func (c Caller) listArtifacts(f api.ArtifactFilter, left func(after leftAt) iter.Seq2[leftFile, error]) (page api.ArtifactPage, err error) {
	page.Artifacts = []api.LeftArtifact{}
	after, err := parseLeftAt(f.Cursor)
	if err != nil {
		return page, err
	}
	if f.Match != "" {
		if err := domain.ValidateArtifacts([]string{f.Match}); err != nil {
			return page, err
		}
	}
	if f.Limit < 0 || f.Limit > api.MaxArtifacts {
		return page, domain.Invalidf("limit %d: want 1 to %d", f.Limit, api.MaxArtifacts)
	}
	limit := cmp.Or(f.Limit, api.DefaultArtifacts)
	for a, err := range left(after) {
		if err != nil {
			return page, err
		}
		if f.Match != "" && !artifact.Match(f.Match, a.Path) {
			continue
		}
		page.Artifacts = append(page.Artifacts, api.LeftArtifact{Artifact: a.Artifact, Job: a.Set.Job.String(), Step: a.Set.Step, Index: a.Set.Index,
			AtMs: a.Set.AtMs})
		if len(page.Artifacts) == limit {
			page.Next = a.at.cursor()
			break
		}
	}
	return page, nil
}

// cursor is a place in a list of files as callers have it.
func (at leftAt) cursor() string {
	text := at.Member + "\n" + at.Path // neither has a line end
	if at.taken != "" {
		text += "\n" + at.taken
	}
	return base64.RawURLEncoding.EncodeToString([]byte(text))
}

func parseLeftAt(cursor string) (at leftAt, err error) {
	if cursor == "" {
		return at, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	member, file, ok := strings.Cut(string(text), "\n")
	if err != nil || !ok {
		return at, domain.Invalidf("cursor %.40q is none that a page ended with", cursor)
	}
	file, taken, _ := strings.Cut(file, "\n")
	return leftAt{work.LeftAt{Member: member, Path: file}, taken}, nil
}

// ReadJobArtifact reads a file that a job has left.
func (c Caller) ReadJobArtifact(ctx context.Context, p api.JobArtifactParams) (api.Bytes, error) {
	if _, err := c.mayJob(ctx, domain.VerbRead, p.JobParams); err != nil {
		return api.Bytes{}, err
	}
	return c.readArtifact(p.Context, c.leftBy(ctx, p.Context, work.Leavers{Job: p.Key()}, leftAt{}, ""), p.File)
}

// ReadFlowArtifact reads a file that a step of a flow has left.
func (c Caller) ReadFlowArtifact(ctx context.Context, p api.FlowArtifactParams) (api.Bytes, error) {
	if _, err := c.mayFlow(ctx, domain.VerbRead, p.FlowParams); err != nil {
		return api.Bytes{}, err
	}
	if p.Step == "" {
		return api.Bytes{}, domain.Invalidf("step is missing: want that of the file")
	}
	out, err := c.readArtifact(p.Context, c.leftByFlow(ctx, p.FlowParams, p.Step, &p.Index, leftAt{}), p.File)
	if errors.Is(err, domain.ErrNotFound) {
		err = cmp.Or(c.hasStep(ctx, p.FlowParams, p.Step), err)
	}
	return out, err
}

func (c Caller) readArtifact(t domain.TenantID, left iter.Seq2[leftFile, error], file string) (api.Bytes, error) {
	if err := artifact.CheckPath(file); err != nil {
		return api.Bytes{}, err
	}
	for a, err := range left {
		if err != nil {
			return api.Bytes{}, err
		}
		if a.Path != file {
			continue
		}
		return api.Bytes{File: &api.File{Name: path.Base(file), Size: a.Size, Tag: a.SHA256,
			Open: func(ctx context.Context, offset int64) (io.ReadCloser, error) {
				r, err := c.api.parts.Jobs.OpenArtifact(ctx, t, a.SHA256, offset)
				if errors.Is(err, domain.ErrNotFound) {
					err = domain.NotFoundf("artifact %s, which %s left, is gone: %v; put that back where it was, or have the job run again", file, a.Set.Job, err)
				} else if err != nil {
					err = fmt.Errorf("artifact %s, which %s left: %w", file, a.Set.Job, err)
				}
				return r, err
			}}}, nil
	}
	return api.Bytes{}, domain.NotFoundf("there is no artifact %q here; `ramet flow artifacts list` and `ramet job artifacts list` name them", file)
}
