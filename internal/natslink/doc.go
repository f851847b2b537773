// Package natslink is what Ramet's drivers over NATS share: how a node logs in, a
// connection that comes back by itself, and what a server in this process needs
// around it.
package natslink
