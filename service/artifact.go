package service

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/work"
)

// ListJobArtifacts lists the files that a job has left.
func (c Caller) ListJobArtifacts(ctx context.Context, p api.JobArtifactsParams) (api.ArtifactPage, error) {
	if _, err := c.mayJob(ctx, domain.VerbRead, p.JobParams); err != nil {
		return api.ArtifactPage{}, err
	}
	return c.listArtifacts(ctx, p.Context, work.Leavers{Job: p.Key()}, p.ArtifactFilter)
}

// ListFlowArtifacts lists the files that the jobs of a flow have left.
func (c Caller) ListFlowArtifacts(ctx context.Context, p api.FlowArtifactsParams) (api.ArtifactPage, error) {
	if _, err := c.mayFlow(ctx, domain.VerbRead, p.FlowParams); err != nil {
		return api.ArtifactPage{}, err
	}
	page, err := c.listArtifacts(ctx, p.Context, work.Leavers{Flow: p.Flow, Step: p.Step}, p.ArtifactFilter)
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

func (c Caller) listArtifacts(ctx context.Context, t domain.TenantID, of work.Leavers, f api.ArtifactFilter) (page api.ArtifactPage, err error) {
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
	for a, err := range c.api.parts.Jobs.Artifacts(ctx, t, of, after) {
		if err != nil {
			return page, err
		}
		if f.Match != "" && !domain.MatchArtifact(f.Match, a.Path) {
			continue
		}
		page.Artifacts = append(page.Artifacts, api.LeftArtifact{Artifact: a.Artifact, Job: a.Set.Job.String(), Step: a.Set.Step, Index: a.Set.Index,
			AtMs: a.Set.AtMs})
		if len(page.Artifacts) == limit {
			page.Next = leftAt(a.At)
			break
		}
	}
	return page, nil
}

// leftAt is a place in a list of files as a cursor.
func leftAt(at work.LeftAt) string {
	return base64.RawURLEncoding.EncodeToString([]byte(at.Member + "\n" + at.Path)) // neither has a line end
}

func parseLeftAt(cursor string) (at work.LeftAt, err error) {
	if cursor == "" {
		return at, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	member, file, ok := strings.Cut(string(text), "\n")
	if err != nil || !ok {
		return at, domain.Invalidf("cursor %.40q is none that a page ended with", cursor)
	}
	return work.LeftAt{Member: member, Path: file}, nil
}

// ReadJobArtifact reads a file that a job has left.
func (c Caller) ReadJobArtifact(ctx context.Context, p api.JobArtifactParams) (api.Bytes, error) {
	if _, err := c.mayJob(ctx, domain.VerbRead, p.JobParams); err != nil {
		return api.Bytes{}, err
	}
	return c.readArtifact(ctx, p.Context, work.Leavers{Job: p.Key()}, p.File)
}

// ReadFlowArtifact reads a file that a step of a flow has left.
func (c Caller) ReadFlowArtifact(ctx context.Context, p api.FlowArtifactParams) (api.Bytes, error) {
	if _, err := c.mayFlow(ctx, domain.VerbRead, p.FlowParams); err != nil {
		return api.Bytes{}, err
	}
	if p.Step == "" {
		return api.Bytes{}, domain.Invalidf("step is missing: want that of the file")
	}
	out, err := c.readArtifact(ctx, p.Context, work.Leavers{Flow: p.Flow, Step: p.Step, Index: &p.Index}, p.File)
	if errors.Is(err, domain.ErrNotFound) {
		err = cmp.Or(c.hasStep(ctx, p.FlowParams, p.Step), err)
	}
	return out, err
}

func (c Caller) readArtifact(ctx context.Context, t domain.TenantID, of work.Leavers, file string) (api.Bytes, error) {
	if err := domain.ValidateArtifactPath(file); err != nil {
		return api.Bytes{}, err
	}
	for a, err := range c.api.parts.Jobs.Artifacts(ctx, t, of, work.LeftAt{}) {
		if err != nil {
			return api.Bytes{}, err
		}
		if a.Path != file {
			continue
		}
		return api.Bytes{File: &api.File{Name: path.Base(file), Size: a.Size, Tag: a.SHA256,
			Open: func(ctx context.Context, offset int64) (io.ReadCloser, error) {
				return c.api.parts.Jobs.OpenArtifact(ctx, t, a.SHA256, offset)
			}}}, nil
	}
	return api.Bytes{}, domain.NotFoundf("there is no artifact %q here; `ramet flow artifacts list` and `ramet job artifacts list` name them", file)
}
