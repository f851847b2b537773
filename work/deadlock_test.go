package work_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/work"
)

// foreign writes a job as a foreign program does.
func (r *rig) foreign(id domain.JobID, fields ...board.Field) {
	r.Helper()
	fields = append(fields, f("script", "ok"), f("script_type", "go"), f("status", "dispatched"))
	r.commit(new(board.Batch).Set(key(id).String(), fields...))
}

func (r *rig) push(ids ...domain.JobID) {
	r.Helper()
	for _, id := range ids {
		r.commit(new(board.Batch).PushLeft("queue:go", key(id).String()))
	}
}

// Jobs of a foreign program that wait for each other end, and say in which circle they wait.
func TestForeignJobsThatWaitForEachOtherEnd(t *testing.T) {
	for name, tt := range map[string]struct {
		jobs  domain.JobID
		write func(r *rig)
	}{
		"of two": {2, func(r *rig) {
			r.foreign(1, f("dependends", "[2]"))
			r.foreign(2, f("dependends", "[1]"))
			r.push(1, 2)
		}},
		"of three": {3, func(r *rig) {
			r.foreign(1, f("dependends", "[2]"))
			r.foreign(2, f("dependends", "[3]"))
			r.foreign(3, f("dependends", "[1]"))
			r.push(3, 2, 1)
		}},
		"the second is changed when the first waits": {2, func(r *rig) {
			r.foreign(2)
			r.foreign(1, f("dependends", "[2]"))
			r.push(1)
			synctest.Wait()
			r.foreign(2, f("dependends", "[1]"))
			r.push(2)
		}},
		"one by a prerequisite": {2, func(r *rig) {
			r.foreign(1, f("dependends", "[2]"))
			r.foreign(2, f("prerequisites", `["job:1:1"]`))
			r.push(1, 2)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			eachTaking(t, func(t *testing.T, by taking) {
				r := by.newRig(t, work.Config{})
				tt.write(r)
				said := ""
				for id := domain.JobID(1); id <= tt.jobs; id++ {
					j := r.wait(id)
					if j.Status != domain.JobError || r.script.count(key(id)) != 0 {
						t.Errorf("job %d: got %+v", id, j)
					}
					said += j.Error + "\n"
				}
				if !strings.Contains(said, "it waits for itself: job:1:") {
					t.Errorf("they say %q", said)
				}
			})
		})
	}
}

func TestJobsThatArePrerequisitesOfEachOtherEnd(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{})
		wants := func(p ...string) func(*domain.Job) { return func(j *domain.Job) { j.Prerequisites = p } }
		got, err := r.engine.Submit(r.ctx, tenant, []*domain.Job{job(9, "ok", wants("job:1:9"))})
		if err != nil || !errors.Is(got[0].Err, domain.ErrInvalid) {
			t.Errorf("a job that is its own prerequisite: got %v, %v", got, err)
		}
		r.submit(job(1, "ok", wants("job:1:2")))
		r.submit(job(2, "ok", wants("job:1:3")), job(3, "ok", after(1)), job(4, "ok", wants("job:1:5", "job:1:6")), job(5, "ok"), job(6, "ok", after(5)))
		r.want(1, domain.JobError, domain.ReasonPrerequisiteImpossible)
		for _, id := range []domain.JobID{2, 3} {
			if j := r.wait(id); j.Status != domain.JobError {
				t.Errorf("job %d: got %+v", id, j)
			}
		}
		r.want(4, domain.JobFinished, "")
	})
}
