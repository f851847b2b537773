package service_test

import (
	"context"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/service"
	"github.com/ramet-run/ramet/service/servicetest"
	"github.com/ramet-run/ramet/work"
)

// leftOver are jobs of which job:1:1, of another flow, has left two files.
type leftOver struct{ service.Jobs }

var lender = domain.JobKey{Caller: 1, ID: 1}

func (leftOver) ArtifactsOf(_ context.Context, _ domain.TenantID, job domain.JobKey) (*domain.ArtifactSet, error) {
	if job != lender {
		return nil, domain.NotFoundf("it has left none")
	}
	return &domain.ArtifactSet{Job: job}, nil
}

func (leftOver) Artifacts(_ context.Context, _ domain.TenantID, of work.Leavers, after work.LeftAt) iter.Seq2[work.LeftFile, error] {
	return func(yield func(work.LeftFile, error) bool) {
		names, set := []string{"own"}, &domain.ArtifactSet{Job: domain.JobKey{Caller: 1, ID: 9}, Step: "c"}
		if of.Job == lender {
			names, set = []string{"a.txt", "b.txt"}, &domain.ArtifactSet{Job: lender, Step: "before"}
		} else if of.Step != "" && of.Step != "c" {
			return
		}
		for _, name := range names {
			at := work.LeftAt{Member: set.Job.String(), Path: name}
			if after.Member == at.Member && name <= after.Path {
				continue
			}
			if !yield(work.LeftFile{Artifact: domain.Artifact{Path: name}, Set: set, At: at}, nil) {
				return
			}
		}
	}
}

// takers is a flow with two steps that have taken what one job left, and one whose files are gone.
type takers struct{ service.Flows }

func (takers) Show(context.Context, domain.TenantID, domain.FlowID) (domain.FlowView, error) {
	from := func(job string) *domain.CachedFrom { return &domain.CachedFrom{Flow: 1, Job: job} }
	v := domain.FlowView{Steps: []domain.StepView{{Name: "a", Cached: from("job:1:1")}, {Name: "gone", Cached: from("job:1:2")},
		{Name: "b", Cached: from("job:1:1")}, {Name: "c"}}}
	v.ID = 2
	return v, nil
}

// TestFilesOfCachedSteps: what steps have taken is behind what the flow's own jobs have left,
// and pages go on where the one before ended.
func TestFilesOfCachedSteps(t *testing.T) {
	b := memboard.Open()
	t.Cleanup(func() { b.Close() })
	registry := identity.NewRegistry(b)
	if _, err := servicetest.People(t.Context(), registry); err != nil {
		t.Fatal(err)
	}
	parts := servicetest.Parts(b, registry, work.New(b, work.Config{}))
	parts.Jobs, parts.Flows = leftOver{parts.Jobs}, takers{parts.Flows}
	as := service.New(parts).As(servicetest.Admin)
	list := func(step string) (names []string) {
		p := api.FlowArtifactsParams{FlowParams: api.FlowParams{Context: 7, Flow: 2}, Step: step, ArtifactFilter: api.ArtifactFilter{Limit: 1}}
		for range 10 {
			page, err := as.ListFlowArtifacts(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range page.Artifacts {
				names = append(names, a.Step+"/"+a.Path+" of "+a.Job)
			}
			if p.Cursor = page.Next; p.Cursor == "" {
				return names
			}
		}
		t.Fatal("the pages do not end")
		return nil
	}
	taken := []string{"b/a.txt of job:1:1", "b/b.txt of job:1:1"}
	if got := list("b"); !slices.Equal(got, taken) {
		t.Errorf("got %q", got)
	}
	if got, want := list(""), append([]string{"c/own of job:1:9", "a/a.txt of job:1:1", "a/b.txt of job:1:1"}, taken...); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	for step, want := range map[string]bool{"a": true, "gone": false, "c": false} {
		_, err := as.ReadFlowArtifact(t.Context(), api.FlowArtifactParams{FlowParams: api.FlowParams{Context: 7, Flow: 2}, Step: step, File: "b.txt"})
		if (err == nil) != want {
			t.Errorf("%s: got %v", step, err)
		}
	}
}

// emptied are jobs whose artifacts the store does not have any more.
type emptied struct{ service.Jobs }

func (emptied) ArtifactsGone(context.Context, domain.TenantID, time.Duration) ([]domain.Finding, error) {
	return []domain.Finding{{Key: "artifacts of job:1:1", Text: "gone"}}, nil
}

// TestWhatTheStoreLostIsFound by audits, and by looks, of which doctor and the console are made.
func TestWhatTheStoreLostIsFound(t *testing.T) {
	b := memboard.Open()
	t.Cleanup(func() { b.Close() })
	registry := identity.NewRegistry(b)
	if _, err := servicetest.People(t.Context(), registry); err != nil {
		t.Fatal(err)
	}
	parts := servicetest.Parts(b, registry, work.New(b, work.Config{}))
	parts.Jobs = emptied{parts.Jobs}
	as := service.New(parts).As(servicetest.Admin)
	audit, err := as.RunAudit(t.Context(), api.AuditParams{Context: 7})
	look, lerr := as.LookForFindings(t.Context(), api.LookParams{Context: 7})
	if err != nil || lerr != nil || len(audit.Stuck) != 1 || len(look.Stuck) != 1 {
		t.Errorf("got %+v, %v and %+v, %v", audit, err, look, lerr)
	}
}
