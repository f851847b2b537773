package flow_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
)

func TestACounterThatIsWrongDoesNotEndAFlow(t *testing.T) {
	bubble(t, func(r *rig) {
		id := r.submit(flow.Request{Jobs: []*domain.Job{job(1, "gate x"), job(2, "sleep 1s")}})
		time.Sleep(time.Millisecond)
		// A job that a foreign program said was the flow's.
		b := board.Batch{Space: 1}
		b.Countdown(layout.FlowWaits(id), layout.WaitsPlain, queue.Keeper, layout.FlowState(id))
		if err := r.board.Commit(r.ctx, b); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		if v := r.show(id); v.Final() {
			t.Errorf("it is %s %s although a job runs", v.Status, v.Reason)
		}
		close(r.words.gate("x"))
		r.soon(id, domain.FlowSucceeded)
	})
}

func TestTheAuditFindsAnEndAmongManyOpenJobs(t *testing.T) {
	unaudited(t, func(r *rig) {
		id := r.steps(step("a", "", shards(600, 600)))
		stop := r.run(r.keeper)
		synctest.Wait()
		stop()
		v := r.show(id)
		// The last of them ended, and its entry was lost.
		b := board.Batch{Space: 1}
		b.Set(fmt.Sprint("job:1:", 600), board.Field{Name: layout.JobStatus, Value: "finished"},
			board.Field{Name: layout.JobFinishedMs, Value: strconv.FormatInt(time.Now().UnixMilli(), 10)})
		if err := r.board.Commit(r.ctx, b); err != nil || v.Steps[0].Open != 600 {
			t.Fatal(err, v.Steps[0].Open)
		}
		time.Sleep(time.Minute)
		if a, err := r.flows.LookWithin(r.ctx, 1, time.Hour); err != nil || a.Looked == 0 || len(a.Repaired) > 0 {
			t.Errorf("who only looks repaired: %+v, %v", a, err)
		}
		if a := r.audit(); len(a.Repaired) != 1 {
			t.Errorf("got %+v, want one repair", a)
		}
	})
}

// A store that evicts keys took the flow's record: nobody but the auditor could say so.
func TestTheAuditTellsOfAFlowWhoseRecordIsGone(t *testing.T) {
	unaudited(t, func(r *rig) {
		key := domain.FlowKey(7)
		if err := r.board.Commit(r.ctx, *(&board.Batch{Space: layout.SpaceOf(tenant)}).Live(key, time.Now())); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		found := r.audit()
		if len(found.Stuck) != 1 || found.Stuck[0].Key != key || !strings.Contains(found.Stuck[0].Text, "record was gone") {
			t.Errorf("got %+v", found)
		}
		if again, err := r.work.Audit(r.ctx, tenant); err != nil || len(again.Stuck) != 1 || again.Stuck[0] != found.Stuck[0] {
			t.Errorf("told of again: got %+v, %v", again, err)
		}
	})
}

// A record where the ends of a flow's jobs would be listed is that flow's trouble: the
// audit names it, and goes on.
func TestAStrangeKeyKeepsNoOtherFlowFromItsAudit(t *testing.T) {
	unaudited(t, func(r *rig) {
		ids := []domain.FlowID{r.steps(step("a", "x", maySkip)), r.steps(step("a", "x", maySkip))}
		stop := r.run(r.keeper)
		time.Sleep(time.Second)
		stop()
		b := board.Batch{Space: layout.SpaceOf(tenant)}
		b.Delete("job:1:1").Delete("job:1:2").Set(layout.FlowEnded(ids[0]), board.Field{Name: "a", Value: "b"})
		if err := r.board.Commit(r.ctx, b); err != nil {
			r.Fatal(err)
		}
		time.Sleep(time.Minute)
		found := r.audit()
		if len(found.Stuck) != 1 || found.Stuck[0].Key != domain.FlowKey(ids[0]) {
			r.Errorf("got %+v, want the first named", found.Stuck)
		}
		if len(found.Repaired) != 1 || found.Repaired[0].Key != domain.FlowKey(ids[1]) {
			r.Errorf("got %+v, want the other repaired", found.Repaired)
		}
	})
}
