package cluster

import (
	"fmt"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// drained waits until nothing moves any more: all instances have ended but for
// those that poison holds, outboxes are empty, and no broker has anything left
// to give out. Then it drops the poison, and waits for those too.
func (f *fleet) drained() {
	f.Helper()
	begun := time.Now()
	f.await(begun, `status != "ended" && !held`)
	poison := api.DeadLetterChoice{Kind: domain.DeadSaga, All: true}
	done, err := f.nodes[0].client.DropDeadLetters(f.Context(), shopping, poison)
	if err != nil || len(done.Failed) > 0 {
		f.Fatalf("drop poison: %+v, %v", done, err)
	}
	f.await(begun, `status != "ended"`)
	f.Logf("drained after %v, with %d poisoned events", time.Since(begun).Round(time.Millisecond), done.Done)
}

// await waits until no instance is like that, and nothing is on its way.
func (f *fleet) await(begun time.Time, where string) {
	f.Helper()
	for {
		open := append(f.instances(where), f.waiting()...)
		if len(open) == 0 {
			return
		}
		if time.Since(begun) > drainWithin {
			for _, text := range open[:min(len(open), 20)] {
				f.Errorf("not drained: %s", text)
			}
			f.FailNow()
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// instances explains some that are like that.
func (f *fleet) instances(where string) (list []string) {
	f.Helper()
	one := f.nodes[0].client
	for cursor := ""; ; {
		page, err := one.Instances(f.Context(), api.ListInstancesParams{Context: shopping, Name: "order", InstanceFilter: api.InstanceFilter{Where: where},
			Limit: 200, Cursor: cursor})
		if err != nil {
			f.Fatal(err)
		}
		for _, in := range page.Instances {
			x, _ := one.ExplainInstance(f.Context(), shopping, "order", in.Correlation)
			if list = append(list, fmt.Sprintf("%s in %s: %s", in.Correlation, in.State, x.Text)); len(list) == 20 {
				return list
			}
		}
		if cursor = page.Next; cursor == "" {
			return list
		}
	}
}

// waiting names what waits in outboxes and with the broker.
func (f *fleet) waiting() (list []string) {
	f.Helper()
	lags, err := f.nodes[0].client.SagaLag(f.Context(), shopping, "order")
	if err != nil {
		f.Fatal(err)
	}
	for _, l := range lags.Lags {
		if l.Outbox > 0 {
			list = append(list, fmt.Sprintf("%d items in the outbox of partition %d", l.Outbox, l.Partition))
		}
		if l.Behind > 0 { // an instance that no event has begun yet is in no list
			list = append(list, fmt.Sprintf("%d events of %s for partition %d", l.Behind, l.Stream, l.Partition))
		}
	}
	if f.url == "" {
		return list // the token of a producer shows nothing of the streams
	}
	for _, n := range []domain.StreamName{domain.AggregateEvents, domain.WorkflowCommands, domain.WorkflowEvents} {
		s, err := f.js.Stream(f.Context(), string(n))
		if err != nil {
			f.Fatal(err)
		}
		consumers := s.ListConsumers(f.Context())
		for c := range consumers.Info() {
			if c.NumPending > 0 || c.NumAckPending > 0 {
				list = append(list, fmt.Sprintf("%d messages for %s, and %d in its hands", c.NumPending, c.Name, c.NumAckPending))
			}
		}
		if err := consumers.Err(); err != nil {
			f.Fatal(err)
		}
	}
	return list
}
