package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
)

// This file measures ratios: the processor time that Ramet takes against the
// one that something bare takes for the same, in turn in one run. Other
// programs lengthen both; the least of several rounds is hardly touched.

// cost is one figure of one measure.
type cost struct {
	measure, board string
	jobs           int
	figure         string
}

// trial is what has to be run to know a cost.
type trial struct {
	measure, board string
	jobs           int
}

func (c cost) trial() trial { return trial{c.measure, c.board, c.jobs} }

// ratio is one figure that make bench-check looks after. Less is better.
type ratio struct {
	name  string
	ours  cost
	other cost
}

// Of what is less steady a ratio may be worse by more: measures with several processes, or of few jobs.
const loose = 1.25

var unsteady = []string{"worker", "each", "durable", "traces", "nodes"}

func (r ratio) slack() float64 {
	if slices.Contains(unsteady, r.ours.measure) {
		return loose
	}
	return slack
}

var ratios = []ratio{
	{"submit in batches, embedded / the same writes to bare Pebble",
		cost{"drain", "pebble", 100_000, "submit_cpu_us_per_job"}, cost{"bare", "pebble", 200_000, "submit_cpu_us_per_job"}},
	{"run and finish, embedded / the same writes to bare Pebble",
		cost{"drain", "pebble", 100_000, "cpu_us_per_job"}, cost{"bare", "pebble", 200_000, "end_cpu_us_per_job"}},
	{"submit in batches, Redis / the same commands to bare Redis",
		cost{"drain", "redis-everysec", 50_000, "submit_cpu_us_per_job"}, cost{"bare", "redis-everysec", 50_000, "submit_cpu_us_per_job"}},
	{"run and finish, Redis / the same commands to bare Redis",
		cost{"drain", "redis-everysec", 50_000, "cpu_us_per_job"}, cost{"bare", "redis-everysec", 50_000, "end_cpu_us_per_job"}},
	{"flow of three steps, embedded / running one job",
		cost{"flows", "pebble", 5_000, "cpu_us_per_flow_5000"}, cost{"drain", "pebble", 100_000, "cpu_us_per_job"}},
	{"flow of three steps, Redis / running one job",
		cost{"flows", "redis-everysec", 5_000, "cpu_us_per_flow_5000"}, cost{"drain", "redis-everysec", 50_000, "cpu_us_per_job"}},
	{"step of a flow of 10,000 that a keeper moves on, a chain, embedded / of one of 100",
		cost{"growth-chain", "pebble", 10_000, "cpu_us_per_step_10000"}, cost{"growth-chain", "pebble", 10_000, "cpu_us_per_step_100"}},
	{"step of a flow of 10,000 that a keeper moves on, layers, embedded / of one of 100",
		cost{"growth-lattice", "pebble", 10_000, "cpu_us_per_step_10000"}, cost{"growth-lattice", "pebble", 10_000, "cpu_us_per_step_100"}},
	{"others' events behind 10,000 of one instance of a saga / until all have had theirs",
		cost{"growth-hot", "pebble", 10_000, "others_cpu_us_10000"}, cost{"growth-hot", "pebble", 10_000, "all_cpu_us_10000"}},
	{"jobs of 1,000 contexts, embedded / of one",
		cost{"contexts", "pebble", 50_000, "cpu_us_per_job_1k"}, cost{"contexts", "pebble", 50_000, "cpu_us_per_job_1"}},
	{"script of a circle, Redis / the same by hand, without leases",
		cost{"circles", "redis-everysec", 20_000, "cpu_us_per_script"}, cost{"circles", "redis-everysec", 20_000, "hand_cpu_us_per_script"}},
	{"job there and back in a message, embedded / running one job",
		cost{"messages", "pebble", 5_000, "here_cpu_us_per_job"}, cost{"drain", "pebble", 100_000, "cpu_us_per_job"}},
	{"Python job in the pool / python3 started for each",
		cost{"python", "pebble", 1_000, "pool_cpu_us_per_job"}, cost{"python", "pebble", 1_000, "plain_cpu_us_per_job"}},
	{"Python job in an interpreter that is used again / python3 started for each",
		cost{"python", "pebble", 1_000, "reused_cpu_us_per_job"}, cost{"python", "pebble", 1_000, "plain_cpu_us_per_job"}},
	{"a read of a job over HTTP / an answer of net/http alone",
		cost{"http", "mem", 20_000, "read_cpu_us"}, cost{"http", "mem", 20_000, "bare_cpu_us"}},
	{"a submit of a job over HTTP, embedded / an answer of net/http alone",
		cost{"http", "mem", 20_000, "submit_cpu_us"}, cost{"http", "mem", 20_000, "bare_cpu_us"}},
	{"LPUSH in pipelines at the Redis door / at Redis",
		cost{"resp", "mem", 50_000, "lpush_p16_cpu_us"}, cost{"resp", "mem", 50_000, "lpush_p16_redis_cpu_us"}},
	{"HSET in pipelines at the Redis door / at Redis",
		cost{"resp", "mem", 50_000, "hset_p16_cpu_us"}, cost{"resp", "mem", 50_000, "hset_p16_redis_cpu_us"}},
	{"BRPOP at the Redis door / at Redis",
		cost{"resp", "mem", 50_000, "brpop_cpu_us"}, cost{"resp", "mem", 50_000, "brpop_redis_cpu_us"}},
	{"job of a worker over HTTP, the node's part with its submit / running one job",
		cost{"worker", "mem", 20_000, "node_cpu_us"}, cost{"drain", "pebble", 100_000, "cpu_us_per_job"}},
	{"element of a list of 10,000, embedded / a shard that leaves the same",
		cost{"each", "pebble", 10_000, "cpu_us_per_element"}, cost{"each", "pebble", 10_000, "cpu_us_per_shard"}},
	{"Rhai job with three remembered steps, embedded / without",
		cost{"durable", "pebble", 10_000, "rhai_cpu_us_per_job"}, cost{"durable", "pebble", 10_000, "rhai_plain_cpu_us_per_job"}},
	{"job in a trace that is sent, embedded / in none",
		cost{"traces", "pebble", 120_000, "all_cpu_us_per_job"}, cost{"traces", "pebble", 120_000, "plain_cpu_us_per_job"}},
	{"submit, claim and finish on one queue by eight nodes, etcd / by one",
		cost{"nodes", "etcd", 2_000, "cpu_us_per_cycle_8"}, cost{"nodes", "etcd", 2_000, "cpu_us_per_cycle_1"}},
}

// least has the least that each cost has been found at.
type least map[cost]float64

// round runs every trial of some ratios once.
func (l least) round(of []ratio) error {
	var done []trial
	for _, r := range of {
		for _, c := range []cost{r.ours, r.other} {
			if slices.Contains(done, c.trial()) {
				continue
			}
			done = append(done, c.trial())
			found, err := figuresOf(c.trial())
			if err != nil {
				return fmt.Errorf("%s on %s: %w", c.measure, c.board, err)
			}
			l.take(c.trial(), found)
		}
	}
	return nil
}

// take notes the figures of a trial that some ratio asks for.
func (l least) take(t trial, found figures) {
	for _, r := range ratios {
		for _, c := range []cost{r.ours, r.other} {
			value, measured := found[c.figure].(float64)
			if c.trial() != t || !measured {
				continue
			}
			if old, known := l[c]; !known || value < old {
				l[c] = value
			}
		}
	}
}

func figuresOf(t trial) (figures, error) {
	var out bytes.Buffer
	if err := measureApart(t, io.MultiWriter(&out, os.Stderr)); err != nil {
		return nil, err
	}
	var found figures
	return found, json.Unmarshal(out.Bytes(), &found)
}

// of works out a ratio.
func (l least) of(r ratio) finding {
	return finding{Name: r.name, Ratio: rounded(l[r.ours] / l[r.other]), Ours: l[r.ours], Other: l[r.other], Slack: r.slack()}
}
