// Package cluster tests promises with real processes: nodes that are killed
// with SIGKILL at any instant, under load, on the embedded board and on a real
// Redis.
package cluster
