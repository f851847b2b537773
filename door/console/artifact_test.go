package console_test

import (
	"context"
	"io"
	"iter"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/service"
	"github.com/ramet-run/ramet/work"
)

// leftJobs are jobs that have left files, as somebody who wants to do harm would.
type leftJobs struct{ service.Jobs }

const hostilePage = "<script>fetch('/steal')</script>"

func (leftJobs) Artifacts(context.Context, domain.TenantID, work.Leavers, work.LeftAt) iter.Seq2[work.LeftFile, error] {
	return func(yield func(work.LeftFile, error) bool) {
		set := &domain.ArtifactSet{Job: domain.JobKey{Caller: 10, ID: 1}, Step: "build", Index: "3", AtMs: 1}
		for _, path := range []string{"<b>bold.html", "ok.txt"} {
			if !yield(work.LeftFile{Artifact: domain.Artifact{Path: path, Size: int64(len(hostilePage)), SHA256: strings.Repeat("ab", 32)}, Set: set}, nil) {
				return
			}
		}
	}
}

func (leftJobs) OpenArtifact(_ context.Context, _ domain.TenantID, _ string, at int64) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(hostilePage[at:])), nil
}

func TestFilesThatWereLeft(t *testing.T) {
	r := newRig(t, func(_ *rig, p *service.Parts) { p.Jobs = leftJobs{p.Jobs} })
	b := r.as(admin)
	id := r.flow("name: b\nsteps:\n- {name: build, script_type: words, script: say hello}\n")
	r.ended(id)
	a := b.get(200, path("flows/%d?tab=files", id))
	b.has(a, "&lt;b&gt;bold.html", "build 3", "ok.txt", "32 B", "file=%3Cb%3Ebold.html", "index=3")
	b.hasNot(a, "<b>bold")
	resp := b.get(200, path("flows/%d/file?step=build&index=3&file=%%3Cb%%3Ebold.html", id))
	if resp.text != hostilePage {
		t.Errorf("got %q", resp.text)
	}
	for name, want := range map[string]string{"Content-Disposition": "attachment", "X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox",
		"Content-Type": "application/octet-stream", "Content-Length": "32"} {
		if got := resp.Header.Values(name); len(got) != 1 || !strings.HasPrefix(got[0], want) {
			t.Errorf("%s: got %q, want one, %s", name, got, want)
		}
	}
	p := r.job("say hello")
	b.has(b.get(200, path("jobs/%d/%d?tab=files", p.Caller, p.ID)), "ok.txt")
	b.get(404, path("jobs/%d/%d/file?file=none", p.Caller, p.ID))
	b.get(400, path("jobs/%d/%d/file?file=../x", p.Caller, p.ID))
}
