package artifact

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// maxLine bounds a line of a manifest: a path of which each byte is escaped, and the rest.
const maxLine = 6*domain.MaxArtifactPath + 1<<10

// Manifest is the list of what a job left: a line of JSON for each file, in the order of
// their paths.
func Manifest(files []domain.Artifact) *bytes.Reader {
	slices.SortFunc(files, func(a, b domain.Artifact) int { return strings.Compare(a.Path, b.Path) })
	var text bytes.Buffer
	to := json.NewEncoder(&text)
	to.SetEscapeHTML(false)
	for i := range files {
		if err := to.Encode(&files[i]); err != nil {
			panic("BUG: an artifact cannot be written as JSON: " + err.Error())
		}
	}
	return bytes.NewReader(text.Bytes())
}

// Files reads the manifest that lies under a sum, line by line. What it gives was checked:
// paths are within a folder, sums are sums.
//
// Errors: as of [Read]; [domain.ErrInvalid] for what is no manifest.
func Files(ctx context.Context, s Store, t domain.TenantID, manifest string) iter.Seq2[domain.Artifact, error] {
	return func(yield func(domain.Artifact, error) bool) {
		r, err := Read(ctx, s, t, manifest)
		if err != nil {
			yield(domain.Artifact{}, err)
			return
		}
		defer r.Close()
		lines := bufio.NewReaderSize(r, maxLine)
		for {
			line, err := lines.ReadSlice('\n')
			if err == io.EOF && len(line) == 0 {
				return
			}
			var f domain.Artifact
			if err == nil {
				f, err = parse(line)
			}
			if !yield(f, err) || err != nil {
				return
			}
		}
	}
}

func parse(line []byte) (f domain.Artifact, err error) {
	if err := json.Unmarshal(line, &f); err != nil {
		return f, domain.Invalidf("a manifest of artifacts cannot be read: %v", err)
	}
	if err := ValidateSum(f.SHA256); err != nil {
		return f, err
	}
	return f, CheckPath(f.Path)
}
