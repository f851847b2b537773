package domain

import (
	"path"
	"strings"
	"unicode/utf8"
)

// Limits of the artifacts of a job.
const (
	// MaxArtifactPatterns and MaxArtifactPattern bound what a job names, the latter in bytes.
	MaxArtifactPatterns = 100
	MaxArtifactPattern  = 1024
	// MaxArtifactPath bounds the path of a file in bytes.
	MaxArtifactPath = 1024
	// MaxArtifactFiles is how many files one job may leave.
	MaxArtifactFiles = 100_000
)

// Artifact is a file that a job has left.
type Artifact struct {
	// Path is where it lay in the job's work folder, with slashes.
	Path string `json:"path"`
	Size int64  `json:"size"` // bytes
	// SHA256 is the sum of what is in it, in hex: by that it lies in the store.
	SHA256 string `json:"sha256"`
	// Mode are its permissions; whether it can be executed is all that is kept.
	Mode uint32 `json:"mode"`
}

// ArtifactRoom is how much the jobs of a context have left, and how much they may.
type ArtifactRoom struct {
	Bytes int64 `json:"bytes"`          // what several jobs left alike counts for each
	Limit int64 `json:"limit,omitzero"` // of the node that answers; 0: no bound
}

// ArtifactSet is what a job has left, as a whole.
type ArtifactSet struct {
	Job   JobKey `json:"job"`
	Flow  FlowID `json:"flow,omitzero"`
	Step  string `json:"step,omitzero"`
	Index string `json:"index,omitzero"` // of the job among those of its step, in decimal; "" of a step that is one job
	Files int    `json:"files"`
	Bytes int64  `json:"bytes"` // what it takes of the context's room: what the files have, and 128 and the path of each
	AtMs  int64  `json:"at_ms"` // when the job left them
	// Manifest is the sum of the list of the files, which lies in the store too.
	Manifest string `json:"manifest"`
}

// Folder is where those who come after find the files, within $RAMET_ARTIFACTS.
func (s *ArtifactSet) Folder(name string) string {
	if s.Index == "" {
		return name
	}
	return name + "/" + s.Index
}

// ValidateArtifacts checks the patterns by which a job names the files that it leaves.
//
// Errors: [ErrInvalid].
func ValidateArtifacts(patterns []string) error {
	if len(patterns) > MaxArtifactPatterns {
		return Invalidf("artifacts: %d patterns, the limit is %d; a folder's name stands for all that is in it", len(patterns), MaxArtifactPatterns)
	}
	for _, p := range patterns {
		if err := validatePattern(p); err != nil {
			return err
		}
	}
	return nil
}

func validatePattern(p string) error {
	const want = "want a path in the job's work folder, such as report.html, dist or dist/**"
	switch {
	case len(p) > MaxArtifactPattern:
		return Invalidf("artifacts: a pattern has %d bytes, the limit is %d", len(p), MaxArtifactPattern)
	case !utf8.ValidString(p) || strings.ContainsFunc(p, Acts):
		return Invalidf("artifacts: %q has characters that do something instead of standing there; %s", p, want)
	case p == "" || path.IsAbs(p) || p != path.Clean(p) || p == "." || p == ".." || strings.HasPrefix(p, "../") || strings.Contains(p, `\`):
		return Invalidf("artifacts: %q: %s", p, want)
	}
	if _, err := path.Match(p, ""); err != nil {
		return Invalidf("artifacts: %q: a [ without its ]; %s", p, want)
	}
	return nil
}
