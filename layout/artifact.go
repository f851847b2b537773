package layout

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// ArtifactIndex is the set in a context's space of what its jobs have left: one member for
// each job, in the order of flows, steps and indexes. See [ArtifactMember].
const ArtifactIndex = "ramet:artifacts"

// ArtifactTotal is the record that counts, in ArtifactBytes, what a context's jobs have
// left. What several jobs left alike counts for each.
const ArtifactTotal = "ramet:artifacts:total"

// ArtifactStore is the record in space 0 that says, in ArtifactWhere, where the nodes of a
// board keep artifacts.
// In the store itself lies, under ArtifactMark, a text that tells it from others.
const (
	ArtifactStore = "ramet:artifacts:store"
	ArtifactWhere = "where"
	ArtifactMark  = "mark"
)

// Artifacts is the record of what a job has left.
func Artifacts(job domain.JobKey) string { return "ramet:artifacts:" + job.String() }

// The fields of that record.
const (
	ArtifactManifest = "manifest"
	ArtifactBytes    = "bytes"
	artifactFiles    = "files"
	artifactFlow     = "flow"
	artifactStep     = "step"
	artifactIndex    = "index"
	artifactAtMs     = "at_ms"
)

// EncodeArtifacts writes that record.
func EncodeArtifacts(s *domain.ArtifactSet) []board.Field {
	var e encoder
	e.str(ArtifactManifest, s.Manifest)
	e.num(ArtifactBytes, s.Bytes)
	e.num(artifactFiles, int64(s.Files))
	e.num(artifactAtMs, s.AtMs)
	e.numOpt(artifactFlow, int64(s.Flow))
	if s.Step != "" {
		e.str(artifactStep, s.Step)
	}
	if s.Index != "" {
		e.str(artifactIndex, s.Index)
	}
	return e
}

// DecodeArtifacts reads it.
//
// Errors: [domain.ErrInvalid].
func DecodeArtifacts(job domain.JobKey, r board.Record) (*domain.ArtifactSet, error) {
	s := &domain.ArtifactSet{Job: job, Manifest: r.Get(ArtifactManifest), Step: r.Get(artifactStep), Index: r.Get(artifactIndex)}
	number := func(field string, bits int) int64 {
		n, _ := strconv.ParseInt(cmp.Or(r.Get(field), "0"), 10, bits)
		return n
	}
	s.Bytes, s.Files, s.AtMs, s.Flow = number(ArtifactBytes, 64), int(number(artifactFiles, 32)), number(artifactAtMs, 64), domain.FlowID(number(artifactFlow, 64))
	if s.Manifest == "" || s.Bytes < 0 {
		return s, domain.Invalidf("record %q says of no manifest where it lies", Artifacts(job))
	}
	return s, nil
}

// ArtifactMember is a job's member of the index: "<flow>/<step>/<index>/job:<caller>:<id>",
// with numbers of one width. The flow of a plain job is 0.
func ArtifactMember(s *domain.ArtifactSet) string {
	return fmt.Sprintf("%s%20s/%s", ArtifactStep(s.Flow, s.Step), s.Index, s.Job)
}

// ArtifactFlow begins the members of a flow, and ArtifactStep those of a step of it.
func ArtifactFlow(flow domain.FlowID) string { return fmt.Sprintf("%010d/", flow) }

// ArtifactStep begins the members of a step.
func ArtifactStep(flow domain.FlowID, step string) string { return ArtifactFlow(flow) + step + "/" }

// ParseArtifactMember says of which job a member is.
//
// Errors: [domain.ErrInvalid].
func ParseArtifactMember(member string) (domain.JobKey, error) {
	return domain.ParseJobKey(member[strings.LastIndexByte(member, '/')+1:])
}
