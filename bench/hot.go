package main

import (
	"context"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/stream"
)

// This file measures how long the events of one instance of a saga hold up those of
// others that are behind them.

// hotSizes are how many events there are of the one.
var hotSizes = []int{1_000, 10_000, 50_000}

// hotInstance measures, for one partition with so many events of one instance and then
// one of a hundred others each, until all others have had theirs, and until all have.
func hotInstance(r *rig) figures {
	t := openTheatre(r, counts())
	defer t.close()
	out := figures{}
	for round, n := range hotSizes {
		if n > *jobs {
			break
		}
		hot, other := "hot"+strconv.Itoa(round), func(i int) string { return "other" + strconv.Itoa(round) + "." + strconv.Itoa(i) }
		var list []stream.Message
		for i := range n + 100 {
			of := hot
			if i >= n {
				of = other(i - n)
			}
			id := of + "-" + strconv.Itoa(i)
			list = append(list, stream.Message{Stream: domain.AggregateEvents, Subject: "aggregate.Order.1", ID: id,
				Data: []byte(`{"event_id":"` + id + `","event_type":"Placed","payload":{"order":"` + of + `","total":5,"lines":["one thing","another thing"]}}`)})
			if len(list) == stream.MaxPublish || i == n+99 {
				check(t.log.Publish(context.Background(), list...))
				list = list[:0]
			}
		}
		size := "_" + strconv.Itoa(n)
		cpu, begun := selfCPU(), time.Now()
		t.work(false)
		t.version(other(99), 1)
		out["others_ms"+size], out["others_cpu_us"+size] = millis(time.Since(begun)), sinceCPU(cpu)
		t.version(hot, int64(n))
		out["all_ms"+size], out["all_cpu_us"+size] = millis(time.Since(begun)), sinceCPU(cpu)
		t.stop()
		t.stop = nil
	}
	return out
}

// sinceCPU is the processor time since, in microseconds.
func sinceCPU(since float64) float64 { return round((selfCPU() - since) * 1e6) }

// version waits until an instance has come so far.
func (t *theatre) version(id string, want int64) {
	for {
		in, err := t.engine.Instance(context.Background(), 1, "counts", id)
		if err == nil && in.Version >= want {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// counts counts its events.
func counts() *domain.SagaDefinition {
	return &domain.SagaDefinition{Name: "counts", Initial: "open", Correlation: `event.payload.order`, Data: []byte(`{"n":0}`),
		Triggers: []domain.SagaTrigger{{Of: "Order", Types: []string{"Placed"}}},
		States:   []domain.SagaState{{Name: "open", On: map[string]domain.Reaction{"*": domain.Handle}}},
		Script:   `fn on_event(state, event) { state.n += 1; #{state: state, work: [#{fact: "Counted", payload: #{n: state.n}}]} }`}
}
