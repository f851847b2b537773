// Package etcdboard is a board on an etcd cluster.
package etcdboard
