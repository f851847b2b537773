// Package cluster tests promises with real processes: nodes that are killed
// with SIGKILL at any instant, under load, on the embedded board and on a real
// Redis; nodes that are killed and stopped while Redis, or the leader of a real etcd
// cluster, is too, and a witness outside of Ramet counts the starts of jobs; a Redis that is
// set back under nodes, while who submits writes down which numbers they were given; folders
// of killed nodes of which a byte is flipped; two sites of the real binary that send each other messages over NATS
// and Mycelium, while their nodes are killed and stopped and the links between
// them are cut; and sagas whose nodes, board and streams are killed and stopped
// while people order and what the sagas call fails, is late, and forgets to
// answer.
package cluster
