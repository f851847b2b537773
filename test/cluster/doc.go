// Package cluster tests promises with real processes: nodes that are killed
// with SIGKILL at any instant, under load, on the embedded board and on a real
// Redis; two sites of the real binary that send each other messages over NATS
// and Mycelium, while their nodes are killed and stopped and the links between
// them are cut; and sagas whose nodes, board and streams are killed and stopped
// while people order and what the sagas call fails, is late, and forgets to
// answer.
package cluster
