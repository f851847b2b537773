package api

import (
	"context"
	"io"

	"github.com/ramet-run/ramet/domain"
)

// The operations on files that jobs have left.
var (
	JobArtifacts = op[ArtifactPage](Operation{
		Name: "job.artifacts", Method: "GET", Path: "/v1/contexts/{context}/jobs/{caller}/{id}/artifacts", Right: domain.VerbRead, Much: true,
		Summary: "List the files that a job has left, page by page.",
	}, JobArtifactsParams{JobParams: JobParams{Context: 7, Caller: 12, ID: 2001}, ArtifactFilter: ArtifactFilter{Limit: 100}})
	JobArtifact = op[Bytes](Operation{
		Name: "job.artifact", Method: "GET", Path: "/v1/contexts/{context}/jobs/{caller}/{id}/artifact", Right: domain.VerbRead, Bytes: mediaFile,
		Summary: "Answer with a file that a job has left; parts of it by Range.",
		Errors:  []error{domain.ErrNotFound},
	}, JobArtifactParams{JobParams: JobParams{Context: 7, Caller: 12, ID: 2001}, File: "dist/app"})
	FlowArtifacts = op[ArtifactPage](Operation{
		Name: "flow.artifacts", Method: "GET", Path: "/v1/contexts/{context}/flows/{flow}/artifacts", Right: domain.VerbRead, Much: true,
		Summary: "List the files that the jobs of a flow have left, or those of one of its steps, page by page.",
	}, FlowArtifactsParams{FlowParams: FlowParams{Context: 7, Flow: 31}, Step: "build"})
	FlowArtifact = op[Bytes](Operation{
		Name: "flow.artifact", Method: "GET", Path: "/v1/contexts/{context}/flows/{flow}/artifact", Right: domain.VerbRead, Bytes: mediaFile,
		Summary: "Answer with a file that a step of a flow has left; parts of it by Range.",
		Errors:  []error{domain.ErrNotFound},
	}, FlowArtifactParams{FlowParams: FlowParams{Context: 7, Flow: 31}, Step: "build", File: "dist/app"})
	ContextArtifacts = op[domain.ArtifactRoom](Operation{
		Name: "context.artifacts", Method: "GET", Path: "/v1/contexts/{context}/artifacts", Right: domain.VerbRead,
		Summary: "Say how much the files take that the jobs of a context have left, and how much they may.",
	}, ContextParams{Context: 7})
)

// mediaFile is of files of which nobody says what they are: a browser shows none of them.
const mediaFile = "application/octet-stream"

// Parts reports whether the answer is a file, of which a part can be asked for by Range.
func (o *Operation) Parts() bool { return o.Bytes == mediaFile }

const (
	// DefaultArtifacts and MaxArtifacts are how many files a page has.
	DefaultArtifacts = 1000
	MaxArtifacts     = 5000
)

// ArtifactFilter says which files are meant. Empty filters do not filter.
type ArtifactFilter struct {
	// Match is a path as a step names it: with * and **.
	Match  string `json:"-" query:"match"`
	Cursor string `json:"-" query:"cursor"` // where a page before left off
	Limit  int    `json:"-" query:"limit"`  // files a page; default 1000, at most 5000
}

// JobArtifactsParams are the parameters of job.artifacts.
type JobArtifactsParams struct {
	JobParams
	ArtifactFilter
}

// FlowArtifactsParams are the parameters of flow.artifacts.
type FlowArtifactsParams struct {
	FlowParams
	Step string `json:"-" query:"step"` // default: all
	ArtifactFilter
}

// JobArtifactParams are the parameters of job.artifact.
type JobArtifactParams struct {
	JobParams
	File string `json:"-" query:"file"` // its path
}

// FlowArtifactParams are the parameters of flow.artifact.
type FlowArtifactParams struct {
	FlowParams
	Step  string `json:"-" query:"step"`
	Index string `json:"-" query:"index"` // of the job among those of the step; left out where it is one
	File  string `json:"-" query:"file"`  // its path
}

// ArtifactPage is a page of files.
type ArtifactPage struct {
	Artifacts []LeftArtifact `json:"artifacts"`
	Next      string         `json:"next,omitzero"` // the cursor of the next page; "": there is none
}

// LeftArtifact is a file with who has left it.
type LeftArtifact struct {
	domain.Artifact
	Job   string `json:"job"` // its key
	Step  string `json:"step,omitzero"`
	Index string `json:"index,omitzero"` // of the job among those of its step
	AtMs  int64  `json:"at_ms"`          // when the job left it
}

// File is what is known of an answer that is a file, before it is written.
type File struct {
	Name string // without folders
	Size int64
	Tag  string // that no other file has
	Open func(ctx context.Context, offset int64) (io.ReadCloser, error)
}
