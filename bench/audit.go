package main

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// auditSizes are how many jobs are queued.
var auditSizes = []int{10_000, 100_000, 1_000_000}

// auditCost measures an audit of all of a context in which jobs are queued, and one of
// the oldest for a second, as by hand. More than -n are left out.
func auditCost(r *rig) figures {
	out := figures{}
	var first float64
	there := 0
	for _, n := range auditSizes {
		if n > *jobs {
			break
		}
		r.fill(n-there, 1)
		there = n
		cpu, begun := selfCPU()+r.serverCPU(), time.Now()
		found, err := r.engine.Audit(context.Background(), 1)
		check(err)
		cpu = selfCPU() + r.serverCPU() - cpu
		size := "_" + strconv.Itoa(n)
		out["audit_ms"+size], out["audit_cpu_ms"+size] = millis(time.Since(begun)), round(cpu*1e3)
		if len(found.Stuck)+len(found.Repaired) > 0 {
			check(fmt.Errorf("the audit found %+v and repaired %+v", found.Stuck, found.Repaired))
		}
		cpuOldest, begunOldest := selfCPU()+r.serverCPU(), time.Now()
		part, err := r.engine.AuditWithin(context.Background(), 1, time.Second)
		check(err)
		out["oldest_ms"+size], out["oldest_cpu_ms"+size] = millis(time.Since(begunOldest)), round((selfCPU()+r.serverCPU()-cpuOldest)*1e3)
		out["oldest_looked"+size] = part.Looked
		each := cpu * 1e6 / float64(n)
		if first == 0 {
			first = each
		}
		out["cpu_us_per_job"+size], out["cost_ratio"] = round(each), round(each/first)
	}
	return out
}
