package main

import (
	"context"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
)

// This file measures how the cost of a step grows with the flow that it is in.

// growthSizes are the steps of the flows that are measured, growthRuns how many flows
// of each size: a small one alone is too short to be measured.
var (
	growthSizes = []int{100, 1_000, 10_000, 100_000}
	growthRuns  = map[int]int{100: 20, 1_000: 3, 10_000: 1, 100_000: 1}
)

// grownFlows measures the processor time of a step in flows that a keeper moves on.
// Flows of more than -n steps are left out.
func grownFlows(needs func(i int) []int, change func(i int, s *domain.Step)) func(r *rig) figures {
	return func(r *rig) figures {
		f := startFlows(r)
		defer f.stop()
		out := figures{}
		var first float64
		f.await(1, func() { f.submit(flow.Request{Plan: grown(100, needs, change)}) }) // what is done once is done
		for _, n := range growthSizes {
			if n > *jobs {
				break
			}
			cpu := 0.0
			for range growthRuns[n] {
				_, c := f.await(1, func() { f.submit(flow.Request{Plan: grown(n, needs, change)}) })
				cpu += c
			}
			each := cpu * 1e6 / float64(n*growthRuns[n])
			if first == 0 {
				first = each
			}
			out["cpu_us_per_step_"+strconv.Itoa(n)] = round(each)
			out["cost_ratio"] = round(each / first)
		}
		return out
	}
}

// grown is a blueprint of n steps of which each needs some before it.
func grown(n int, needs func(i int) []int, change func(i int, s *domain.Step)) *domain.Blueprint {
	name := func(i int) string { return "s" + strconv.Itoa(i) }
	b := &domain.Blueprint{Name: "grown"}
	for i := range n {
		s := domain.Step{Name: name(i), Script: "x", ScriptType: "noop"}
		for _, on := range needs(i) {
			s.Needs = append(s.Needs, name(on))
		}
		change(i, &s)
		b.Steps = append(b.Steps, s)
	}
	return b
}

// oneMayFail makes the flow one that a keeper moves on.
func oneMayFail(i int, s *domain.Step) { s.MayFail = i == 0 }

// allWhen gives every step but the first a condition over the one before it.
func allWhen(i int, s *domain.Step) {
	if i > 0 {
		s.When = `needs.` + s.Needs[0] + `.state!="x"`
	}
}

// needsBefore makes a chain.
func needsBefore(i int) []int {
	if i == 0 {
		return nil
	}
	return []int{i - 1}
}

// needsLayer makes layers of ten, each step of which needs three of the layer before.
func needsLayer(i int) []int {
	if i < 10 {
		return nil
	}
	before := i - i%10 - 10
	return []int{before + i%10, before + (i+1)%10, before + (i+5)%10}
}

// needsFan makes fans: one step, fifty after it, one after those, and so on.
func needsFan(i int) []int {
	const wide = 50
	switch begin := i - i%(wide+1); {
	case i == 0:
		return nil
	case i == begin:
		all := make([]int, 0, wide)
		for k := begin - wide; k < begin; k++ {
			all = append(all, k)
		}
		return all
	default:
		return []int{begin}
	}
}

// needsFirst makes one fan of all steps.
func needsFirst(i int) []int {
	if i == 0 {
		return nil
	}
	return []int{0}
}

// failureCost measures what a job costs that ends because the one that it needs did not
// end well: a flow of one root and all others after it, whose root is cancelled.
func failureCost(r *rig) figures {
	f := startFlows(r)
	defer f.stop()
	out := figures{}
	var first float64
	for _, n := range growthSizes {
		if n > *jobs {
			break
		}
		list := graph(n, needsFirst)
		list[0].NotBefore = time.Now().Add(time.Hour).UnixMilli()
		id := f.submit(flow.Request{Jobs: list, OnError: domain.OnErrorContinue})
		v, err := f.flows.Show(context.Background(), 1, id)
		check(err)
		took, cpu := f.await(1, func() {
			_, err := r.engine.Cancel(context.Background(), 1, domain.JobKey{Caller: 1, ID: v.Jobs[0]}, 1)
			check(err)
		})
		each := cpu * 1e6 / float64(n)
		if n == growthSizes[1] {
			first = each // that of a hundred is mostly what the end of the flow costs
		}
		out["cpu_us_per_job_"+strconv.Itoa(n)] = round(each)
		out["us_per_job_"+strconv.Itoa(n)] = round(took.Seconds() * 1e6 / float64(n))
		out["cost_ratio"] = round(each / max(first, 1))
	}
	return out
}
