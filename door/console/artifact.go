package console

import (
	"net/url"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/doctor"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/http"
)

// This file shows the files that jobs have left. They are saved, never shown: whoever left
// one may have written a page that does what it likes with who looks at it here.

// filesPage is how many files a page has.
const filesPage = 200

// fileRow is a file.
type fileRow struct {
	Path, Link string
	Size, Sum  string
	Step       string // with the index, where the step has more than one job
	At         moment
}

// fileList is a page of them.
type fileList struct {
	Rows  []fileRow
	Steps bool   // the rows say of which step they are
	Next  string // the page behind this one; "": there is none
}

func (v *visit) jobFiles(p api.JobParams) (*fileList, error) {
	page, err := call(v, api.JobArtifacts, api.JobArtifactsParams{JobParams: p, ArtifactFilter: v.filesAsked()})
	if notThere(err) { // it has left none
		err = nil
	}
	at := v.path("jobs/%d/%d", p.Caller, p.ID)
	return v.filesOf(page, at, func(*api.LeftArtifact) url.Values { return url.Values{} }), err
}

func (v *visit) flowFiles(id domain.FlowID) (*fileList, error) {
	page, err := call(v, api.FlowArtifacts, api.FlowArtifactsParams{FlowParams: api.FlowParams{Context: v.tenant.ID, Flow: id}, ArtifactFilter: v.filesAsked()})
	f := v.filesOf(page, v.path("flows/%d", id), func(a *api.LeftArtifact) url.Values {
		return url.Values{"step": {a.Step}, "index": {a.Index}}
	})
	f.Steps = true
	return f, err
}

func (v *visit) filesAsked() api.ArtifactFilter {
	return api.ArtifactFilter{Cursor: v.r.FormValue("files_from"), Limit: filesPage}
}

func (v *visit) filesOf(page api.ArtifactPage, at string, of func(*api.LeftArtifact) url.Values) *fileList {
	f := &fileList{}
	for i := range page.Artifacts {
		a := &page.Artifacts[i]
		q := of(a)
		q.Set("file", a.Path)
		row := fileRow{Path: a.Path, Link: at + "/file?" + q.Encode(), Size: doctor.SizeText(a.Size), Sum: a.SHA256[:12], Step: a.Step, At: v.past(a.AtMs)}
		if a.Index != "" {
			row.Step += " " + a.Index
		}
		f.Rows = append(f.Rows, row)
	}
	if page.Next != "" {
		f.Next = at + "?" + url.Values{"tab": {"files"}, "files_from": {page.Next}}.Encode()
	}
	return f
}

// saveJobFile sends a file that a job has left.
func (v *visit) saveJobFile() error {
	p, err := v.jobParams()
	if err != nil {
		return err
	}
	b, err := call(v, api.JobArtifact, api.JobArtifactParams{JobParams: p, File: v.r.FormValue("file")})
	return v.save(api.JobArtifact.Bytes, b, err)
}

// saveFlowFile sends a file that a step of a flow has left.
func (v *visit) saveFlowFile() error {
	p, err := v.flowParams()
	if err != nil {
		return err
	}
	b, err := call(v, api.FlowArtifact, api.FlowArtifactParams{FlowParams: p, Step: v.r.FormValue("step"), Index: v.r.FormValue("index"),
		File: v.r.FormValue("file")})
	return v.save(api.FlowArtifact.Bytes, b, err)
}

func (v *visit) save(media string, b api.Bytes, err error) error {
	if err != nil {
		return err
	}
	return http.WriteFile(v.w, v.r, media, b.File)
}
